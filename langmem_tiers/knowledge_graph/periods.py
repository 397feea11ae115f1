"""Moments and spans of time as callers give them: read, checked, and as exact as they were said. Pure."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta

from langmem_tiers.clock import require_aware
from langmem_tiers.errors import InvalidPeriod, NaiveDatetime
from langmem_tiers.knowledge_graph.types import Exactness, When

_YEAR = re.compile(r"[0-9]{4}")
_MONTH = re.compile(r"([0-9]{4})-([0-9]{2})")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DAY_WORDS = {"yesterday": -1, "today": 0, "tomorrow": 1}
_WAY_OUT = "Write 2024, 2024-05, 2024-05-17, a time with its zone, or now, today, yesterday or tomorrow."
_IN_A_FILE = "Write 2024, 2024-05, 2024-05-17, or a time with its zone."
_LAST = datetime.max.replace(tzinfo=UTC)


def parse(when: When, *, now: datetime) -> tuple[datetime, Exactness]:
    """The first moment of what is named, in UTC, and how exact that is.

    Besides dates, "now", "today", "yesterday" and "tomorrow" are known, in UTC.

    Raises:
        InvalidPeriod: it is no date.
        NaiveDatetime: it is a time without a zone.

    Example:
        >>> parse("2024-05", now=datetime(2026, 3, 2, tzinfo=UTC))
        (datetime.datetime(2024, 5, 1, 0, 0, tzinfo=datetime.timezone.utc), 'month')
    """
    if isinstance(when, datetime):
        return _aware(when), "moment"
    if isinstance(when, date):
        return _midnight(when), "day"
    if isinstance(when, str):
        return _read(when.strip(), now)
    raise InvalidPeriod(f"{repr(when)[:40]} is no date.", way_out=_WAY_OUT)


def written(text: object) -> tuple[datetime, Exactness]:
    """A date as it stands in a file, as `parse` reads it; "today" and the like are none there, and nor are numbers.

    Raises:
        InvalidPeriod: it is no date.
        NaiveDatetime: it is a time without a zone.
    """
    if isinstance(text, str):
        try:
            return _dated(text.strip())
        except NaiveDatetime:
            raise
        except (ValueError, OverflowError):
            pass
    raise InvalidPeriod(f"{repr(text)[:40]} is no date.", way_out=_IN_A_FILE)


def parse_optional(when: When | None, *, now: datetime) -> tuple[datetime | None, Exactness]:
    """As `parse`; None is not known, or not yet.

    Raises:
        InvalidPeriod, NaiveDatetime: as `parse`.
    """
    return (None, "moment") if when is None else parse(when, now=now)


def span(when: When, *, now: datetime) -> tuple[datetime, datetime]:
    """The first moment of what is named, and the first one behind it: of "2024" the years' two ends.

    Raises:
        InvalidPeriod, NaiveDatetime: as `parse`.
    """
    start, unit = parse(when, now=now)
    return start, after(start, unit)


def after(start: datetime, unit: Exactness) -> datetime:
    """The first moment behind a year, month, day or millisecond that begins at `start`; at most the last there is."""
    try:
        if unit == "year":
            return start.replace(year=start.year + 1)
        if unit == "month":
            return start.replace(year=start.year + start.month // 12, month=start.month % 12 + 1)
        return start + (timedelta(days=1) if unit == "day" else timedelta(milliseconds=1))
    except (ValueError, OverflowError):
        return _LAST


def _read(text: str, now: datetime) -> tuple[datetime, Exactness]:
    word = text.casefold()
    if word == "now":
        return require_aware(now), "moment"
    if word in _DAY_WORDS:
        return _midnight(require_aware(now).date() + timedelta(days=_DAY_WORDS[word])), "day"
    try:
        return _dated(text)
    except (ValueError, OverflowError) as error:
        if isinstance(error, NaiveDatetime):
            raise
        raise InvalidPeriod(f"{text[:40]!a} is no date.", way_out=_WAY_OUT) from error


def _dated(text: str) -> tuple[datetime, Exactness]:
    if _YEAR.fullmatch(text):
        return datetime(int(text), 1, 1, tzinfo=UTC), "year"
    if month := _MONTH.fullmatch(text):
        return datetime(int(month[1]), int(month[2]), 1, tzinfo=UTC), "month"
    if _DAY.fullmatch(text):
        return _midnight(date.fromisoformat(text)), "day"
    if not re.match(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ]", text):
        raise ValueError(text)
    return _aware(datetime.fromisoformat(text)), "moment"


def _aware(moment: datetime) -> datetime:
    """A moment in UTC, in whole milliseconds as it is stored."""
    exact = require_aware(moment, "date")
    return exact.replace(microsecond=exact.microsecond // 1000 * 1000)


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
