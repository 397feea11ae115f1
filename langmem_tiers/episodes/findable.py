"""What an episode is found by."""

from __future__ import annotations

from collections.abc import Sequence

from langmem_tiers.embeddings.chunking import split
from langmem_tiers.storage.notes import NoteText


def findable(summary: str, abstract: str, topics: Sequence[str], task: str | None, limit: int) -> list[NoteText]:
    """Its abstract, and its summary in pieces of at most `limit` characters, each with its topics."""
    pieces = [summary[start:stop].strip() for start, stop in split(summary, limit)]
    told = abstract.rstrip("…")
    texts = [] if any(told in piece for piece in pieces) else [abstract]
    tags = " ".join((*topics, *((task,) if task else ())))
    return [NoteText(text=text, tags=tags) for text in (*texts, *pieces)]
