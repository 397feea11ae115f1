"""What people say about themselves: first-person sentences of a turn, found by rules when it is stored.

They are spans of the drawer, in the turn's own words: each gets a vector of its own, so that an aside ("by the way, I
just got back from Lisbon") is found even if the rest of the turn asks for something else. English only: in other
languages a turn has no statements and is found by its whole text.
"""

from __future__ import annotations

import re

from langmem_tiers.language.word_lists import finds, named_pattern
from langmem_tiers.language.words import LOOKED_AT

_FIRST_PERSON = named_pattern("first_person", "first_person")
# A line break ends a sentence too, unless a long line continues in lower case: such lines are wrapped prose.
_END = re.compile(r"\s(?<=[.!?…]\s)\s*|\n(?:(?<![^\n]{50}\n)|(?![a-z]))\s*")
_MARK = re.compile(r"\s*[-*•]\s+")
# Bits for what a drawer states.
TELLS, PREFERS = 1, 2
_LEAST_WORDS = 3
# Longer turns are pasted texts: their first person is seldom the user.
_LONGEST = 4000
_MOST = 40


def statements(text: str) -> tuple[tuple[int, int], ...]:
    """Spans (start, stop) of the sentences and list items that speak in the first person, questions too, in order.

    Example:
        >>> text = "Any ideas for lunch? By the way, I moved to Lisbon."
        >>> [text[start:stop] for start, stop in statements(text)]
        ['By the way, I moved to Lisbon.']
    """
    if len(text) > min(_LONGEST, LOOKED_AT):
        return ()
    shown, start = text.replace("’", "'"), 0
    found: list[tuple[int, int]] = []
    for stop, after in (*((end.start(), end.end()) for end in _END.finditer(shown)), (len(shown), len(shown))):
        mark = _MARK.match(shown, start, stop)
        begin, start = mark.end() if mark else start, after
        sentence = shown[begin:stop].rstrip()
        if _FIRST_PERSON.search(sentence) and len(sentence.split()) >= _LEAST_WORDS:
            found.append((begin, begin + len(sentence)))
    return tuple(found[:_MOST])


def tells(sentence: str) -> bool:
    """Whether a first-person sentence states something, rather than asking."""
    return not sentence.rstrip().endswith("?")


prefers = finds("first_person", "preference")
"""Whether a first-person sentence is about a like, a dislike or a habit."""
