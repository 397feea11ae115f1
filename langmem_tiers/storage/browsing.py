"""Reading the palace piece by piece: statements are paged by the key of the last piece, and read no more than is shown.

A message is read up to its first few hundred characters, so that neither long ones nor many of them take long.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, false, func, select, tuple_

from langmem_tiers.records import Episode
from langmem_tiers.storage.schema import closets, drawers, episodes, rooms, wings
from langmem_tiers.storage.sealed_text import excerpt
from langmem_tiers.storage.statements import here, numbered

BEGINNING = 400
"""How many characters of a message are read for its preview."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WingRow:
    """A wing that holds something, with counts; times in milliseconds."""

    number: int
    name: str
    slug: str
    kind: str
    rooms: int
    drawers: int
    opened_at: int
    last_at: int


@dataclass(frozen=True, kw_only=True, slots=True)
class RoomRow:
    """A room with counts of what is in it; times in milliseconds."""

    number: int
    wing: int
    wing_name: str
    address_wing: int
    address_room: int
    session: str
    project: str | None
    agent: str | None
    opened_at: int
    last_at: int
    drawers: int
    closets: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ClosetRow:
    """A closet, number 0 for what is filed in none yet, with the place of its first drawer."""

    number: int
    name: str | None
    drawers: int
    place: int


@dataclass(frozen=True, kw_only=True, slots=True)
class PreviewRow:
    """What is shown of a drawer before it is opened."""

    number: int
    room: int
    address_wing: int
    address_room: int
    place: int
    closet: int | None
    closet_name: str | None
    role: str
    origin: str
    speaker: str | None
    beginning: str
    characters: int
    tags: str
    said_at: int
    superseded_by: int | None
    recall_count: int


_HELD = (
    select(drawers.c.space, drawers.c.room, func.count().label("drawers"))
    .where(*here(drawers))
    .group_by(drawers.c.space, drawers.c.room)
    .subquery()
)
_WINGS = (
    select(
        wings.c.number,
        wings.c.name,
        wings.c.slug,
        wings.c.kind,
        func.count().label("rooms"),
        func.coalesce(func.sum(_HELD.c.drawers), 0).label("drawers"),
        func.min(rooms.c.opened_at).label("opened_at"),
        func.max(rooms.c.last_at).label("last_at"),
    )
    .select_from(
        wings.join(rooms, numbered(rooms, wings.c.number, "wing")).outerjoin(
            _HELD, (_HELD.c.space == rooms.c.space) & (_HELD.c.room == rooms.c.number)
        )
    )
    .where(*here(wings))
    .group_by(wings.c.number, wings.c.name, wings.c.slug, wings.c.kind)
    .order_by(func.max(rooms.c.last_at).desc(), wings.c.number)
)


def every_wing(connection: Connection, space: str) -> list[WingRow]:
    """The wings with rooms, the last used first."""
    return [WingRow(**row._mapping) for row in connection.execute(_WINGS, {"space": space})]


def _counted(table: Any, room: Any) -> Any:
    """How many rows of a table are of a room."""
    return select(func.count()).where(table.c.space == room.table.c.space, table.c.room == room).scalar_subquery()


_ROOM = (
    select(
        rooms.c.number,
        rooms.c.wing,
        wings.c.name.label("wing_name"),
        rooms.c.address_wing,
        rooms.c.address_room,
        rooms.c.session,
        rooms.c.project,
        rooms.c.agent,
        rooms.c.opened_at,
        rooms.c.last_at,
        _counted(drawers, rooms.c.number).label("drawers"),
        _counted(closets, rooms.c.number).label("closets"),
    )
    .select_from(rooms.join(wings, numbered(wings, rooms.c.wing)))
    .where(*here(rooms))
)
_USED = tuple_(rooms.c.last_at, rooms.c.number)


def some_rooms(connection: Connection, space: str, wing: int | None, *, after: int | None, most: int) -> list[RoomRow]:
    """Rooms of a wing, or of all, the last used first; those behind the room `after`."""
    wanted = _ROOM.order_by(rooms.c.last_at.desc(), rooms.c.number.desc()).limit(most)
    if wing is not None:
        wanted = wanted.where(rooms.c.wing == wing)
    if after is not None:
        before = rooms.alias()
        key = select(before.c.last_at, before.c.number).where(*here(before, space, number=after))
        wanted = wanted.where(key.scalar_subquery() > _USED)
    return [RoomRow(**row._mapping) for row in connection.execute(wanted, {"space": space})]


def room(connection: Connection, space: str, number: int) -> RoomRow | None:
    """One room."""
    row = connection.execute(_ROOM.where(rooms.c.number == number), {"space": space}).first()
    return None if row is None else RoomRow(**row._mapping)


def room_at(connection: Connection, space: str, address_wing: int, address_room: int) -> RoomRow | None:
    """The room with an address."""
    wanted = _ROOM.where(rooms.c.address_wing == address_wing, rooms.c.address_room == address_room)
    row = connection.execute(wanted, {"space": space}).first()
    return None if row is None else RoomRow(**row._mapping)


