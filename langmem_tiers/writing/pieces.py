"""Pieces: what of a message gets a vector of its own, and the statements among them."""

from __future__ import annotations

from collections.abc import Iterable

from langmem_tiers.content import content_hash
from langmem_tiers.embeddings.chunking import split
from langmem_tiers.palace.statements import PREFERS, TELLS, prefers, statements, tells

Span = tuple[int, int]


def told(content: str, *, role: str, speaker: str | None) -> tuple[Span, ...]:
    """Where people speak of themselves: users, and who has a name; the "I" of an assistant is a manner of speech."""
    return statements(content) if role == "user" or speaker else ()


def cut(content: str, spans: Iterable[Span], limit: int) -> tuple[Span, ...]:
    """The spans, each in pieces of at most `limit` characters."""
    return tuple(
        (start + first, start + last) for start, stop in spans for first, last in split(content[start:stop], limit)
    )


def states(content: str, statements: tuple[Span, ...]) -> int:
    """What the statements of a message amount to, as bits of palace/statements.py."""
    stated = [sentence for span in statements if tells(sentence := content[slice(*span)])]
    return (TELLS if stated else 0) | (PREFERS if any(map(prefers, stated)) else 0)


def embedded_text(speaker: str | None, piece: str) -> str:
    """The text that stands for a piece in vector space: a named speaker belongs to what was said."""
    return f"{speaker}: {piece}" if speaker else piece


def text_hash(content: str, span: Span, *, speaker: str | None) -> bytes:
    """What tells the embedded text of a piece from others."""
    return content_hash(embedded_text(speaker, content[slice(*span)]))
