"""The question asked of the memory: its words for the keyword index, and whether it asks anything at all."""

from __future__ import annotations

import re
from dataclasses import dataclass

from langmem_tiers.content import content_hash
from langmem_tiers.palace.words import STOPWORDS, is_trivial, searchable, words

_LONGEST = 1000
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, kw_only=True)
class Query:
    """A user message as a search: `terms` are distinct and without function words, where any other is left."""

    text: str
    content_hash: bytes
    terms: tuple[str, ...]
    trivial: bool


def parse(text: str, trivial_words: int) -> Query:
    """Read a user message as a search; any text is accepted."""
    clean = _SURROGATE.sub("\ufffd", text).strip()
    found = dict.fromkeys(words(searchable(clean[:_LONGEST])))
    telling = tuple(word for word in found if word not in STOPWORDS)
    return Query(
        text=clean,
        content_hash=content_hash(clean),
        terms=telling or tuple(found),
        trivial=is_trivial(clean, trivial_words),
    )
