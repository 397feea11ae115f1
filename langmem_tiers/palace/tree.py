"""The palace as a tree of records, built from rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from langmem_tiers.clock import from_millis
from langmem_tiers.pointers import Pointer
from langmem_tiers.types import Drawer, PalaceCloset, PalaceRoom, PalaceWing, Session

if TYPE_CHECKING:
    from langmem_tiers.storage.rooms import Room, Wing


def palace(wings: Iterable[Wing], rooms: Sequence[Room], drawers: Iterable[Drawer]) -> tuple[PalaceWing, ...]:
    """Wings with their rooms, closets and drawers; empty wings are left out."""
    by_session: dict[str, list[Drawer]] = {}
    for drawer in drawers:
        by_session.setdefault(drawer.session, []).append(drawer)
    by_wing: dict[int, list[PalaceRoom]] = {}
    for room in rooms:
        by_wing.setdefault(room.wing, []).append(_room(room, by_session.get(room.session, [])))
    return tuple(_wing(wing, by_wing[wing.number]) for wing in wings if wing.number in by_wing)


def session(room: Room, wing: str, *, idle_since: float) -> Session:
    """The session of a room; it has ended if it was closed, or not used since a moment in milliseconds."""
    return Session(
        session=room.session,
        room=room.number,
        wing=wing,
        project=room.project,
        agent=room.agent,
        opened_at=from_millis(room.opened_at),
        last_at=from_millis(room.last_at),
        turns=room.drawers,
        ended=room.ended_at is not None or room.touched_at <= idle_since,
    )


def _wing(wing: Wing, rooms: Sequence[PalaceRoom]) -> PalaceWing:
    return PalaceWing(name=wing.name, slug=wing.slug, kind=wing.kind, aliases=wing.aliases, rooms=tuple(rooms))


def _room(room: Room, drawers: Sequence[Drawer]) -> PalaceRoom:
    # A topic that comes back later in the room gets a new closet each time, in the order of the conversation.
    closets = tuple(
        PalaceCloset(name=name, drawers=tuple(held)) for name, held in groupby(drawers, key=lambda each: each.closet)
    )
    return PalaceRoom(
        pointer=str(Pointer(room.address_wing, room.address_room, None)),
        session=room.session,
        opened_at=from_millis(room.opened_at),
        last_at=from_millis(room.last_at),
        closets=closets,
    )
