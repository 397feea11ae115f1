"""Times in a text: dates, months and years, those said relatively resolved against the moment of speaking."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

from langmem_tiers.palace.words import LOOKED_AT

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "couple of": 2, "a couple of": 2, "three": 3, "four": 4, "five": 5}
_NUMBERS |= {"six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12}
_DAY_WORDS = {"today": 0, "tonight": 0, "yesterday": -1, "tomorrow": 1}
_DIRECTIONS = {"last": -1, "past": -1, "this": 0, "next": 1}

_COUNT = r"(\d{1,3}|a couple of|couple of|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
# Months are said with a capital: 'may' and 'march' are verbs without.
_MONTH = (
    r"(Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_WEEKDAY = r"((?:mon|tues|wednes|thurs|fri|satur|sun)day)s?"
_YEAR = r"((?:19|20)\d\d)"

Resolver = Callable[[re.Match[str], date], str]


@dataclass(frozen=True, slots=True)
class _Rule:
    """A way to speak of a time; a text that has no hint of it, as most have not, is spared the search."""

    pattern: re.Pattern[str]
    resolve: Resolver
    hint: Callable[[str], object]

    def matches(self, text: str) -> list[re.Match[str]]:
        """Where the text speaks of a time in this way."""
        return list(self.pattern.finditer(text)) if self.hint(text) else []


def times(text: str, spoken: date) -> list[str]:
    """The dates ('2023-05-07'), months ('2023-05') and years ('2023') that a text speaks of, in order.

    "Last Friday" is the one before the day of speaking; weeks ago are the day so many weeks before; of a day without
    a year, the nearest one is taken. What is no real date is left out.
    """
    found: list[tuple[int, str]] = []
    rest = text[:LOOKED_AT]
    for rule in _RULES:
        rest = rest.lower() if rule is _FIRST_LOWERED else rest
        matches = rule.matches(rest)
        found += [(match.start(), moment) for match in matches if (moment := _resolved(rule.resolve, match, spoken))]
        for match in matches:  # what one rule has taken, the later and looser ones do not see
            rest = rest[: match.start()] + "\0" * len(match.group()) + rest[match.end() :]
    return list(dict.fromkeys(moment for _, moment in sorted(found)))


def _resolved(resolve: Resolver, match: re.Match[str], spoken: date) -> str:
    """The time a match means, or nothing when there is no such day."""
    try:
        return resolve(match, spoken)
    except (ValueError, OverflowError):  # 30 February, 900 years ago
        return ""


def _month_number(name: str) -> int:
    return _MONTHS.index(name[:3].casefold()) + 1


def counted(number: str) -> int:
    """The count that a number, in digits or words up to twelve, means."""
    return int(number) if number.isdigit() else _NUMBERS[" ".join(number.casefold().split())]


def _month(year: int, month: int) -> str:
    """A month, counted on over the ends of the year."""
    return date(year + (month - 1) // 12, (month - 1) % 12 + 1, 1).isoformat()[:7]


def _whole_date(match: re.Match[str], spoken: date) -> str:
    return date(*(int(part) for part in match.groups())).isoformat()


def _european(match: re.Match[str], spoken: date) -> str:
    day, month, year = (int(part) for part in match.groups())
    return date(year, month, day).isoformat()


def _slashed(match: re.Match[str], spoken: date) -> str:
    """Only where it is clear which number is the day: 5/7/2023 is two different days on two continents."""
    first, second, year = (int(part) for part in match.groups())
    if first <= 12 and second <= 12 and first != second:
        return ""
    return date(year, min(first, second), max(first, second)).isoformat()


def _day_of_month(match: re.Match[str], spoken: date) -> str:
    month, day = _month_number(match["month"]), int(match["day"])
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
    return _month(int(match[2]), _month_number(match[1]))


def _month_alone(match: re.Match[str], spoken: date) -> str:
    """'Last March' is over, 'next March' is to come, 'in March' is the nearest one."""
    month, direction = _month_number(match[2]), match[1].casefold()
    if direction == "last":
        return _month(spoken.year - (month >= spoken.month), month)
    if direction == "next":
        return _month(spoken.year + (month <= spoken.month), month)
    distance = (month - spoken.month + 6) % 12 - 6
    return _month(spoken.year, spoken.month + (0 if direction == "this" else distance))


def _day_word(match: re.Match[str], spoken: date) -> str:
    return (spoken + timedelta(days=_DAY_WORDS[match[1].casefold()])).isoformat()


def _part_of_day(match: re.Match[str], spoken: date) -> str:
    return (spoken - timedelta(days=match[1].casefold() == "last")).isoformat()


def _two_days_off(match: re.Match[str], spoken: date) -> str:
    return (spoken + timedelta(days=-2 if match[1].casefold() == "before yesterday" else 2)).isoformat()


def _weekday(match: re.Match[str], spoken: date) -> str:
    """The last such day before, the next one after, or with 'this' the coming one, today included."""
    ahead = (_WEEKDAYS.index(match[2][:3].casefold()) - spoken.weekday()) % 7
    shift = {"last": ahead - 7, "past": ahead - 7, "this": ahead, "next": ahead or 7}[match[1].casefold()]
    return (spoken + timedelta(days=shift)).isoformat()


def _span(match: re.Match[str], spoken: date) -> str:
    return _shifted(spoken, _DIRECTIONS[match[1].casefold()], match[2].casefold())


def _ago(match: re.Match[str], spoken: date) -> str:
    return _shifted(spoken, -counted(match[1]), match[2].casefold())


def _ahead(match: re.Match[str], spoken: date) -> str:
    return _shifted(spoken, counted(match[1]), match[2].casefold())


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


_ORDINAL = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_MONTH_NAMED = _MONTH.replace("(", "(?P<month>", 1)
_YEAR_AFTER = r"(?:,? (?P<year>(?:19|20)\d\d))?"


def _any_of(*words: str) -> Callable[[str], bool]:
    return lambda text: any(map(text.__contains__, words))


_month_hint = re.compile("[JFMASOND](?:an|eb|ar|pr|ay|u[nlg]|ep|ct|ov|ec)").search
# From here on, case says nothing.
_FIRST_LOWERED = _Rule(
    re.compile(r"\bday (before yesterday|after tomorrow)\b"), _two_days_off, _any_of("day before", "day after")
)
# In this order: the tighter patterns take their text first.
_RULES = (
    _Rule(
        re.compile(r"(?<![\d-])(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?![\d-])"),
        _whole_date,
        re.compile(r"[-/]\d\d?[-/]").search,
    ),
    _Rule(re.compile(r"(\d{4})\s*年\s*(\d{1,2})\s*月\s*(\d{1,2})\s*日"), _whole_date, _any_of("年")),
    _Rule(
        re.compile(r"(?<![\d.])(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})(?!\d)"),
        _european,
        re.compile(r"\.\s?\d\d?\.").search,
    ),
    _Rule(re.compile(r"(?<![\d/])(\d{1,2})/(\d{1,2})/(\d{4})(?![\d/])"), _slashed, re.compile(r"/\d\d?/").search),
    _Rule(re.compile(rf"\b{_MONTH_NAMED} (?:the )?{_ORDINAL}{_YEAR_AFTER}(?![\d:])\b"), _day_of_month, _month_hint),
    _Rule(re.compile(rf"(?<![\d:.]){_ORDINAL} (?:of )?{_MONTH_NAMED}{_YEAR_AFTER}\b"), _day_of_month, _month_hint),
    _Rule(re.compile(rf"\b{_MONTH},? {_YEAR}\b"), _month_of_year, _month_hint),
    _Rule(
        re.compile(rf"\b(in|since|until|by|last|next|this|Last|Next|In|Since) {_MONTH}(?!\w)"),
        _month_alone,
        _month_hint,
    ),
    _FIRST_LOWERED,
    _Rule(
        re.compile(r"\b(last|this) (?:night|morning|afternoon|evening)\b"),
        _part_of_day,
        _any_of(" night", " morning", " afternoon", " evening"),
    ),
    _Rule(re.compile(r"\b(today|tonight|yesterday|tomorrow)\b"), _day_word, _any_of(*_DAY_WORDS)),
    _Rule(
        re.compile(rf"\b(last|past|this|next) {_WEEKDAY}\b"),
        _weekday,
        _any_of("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
    ),
    _Rule(
        re.compile(r"\b(last|this|next) (week|weekend|month|year)\b(?![-'’])"),
        _span,
        _any_of(" week", " month", " year"),
    ),
    _Rule(re.compile(rf"\b{_COUNT} (day|week|weekend|month|year)s? ago\b"), _ago, _any_of(" ago")),
    _Rule(
        re.compile(rf"\bin {_COUNT} (day|week|month|year)s?\b(?! of\b)"),
        _ahead,
        _any_of(" day", " week", " month", " year"),
    ),
    _Rule(
        re.compile(rf"\b(?:in|since|until|by|from|during|of|year|summer|winter|spring|fall|autumn) {_YEAR}\b"),
        _year,
        _any_of(" 19", " 20"),
    ),
)
