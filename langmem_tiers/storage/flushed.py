"""How far each conversation has been flushed, and which of its entries no note tells of yet."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, and_, bindparam, func, or_, select

from langmem_tiers.storage import facts
from langmem_tiers.storage.schema import drawers, entry_evidence

_PREFIX = "flushed:"


class Flushed(NamedTuple):
    """The last place of a room, and the newest entry of the space, when it was flushed; zeros where it never was."""

    place: int = 0
    entry: int = 0


def read(connection: Connection, space: str, room: int) -> Flushed:
    """How far a room has been flushed."""
    place, _, entry = (facts.get(connection, space, f"{_PREFIX}{room}") or "0:0").partition(":")
    return Flushed(int(place), int(entry))


def put(connection: Connection, space: str, room: int, flushed: Flushed) -> None:
    """Note how far a room has been flushed."""
    facts.put(connection, space, f"{_PREFIX}{room}", f"{flushed.place}:{flushed.entry}")


def unnoted(connection: Connection, space: str, room: int, flushed: Flushed) -> dict[int, int]:
    """The entries that came to rest on a room since it was flushed, with the first drawer each rests on there."""
    values = {"space": space, "room": room, "place": flushed.place, "newest": flushed.entry}
    return {row.entry: row.drawer for row in connection.execute(_unnoted(), values)}


@cache
def _unnoted() -> Select[Any]:
    same_drawer = and_(drawers.c.space == entry_evidence.c.space, drawers.c.number == entry_evidence.c.drawer)
    first = func.min(drawers.c.number)
    return (
        select(entry_evidence.c.entry, first.label("drawer"))
        .select_from(entry_evidence.join(drawers, same_drawer))
        .where(drawers.c.space == bindparam("space"), drawers.c.room == bindparam("room"))
        .group_by(entry_evidence.c.entry)
        .having(
            or_(entry_evidence.c.entry > bindparam("newest"), func.min(drawers.c.place) > bindparam("place")),
        )
        .order_by(first, entry_evidence.c.entry)
    )
