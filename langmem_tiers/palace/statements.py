"""What people say of themselves: first-person sentences of a turn, found by rules when it is stored.

They are the turns' own words, as spans of the drawer: each gets a vector of its own, so that an aside ("by the way, I
just got back from Lisbon") is found although the rest of the turn asks for something else. English only: in other
languages a turn has no statements and is found by its whole text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from langmem_tiers.palace.words import LOOKED_AT

_FIRST_PERSON = re.compile(
    r"\b(?:i|i'(?:m|ve|d|ll)|im|ive|me|my|mine|myself|we|we'(?:re|ve|d|ll)|us|our|ours)\b", re.IGNORECASE
)
_END = re.compile(r"(?<=[.!?…\n])\s+")
_PREFERENCE = re.compile(
    r"\b(?:love|loved|loving|like|liked|enjoy(?:ed|ing)?|prefer(?:red)?|favou?rite|fan of|interested in|fond of"
    r"|obsessed with|hate|dislike|can't stand|allergic|vegan|vegetarian|avoid|always|never|usually|often"
    r"|experiment(?:ed|ing)|used to)\b",
    re.IGNORECASE,
)
# Bits of what a drawer states.
TELLS, PREFERS = 1, 2
_LEAST_WORDS = 3
# Longer turns are pasted texts: their first person is seldom the user.
_LONGEST = 4000
_MOST = 40


def statements(text: str) -> tuple[tuple[int, int], ...]:
    """Spans (start, stop) of the sentences that speak in the first person, questions too, in order.

    Example:
        >>> text = "Any ideas for lunch? By the way, I moved to Lisbon."
        >>> [text[start:stop] for start, stop in statements(text)]
        ['By the way, I moved to Lisbon.']
    """
    if len(text) > min(_LONGEST, LOOKED_AT):
        return ()
    shown = text.replace("’", "'")
    return tuple(span for span in _sentences(shown) if _speaks_of_self(shown[slice(*span)]))[:_MOST]


def tells(sentence: str) -> bool:
    """Whether a first-person sentence states something, rather than asking."""
    return not sentence.rstrip().endswith("?")


def prefers(sentence: str) -> bool:
    """Whether a first-person sentence speaks of a like, a dislike or a habit."""
    return _PREFERENCE.search(sentence) is not None


def _speaks_of_self(sentence: str) -> bool:
    return _FIRST_PERSON.search(sentence) is not None and len(sentence.split()) >= _LEAST_WORDS


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for end in _END.finditer(text):
        yield start, end.start()
        start = end.end()
    if start < len(text):
        stop = start + len(text[start:].rstrip())
        yield start, stop
