"""Dates in a text: days, months and years; relative ones are resolved against the moment of speaking.

The only date reader, for tags, statements, claims and queries. It writes dates as "2023-05-07", "2023-05" or "2023".
(Compared to dateparser and parsedatetime it has fewer false positives, and takes a fraction of the time.)
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta

from langmem_tiers.language.calendar import MONTH_NAMES, WEEKDAYS, month_number, weekday_number
from langmem_tiers.language.numbers import COUNT, counted
from langmem_tiers.language.word_lists import COMMON_PARTS, finds, named_pattern, table, written_out
from langmem_tiers.language.words import LOOKED_AT

_DAYS = {"today": 0, "tonight": 0, "this": 0, "yesterday": -1, "last": -1, "before yesterday": -2}
_DAYS |= {"tomorrow": 1, "after tomorrow": 2}
_DIRECTIONS = {"last": -1, "this": 0, "next": 1}

DAY = re.compile(r"\d{4}-\d\d-\d\d")
"""A day as it is written here."""
SPOKEN = named_pattern("dates", "spoken")
"""Words that say when."""
# A weekday with a direction ('last Friday') is left to `times`.
_WEEKDAY = named_pattern("dates", "weekday")
_ABBREVIATED = re.compile(r"\b((?:next|last|this) )(mon|tues?|wed|thurs?|fri|sat|sun)\b(?!day)", re.IGNORECASE)
# Weeks resolve to one of their days.
_VAGUE = named_pattern("dates", "within_a_unit")
# These days come every year.
_NAMES_A_MONTH = re.compile(rf"\b(?:{MONTH_NAMES})\b", re.IGNORECASE)


def times(text: str, spoken: date) -> list[str]:
    """The dates ('2023-05-07'), months ('2023-05') and years ('2023') in a text, in order.

    "Last Friday" is the one before the day of speaking; "two weeks ago" is the day two weeks earlier; a day without
    a year is the nearest one. Impossible dates are left out.
    """
    found: list[tuple[int, str]] = []
    rest = text[:LOOKED_AT]
    for rule in _RULES:
        rest = rest.lower() if rule.lowers else rest
        for match, moment in rule.found(rest, spoken):
            found += [(match.start(), moment)] if moment else []
            # Text matched by one rule is hidden from the later, looser ones.
            rest = rest[: match.start()] + "\0" * len(match.group()) + rest[match.end() :]
    return list(dict.fromkeys(moment for _, moment in sorted(found)))


def past_times(text: str, spoken: date) -> list[str]:
    """The times in a text about the past, where a month without a year lies in the past as well."""
    found = times(text, spoken)
    return [_behind(moment, spoken, text) for moment in found] if _NAMES_A_MONTH.search(text) else found


def moments(clause: str, said_at: datetime, *, ahead: bool, happened: bool = False) -> list[str]:
    """The dates, months and years in a clause; a bare weekday lies ahead or behind, depending on the clause.

    In a clause about the past, a month without a year lies in the past as well.
    """
    spoken = spoken_on(said_at)
    read = past_times if happened else times
    found = read(_ABBREVIATED.sub(lambda day: day[1] + WEEKDAYS[weekday_number(day[2])], clause), spoken)
    if not found:
        days = [(weekday_number(match[1]) - spoken.weekday()) % 7 for match in _WEEKDAY.finditer(clause)]
        found = [(spoken + timedelta(days=day if ahead else day - 7)).isoformat() for day in days]
    return list(dict.fromkeys(found))


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


is_yearly = finds("dates", "every_year")
"""Whether the clause is about a day that comes every year."""


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


def _behind(moment: str, spoken: date, clause: str) -> str:
    """The moment, or the same a year earlier if it is in the future and the clause names no year."""
    later = moment > spoken.isoformat()[: len(moment)] and not _is_written(moment, clause)
    return f"{int(moment[:4]) - 1}{moment[4:]}" if later and not moment.endswith("02-29") else moment


def _is_written(moment: str, clause: str) -> bool:
    """Whether the clause already contains the date in some form: look for the year."""
    return moment[:4] in clause


# How each way of naming a time is resolved.


def _month(year: int, month: int) -> str:
    """A month by number, which may run past the ends of the year."""
    return date(year + (month - 1) // 12, (month - 1) % 12 + 1, 1).isoformat()[:7]


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
    real = [date(year, month, day) for year in years if day <= monthrange(year, month)[1]]
    return min(real, key=lambda moment: abs(moment - spoken)).isoformat()


def _month_alone(match: re.Match[str], spoken: date) -> str:
    """'Last March' is past, 'next March' is to come, 'in March' is the nearest one."""
    month, direction = month_number(match[2]), match[1].casefold()
    if direction == "last":
        return _month(spoken.year - (month >= spoken.month), month)
    if direction == "next":
        return _month(spoken.year + (month <= spoken.month), month)
    distance = (month - spoken.month + 6) % 12 - 6
    return _month(spoken.year, spoken.month + (0 if direction == "this" else distance))


def _days_off(spoken: date, days: int) -> str:
    return (spoken + timedelta(days=days)).isoformat()


def _weekday(match: re.Match[str], spoken: date) -> str:
    """The last such day before, the next one after, or with 'this' the coming one, including today."""
    ahead = (weekday_number(match[2]) - spoken.weekday()) % 7
    shift = {"last": ahead - 7, "past": ahead - 7, "this": ahead, "next": ahead or 7}[match[1]]
    return _days_off(spoken, shift)


def _shifted(spoken: date, count: int, unit: str) -> str:
    if unit == "year":
        return f"{date(spoken.year + count, 1, 1).year:04d}"
    if unit == "month":
        return _month(spoken.year, spoken.month + count)
    if unit == "weekend":  # named by its Saturday; on a Sunday, 'this weekend' began yesterday
        saturday = spoken + timedelta(days=-1 if spoken.weekday() == 6 else 5 - spoken.weekday())
        return (saturday + timedelta(weeks=count)).isoformat()
    return _days_off(spoken, count * table("units")[unit]["days"])


_MEANS: dict[str, Callable[[re.Match[str], date], str]] = {
    "year first": lambda match, spoken: date(*map(int, match.groups())).isoformat(),
    "day first": lambda match, spoken: date(int(match[3]), int(match[2]), int(match[1])).isoformat(),
    "either first": _slashed,
    "day of month": _day_of_month,
    "month of year": lambda match, spoken: _month(int(match[2]), month_number(match[1])),
    "month": _month_alone,
    "day": lambda match, spoken: _days_off(spoken, _DAYS[match[1]]),
    "weekday": _weekday,
    "span": lambda match, spoken: _shifted(spoken, _DIRECTIONS[match[1]], match[2]),
    "ago": lambda match, spoken: _shifted(spoken, -counted(match[1]), match[2]),
    "ahead": lambda match, spoken: _shifted(spoken, counted(match[1]), match[2]),
    "year": lambda match, spoken: match[1],
}


class _Rule:
    """A way of naming a time, from `data/dates.toml`."""

    def __init__(
        self, said: str, means: str, words: Sequence[str] = (), hint: str = "", *, lowers: bool = False
    ) -> None:
        self.lowers = lowers
        self._pattern, self._means = re.compile(_written(said)), _MEANS[means]
        self._words = [each for word in words for each in _written(word).split("|")]
        self._hint = re.compile(_written(hint)) if hint else None

    def found(self, text: str, spoken: date) -> Iterator[tuple[re.Match[str], str]]:
        """Where the text names a time in this way, and which; an empty one if there is no such day."""
        if self._hint.search(text) if self._hint else any(word in text for word in self._words):
            for match in self._pattern.finditer(text):
                try:
                    yield match, self._means(match, spoken)
                except (ValueError, OverflowError):  # 30 February, 900 years ago
                    yield match, ""


def _written(pattern: str) -> str:
    return written_out(pattern, {"counted": COUNT, **COMMON_PARTS, **table("dates")["fragments"]})


_RULES = tuple(_Rule(**each) for each in table("dates")["rule"])
