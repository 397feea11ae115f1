"""Rooms (one session each) and the wings they are filed in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import (
    Connection,
    Integer,
    Row,
    Select,
    Table,
    Text,
    and_,
    bindparam,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.dialects.sqlite import insert as insert_or
from sqlalchemy.sql.dml import ReturningInsert

from langmem_tiers.storage.schema import changes, drawers, rooms, wing_aliases, wings


@dataclass(frozen=True, kw_only=True)
class Room:
    """A stored room."""

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
    """A wing with its aliases."""

    number: int
    slug: str
    name: str
    kind: str
    aliases: tuple[str, ...] = ()


def of_session(connection: Connection, space: str, session: str) -> Room | None:
    """The room of a session."""
    row = connection.execute(select(rooms).where(rooms.c.space == space, rooms.c.session == session)).first()
    return None if row is None else _room(row)


@dataclass(frozen=True, kw_only=True)
class Before:
    """The state before drawers are added to a session: its room, the last drawer, the newest change."""

    head: int
    last_drawer: int
    room: Room | None


def before(connection: Connection, space: str, session: str) -> Before:
    """The state before drawers are added to a session, in one read."""
    row = connection.execute(_before(), {"space": space, "session": session}).one()
    values = dict(row._mapping)
    head, last = values.pop("head"), values.pop("last_drawer")
    return Before(head=head, last_drawer=last, room=None if row.number is None else _as_room(values))


def at_address(connection: Connection, space: str, wing: int, room: int) -> Room | None:
    """The room at an address."""
    address = (rooms.c.address_wing == wing, rooms.c.address_room == room)
    row = connection.execute(select(rooms).where(rooms.c.space == space, *address)).first()
    return None if row is None else _room(row)


def latest_unnamed(connection: Connection, space: str, prefix: str) -> Room | None:
    """The most recently used room among the sessions whose id is `prefix` and a number."""
    number = func.substr(rooms.c.session, len(prefix) + 1)
    called = (rooms.c.session.startswith(prefix, autoescape=True), number != "", func.ltrim(number, "0123456789") == "")
    found = select(rooms).where(rooms.c.space == space, *called).order_by(rooms.c.touched_at.desc()).limit(1)
    row = connection.execute(found).first()
    return None if row is None else _room(row)


def every(connection: Connection, space: str) -> list[Room]:
    """All rooms in the order they were opened."""
    found = select(rooms).where(rooms.c.space == space).order_by(rooms.c.number)
    return [_room(row) for row in connection.execute(found)]


def open_room(
    connection: Connection,
    space: str,
    *,
    session: str,
    wing: int,
    drawers: int,
    first: int,
    last: int,
    at: int,
    **subject: str | None,
) -> int:
    """Create a room at the next free address of a wing, for drawers said from `first` to `last`. Returns its number."""
    values = {
        "space": space,
        "session": session,
        "wing": wing,
        "address_wing": wing,
        "project": subject.get("project"),
        "agent": subject.get("agent"),
        "opened_at": first,
        "last_at": last,
        "touched_at": at,
        "drawers": drawers,
    }
    return int(connection.execute(_open_room(), values).scalar_one())


def touch(connection: Connection, space: str, room: Room, *, drawers: int, first: int, last: int, at: int) -> None:
    """Record that drawers said from `first` to `last` are added now; an ended session is reopened."""
    values = {
        "drawers": room.drawers + drawers,
        "opened_at": min(room.opened_at, first),
        "last_at": max(room.last_at, last),
        "touched_at": at,
        "ended_at": None,
    }
    _update(connection, space, room.number, values)


def end(connection: Connection, space: str, number: int, at: int) -> None:
    """Record the explicit end of a session."""
    _update(connection, space, number, {"ended_at": at})


def refile(connection: Connection, space: str, number: int, wing: int) -> None:
    """Move a room to another wing; its address, and so every pointer into it, stays the same."""
    _update(connection, space, number, {"wing": wing})


def every_wing(connection: Connection, space: str) -> list[Wing]:
    """All wings in the order they were made."""
    named: dict[int, list[str]] = {}
    found: dict[int, Wing] = {}
    for number, slug, name, kind, alias in connection.execute(_every_wing(), {"space": space}):
        aliases = named.setdefault(number, [])
        aliases += [] if alias is None else [alias]
        found[number] = Wing(number=number, slug=slug, name=name, kind=kind, aliases=tuple(aliases))
    return list(found.values())


def wing_of(connection: Connection, space: str, number: int) -> int:
    """The wing of a room."""
    found = select(rooms.c.wing).where(rooms.c.space == space, rooms.c.number == number)
    return int(connection.execute(found).scalar_one())


def open_wing(
    connection: Connection, space: str, *, slug: str, name: str, kind: str, at: int, origin: str = "rule"
) -> int:
    """The number of the wing with this slug, created as `origin` if it is new."""
    known = connection.execute(select(wings.c.number).where(wings.c.space == space, wings.c.slug == slug)).scalar()
    if known is not None:
        return int(known)
    number = _next(connection, space, wings)
    row = {"number": number, "slug": slug, "name": name, "kind": kind, "origin": origin, "created_at": at}
    connection.execute(insert(wings).values(space=space, **row))
    return number


def add_aliases(connection: Connection, space: str, wing: int, names: Sequence[tuple[str, str]]) -> None:
    """Give a wing aliases, as (slug, name); slugs already taken stay where they are."""
    rows = [{"space": space, "slug": slug, "name": name, "wing": wing} for slug, name in names]
    if rows:
        connection.execute(insert_or(wing_aliases).on_conflict_do_nothing(), rows)


# Statements are built once: they run for every tracked turn.
@cache
def _open_room() -> ReturningInsert[Any]:
    space, wing = bindparam("space", type_=Text), bindparam("wing", type_=Integer)
    number = select(func.coalesce(func.max(rooms.c.number), 0) + 1).where(rooms.c.space == space)
    in_wing = (rooms.c.space == space, rooms.c.address_wing == wing)
    address = select(func.coalesce(func.max(rooms.c.address_room), 0) + 1).where(*in_wing)
    subject = ("space", "session", "wing", "address_wing", "project", "agent")
    values: dict[str, Any] = {
        name: bindparam(name) for name in (*subject, "opened_at", "last_at", "touched_at", "drawers")
    }
    made = insert(rooms).values(number=number.scalar_subquery(), address_room=address.scalar_subquery(), **values)
    return made.returning(rooms.c.number)


@cache
def _before() -> Select[Any]:
    space = bindparam("space", type_=Text)
    head = select(func.coalesce(func.max(changes.c.position), 0)).where(changes.c.space == space).scalar_subquery()
    last = select(func.coalesce(func.max(drawers.c.number), 0)).where(drawers.c.space == space).scalar_subquery()
    always = select(head.label("head"), last.label("last_drawer")).subquery()
    this = and_(rooms.c.space == space, rooms.c.session == bindparam("session"))
    return select(always, rooms).select_from(always.outerjoin(rooms, this))


@cache
def _every_wing() -> Select[Any]:
    other = and_(wing_aliases.c.space == wings.c.space, wing_aliases.c.wing == wings.c.number)
    columns = (wings.c.number, wings.c.slug, wings.c.name, wings.c.kind, wing_aliases.c.name)
    found = select(*columns).select_from(wings.outerjoin(wing_aliases, other))
    return found.where(wings.c.space == bindparam("space")).order_by(wings.c.number, wing_aliases.c.slug)


def _update(connection: Connection, space: str, number: int, values: dict[str, int | None]) -> None:
    connection.execute(update(rooms).where(rooms.c.space == space, rooms.c.number == number).values(**values))


def _next(connection: Connection, space: str, table: Table) -> int:
    newest = select(func.max(table.c.number)).where(table.c.space == space)
    return int(connection.execute(newest).scalar() or 0) + 1


def _room(row: Row[tuple[object, ...]]) -> Room:
    return _as_room(dict(row._mapping))


def _as_room(values: dict[str, Any]) -> Room:
    del values["space"]
    return Room(**values)
