"""The temporal signal: how near a drawer was said to the times that a query speaks of.

Times are resolved against the moment of asking: "two weeks ago", "last Tuesday", "in March", "over the past four
months", "since the start of the year". A query that speaks of no time has no temporal signal at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np
from numpy.typing import NDArray

from langmem_tiers.palace.tag_times import counted, times
from langmem_tiers.palace.words import LOOKED_AT

_DAY = 86_400_000
_UNIX = date(1970, 1, 1)
# How far off people are when they name a time: some days for a day, some more for a month.
_DAYS_OFF = {"day": 4, "month": 10, "year": 20}
_UNIT_DAYS = {"day": 1, "night": 1, "week": 7, "weekend": 7, "month": 30.44, "year": 365.25}
_STRETCH = re.compile(
    r"\b(?:in|over|during|for|within|of)?\s?(?:the |these )?(?:last|past|previous) "
    r"(\d{1,3}|few|couple of|several|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)? ?"
    r"(day|night|week|weekend|month|year)(s)?\b",
    re.IGNORECASE,
)
_VAGUE = {"few": 4, "several": 6}
_START_OF_YEAR = re.compile(
    r"\b(?:since|from) the (?:start|beginning) of (?:the|this) year\b|\bthis year\b", re.IGNORECASE
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """A stretch of time from `start` up to `stop`, in days since 1970; what is less than `margin` days off counts."""

    start: float
    stop: float
    margin: float


def spans(text: str, asked: date) -> tuple[Span, ...]:
    """The stretches of time that a query asked on a day speaks of.

    Example:
        >>> [(span.start, span.stop) for span in spans("What did I do two weeks ago?", date(1970, 1, 20))]
        [(5, 6)]
    """
    shown = text[:LOOKED_AT]
    stretches = list(_stretches(shown, asked))
    rest = _START_OF_YEAR.sub(" ", _STRETCH.sub(" ", shown)) if stretches else shown
    named = (_named(moment) for moment in times(rest, asked))
    # What is to come was not said yet, and what was said today is mostly still before the model.
    past = (span for span in named if span.start < _day(asked))
    return tuple(dict.fromkeys((*stretches, *past)))


def nearness(asked: Sequence[Span], said_at: NDArray[np.int64]) -> NDArray[np.float64]:
    """For each moment (UTC milliseconds): 1 within a span, falling to 0 at its margin; the best span counts."""
    days = said_at / _DAY
    best = np.zeros(len(days))
    for span in asked:
        off = np.maximum(np.maximum(span.start - days, days - span.stop), 0.0)
        best = np.maximum(best, 1.0 - off / span.margin)
    return best


def _stretches(text: str, asked: date) -> Iterator[Span]:
    today = _day(asked)
    for match in _STRETCH.finditer(text):
        number, unit, plural = match[1], match[2].casefold(), match[3]
        if number is None and plural is None:
            continue  # "last week" is a time of its own, and "the last day" none
        count = 1 if number is None else _VAGUE.get(number.casefold()) or counted(number)
        days = count * _UNIT_DAYS[unit]
        yield Span(start=today - days, stop=today + 1, margin=max(2.0, days / 4))
    if _START_OF_YEAR.search(text):
        yield Span(start=_day(date(asked.year, 1, 1)), stop=today + 1, margin=_DAYS_OFF["month"])


def _named(moment: str) -> Span:
    """The span of a date, month or year as `times` writes it."""
    year, month, day = (int(part) for part in (*moment.split("-"), "0", "0")[:3])
    if day:
        start = date(year, month, day)
        return Span(start=_day(start), stop=_day(start) + 1, margin=_DAYS_OFF["day"])
    if month:
        following = date(year, month, 28) + timedelta(days=4)
        stop = following.replace(day=1)
        return Span(start=_day(date(year, month, 1)), stop=_day(stop), margin=_DAYS_OFF["month"])
    return Span(start=_day(date(year, 1, 1)), stop=_day(date(year, 12, 31)) + 1, margin=_DAYS_OFF["year"])


def _day(moment: date) -> int:
    return (moment - _UNIX).days
