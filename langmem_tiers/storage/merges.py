"""Merges of entities: which were merged, why, and which merges were undone."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import Connection, delete, insert, or_, select, update

from langmem_tiers.records import GraphPath
from langmem_tiers.storage import facts
from langmem_tiers.storage.schema import entity_merges, entity_pairs

# The last number assigned: numbers are never reused, even if the newest merge was deleted.
_NEWEST = "newest_merge"


class MergeRow(NamedTuple):
    """A stored merge of `source` into `target`; times in milliseconds."""

    number: int
    source: int
    target: int
    reason: str
    path: GraphPath
    at: int
    undone_at: int | None


_COLUMNS = tuple(entity_merges.c[name] for name in MergeRow._fields)


def put(
    connection: Connection,
    space: str,
    *,
    source: int,
    target: int,
    reason: str,
    path: GraphPath,
    at: int,
    undone_at: int | None = None,
) -> int:
    """Store a merge. Returns its number."""
    number = facts.count_up(connection, space, _NEWEST)
    row = {"source": source, "target": target, "reason": reason, "path": path, "at": at, "undone_at": undone_at}
    connection.execute(insert(entity_merges).values(space=space, number=number, **row))
    return number


def one(connection: Connection, space: str, number: int) -> MergeRow | None:
    """The merge with a number."""
    these = (entity_merges.c.space == space, entity_merges.c.number == number)
    row = connection.execute(select(*_COLUMNS).where(*these)).one_or_none()
    return None if row is None else MergeRow(*row)


def every(connection: Connection, space: str, *, undone: bool = True) -> list[MergeRow]:
    """All merges, or those still in effect, newest first."""
    wanted = select(*_COLUMNS).where(entity_merges.c.space == space)
    if not undone:
        wanted = wanted.where(entity_merges.c.undone_at.is_(None))
    return [MergeRow(*row) for row in connection.execute(wanted.order_by(entity_merges.c.number.desc()))]


def undo(connection: Connection, space: str, number: int, at: int) -> None:
    """Mark a merge as undone."""
    these = (entity_merges.c.space == space, entity_merges.c.number == number)
    connection.execute(update(entity_merges).where(*these).values(undone_at=at))


def remove(connection: Connection, space: str, members: Collection[int]) -> None:
    """Delete all merges and pairs that involve one of these entities."""
    for table, first, second in (
        (entity_merges, entity_merges.c.source, entity_merges.c.target),
        (entity_pairs, entity_pairs.c.low, entity_pairs.c.high),
    ):
        of_them = or_(first.in_(members), second.in_(members))
        connection.execute(delete(table).where(table.c.space == space, of_them))
