"""Dates in a text: days, months and years; relative ones are resolved against the moment of speaking.

The only date reader, for tags, statements, claims and queries. It writes dates as "2023-05-07", "2023-05" or "2023".
(Compared to dateparser and parsedatetime it has fewer false positives, and takes a fraction of the time.)
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from langmem_tiers.language.calendar import (
    MONTH_NAMES,
    MONTH_WRITTEN,
    WEEKDAY_NAMES,
    WEEKDAY_WRITTEN,
    WEEKDAYS,
    month_number,
    weekday_number,
)
from langmem_tiers.language.numbers import COUNT, cardinals, counted
from langmem_tiers.language.words import LOOKED_AT

_DAY_WORDS = {"today": 0, "tonight": 0, "yesterday": -1, "tomorrow": 1}
_DIRECTIONS = {"last": -1, "past": -1, "this": 0, "next": 1}
_COUNT = f"({COUNT})"
_MONTH = rf"({MONTH_WRITTEN})\.?"
_MONTH_NAMED = rf"(?P<month>{MONTH_WRITTEN})\.?"
_ORDINAL = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"((?:19|20)\d\d)"
_YEAR_AFTER = r"(?:,? (?P<year>(?:19|20)\d\d))?"

DAY = re.compile(r"\d{4}-\d\d-\d\d")
"""A day as it is written here."""
SPOKEN = re.compile(
    r"\b(?:today|tonight|yesterday|tomorrow|(?:next|last) (?:few|couple of|two|three) (?:days|weeks|months)"
    r"|(?:last|past|this|next) (?:night|week|weekend|month|year|summer|winter|spring"
    rf"|fall|autumn|morning|afternoon|evening|{WEEKDAY_WRITTEN})"
    rf"|(?:\d+|an?|{cardinals(1, 10)}|few|couple of) (?:day|week|weekend|month|year)s? ago"
    rf"|in (?:\d+|an?|{cardinals(2, 6)}) (?:day|week|month|year)s?|(?:on|by|until|before) (?:the )?(?:{WEEKDAY_NAMES})"
    r"|(?:in|on|by|since|until|before) (?:the )?(?:\d{1,2}(?:st|nd|rd|th)? (?:of )?)?"
    rf"(?:{MONTH_NAMES}|(?:19|20)\d\d)"
    rf"|\d{{4}}-\d\d-\d\d|\d{{1,2}}[./]\d{{1,2}}[./]\d{{4}}|(?:{MONTH_NAMES}) \d{{1,2}}(?:st|nd|rd|th)?)\b",
    re.IGNORECASE,
)
"""Words that say when."""
# A weekday with a direction ('last Friday') is left to `times`.
_WEEKDAY = re.compile(
    r"(?<!last )(?<!next )(?<!this )(?<!past )(?<!every )(?<!each )\b"
    rf"(?:(?:on|by|until|till|before|due) )(?:the )?({WEEKDAY_WRITTEN})\b(?!s)",
    re.IGNORECASE,
)
_ABBREVIATED = re.compile(r"\b((?:next|last|this) )(mon|tues?|wed|thurs?|fri|sat|sun)\b(?!day)", re.IGNORECASE)
# Weeks resolve to one of their days.
_VAGUE = re.compile(r"\b(?:last|next|this|past) week(?:end)?\b|\bweek(?:end)?s? ago\b|\bin \w+ weeks?\b", re.IGNORECASE)
# These days come every year.
_EVERY_YEAR = re.compile(r"\b(?:birthday|anniversary|born|name ?day)\b", re.IGNORECASE)
_NAMES_A_MONTH = re.compile(rf"\b(?:{MONTH_NAMES})\b", re.IGNORECASE)

Resolver = Callable[[re.Match[str], date], str]


def times(text: str, spoken: date) -> list[str]:
    """The dates ('2023-05-07'), months ('2023-05') and years ('2023') in a text, in order.

    "Last Friday" is the one before the day of speaking; "two weeks ago" is the day two weeks earlier; a day without
    a year is the nearest one. Impossible dates are left out.
    """
    found: list[tuple[int, str]] = []
    rest = text[:LOOKED_AT]
    for rule in _RULES:
        rest = rest.lower() if rule is _FIRST_LOWERED else rest
        matches = rule.matches(rest)
        found += [(match.start(), moment) for match in matches if (moment := _resolved(rule.resolve, match, spoken))]
        for match in matches:  # text matched by one rule is hidden from the later, looser ones
            rest = rest[: match.start()] + "\0" * len(match.group()) + rest[match.end() :]
    return list(dict.fromkeys(moment for _, moment in sorted(found)))


def moments(clause: str, said_at: datetime, *, ahead: bool, happened: bool = False) -> list[str]:
    """The dates, months and years in a clause; a bare weekday lies ahead or behind, depending on the clause.

    In a clause about the past, a month without a year lies in the past as well.
    """
    spoken = spoken_on(said_at)
    found = times(_ABBREVIATED.sub(_written_out, clause), spoken)
    if happened and _NAMES_A_MONTH.search(clause):
        found = [_behind(moment, spoken, clause) for moment in found]
    days = [_bare_weekday(match[1], spoken, ahead=ahead) for match in _WEEKDAY.finditer(clause)]
    return list(dict.fromkeys([*found, *(day for day in days if not found)]))


def dated(content: str, clause: str, said_at: datetime, *, ahead: bool, happened: bool = False) -> str:
    """The sentence, with the dates that it names only relative to the moment of speaking appended."""
    if is_yearly(clause):
        return content
    found = moments(clause, said_at, ahead=ahead, happened=happened)
    unsaid = [moment for moment in found if not _is_written(moment, clause)]
    if not unsaid:
        return content
    about = "about " if _VAGUE.search(clause) and any(map(DAY.fullmatch, unsaid)) else ""
    return f"{content} ({about}{', '.join(unsaid)})"


def is_yearly(clause: str) -> bool:
    """Whether the clause is about a day that comes every year."""
    return _EVERY_YEAR.search(clause) is not None


def due(clause: str, said_at: datetime) -> datetime | None:
    """The end of the day (in UTC) or week by which something is to be done, if the clause says so."""
    days = [moment for moment in moments(clause, said_at, ahead=True) if DAY.fullmatch(moment)]
    if not days:
        return None
    room = 7 if _VAGUE.search(clause) else 1
    return datetime.combine(date.fromisoformat(max(days)) + timedelta(days=room), time(), UTC)


def spoken_on(said_at: datetime) -> date:
    """The day, in UTC, on which something was said."""
    return said_at.astimezone(UTC).date()


def _written_out(match: re.Match[str]) -> str:
    return match[1] + WEEKDAYS[weekday_number(match[2])]


def _bare_weekday(name: str, spoken: date, *, ahead: bool) -> str:
    days = (weekday_number(name) - spoken.weekday()) % 7
    return (spoken + timedelta(days=days if ahead else days - 7)).isoformat()


def _behind(moment: str, spoken: date, clause: str) -> str:
    """The moment, or the same a year earlier if it is in the future and the clause names no year."""
    later = moment > spoken.isoformat()[: len(moment)] and not _is_written(moment, clause)
    return f"{int(moment[:4]) - 1}{moment[4:]}" if later and not moment.endswith("02-29") else moment


def _is_written(moment: str, clause: str) -> bool:
    """Whether the clause already contains the date in some form: look for the year."""
    return moment[:4] in clause


# How each way of naming a time is resolved.


def _resolved(resolve: Resolver, match: re.Match[str], spoken: date) -> str:
    """The time a match means, or nothing if there is no such day."""
    try:
        return resolve(match, spoken)
    except (ValueError, OverflowError):  # 30 February, 900 years ago
        return ""


def _month(year: int, month: int) -> str:
    """A month by number, which may run past the ends of the year."""
    return date(year + (month - 1) // 12, (month - 1) % 12 + 1, 1).isoformat()[:7]


def _year_first(match: re.Match[str], spoken: date) -> str:
    return date(*(int(part) for part in match.groups())).isoformat()


def _day_first(match: re.Match[str], spoken: date) -> str:
    day, month, year = (int(part) for part in match.groups())
    return date(year, month, day).isoformat()


def _slashed(match: re.Match[str], spoken: date) -> str:
    """Only if it is clear which number is the day: 5/7/2023 is two different days on two continents."""
    first, second, year = (int(part) for part in match.groups())
    if first <= 12 and second <= 12 and first != second:
        return ""
    return date(year, min(first, second), max(first, second)).isoformat()


def _day_of_month(match: re.Match[str], spoken: date) -> str:
    month, day = month_number(match["month"]), int(match["day"])
    if match["year"]:
        return date(int(match["year"]), month, day).isoformat()
    years = (spoken.year - 1, spoken.year, spoken.year + 1)
    real = [moment for year in years if (moment := _date_or_none(year, month, day))]
    return min(real, key=lambda moment: abs(moment - spoken)).isoformat()


def _date_or_none(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _month_of_year(match: re.Match[str], spoken: date) -> str:
    return _month(int(match[2]), month_number(match[1]))


def _month_alone(match: re.Match[str], spoken: date) -> str:
    """'Last March' is past, 'next March' is to come, 'in March' is the nearest one."""
    month, direction = month_number(match[2]), match[1].casefold()
    if direction == "last":
        return _month(spoken.year - (month >= spoken.month), month)
    if direction == "next":
        return _month(spoken.year + (month <= spoken.month), month)
    distance = (month - spoken.month + 6) % 12 - 6
    return _month(spoken.year, spoken.month + (0 if direction == "this" else distance))


def _day_word(match: re.Match[str], spoken: date) -> str:
    return (spoken + timedelta(days=_DAY_WORDS[match[1]])).isoformat()


def _part_of_day(match: re.Match[str], spoken: date) -> str:
    return (spoken - timedelta(days=match[1] == "last")).isoformat()


def _two_days_off(match: re.Match[str], spoken: date) -> str:
    return (spoken + timedelta(days=-2 if match[1] == "before yesterday" else 2)).isoformat()


def _weekday(match: re.Match[str], spoken: date) -> str:
    """The last such day before, the next one after, or with 'this' the coming one, including today."""
    ahead = (weekday_number(match[2]) - spoken.weekday()) % 7
    shift = {"last": ahead - 7, "past": ahead - 7, "this": ahead, "next": ahead or 7}[match[1]]
    return (spoken + timedelta(days=shift)).isoformat()


def _span(match: re.Match[str], spoken: date) -> str:
    return _shifted(spoken, _DIRECTIONS[match[1]], match[2])


def _ago(match: re.Match[str], spoken: date) -> str:
    return _shifted(spoken, -counted(match[1]), match[2])


def _ahead(match: re.Match[str], spoken: date) -> str:
    return _shifted(spoken, counted(match[1]), match[2])


def _shifted(spoken: date, count: int, unit: str) -> str:
    if unit == "year":
        return f"{date(spoken.year + count, 1, 1).year:04d}"
    if unit == "month":
        return _month(spoken.year, spoken.month + count)
    if unit == "weekend":  # named by its Saturday; on a Sunday, 'this weekend' began yesterday
        saturday = spoken + timedelta(days=-1 if spoken.weekday() == 6 else 5 - spoken.weekday())
        return (saturday + timedelta(weeks=count)).isoformat()
    return (spoken + timedelta(days=count * (7 if unit == "week" else 1))).isoformat()


def _year(match: re.Match[str], spoken: date) -> str:
    return match[1]


@dataclass(frozen=True, slots=True)
class _Rule:
    """A way of naming a time; the hint is a cheap test that spares most texts the search."""

    pattern: re.Pattern[str]
    resolve: Resolver
    hint: Callable[[str], object]

    def matches(self, text: str) -> list[re.Match[str]]:
        """Where the text names a time in this way."""
        return list(self.pattern.finditer(text)) if self.hint(text) else []


def _rule(pattern: str, resolve: Resolver, *hints: str) -> _Rule:
    """A rule whose hints are words, one of which the text has to contain."""
    return _Rule(re.compile(pattern), resolve, lambda text: any(map(text.__contains__, hints)))


def _hinted(pattern: str, resolve: Resolver, hint: str) -> _Rule:
    """A rule whose hint is a pattern that is quicker to search for."""
    return _Rule(re.compile(pattern), resolve, re.compile(hint).search)


_MONTH_HINT = "[JFMASOND](?:an|eb|ar|pr|ay|u[nlg]|ep|ct|ov|ec)"
# From here on, case carries no meaning.
_FIRST_LOWERED = _rule(r"\bday (before yesterday|after tomorrow)\b", _two_days_off, "day before", "day after")
# In this order: the stricter patterns match first.
_RULES = (
    _hinted(r"(?<![\d-])(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?![\d-])", _year_first, r"[-/]\d\d?[-/]"),
    _rule(r"(\d{4})\s*年\s*(\d{1,2})\s*月\s*(\d{1,2})\s*日", _year_first, "年"),
    _hinted(r"(?<![\d.])(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})(?!\d)", _day_first, r"\.\s?\d\d?\."),
    _hinted(r"(?<![\d/])(\d{1,2})/(\d{1,2})/(\d{4})(?![\d/])", _slashed, r"/\d\d?/"),
    _hinted(rf"\b{_MONTH_NAMED} (?:the )?{_ORDINAL}{_YEAR_AFTER}(?![\d:])\b", _day_of_month, _MONTH_HINT),
    _hinted(rf"(?<![\d:.]){_ORDINAL} (?:of )?{_MONTH_NAMED}{_YEAR_AFTER}\b", _day_of_month, _MONTH_HINT),
    _hinted(rf"\b{_MONTH},? {_YEAR}\b", _month_of_year, _MONTH_HINT),
    _hinted(rf"\b(in|since|until|by|last|next|this|Last|Next|In|Since) {_MONTH}(?!\w)", _month_alone, _MONTH_HINT),
    _FIRST_LOWERED,
    _rule(
        r"\b(last|this) (?:night|morning|afternoon|evening)\b",
        _part_of_day,
        *(" night", " morning", " afternoon", " evening"),
    ),
    _rule(r"\b(today|tonight|yesterday|tomorrow)\b", _day_word, *_DAY_WORDS),
    _rule(rf"\b(last|past|this|next) ({WEEKDAY_NAMES})s?\b", _weekday, *WEEKDAYS),
    _rule(r"\b(last|this|next) (week|weekend|month|year)\b(?![-'’])", _span, " week", " month", " year"),
    _rule(rf"\b{_COUNT} (day|week|weekend|month|year)s? ago\b", _ago, " ago"),
    _rule(rf"\bin {_COUNT} (day|week|month|year)s?\b(?! of\b)", _ahead, " day", " week", " month", " year"),
    _rule(
        rf"\b(?:in|since|until|by|from|during|of|year|summer|winter|spring|fall|autumn) {_YEAR}\b", _year, " 19", " 20"
    ),
)
