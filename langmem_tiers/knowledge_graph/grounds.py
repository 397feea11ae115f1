"""What the words of a turn bear out of what a model read in them: that something is so, and its dates. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from langmem_tiers.knowledge.quotes import occurs
from langmem_tiers.knowledge_graph.rules import when
from langmem_tiers.writing.extractive import dating, sifting
from langmem_tiers.writing.extractive.prose import sentences

_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20|21)\d\d(?!\d)")
_SHORT_YEAR = re.compile(r"['’](\d\d)(?!\d)")


def is_stated(quote: str, turn: str) -> bool:
    """Whether a quote says that something is so: its sentence in the turn is no question, supposition or joke.

    Example:
        >>> is_stated("my brother lives in Oslo", "Do you know if my brother lives in Oslo?")
        False
    """
    within = [each.text for each in sentences(turn) if occurs(quote, each.text)]
    read = within or [each.text for each in sentences(quote)] or [quote]
    return any(map(sifting.is_stated, read))


def borne_out(date: str, text: str, said_at: datetime) -> bool:
    """Whether the year of a date is in a text, or is what its words mean, such as "two years ago".

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
            yield from (moment[:4] for moment in dating.moments(clause, said_at, ahead=ahead, happened=happened))
        yield from (moment[:4] for moment in when.of_state(clause, said_at))
