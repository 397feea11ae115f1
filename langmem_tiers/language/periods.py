"""Moments and periods passed by callers: parsed, checked, and with their precision."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Literal

from langmem_tiers import arguments
from langmem_tiers.clock import require_aware
from langmem_tiers.errors import InvalidInput, InvalidPeriod, NaiveDatetime
from langmem_tiers.language.dates import times
from langmem_tiers.wording import beginning

Exactness = Literal["year", "month", "day", "moment"]
When = datetime | date | str
"""A moment, a day, or text such as "2024", "2024-05", "2024-05-17" or "2024-05-17T10:00:00+00:00"."""

_DATE = re.compile(r"[0-9]{4}(?:-[0-9]{2}){0,2}")
_DAY_WORDS = {"yesterday": -1, "today": 0, "tomorrow": 1}
_WAY_OUT = "Write 2024, 2024-05, 2024-05-17, a time with its zone, or now, today, yesterday or tomorrow."
_IN_A_FILE = "Write 2024, 2024-05, 2024-05-17, or a time with its zone."
_UNITS: tuple[Exactness, ...] = ("year", "month", "day")
_LONGEST, _SHOWN = 100, 40
_LAST = datetime.max.replace(tzinfo=UTC)


def parse(when: When, *, now: datetime) -> tuple[datetime, Exactness]:
    """The first moment of a date, in UTC, and its precision.

    Besides dates, "now", "today", "yesterday" and "tomorrow" are understood, in UTC.

    Raises:
        InvalidPeriod: it is not a date.
        NaiveDatetime: it is a time without a zone.

    Example:
        >>> parse("2024-05", now=datetime(2026, 3, 2, tzinfo=UTC))
        (datetime.datetime(2024, 5, 1, 0, 0, tzinfo=datetime.timezone.utc), 'month')
    """
    if isinstance(when, datetime):
        return _aware(when), "moment"
    if isinstance(when, date):
        return _midnight(when), "day"
    if not isinstance(when, str):
        raise InvalidPeriod(f"{repr(when)[:40]} is no date.", way_out=_WAY_OUT)
    text = when.strip()
    word = text.casefold()
    if word == "now":
        return require_aware(now), "moment"
    if word in _DAY_WORDS:
        return _midnight(require_aware(now).date() + timedelta(days=_DAY_WORDS[word])), "day"
    return _dated(text, f"{beginning(text, 40)!a}", _WAY_OUT)


def written(text: object) -> tuple[datetime, Exactness]:
    """Like `parse`, for a date in a file: "today" and the like are refused, and so are numbers.

    Raises:
        InvalidPeriod: it is not a date.
        NaiveDatetime: it is a time without a zone.
    """
    shown = repr(text)[:40]
    if not isinstance(text, str):
        raise InvalidPeriod(f"{shown} is no date.", way_out=_IN_A_FILE)
    return _dated(text.strip(), shown, _IN_A_FILE)


def parse_optional(when: When | None, *, now: datetime) -> tuple[datetime | None, Exactness]:
    """Like `parse`; None means unknown, or not yet.

    Raises:
        InvalidPeriod, NaiveDatetime: as for `parse`.
    """
    return (None, "moment") if when is None else parse(when, now=now)


def span(when: When, *, now: datetime) -> tuple[datetime, datetime]:
    """The first moment of a date, and the first one after it: for "2024", both ends of the year.

    Raises:
        InvalidPeriod, NaiveDatetime: as for `parse`.
    """
    start, unit = parse(when, now=now)
    return start, after(start, unit)


def after(start: datetime, unit: Exactness) -> datetime:
    """The first moment after a year, month, day or millisecond that begins at `start`, or the last possible one."""
    try:
        if unit == "year":
            return start.replace(year=start.year + 1)
        if unit == "month":
            return start.replace(year=start.year + start.month // 12, month=start.month % 12 + 1)
        return start + (timedelta(days=1) if unit == "day" else timedelta(milliseconds=1))
    except (ValueError, OverflowError):
        return _LAST


def last_of(start: datetime, unit: Exactness) -> datetime:
    """The last moment of a year, month or day that begins at `start`; a moment is its own."""
    end = start if unit == "moment" else after(start, unit)
    return end if end in (start, _LAST) else end - timedelta(microseconds=1)


def asked_moment(given: Any, name: str, *, now: datetime) -> datetime:
    """The moment that an argument of this name asks about: the last one of a date, and now if it is still to come.

    Raises:
        InvalidInput: it is not a date.
        NaiveDatetime: it is a time without a zone.
    """
    if isinstance(given, datetime):
        return min(arguments.moment(given, name), require_aware(now))
    if not isinstance(given, date | str):
        raise arguments.refused(given, name, "a date, such as 2024-05-17, or a datetime with a time zone")
    try:
        return min(last_of(*parse(given, now=now)), require_aware(now))
    except InvalidPeriod as error:
        raise InvalidPeriod(f"The argument `{name}`: {error.message}", way_out=error.way_out) from error


def first_moment(text: str | None, now: datetime) -> datetime | None:
    """The beginning of the day, month or year given as `since`; a text with a clock time is that moment.

    Raises:
        InvalidInput: it is not a date.
    """
    return None if text is None else _bounds(text, now)[0]


def last_moment(text: str | None, now: datetime) -> datetime | None:
    """The end of the day, month or year given as `until`; a text with a clock time is that moment.

    Raises:
        InvalidInput: it is not a date.
    """
    return None if text is None else _bounds(text, now)[1]


def _bounds(text: str, now: datetime) -> tuple[datetime, datetime]:
    said = text.strip()[:_LONGEST]
    exact = _with_clock(said)
    if exact is not None:
        return exact, exact
    # Relative ones too: a model that is told "last week" passes it on.
    for named in (said, *times(said, now.date())):
        if found := _loosely_dated(named):
            return found[0], last_of(*found)
    raise InvalidInput(f"{said[:_SHOWN]!a} is no date.", way_out=f"Write it as YYYY-MM-DD; today is {now:%Y-%m-%d}.")


def _with_clock(text: str) -> datetime | None:
    """A moment with a clock time, in UTC if it has no zone."""
    if ":" not in text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return require_aware(moment if moment.tzinfo else moment.replace(tzinfo=UTC))


def _loosely_dated(text: str) -> tuple[datetime, Exactness] | None:
    """The beginning of `2026`, `2026-3` or `2026-03-02`, and its precision."""
    parts = text.split("-")
    if len(parts) > 3 or len(parts[0]) != 4 or not all(part.isascii() and part.isdecimal() for part in parts):
        return None
    numbers = [int(part) for part in parts]
    while len(numbers) > 1 and not numbers[-1]:  # 2026-00-00 may stand for a year, too
        numbers.pop()
    try:
        start = date(*(*numbers, 1, 1)[:3])
    except ValueError:
        return None
    return _midnight(start), _UNITS[len(numbers) - 1]


def _dated(text: str, shown: str, way_out: str) -> tuple[datetime, Exactness]:
    try:
        if _DATE.fullmatch(text):
            return _midnight(date.fromisoformat(f"{text}-01-01"[:10])), _UNITS[text.count("-")]
        if re.match(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ]", text):
            return _aware(datetime.fromisoformat(text)), "moment"
    except NaiveDatetime:
        raise
    except (ValueError, OverflowError) as error:
        raise InvalidPeriod(f"{shown} is no date.", way_out=way_out) from error
    raise InvalidPeriod(f"{shown} is no date.", way_out=way_out)


def _aware(moment: datetime) -> datetime:
    """A moment in UTC, in whole milliseconds as stored."""
    exact = require_aware(moment, "date")
    return exact.replace(microsecond=exact.microsecond // 1000 * 1000)


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
