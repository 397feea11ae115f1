"""Finding what a correction makes wrong: entries that hold the wrong value, and speak of the same. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from langmem_tiers.knowledge import slots
from langmem_tiers.knowledge.types import Entry
from langmem_tiers.palace.tag_people import KIN
from langmem_tiers.palace.words import meaningful_words, stem

# The share of the words around the value that the right statement has too.
_SAME_ATTRIBUTE = 0.5
# The share of the words of a wrong statement, where a whole one is named, that the entry holds.
_SAME_STATEMENT = 0.75
# The user is who most entries speak of.
_OF_ALL = frozenset({"user"})
_KIN = frozenset(map(stem, KIN))
_NAME = re.compile(r"\b(?!The\b)[A-Z][\w-]+")


def wrong_ones(right: str, wrong: str, there: Iterable[Entry]) -> list[Entry]:
    """The entries that hold a wrong value of what a right statement tells, in the order given.

    Args:
        right: The statement that holds ("The user lives in Oslo.").
        wrong: The value or statement that does not, as it was said ("Bergen").
        there: The entries to choose from.

    """
    holds, does_not = _stems(right), _stems(wrong)
    return [
        entry
        for entry in there
        if (_fits(holds, does_not, _stems(entry.content)) and not _of_somebody_else(right, entry.content))
        or slots.is_denied(right, wrong, entry.content)
    ]


def _fits(right: set[str], wrong: set[str], held: set[str]) -> bool:
    value = wrong - right  # what is wrong about it
    if not value & held or len(value & held) < _SAME_STATEMENT * len(value):
        return False
    frame = held - value
    states_whole = len(wrong) > len(value) and len(wrong & held) >= _SAME_STATEMENT * len(wrong)
    return states_whole or len(frame & right) >= _SAME_ATTRIBUTE * len(frame)


def _of_somebody_else(right: str, held: str) -> bool:
    """Whether one of two statements is about the user's sister, and the other about the user or somebody else."""
    kin = [_stems(text) & _KIN for text in (right, held)]
    names = [set(_NAME.findall(text)) for text in (right, held)]
    return kin[0] != kin[1] and not names[0] & names[1]


def _stems(text: str) -> set[str]:
    return {stem(word) for word in meaningful_words(text)} - _OF_ALL