def closets_of(connection: Connection, space: str, room: int) -> list[ClosetRow]:
    """The closets of a room that hold something, in the order of the conversation."""
    number = func.coalesce(drawers.c.closet, 0)
    wanted = (
        select(
            number.label("number"),
            closets.c.name,
            func.count().label("drawers"),
            func.min(drawers.c.place).label("place"),
        )
        .select_from(drawers.outerjoin(closets, numbered(closets, drawers.c.closet)))
        .where(*here(drawers, space, room=room))
        .group_by(number, closets.c.name)
        .order_by(func.min(drawers.c.place))
    )
    return [ClosetRow(**row._mapping) for row in connection.execute(wanted)]


_PREVIEW = select(
    drawers.c.number,
    drawers.c.room,
    rooms.c.address_wing,
    rooms.c.address_room,
    drawers.c.place,
    drawers.c.closet,
    closets.c.name.label("closet_name"),
    drawers.c.role,
    drawers.c.origin,
    drawers.c.speaker,
    excerpt(drawers.c.content, 1, BEGINNING).label("beginning"),
    func.length(drawers.c.content).label("characters"),
    drawers.c.tags,
    drawers.c.said_at,
    drawers.c.superseded_by,
    drawers.c.recall_count,
).select_from(
    drawers.join(rooms, numbered(rooms, drawers.c.room)).outerjoin(closets, numbered(closets, drawers.c.closet))
)


def previews(
    connection: Connection, space: str, room: int, *, closet: int | None, after: int | None, most: int
) -> list[PreviewRow]:
    """Drawers of a room, or of one of its closets, in the order of the conversation; those behind `after`."""
    wanted = _PREVIEW.where(*here(drawers, space, room=room)).order_by(drawers.c.place).limit(most)
    if closet is not None:
        wanted = wanted.where(drawers.c.closet.is_(None) if closet == 0 else drawers.c.closet == closet)
    if after is not None:
        wanted = wanted.where(drawers.c.place > _place(space, after))
    return [PreviewRow(**row._mapping) for row in connection.execute(wanted)]


def beside(connection: Connection, space: str, number: int) -> tuple[PreviewRow | None, PreviewRow | None]:
    """The drawers right before and right after one, in its room."""
    of = drawers.alias()
    room = select(of.c.room).where(*here(of, space, number=number)).scalar_subquery()
    held = _PREVIEW.where(*here(drawers, space), drawers.c.room == room).limit(1)
    before = held.where(drawers.c.place < _place(space, number)).order_by(drawers.c.place.desc())
    behind = held.where(drawers.c.place > _place(space, number)).order_by(drawers.c.place)
    return _first(connection, before), _first(connection, behind)


def room_of(connection: Connection, space: str, number: int) -> int | None:
    """The room that a drawer is in."""
    return connection.execute(select(drawers.c.room).where(*here(drawers, space, number=number))).scalar()


def covered(connection: Connection, space: str, episode: Episode, *, after: int, most: int) -> list[int]:
    """The numbers of the drawers that an episode sums up; those behind `after`."""
    wanted = _covered(space, episode, drawers.c.number).where(drawers.c.number > after)
    return list(connection.execute(wanted.order_by(drawers.c.number).limit(most)).scalars())


def covers(connection: Connection, space: str, episode: Episode) -> int:
    """How many drawers an episode sums up."""
    return int(connection.execute(_covered(space, episode, func.count())).scalar_one())


def _covered(space: str, episode: Episode, what: ColumnElement[int]) -> Select[Any]:
    said = select(what).select_from(drawers.join(rooms, numbered(rooms, drawers.c.room))).where(*here(drawers, space))
    if episode.of_task and episode.task is not None:
        return said.where(drawers.c.task == episode.task)
    if episode.first_drawer is None or episode.last_drawer is None:
        return said.where(false())
    first, last = episode.first_drawer, episode.last_drawer
    return said.where(rooms.c.session == episode.session, drawers.c.number.between(first, last))


def episodes_about(connection: Connection, space: str, number: int) -> list[int]:
    """The numbers of the episodes that sum up a drawer: of its session up to it, or of its task."""
    said = select(rooms.c.session, drawers.c.task).select_from(drawers.join(rooms, numbered(rooms, drawers.c.room)))
    row = connection.execute(said.where(*here(drawers, space, number=number))).first()
    if row is None:
        return []
    within: ColumnElement[bool] = (
        (episodes.c.session == row.session) & (episodes.c.first_drawer <= number) & (episodes.c.last_drawer >= number)
    )
    about = within if row.task is None else within | (episodes.c.task == row.task)
    wanted = select(episodes.c.number).where(*here(episodes, space), about)
    return list(connection.execute(wanted.order_by(episodes.c.number)).scalars())


def _place(space: str, number: int) -> Any:
    """The place of a drawer in its room."""
    of = drawers.alias()
    return select(of.c.place).where(*here(of, space, number=number)).scalar_subquery()


def _first(connection: Connection, wanted: Select[Any]) -> PreviewRow | None:
    row = connection.execute(wanted).first()
    return None if row is None else PreviewRow(**row._mapping)
