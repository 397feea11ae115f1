"""Checks what a model read in a turn against the turn's words: that it is stated at all, and its dates. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from langmem_tiers.language import dates, speech_acts, validity
from langmem_tiers.language.sentences import sentences
from langmem_tiers.language.words import occurs

_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20|21)\d\d(?!\d)")
_SHORT_YEAR = re.compile(r"['’](\d\d)(?!\d)")


def is_stated(quote: str, turn: str) -> bool:
    """Whether a quote is an assertion: its sentence in the turn is not a question, supposition or joke.

    Example:
        >>> is_stated("my brother lives in Oslo", "Do you know if my brother lives in Oslo?")
        False
    """
    within = [each.text for each in sentences(turn) if occurs(quote, each.text)]
    read = within or [each.text for each in sentences(quote)] or [quote]
    return any(map(speech_acts.is_stated, read))


def borne_out(date: str, text: str, said_at: datetime) -> bool:
    """Whether a text contains the year of a date, or words that mean it, such as "two years ago".

    Example:
        >>> said_at = datetime.fromisoformat("2026-03-02T10:00+00:00")
        >>> [borne_out(date, "I moved last May", said_at) for date in ("2025-05", "1999")]
        [True, False]
    """
    return date[:4] in set(_years(text, said_at))


def _years(text: str, said_at: datetime) -> Iterator[str]:
    yield from _YEAR.findall(text)
    for short in _SHORT_YEAR.findall(text):
        yield from (f"19{short}", f"20{short}")
    for clause in [each.text for each in sentences(text)] or [text]:
        for ahead, happened in ((False, True), (False, False), (True, False)):
            yield from (moment[:4] for moment in dates.moments(clause, said_at, ahead=ahead, happened=happened))
        yield from (moment[:4] for moment in validity.of_state(clause, said_at))
