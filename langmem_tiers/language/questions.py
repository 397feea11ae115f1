"""What a question asks for: history, several things, advice, earlier answers; and the times that it refers to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from langmem_tiers.language.dates import times
from langmem_tiers.language.numbers import counted
from langmem_tiers.language.periods import after, written
from langmem_tiers.language.word_lists import named_pattern, named_patterns, table
from langmem_tiers.language.words import LOOKED_AT

_LOOKED_AT = 2000
# All of them begin with a word, or at the beginning: nowhere else are they tried.
_HISTORY = re.compile(
    rf"(?:^|\b(?=\w))(?:{'|'.join(each.pattern for each in named_patterns('questions', 'history'))})", re.IGNORECASE
)
_SEVERAL = named_patterns("questions", "several")
_ADVICE = named_pattern("questions", "advice")
_ANSWERS = named_pattern("questions", "answers")
_UNIX = date(1970, 1, 1)
# How far off people are when they name a time: some days for a day, some more for a month.
_DAYS_OFF: dict[str, int] = {"day": 4, "month": 10, "year": 20}
_STRETCH = named_pattern("questions", "stretch")
_VAGUE = {"few": 4, "several": 6}
_START_OF_YEAR = named_pattern("questions", "start_of_year")


@dataclass(frozen=True, kw_only=True, slots=True)
class TimeSpan:
    """A period from `start` up to `stop`, in days since 1970, that tolerates being off by up to `margin` days."""

    start: float
    stop: float
    margin: float


def asks_history(query: str) -> bool:
    """Whether a message asks what was done, said or decided before, so that the archive should be searched.

    Example:
        >>> asks_history("How did we fix the login last week?"), asks_history("How do I fix the login?")
        (True, False)
    """
    return _HISTORY.search(" ".join(query[:_LOOKED_AT].replace("’", "'").split())) is not None


def asks_for_several(query: str) -> bool:
    """Whether a query asks for several things: a list, a count, or a comparison.

    Example:
        >>> asks_for_several("Which cities did I visit?"), asks_for_several("Which city did I visit in May?")
        (True, False)
    """
    asked = " ".join(query[:_LOOKED_AT].replace("’", "'").lower().split())
    return any(pattern.search(asked) for pattern in _SEVERAL)


def asks_advice(query: str) -> bool:
    """Whether a query asks for advice, so that preferences matter for the answer.

    Example:
        >>> asks_advice("Any tips for dinner tonight?"), asks_advice("When did I move?")
        (True, False)
    """
    return _ADVICE.search(query[:LOOKED_AT]) is not None


def asks_for_answers(query: str) -> bool:
    """Whether a query asks for earlier answers of the assistant ("you recommended")."""
    return _ANSWERS.search(query[:LOOKED_AT]) is not None


def spans(text: str, asked: date) -> tuple[TimeSpan, ...]:
    """The periods that a query asked on a given day refers to.

    Example:
        >>> [(span.start, span.stop) for span in spans("What did I do two weeks ago?", date(1970, 1, 20))]
        [(5, 6)]
    """
    shown = text[:LOOKED_AT]
    stretches = list(_stretches(shown, asked))
    rest = _START_OF_YEAR.sub(" ", _STRETCH.sub(" ", shown)) if stretches else shown
    named = (_named(moment) for moment in times(rest, asked))
    # The future has not been discussed yet, and what was said today is mostly still in the model's context.
    past = (span for span in named if span.start < _day(asked))
    return tuple(dict.fromkeys((*stretches, *past)))


def _stretches(text: str, asked: date) -> Iterator[TimeSpan]:
    today = _day(asked)
    for match in _STRETCH.finditer(text):
        number, unit, plural = match[1], match[2].casefold(), match[3]
        if number is None and plural is None:
            continue  # "last week" names a time, "the last day" does not
        count = 1 if number is None else _VAGUE.get(number.casefold()) or counted(number)
        days = count * table("units")[unit]["days"]
        yield TimeSpan(start=today - days, stop=today + 1, margin=max(2.0, days / 4))
    if _START_OF_YEAR.search(text):
        yield TimeSpan(start=_day(date(asked.year, 1, 1)), stop=today + 1, margin=_DAYS_OFF["month"])


def _named(moment: str) -> TimeSpan:
    """The period of a date, month or year in the format of `times`."""
    start, unit = written(moment)
    return TimeSpan(start=_day(start.date()), stop=_day(after(start, unit).date()), margin=_DAYS_OFF[unit])


def _day(moment: date) -> int:
    return (moment - _UNIX).days
