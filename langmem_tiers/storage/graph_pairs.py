"""Pairs of entities that may be the same, for the user to decide, and pairs known to be different."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from sqlalchemy import Connection, Row, and_, delete, or_, select
from sqlalchemy.dialects.sqlite import insert as insert_or

from langmem_tiers.storage.schema import entity_pairs

Status = Literal["flagged", "apart"]


class PairRow(NamedTuple):
    """A stored pair: `low` is the lower number of the two, the score is 0 to 100."""

    low: int
    high: int
    status: Status
    score: int
    reason: str


_COLUMNS = tuple(entity_pairs.c[name] for name in PairRow._fields)


def put(
    connection: Connection, space: str, first: int, second: int, status: Status, score: int, reason: str, at: int
) -> bool:
    """Store the status of a pair. Returns whether it is news; a pair that was kept apart is not flagged again."""
    low, high = sorted((first, second))
    known = one(connection, space, first, second)
    if known is not None and (known.status == "apart" or (known.status, known.score) == (status, score)):
        return False
    values = {"status": status, "score": score, "reason": reason, "at": at}
    row = insert_or(entity_pairs).values(space=space, low=low, high=high, **values)
    connection.execute(row.on_conflict_do_update(index_elements=["space", "low", "high"], set_=values))
    return True


def add(connection: Connection, space: str, rows: Iterable[Mapping[str, Any]]) -> int:
    """Add pairs as they were stored elsewhere; known pairs stay as they are. Returns how many are new."""
    adding = insert_or(entity_pairs).on_conflict_do_nothing()
    return sum(connection.execute(adding, {"space": space, **row}).rowcount for row in rows)


def every(connection: Connection, space: str) -> Sequence[Row[Any]]:
    """Everything stored about pairs, in order of their numbers."""
    wanted = select(entity_pairs).where(entity_pairs.c.space == space)
    return connection.execute(wanted.order_by(entity_pairs.c.low, entity_pairs.c.high)).all()


def one(connection: Connection, space: str, first: int, second: int) -> PairRow | None:
    """What is stored about exactly these two entities, whatever they were merged into."""
    low, high = sorted((first, second))
    these = (entity_pairs.c.space == space, entity_pairs.c.low == low, entity_pairs.c.high == high)
    row = connection.execute(select(*_COLUMNS).where(*these)).one_or_none()
    return None if row is None else PairRow(*row)


def between(connection: Connection, space: str, first: Collection[int], second: Collection[int]) -> list[PairRow]:
    """What is stored about any of these entities paired with any of those."""
    crossed = or_(
        and_(entity_pairs.c.low.in_(first), entity_pairs.c.high.in_(second)),
        and_(entity_pairs.c.low.in_(second), entity_pairs.c.high.in_(first)),
    )
    found = connection.execute(select(*_COLUMNS).where(entity_pairs.c.space == space, crossed))
    return [PairRow(*row) for row in found]


def remove(connection: Connection, space: str, pairs: Iterable[PairRow]) -> None:
    """Delete what is stored about pairs."""
    for low, high, *_ in pairs:
        these = (entity_pairs.c.space == space, entity_pairs.c.low == low, entity_pairs.c.high == high)
        connection.execute(delete(entity_pairs).where(*these))


def flagged(connection: Connection, space: str) -> list[PairRow]:
    """The pairs awaiting a decision, most likely first."""
    return _noted(connection, space, "flagged")


def apart(connection: Connection, space: str) -> list[PairRow]:
    """The pairs known to be different."""
    return _noted(connection, space, "apart")


def _noted(connection: Connection, space: str, status: Status) -> list[PairRow]:
    wanted = select(*_COLUMNS).where(entity_pairs.c.space == space, entity_pairs.c.status == status)
    order = (entity_pairs.c.score.desc(), entity_pairs.c.low, entity_pairs.c.high)
    return [PairRow(*row) for row in connection.execute(wanted.order_by(*order))]
