"""Sentences that leave out what the words before them say, in full: "I was wrong about the name: it's Ana, not Jo"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from langmem_tiers.language.lazy_patterns import lazy_pattern
from langmem_tiers.language.word_lists import COMMON_PARTS, table, written_out

_LONGEST = 300  # characters of both sentences
_TABLE = table("ellipsis")
_PARTS = COMMON_PARTS | _TABLE["parts"]
_GROUP = re.compile(r"\(\?P<\w+>")


class _Ways:
    """Ways of leaving something out, and how each reads in full; most sentences are none, which one pattern tells."""

    def __init__(self, ways: Sequence[tuple[str, str]]) -> None:
        self._any = lazy_pattern("|".join(f"(?:{_GROUP.sub('(?:', said)})" for said, _ in ways))
        self._each = [(lazy_pattern(said), full) for said, full in ways]

    def filled_in(self, text: str, beyond: int) -> str:
        """What a text says in full by the first of these that goes beyond a place in it; otherwise empty."""
        if len(text) > _LONGEST or not self._any.match(text):
            return ""
        for said, full in self._each:
            match = said.match(text)
            if match and match.end() > beyond:
                return full.format(**match.groupdict(""))
        return ""


_SAID = [(written_out(each["said"], _PARTS), each) for each in _TABLE["sentence"]]
_SENTENCES = _Ways([(said, each["full"]) for said, each in _SAID])
_OPENINGS = _Ways([(said, each["opening"]) for said, each in _SAID if "opening" in each])


def filled_in(sentence: str, before: str, after: str = "") -> str:
    """What a sentence says in full, alone or with the one before or after it; empty if it leaves nothing out.

    Example:
        >>> filled_in("It's at four, not three.", "I was wrong about the party.")
        'Correction: the party is at four, not three.'
    """
    return (
        _SENTENCES.filled_in(sentence, 0)
        or _SENTENCES.filled_in(f"{before} {sentence}", len(before) + 1)
        or _OPENINGS.filled_in(f"{sentence} {after}", len(sentence))
    )
