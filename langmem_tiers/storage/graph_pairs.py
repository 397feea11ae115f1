"""Pairs of entities that may be the same, for somebody to say, and those that are not."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Literal, NamedTuple

from sqlalchemy import Connection, and_, delete, or_, select
from sqlalchemy.dialects.sqlite import insert as insert_or

from langmem_tiers.storage.schema import entity_pairs

Status = Literal["flagged", "apart"]


class PairRow(NamedTuple):
    """A pair as it is stored: `low` is the lower number of the two, the score is 0 to 100."""

    low: int
    high: int
    status: Status
    score: int
    reason: str


_COLUMNS = tuple(entity_pairs.c[name] for name in PairRow._fields)


def put(
    connection: Connection, space: str, first: int, second: int, status: Status, score: int, reason: str, at: int
) -> bool:
    """Note what is to be said of a pair; whether that is news. Whom somebody kept apart is not flagged again."""
    low, high = sorted((first, second))
    known = one(connection, space, first, second)
    if known is not None and (known.status == "apart" or (known.status, known.score) == (status, score)):
        return False
    values = {"status": status, "score": score, "reason": reason, "at": at}
    row = insert_or(entity_pairs).values(space=space, low=low, high=high, **values)
    connection.execute(row.on_conflict_do_update(index_elements=["space", "low", "high"], set_=values))
    return True


def one(connection: Connection, space: str, first: int, second: int) -> PairRow | None:
    """What was noted of two entities themselves, whatever they were merged into."""
    low, high = sorted((first, second))
    these = (entity_pairs.c.space == space, entity_pairs.c.low == low, entity_pairs.c.high == high)
    row = connection.execute(select(*_COLUMNS).where(*these)).one_or_none()
    return None if row is None else PairRow(*row)


def between(connection: Connection, space: str, first: Collection[int], second: Collection[int]) -> list[PairRow]:
    """What was noted of one of these entities and one of those."""
    crossed = or_(
        and_(entity_pairs.c.low.in_(first), entity_pairs.c.high.in_(second)),
        and_(entity_pairs.c.low.in_(second), entity_pairs.c.high.in_(first)),
    )
    found = connection.execute(select(*_COLUMNS).where(entity_pairs.c.space == space, crossed))
    return [PairRow(*row) for row in found]


def remove(connection: Connection, space: str, pairs: Iterable[PairRow]) -> None:
    """Forget what was noted of pairs."""
    for low, high, *_ in pairs:
        these = (entity_pairs.c.space == space, entity_pairs.c.low == low, entity_pairs.c.high == high)
        connection.execute(delete(entity_pairs).where(*these))


def flagged(connection: Connection, space: str) -> list[PairRow]:
    """The pairs that nobody has judged, the likeliest first."""
    return _noted(connection, space, "flagged")


def apart(connection: Connection, space: str) -> list[PairRow]:
    """The pairs that are not the same."""
    return _noted(connection, space, "apart")


def _noted(connection: Connection, space: str, status: Status) -> list[PairRow]:
    wanted = select(*_COLUMNS).where(entity_pairs.c.space == space, entity_pairs.c.status == status)
    order = (entity_pairs.c.score.desc(), entity_pairs.c.low, entity_pairs.c.high)
    return [PairRow(*row) for row in connection.execute(wanted.order_by(*order))]
