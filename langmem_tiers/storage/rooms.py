"""Rooms (one session each) and the wings they are filed in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, Row, Table, func, insert, select, update
from sqlalchemy.dialects.sqlite import insert as insert_or

from langmem_tiers.storage.schema import rooms, wing_aliases, wings


@dataclass(frozen=True, kw_only=True)
class Room:
    """One room as it stands."""

    number: int
    session: str
    wing: int
    address_wing: int
    address_room: int
    project: str | None
    agent: str | None
    opened_at: int
    last_at: int
    touched_at: int
    ended_at: int | None
    drawers: int


@dataclass(frozen=True, kw_only=True)
class Wing:
    """One wing with its other names."""

    number: int
    slug: str
    name: str
    kind: str
    aliases: tuple[str, ...] = ()


def of_session(connection: Connection, space: str, session: str) -> Room | None:
    """The room of a session."""
    row = connection.execute(select(rooms).where(rooms.c.space == space, rooms.c.session == session)).first()
    return None if row is None else _room(row)


def at_address(connection: Connection, space: str, wing: int, room: int) -> Room | None:
    """The room that a pointer names."""
    address = (rooms.c.address_wing == wing, rooms.c.address_room == room)
    row = connection.execute(select(rooms).where(rooms.c.space == space, *address)).first()
    return None if row is None else _room(row)


def latest_unnamed(connection: Connection, space: str, prefix: str) -> Room | None:
    """The room touched last among the sessions whose id is `prefix` and a number."""
    number = func.substr(rooms.c.session, len(prefix) + 1)
    called = (rooms.c.session.startswith(prefix, autoescape=True), number != "", func.ltrim(number, "0123456789") == "")
    found = select(rooms).where(rooms.c.space == space, *called).order_by(rooms.c.touched_at.desc()).limit(1)
    row = connection.execute(found).first()
    return None if row is None else _room(row)


def every(connection: Connection, space: str) -> list[Room]:
    """All rooms in the order they were opened."""
    found = select(rooms).where(rooms.c.space == space).order_by(rooms.c.number)
    return [_room(row) for row in connection.execute(found)]


def open_room(connection: Connection, space: str, *, session: str, wing: int, at: int, **subject: str | None) -> Room:
    """Make a room for a session at the next free address of a wing."""
    addresses = select(func.max(rooms.c.address_room)).where(rooms.c.space == space, rooms.c.address_wing == wing)
    room = Room(
        number=_next(connection, space, rooms),
        session=session,
        wing=wing,
        address_wing=wing,
        address_room=(connection.execute(addresses).scalar() or 0) + 1,
        project=subject.get("project"),
        agent=subject.get("agent"),
        opened_at=at,
        last_at=at,
        touched_at=at,
        ended_at=None,
        drawers=0,
    )
    connection.execute(insert(rooms).values(space=space, **vars(room)))
    return room


def touch(connection: Connection, space: str, room: Room, *, drawers: int, first: int, last: int, at: int) -> None:
    """Note that drawers said between `first` and `last` were put in now; an ended session is open again."""
    values = {
        "drawers": room.drawers + drawers,
        "opened_at": min(room.opened_at, first) if room.drawers else first,
        "last_at": max(room.last_at, last) if room.drawers else last,
        "touched_at": at,
        "ended_at": None,
    }
    _update(connection, space, room.number, values)


def end(connection: Connection, space: str, number: int, at: int) -> None:
    """Note the explicit end of a session."""
    _update(connection, space, number, {"ended_at": at})


def refile(connection: Connection, space: str, number: int, wing: int) -> None:
    """Move a room to another wing; its address, and so every pointer into it, stays."""
    _update(connection, space, number, {"wing": wing})


def every_wing(connection: Connection, space: str) -> list[Wing]:
    """All wings in the order they were made."""
    aliases: dict[int, list[str]] = {}
    for row in connection.execute(select(wing_aliases).where(wing_aliases.c.space == space)):
        aliases.setdefault(row.wing, []).append(row.name)
    found = select(wings).where(wings.c.space == space).order_by(wings.c.number)
    return [
        Wing(number=w.number, slug=w.slug, name=w.name, kind=w.kind, aliases=tuple(aliases.get(w.number, ())))
        for w in connection.execute(found)
    ]


def wing_of(connection: Connection, space: str, number: int) -> int:
    """The wing that a room is filed in."""
    found = select(rooms.c.wing).where(rooms.c.space == space, rooms.c.number == number)
    return int(connection.execute(found).scalar_one())


def open_wing(
    connection: Connection, space: str, *, slug: str, name: str, kind: str, at: int, origin: str = "rule"
) -> int:
    """The number of the wing with this slug, made if it is new by the path `origin`."""
    known = connection.execute(select(wings.c.number).where(wings.c.space == space, wings.c.slug == slug)).scalar()
    if known is not None:
        return int(known)
    number = _next(connection, space, wings)
    row = {"number": number, "slug": slug, "name": name, "kind": kind, "origin": origin, "created_at": at}
    connection.execute(insert(wings).values(space=space, **row))
    return number


def add_aliases(connection: Connection, space: str, wing: int, names: Sequence[tuple[str, str]]) -> None:
    """Give a wing other names, as (slug, name); names that are taken stay where they are."""
    rows = [{"space": space, "slug": slug, "name": name, "wing": wing} for slug, name in names]
    if rows:
        connection.execute(insert_or(wing_aliases).on_conflict_do_nothing(), rows)


def _update(connection: Connection, space: str, number: int, values: dict[str, int | None]) -> None:
    connection.execute(update(rooms).where(rooms.c.space == space, rooms.c.number == number).values(**values))


def _next(connection: Connection, space: str, table: Table) -> int:
    newest = select(func.max(table.c.number)).where(table.c.space == space)
    return int(connection.execute(newest).scalar() or 0) + 1


def _room(row: Row[tuple[object, ...]]) -> Room:
    values = dict(row._mapping)
    del values["space"]
    return Room(**values)
