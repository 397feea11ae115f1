"""Relations that were said, and hold at no time because another one was said instead. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from langmem_tiers.knowledge_graph.types import DISPLACING

if TYPE_CHECKING:
    from langmem_tiers.storage.relations import RelationRow, VersionRow


def displaced(row: RelationRow, known_at: int | None) -> VersionRow | None:
    """What was noted of a relation at a moment (None: is now) where another one had displaced it, else None."""
    noted = (each for each in reversed(row.versions) if known_at is None or each.recorded_at <= known_at)
    last = next(noted, None)
    return last if last is not None and last.reason in DISPLACING else None


def contradicted(row: RelationRow, known_at: int | None) -> VersionRow | None:
    """As `displaced`, but only by one that says something else: what is said twice is told once."""
    last = displaced(row, known_at)
    return last if last is not None and last.reason != "repeated" else None
