"""What happened to relations, and when: they began, ended, or were displaced by others. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

from langmem_tiers.knowledge_graph.displaced import contradicted
from langmem_tiers.knowledge_graph.view import bounds, version_at

if TYPE_CHECKING:
    from langmem_tiers.storage.relations import RelationRow

What = Literal["ended", "displaced", "began"]
# What happened at one moment is told in this order.
_ORDER: tuple[What, ...] = ("ended", "displaced", "began")


class Event(NamedTuple):
    """Something that happened to a relation, at a moment in milliseconds; events are sorted as they are told."""

    at: int
    place: int
    number: int

    @property
    def what(self) -> What:
        """What it was."""
        return _ORDER[self.place]


def events(rows: Iterable[RelationRow], first: int, behind: int) -> Iterator[Event]:
    """What happened from one moment on and before another to what was stated and not taken back."""
    for row in rows:
        for at, what in _happened(row) if row.kind == "stated" else ():
            if first <= at < behind:
                yield Event(at, _ORDER.index(what), row.number)


def _happened(row: RelationRow) -> Iterator[tuple[int, What]]:
    displacing = contradicted(row, None)
    if displacing is not None:
        start = displacing.valid_from
        yield displacing.recorded_at if start is None else start, "displaced"
    elif (version := version_at(row, None)) is not None:
        start, end = bounds(version)
        if start < end:
            yield start, "began"
            yield end, "ended"
