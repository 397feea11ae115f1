"""Sentences that leave out what the words before them say, in full: "I was wrong about the name: it's Ana, not Jo"."""

from __future__ import annotations

from langmem_tiers.language.lazy_patterns import lazy_pattern
from langmem_tiers.language.word_lists import COMMON_PARTS, table, written_out

_LONGEST = 300  # characters of both sentences
_TABLE = table("ellipsis")
_PARTS = COMMON_PARTS | _TABLE["parts"]
_SAID = [(lazy_pattern(written_out(each["said"], _PARTS)), each) for each in _TABLE["sentence"]]
_SENTENCES = tuple((said, each["full"]) for said, each in _SAID)
_OPENINGS = tuple((said, each["opening"]) for said, each in _SAID if "opening" in each)


def filled_in(sentence: str, before: str, after: str = "") -> str:
    """What a sentence says in full, alone or with the one before or after it; empty if it leaves nothing out.

    Example:
        >>> filled_in("It's at four, not three.", "I was wrong about the party.")
        'Correction: the party is at four, not three.'
    """
    around = (
        (sentence, 0, _SENTENCES),
        (f"{before} {sentence}", len(before) + 1, _SENTENCES),
        (f"{sentence} {after}", len(sentence), _OPENINGS),
    )
    for text, beyond, known in around:
        for said, full in known if len(text) <= _LONGEST else ():
            match = said.match(text)
            if match and match.end() > beyond:
                return str(full).format(**match.groupdict(""))
    return ""
