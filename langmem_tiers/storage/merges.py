"""Which entities are the same: merges, undone or not, and pairs that may be the same or are known to be different."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from sqlalchemy import Connection, Row, and_, delete, exists, insert, or_, select, update

from langmem_tiers.records import GraphPath
from langmem_tiers.storage import facts
from langmem_tiers.storage.schema import entities, entity_merges, entity_pairs
from langmem_tiers.storage.statements import here, insert_new, put_row

# The last number assigned: numbers are never reused, even if the newest merge was deleted.
_NEWEST = "newest_merge"
Status = Literal["flagged", "apart"]

BOTH_THERE = {
    table: tuple(
        exists().where(entities.c.space == table.c.space, entities.c.number == table.c[end]).correlate(table)
        for end in ends
    )
    for table, ends in ((entity_merges, ("source", "target")), (entity_pairs, ("low", "high")))
}
"""Rows whose two entities exist: older versions left others behind when they forgot the message that told of one."""


class MergeRow(NamedTuple):
    """A stored merge of `source` into `target`; times in milliseconds."""

    number: int
    source: int
    target: int
    reason: str
    path: GraphPath
    at: int
    undone_at: int | None


_MERGE = select(*(entity_merges.c[name] for name in MergeRow._fields))


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
    row = MergeRow(number, source, target, reason, path, at, undone_at)
    connection.execute(insert(entity_merges).values(space=space, **row._asdict()))
    return number


def one(connection: Connection, space: str, number: int) -> MergeRow | None:
    """The merge with a number."""
    row = connection.execute(_MERGE.where(*here(entity_merges, space, number=number))).one_or_none()
    return None if row is None else MergeRow(*row)


def every(connection: Connection, space: str, *, undone: bool = True) -> list[MergeRow]:
    """All merges, or those still in effect, newest first."""
    wanted = _MERGE.where(*here(entity_merges, space), *BOTH_THERE[entity_merges]).order_by(
        entity_merges.c.number.desc()
    )
    if not undone:
        wanted = wanted.where(entity_merges.c.undone_at.is_(None))
    return [MergeRow(*row) for row in connection.execute(wanted)]


def undo(connection: Connection, space: str, number: int, at: int) -> None:
    """Mark a merge as undone."""
    connection.execute(update(entity_merges).where(*here(entity_merges, space, number=number)).values(undone_at=at))


def remove(connection: Connection, space: str, members: Collection[int]) -> None:
    """Delete all merges and pairs that involve one of these entities."""
    merged = or_(entity_merges.c.source.in_(members), entity_merges.c.target.in_(members))
    connection.execute(delete(entity_merges).where(*here(entity_merges, space), merged))
    paired = or_(entity_pairs.c.low.in_(members), entity_pairs.c.high.in_(members))
    connection.execute(delete(entity_pairs).where(*here(entity_pairs, space), paired))


class PairRow(NamedTuple):
    """A stored pair: `low` is the lower number of the two, the score is 0 to 100."""

    low: int
    high: int
    status: Status
    score: int
    reason: str


_PAIR = select(*(entity_pairs.c[name] for name in PairRow._fields))


def put_pair(
    connection: Connection, space: str, first: int, second: int, status: Status, score: int, reason: str, at: int
) -> bool:
    """Store the status of a pair. Returns whether it is news; a pair that was kept apart is not flagged again."""
    known = pair(connection, space, first, second)
    if known is not None and (known.status == "apart" or (known.status, known.score) == (status, score)):
        return False
    key = {"low": min(first, second), "high": max(first, second)}
    put_row(connection, entity_pairs, space, key, {"status": status, "score": score, "reason": reason, "at": at})
    return True


def add_pairs(connection: Connection, space: str, rows: Iterable[Mapping[str, Any]]) -> int:
    """Add pairs as they were stored elsewhere; known pairs stay as they are. Returns how many are new."""
    return insert_new(connection, entity_pairs, space, rows)


def every_pair(connection: Connection, space: str) -> Sequence[Row[Any]]:
    """Everything stored about pairs, in order of their numbers."""
    wanted = select(entity_pairs).where(*here(entity_pairs, space), *BOTH_THERE[entity_pairs])
    return connection.execute(wanted.order_by(entity_pairs.c.low, entity_pairs.c.high)).all()


def pair(connection: Connection, space: str, first: int, second: int) -> PairRow | None:
    """What is stored about exactly these two entities, whatever they were merged into."""
    this = here(entity_pairs, space, low=min(first, second), high=max(first, second))
    row = connection.execute(_PAIR.where(*this)).one_or_none()
    return None if row is None else PairRow(*row)


def pairs_between(connection: Connection, space: str, first: Collection[int], second: Collection[int]) -> list[PairRow]:
    """What is stored about any of these entities paired with any of those."""
    crossed = or_(
        and_(entity_pairs.c.low.in_(first), entity_pairs.c.high.in_(second)),
        and_(entity_pairs.c.low.in_(second), entity_pairs.c.high.in_(first)),
    )
    return [PairRow(*row) for row in connection.execute(_PAIR.where(*here(entity_pairs, space), crossed))]


def remove_pairs(connection: Connection, space: str, pairs: Iterable[PairRow]) -> None:
    """Delete what is stored about pairs."""
    for each in pairs:
        connection.execute(delete(entity_pairs).where(*here(entity_pairs, space, low=each.low, high=each.high)))


def pairs(connection: Connection, space: str, status: Status) -> list[PairRow]:
    """The pairs awaiting a decision (flagged), or those known to be different (apart); most likely first."""
    order = (entity_pairs.c.score.desc(), entity_pairs.c.low, entity_pairs.c.high)
    these = (*here(entity_pairs, space, status=status), *BOTH_THERE[entity_pairs])
    found = connection.execute(_PAIR.where(*these).order_by(*order))
    return [PairRow(*row) for row in found]
