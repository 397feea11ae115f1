"""Sentences that leave out what the words before them say, in full: "I was wrong about the name: it's Ana, not Jo"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from langmem_tiers.language.word_lists import COMMON_PARTS, table, written_out

_LONGEST = 300  # characters of both sentences
_TABLE = table("ellipsis")
_PARTS = COMMON_PARTS | _TABLE["parts"]
_SENTENCES = tuple((re.compile(written_out(each["said"], _PARTS)), each["full"]) for each in _TABLE["sentence"])
_OPENINGS = tuple(
    (re.compile(written_out(each["said"], _PARTS)), each["opening"]) for each in _TABLE["sentence"] if "opening" in each
)


def filled_in(sentence: str, before: str, after: str = "") -> str:
    """What a sentence says in full, alone or with the one before or after it; empty if it leaves nothing out.

    Example:
        >>> filled_in("It's at four, not three.", "I was wrong about the party.")
        'Correction: the party is at four, not three.'
    """
    for text in (sentence, f"{before} {sentence}" if before else ""):
        if full := _full(text, _SENTENCES, beyond=len(text) - len(sentence)):
            return full
    return _full(f"{sentence} {after}", _OPENINGS, beyond=len(sentence)) if after else ""


def _full(text: str, sentences: Sequence[tuple[re.Pattern[str], str]], *, beyond: int) -> str:
    """What a text says in full that one of these sentences begins, if it goes on beyond a place in it."""
    for said, full in sentences:
        match = said.match(text) if text and len(text) <= _LONGEST else None
        if match and match.end() > beyond:
            return full.format(**match.groupdict(""))
    return ""
