"""Relative dates of a statement, resolved against the moment it was said and written behind it."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta

from langmem_tiers.palace.tag_times import times

_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
# Said with a direction ('last Friday') it is for the palace's rules.
_WEEKDAY = re.compile(
    r"(?<!last )(?<!next )(?<!this )(?<!past )(?<!every )(?<!each )\b"
    r"(?:(?:on|by|until|till|before|due) )(?:the )?(mon|tues?|wed(?:nes)?"
    r"|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\b(?!s)",
    re.IGNORECASE,
)
_ABBREVIATED = re.compile(r"\b((?:next|last|this) )(mon|tues?|wed|thurs?|fri|sat|sun)\b(?!day)", re.IGNORECASE)
_FULL = {"mon": "monday", "tue": "tuesday", "wed": "wednesday", "thu": "thursday"}
_FULL |= {"fri": "friday", "sat": "saturday", "sun": "sunday"}
# Weeks resolve to a day of theirs.
_VAGUE = re.compile(r"\b(?:last|next|this|past) week(?:end)?\b|\bweek(?:end)?s? ago\b|\bin \w+ weeks?\b", re.IGNORECASE)
# A day of these comes every year.
_EVERY_YEAR = re.compile(r"\b(?:birthday|anniversary|born|name ?day)\b", re.IGNORECASE)
_MONTH = re.compile(
    r"\b(?:january|february|march|april|may|june|july|august|september|october|november|december)\b", re.IGNORECASE
)
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
SPOKEN = re.compile(
    r"\b(?:today|tonight|yesterday|tomorrow|(?:next|last) (?:few"
    r"|couple of|two|three) (?:days|weeks|months)|(?:last|past|this"
    r"|next) (?:night|week|weekend|month|year|summer|winter|spring"
    r"|fall|autumn|morning|afternoon|evening|(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?)"
    r"|(?:\d+|an?|one|two|three|four|five|six|seven|eight|nine|ten|few|couple of) (?:day|week|weekend|month|year)s? ago"
    r"|in (?:\d+|an?|two|three|four|five|six) (?:day|week|month|year)s?|(?:on|by|until|before) (?:the )?"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:in|on|by|since"
    r"|until|before) (?:the )?(?:\d{1,2}(?:st|nd|rd|th)? (?:of )?)?"
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december|(?:19|20)\d\d)"
    r"|\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{4}|(?:january|february|march|april|may|june|july|august|september"
    r"|october|november|december) \d{1,2}(?:st|nd|rd|th)?)\b",
    re.IGNORECASE,
)


def moments(clause: str, said_at: datetime, *, ahead: bool, happened: bool = False) -> list[str]:
    """The dates, months and years a clause speaks of; a bare weekday lies ahead or behind, as the clause does.

    Of what has happened, a month without a year lies behind as well.
    """
    spoken = said_at.astimezone(UTC).date()
    found = times(_ABBREVIATED.sub(_written_out, clause), spoken)
    if happened and _MONTH.search(clause):
        found = [_behind(moment, spoken, clause) for moment in found]
    days = [_weekday(match[1], spoken, ahead=ahead) for match in _WEEKDAY.finditer(clause)]
    return list(dict.fromkeys([*found, *(day for day in days if not found)]))


def dated(content: str, clause: str, said_at: datetime, *, ahead: bool, happened: bool = False) -> str:
    """The sentence with the dates behind it that it names only in relation to when it was said."""
    if is_yearly(clause):
        return content
    unsaid = [
        moment for moment in moments(clause, said_at, ahead=ahead, happened=happened) if not _is_written(moment, clause)
    ]
    if not unsaid:
        return content
    about = "about " if _VAGUE.search(clause) and any(map(_DAY.fullmatch, unsaid)) else ""
    return f"{content} ({about}{', '.join(unsaid)})"


def is_yearly(clause: str) -> bool:
    """Whether the clause is about a day that comes every year."""
    return _EVERY_YEAR.search(clause) is not None


def due(clause: str, said_at: datetime) -> datetime | None:
    """The end of the day (in UTC), or week, by which something is to be done, where the clause names one."""
    days = [moment for moment in moments(clause, said_at, ahead=True) if _DAY.fullmatch(moment)]
    if not days:
        return None
    room = 7 if _VAGUE.search(clause) else 1
    return datetime.combine(date.fromisoformat(max(days)) + timedelta(days=room), time(), UTC)


def _written_out(match: re.Match[str]) -> str:
    return match[1] + _FULL[match[2][:3].casefold()]


def _weekday(name: str, spoken: date, *, ahead: bool) -> str:
    days = (_WEEKDAYS.index(name[:3].casefold()) - spoken.weekday()) % 7
    return (spoken + timedelta(days=days if ahead else days - 7)).isoformat()


def _behind(moment: str, spoken: date, clause: str) -> str:
    """The moment, or the same a year before, where it had not come yet and the clause names no year."""
    later = moment > spoken.isoformat()[: len(moment)] and not _is_written(moment, clause)
    return f"{int(moment[:4]) - 1}{moment[4:]}" if later and not moment.endswith("02-29") else moment


def _is_written(moment: str, clause: str) -> bool:
    """Whether the clause holds the date itself, in whatever form: the year is the sign of it."""
    return moment[:4] in clause
