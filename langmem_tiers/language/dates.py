"""Dates in a text: days, months and years; relative ones are resolved against the moment of speaking.

The only date reader, for tags, statements, claims and queries. It writes dates as "2023-05-07", "2023-05" or "2023".
(Compared to dateparser and parsedatetime it has fewer false positives, and takes a fraction of the time.)
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal, get_args

from langmem_tiers.language.calendar import WEEKDAYS, month_number, weekday_number
from langmem_tiers.language.lazy_patterns import lazy_pattern
from langmem_tiers.language.numbers import COUNT, counted
from langmem_tiers.language.verbs import is_participle
from langmem_tiers.language.word_lists import (
    COMMON_PARTS,
    alternatives,
    any_of,
    finds,
    named_pattern,
    table,
    written_out,
)
from langmem_tiers.language.words import LOOKED_AT

Side = Literal["behind", "ahead"]
"""Where a day, a month or a weekday lies that comes again and again: before or after the day of speaking."""
_Side = Side | Literal["booked"]

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
# What says where a bare day lies: the last such words before it in its sentence, or else the first after it.
_CLUE = named_pattern("dates", "clue", events=any_of(alternatives("words", "events").split("|")))
_SENTENCE_ENDS = re.compile(r"[.!?;](?=\s|$)|\n")
_CLUES_WITHIN = 200  # characters
_FOR = re.compile(r"\bfor (?:the )?$")
_UNTIL = re.compile(r"\b(?:until|till|til) (?:the )?(?:[\w.]+(?: [\w.]+)?)?$")
# "For the first time in ten years" and "I haven't been there in two years" name no day to come.
_ALL_THAT_TIME = re.compile(
    r"\b(?:times?|once|twice|never|(?:have|has|had|did)(?:n't| not)|best|worst|longest|only)\b[^.,;]*$", re.IGNORECASE
)
# What was booked "on" a day that is just gone was booked that day, else it is booked for that day.
_JUST_GONE = timedelta(days=31)


def times(text: str, spoken: date, side: Side | None = None) -> list[str]:
    """The dates ('2023-05-07'), months ('2023-05') and years ('2023') in a text, in order.

    "Last Friday" is the one before the day of speaking; "two weeks ago" is the day two weeks earlier. A day or month
    without a year lies where its sentence says: the flight that was booked for it is still to come, what was visited
    is past. If it says nothing, it lies on the `side`, or is the nearest one. Impossible dates are left out.

    Example:
        >>> spoken = date(2026, 4, 20)
        >>> times("We booked a table for March 3rd.", spoken), times("We ate there on November 3rd.", spoken)
        (['2027-03-03'], ['2025-11-03'])
    """
    found: list[tuple[int, str]] = []
    rest = text[:LOOKED_AT]
    for rule in _RULES:
        rest = rest.lower() if rule.lowers else rest
        for match, moment in rule.found(rest, spoken, side):
            found += [(match.start(), moment)] if moment else []
            # Text matched by one rule is hidden from the later, looser ones.
            rest = rest[: match.start()] + "\0" * len(match.group()) + rest[match.end() :]
    return list(dict.fromkeys(moment for _, moment in sorted(found)))


def moments(clause: str, said_at: datetime, *, ahead: bool, happened: bool = False) -> list[str]:
    """The dates, months and years in a clause, which is about what is `ahead` or has `happened`; else see `times`.

    A bare weekday is the next one, or the last one if the clause says so or nothing.
    """
    spoken = spoken_on(said_at)
    side: Side | None = "ahead" if ahead else "behind" if happened else None
    found = times(_ABBREVIATED.sub(lambda day: day[1] + WEEKDAYS[weekday_number(day[2])], clause), spoken, side)
    if not found:
        found = [_bare_weekday(match, spoken, _side(match, side)) for match in _WEEKDAY.finditer(clause)]
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


def looks_ahead(clause: str) -> bool:
    """Whether a clause tells of what is to come: a plan, a booking, an appointment."""
    return any(lies != "behind" for lies in _clues(clause))


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


def _side(match: re.Match[str], side: Side | None) -> _Side | None:
    """Where a bare day in a text lies by the words of its sentence; of one that says nothing, the given side."""
    text, start, stop = match.string, match.start(), match.end()
    before = _SENTENCE_ENDS.split(text[max(0, start - _CLUES_WITHIN) : start])[-1]
    after = _SENTENCE_ENDS.split(text[stop : stop + _CLUES_WITHIN])[0]
    *_, last = [None, *_clues(before)]
    said = last or next(_clues(after), side)
    lasts = last is None and _UNTIL.search(f"{before}{match[0]}")
    return "ahead" if lasts or (said == "booked" and _FOR.search(before)) else said


def _clues(words: str) -> Iterator[_Side]:
    """What the words of a sentence say of the days in it, in order."""
    for clue in _CLUE.finditer(words):
        if clue["booked"]:
            yield "booked"
        elif clue["ahead"] or clue["short"]:
            yield "ahead"
        elif clue["behind"] or is_participle(clue[0]):
            yield "behind"


def _lying(moments: Sequence[date], spoken: date, side: _Side | None) -> date:
    """Of the days that a bare one can mean, the next one, the last one, or the nearest one."""
    if side == "booked":
        just_gone = any(timedelta() <= spoken - moment <= _JUST_GONE for moment in moments)
        side = "behind" if just_gone else "ahead"
    if side == "ahead":
        return min(moment for moment in moments if moment >= spoken)
    if side == "behind":
        return max(moment for moment in moments if moment <= spoken)
    return min(moments, key=lambda moment: abs(moment - spoken))


def _is_written(moment: str, clause: str) -> bool:
    """Whether the clause already contains the date in some form: look for the year."""
    return moment[:4] in clause


# How each way of naming a time is resolved.


def _month(year: int, month: int) -> str:
    """A month by number, which may run past the ends of the year."""
    return date(year + (month - 1) // 12, (month - 1) % 12 + 1, 1).isoformat()[:7]


def _slashed(match: re.Match[str], spoken: date, side: Side | None) -> str:
    """Only if it is clear which number is the day: 5/7/2023 is two different days on two continents."""
    first, second, year = (int(part) for part in match.groups())
    if first <= 12 and second <= 12 and first != second:
        return ""
    return date(year, min(first, second), max(first, second)).isoformat()


def _day_of_month(match: re.Match[str], spoken: date, side: Side | None) -> str:
    month, day = month_number(match["month"]), int(match["day"])
    if match["year"]:
        return date(int(match["year"]), month, day).isoformat()
    years = (spoken.year - 1, spoken.year, spoken.year + 1)
    real = [date(year, month, day) for year in years if day <= monthrange(year, month)[1]]
    return _lying(real, spoken, _side(match, side)).isoformat()


def _month_alone(match: re.Match[str], spoken: date, side: Side | None) -> str:
    """'Last March' is past, 'next March' is to come, 'in March' is what the sentence says or the nearest one."""
    month, direction = month_number(match[2]), match[1].casefold()
    if direction == "last":
        return _month(spoken.year - (month >= spoken.month), month)
    if direction == "next":
        return _month(spoken.year + (month <= spoken.month), month)
    if direction == "this":
        return _month(spoken.year, month)
    ahead = (month - spoken.month) % 12
    lies = "behind" if direction == "since" else _side(match, side)
    if lies not in get_args(Side):
        lies = "ahead" if 0 < ahead < (11 if lies else 6) else "behind"
    return _month(spoken.year, spoken.month + (ahead if lies == "ahead" or not ahead else ahead - 12))


def _days_off(spoken: date, days: int) -> str:
    return (spoken + timedelta(days=days)).isoformat()


def _weekday(match: re.Match[str], spoken: date, side: Side | None) -> str:
    """The last such day before, the next one after, or with 'this' the coming one, including today."""
    ahead = (weekday_number(match[2]) - spoken.weekday()) % 7
    shift = {"last": ahead - 7, "past": ahead - 7, "this": ahead, "next": ahead or 7}[match[1]]
    return _days_off(spoken, shift)


def _bare_weekday(match: re.Match[str], spoken: date, side: _Side | None) -> str:
    ahead = (weekday_number(match[1]) - spoken.weekday()) % 7
    return _days_off(spoken, ahead if side == "ahead" else ahead - 7)


def _shifted(spoken: date, count: int, unit: str) -> str:
    if unit == "year":
        return f"{date(spoken.year + count, 1, 1).year:04d}"
    if unit == "month":
        return _month(spoken.year, spoken.month + count)
    if unit == "weekend":  # named by its Saturday; on a Sunday, 'this weekend' began yesterday
        saturday = spoken + timedelta(days=-1 if spoken.weekday() == 6 else 5 - spoken.weekday())
        return (saturday + timedelta(weeks=count)).isoformat()
    return _days_off(spoken, count * table("units")[unit]["days"])


def _in_so_long(match: re.Match[str], spoken: date, side: Side | None) -> str:
    if _ALL_THAT_TIME.search(match.string, max(0, match.start() - _CLUES_WITHIN), match.start()):
        return ""
    return _shifted(spoken, counted(match[1]), match[2])


_MEANS: dict[str, Callable[[re.Match[str], date, Side | None], str]] = {
    "year first": lambda match, spoken, side: date(*map(int, match.groups())).isoformat(),
    "day first": lambda match, spoken, side: date(int(match[3]), int(match[2]), int(match[1])).isoformat(),
    "either first": _slashed,
    "day of month": _day_of_month,
    "month of year": lambda match, spoken, side: _month(int(match[2]), month_number(match[1])),
    "month": _month_alone,
    "day": lambda match, spoken, side: _days_off(spoken, _DAYS[match[1]]),
    "weekday": _weekday,
    "span": lambda match, spoken, side: _shifted(spoken, _DIRECTIONS[match[1]], match[2]),
    "ago": lambda match, spoken, side: _shifted(spoken, -counted(match[1]), match[2]),
    "ahead": _in_so_long,
    "year": lambda match, spoken, side: match[1],
}


class _Rule:
    """A way of naming a time, from `data/dates.toml`."""

    def __init__(
        self, said: str, means: str, words: Sequence[str] = (), hint: str = "", *, lowers: bool = False
    ) -> None:
        self.lowers = lowers
        self._pattern, self._means = lazy_pattern(_written(said)), _MEANS[means]
        self._words = [each for word in words for each in _written(word).split("|")]
        self._hint = lazy_pattern(_written(hint)) if hint else None

    def found(self, text: str, spoken: date, side: Side | None) -> Iterator[tuple[re.Match[str], str]]:
        """Where the text names a time in this way, and which; an empty one if there is no such day."""
        if self._hint.search(text) if self._hint else any(word in text for word in self._words):
            for match in self._pattern.finditer(text):
                try:
                    yield match, self._means(match, spoken, side)
                except (ValueError, OverflowError):  # 30 February, 900 years ago
                    yield match, ""


def _written(pattern: str) -> str:
    return written_out(pattern, {"counted": COUNT, **COMMON_PARTS, **table("dates")["fragments"]})


_RULES = tuple(_Rule(**each) for each in table("dates")["rule"])
