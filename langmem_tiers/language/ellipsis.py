"""Sentences that leave out what the words before them say, in full: "I was wrong about the name: it's Ana, not Jo"."""

from __future__ import annotations

import re

from langmem_tiers.language.word_lists import COMMON_PARTS, table, written_out

_LONGEST = 300  # characters of both sentences
_TABLE = table("ellipsis")
_PARTS = COMMON_PARTS | _TABLE["parts"]
_SENTENCES = tuple((re.compile(written_out(each["said"], _PARTS)), each["full"]) for each in _TABLE["sentence"])


def filled_in(sentence: str, before: str) -> str:
    """What a sentence says in full, alone or with the one before it; empty if it leaves nothing out.

    Example:
        >>> filled_in("It's at four, not three.", "I was wrong about the party.")
        'Correction: the party is at four, not three.'
    """
    for text in (sentence, f"{before} {sentence}" if before else ""):
        for said, full in _SENTENCES:
            match = said.match(text) if text and len(text) <= _LONGEST else None
            if match and match.end() > len(text) - len(sentence):
                return str(full).format(**match.groupdict(""))
    return ""
