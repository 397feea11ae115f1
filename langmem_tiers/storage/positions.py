"""How far a space has come, for whoever follows it."""

from __future__ import annotations

from sqlalchemy import Connection, bindparam, func, select

from langmem_tiers.storage.schema import activities, changes, dreams, receipts
from langmem_tiers.types import SpacePositions

_OF = {"change": changes.c.position, "receipt": receipts.c.number, "activity": activities.c.number}
_OF |= {"dream": dreams.c.number}
# Built once: it is asked every few seconds.
_NEWEST = select(
    *(
        select(func.coalesce(func.max(column), 0))
        .where(column.table.c.space == bindparam("space"))
        .scalar_subquery()
        .label(name)
        for name, column in _OF.items()
    )
)


def positions(connection: Connection, space: str) -> SpacePositions:
    """The newest number of each kind of record that a space lists in order."""
    return SpacePositions(**connection.execute(_NEWEST, {"space": space}).one()._mapping)
