"""Plans: the days to come that a message tells of, those a question asks about, and what is only wished for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime, timedelta

from langmem_tiers.language.calendar import MONTH_WRITTEN, SEASONS, season
from langmem_tiers.language.chatter import substance
from langmem_tiers.language.dates import looks_ahead, moments, spoken_on
from langmem_tiers.language.periods import last_of, written
from langmem_tiers.language.remembering import remembered
from langmem_tiers.language.sentences import sentences, straight
from langmem_tiers.language.speech_acts import is_question, is_stated
from langmem_tiers.language.word_lists import finds
from langmem_tiers.language.words import LOOKED_AT

_WEEK = re.compile(r"\b(this|next) week\b", re.IGNORECASE)
_SEASON = re.compile(rf"\b(?:{'|'.join(SEASONS)})\b", re.IGNORECASE)
_FOR_MONTH = re.compile(rf"\b(?:for|over|during|throughout) (?=(?:{MONTH_WRITTEN})\b)")
_WEEKEND = re.compile(r"\bweekend\b", re.IGNORECASE)

_is_wished = finds("plans", "wished")
_fell_through = finds("plans", "fell_through")
_is_undone = finds("plans", "undone")
_is_undated = finds("plans", "undated")

Days = tuple[date, date]
"""The first and the last day of a time."""


@remembered
def days_ahead(text: str, said_at: datetime) -> tuple[Days, ...]:
    """The times that a message tells of as still to come when it was said.

    Example:
        >>> from datetime import UTC
        >>> said_at = datetime(2026, 3, 2, tzinfo=UTC)
        >>> said = "I see the dentist on April 9th. I'd love to see Rome in May."
        >>> [day.isoformat() for day, _ in days_ahead(said, said_at)]
        ['2026-04-09']
    """
    dated = ((sentence, _ahead(sentence, said_at)) for sentence in _sentences(text))
    return tuple(days for sentence, found in dated if found and _is_told(sentence) for days in found)


def is_undated(text: str) -> bool:
    """Whether a message tells of a plan without saying when: "We're planning to redo the kitchen"."""
    return any(_is_undated(sentence) and _is_told(sentence) for sentence in _sentences(text))


def is_undone(text: str) -> bool:
    """Whether a message only tells of plans and wishes, or of plans that fell through.

    Example:
        >>> [is_undone(said) for said in ("I'd love to see Japan.", "Kyoto was lovely. We're going to Rome next.")]
        [True, False]
    """
    tells = False
    for sentence in _sentences(text):
        if substance(sentence) and not is_question(sentence):
            if not _is_undone(sentence):
                return False
            tells = True
    return tells


def asked_ahead(query: str, asked_at: datetime) -> list[Days]:
    """The times to come that a question is about: those of "next month", "this weekend", "in summer"."""
    shown, asked = query[:LOOKED_AT], spoken_on(asked_at)
    weeks = [_week(asked, next_one=match[1].casefold() == "next") for match in _WEEK.finditer(shown)]
    seasons = [_season(asked, SEASONS[match[0].casefold()]) for match in _SEASON.finditer(shown)]
    rest = _FOR_MONTH.sub("in ", _WEEK.sub(" ", shown))
    named = [_days(moment) for moment in moments(rest, asked_at, ahead=True)]
    more = timedelta(days=1 if _WEEKEND.search(shown) else 0)
    return [*weeks, *seasons, *((first, last + more) for first, last in named)]


def _sentences(text: str) -> Iterator[str]:
    return (straight(each.text) for each in sentences(text[:LOOKED_AT]))


def _is_told(sentence: str) -> bool:
    """Whether a sentence says that something is planned, and not that it fell through or is only wished for."""
    return is_stated(sentence) and not _fell_through(sentence) and not _is_wished(sentence)


def _ahead(sentence: str, said_at: datetime) -> list[Days]:
    """The times to come that a sentence names."""
    found = [(moment, *_days(moment)) for moment in moments(sentence, said_at, ahead=False)]
    if not found:
        return []
    spoken, planned = spoken_on(said_at), looks_ahead(sentence)
    # A year is only named for what is planned; today, or the year that has begun, may as well be over.
    return [
        (first, last)
        for moment, first, last in found
        if (first > spoken and (planned or not _is_year(moment)))
        or (planned and first <= spoken <= last and not _is_year(moment))
    ]


def _is_year(moment: str) -> bool:
    return len(moment) == len("2026")


def _days(moment: str) -> Days:
    """The days of a date, month or year in the format of `times`."""
    start, unit = written(moment)
    return start.date(), last_of(start, unit).date()


def _week(day: date, *, next_one: bool) -> Days:
    monday = day - timedelta(days=day.weekday()) + timedelta(weeks=int(next_one))
    return monday, monday + timedelta(days=6)


def _season(day: date, first: int) -> Days:
    """The season that a month begins, of this year or the winter that goes on into it, or else of the next year."""
    begun = (season(year, first) for year in (day.year - 1, day.year, day.year + 1))
    start, stop = next(each for each in begun if each[1] > day)
    return start, stop - timedelta(days=1)
