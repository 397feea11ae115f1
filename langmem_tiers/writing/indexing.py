"""How a drawer enters the keyword index."""

from __future__ import annotations

from collections.abc import Sequence

from langmem_tiers.palace.words import searchable
from langmem_tiers.storage.keyword import KeywordRow


def keyword_row(number: int, content: str, tags: Sequence[str], category: str = "") -> KeywordRow:
    """A drawer as the keyword index holds it: searchable text, tags without their signs, names of its place."""
    words = " ".join(tag.partition(" ")[2] for tag in tags)
    return KeywordRow(drawer=number, content=searchable(content), tags=searchable(words), category=searchable(category))
