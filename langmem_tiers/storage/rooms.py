"""Rooms (one session each) and the wings they are filed in."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Connection, Integer, Select, Text, and_, bindparam, cast, func, insert, literal, select, update

from langmem_tiers.clock import paused
from langmem_tiers.storage import facts
from langmem_tiers.storage.schema import changes, drawers, rooms, wing_aliases, wings
from langmem_tiers.storage.statements import Prepared, here, listed, numbered, plausible


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
    """A wing with its aliases; one that is not stored yet has the number 0."""

    number: int
    name: str
    kind: str
    slug: str = ""
    aliases: tuple[str, ...] = ()


class Unfinished(NamedTuple):
    """A room with turns that a step of the background has not reached; `done` is the last place that it has."""

    room: int
    session: str
    done: int
    drawers: int
    touched_at: int
    ended_at: int | None
    agent: str | None = None

    def over(self, pause: int, now: int) -> int:
        """When the conversation counts as over: when it was ended, or so many milliseconds after its last turn."""
        return paused(self.touched_at, pause, now) if self.ended_at is None else paused(self.ended_at, 0, now)


_EVERY = select(*(column for column in rooms.c if column.name != "space"))


def of_session(connection: Connection, space: str, session: str) -> Room | None:
    """The room of a session."""
    return _one(connection, _EVERY.where(*here(rooms, space, session=session)))


@dataclass(frozen=True, kw_only=True)
class Before:
    """The state before drawers are added to a session: its room, the last drawer, the newest change."""

    head: int
    last_drawer: int
    room: Room | None


# The highest numbers that anything forgotten had: none is used twice, or an old pointer would lead to something else.
LAST_DRAWER, LAST_ROOM, LAST_WING, LAST_CLOSET = "last_drawer", "last_room", "last_wing", "last_closet"
LAST_IN_WING = "last_room_in:"
_HEAD = select(func.coalesce(func.max(changes.c.position), 0)).where(*here(changes)).scalar_subquery()
_HIGHEST = select(func.coalesce(func.max(drawers.c.number), 0)).where(*here(drawers)).scalar_subquery()
LAST_DRAWER_EVER = select(func.greatest(_HIGHEST, facts.least(LAST_DRAWER))).scalar_subquery()
"""As part of a statement: the highest number that any drawer ever had, 0 before the first."""
_ALWAYS = select(_HEAD.label("head"), LAST_DRAWER_EVER.label("last_drawer")).subquery()
_BEFORE = Prepared(
    select(_ALWAYS, *_EVERY.selected_columns).select_from(
        _ALWAYS.outerjoin(rooms, and_(*here(rooms, session=bindparam("session"))))
    )
)


def before(connection: Connection, space: str, session: str) -> Before:
    """The state before drawers are added to a session, in one read."""
    ((head, last, *room),) = _BEFORE.rows(connection, space=space, session=session)
    names = _EVERY.selected_columns.keys()
    found = None if room[0] is None else Room(**dict(zip(names, room, strict=True)))
    return Before(head=head, last_drawer=last, room=found)


_LAST = Prepared(select(LAST_DRAWER_EVER))


def last_drawer(connection: Connection, space: str) -> int:
    """The highest number that any drawer ever had, 0 before the first."""
    ((last,),) = _LAST.rows(connection, space=space)
    return plausible(last)


def at_address(connection: Connection, space: str, wing: int, room: int) -> Room | None:
    """The room at an address."""
    return _one(connection, _EVERY.where(*here(rooms, space, address_wing=wing, address_room=room)))


def latest_unnamed(connection: Connection, space: str, prefix: str) -> Room | None:
    """The most recently used room among the sessions whose id is `prefix` and a number."""
    number = func.substr(rooms.c.session, len(prefix) + 1)
    called = (rooms.c.session.startswith(prefix, autoescape=True), number != "", func.ltrim(number, "0123456789") == "")
    return _one(connection, _EVERY.where(*here(rooms, space), *called).order_by(rooms.c.touched_at.desc()))


def every(connection: Connection, space: str) -> list[Room]:
    """All rooms in the order they were opened."""
    found = _EVERY.where(*here(rooms, space)).order_by(rooms.c.number)
    return [Room(**row._mapping) for row in connection.execute(found)]


_NEWEST_IN = _EVERY.where(*here(rooms), listed(rooms.c.wing)).order_by(rooms.c.number.desc()).limit(bindparam("most"))


def newest_in(connection: Connection, space: str, wings: Collection[int], most: int) -> list[Room]:
    """The rooms of some wings that were opened last, in the order they were opened."""
    found = connection.execute(_NEWEST_IN, {"space": space, "among": list(wings), "most": most})
    return [Room(**row._mapping) for row in found][::-1]


def latest(
    connection: Connection, space: str, most: int, *, since: int, until: int, but: str | None = None
) -> list[Room]:
    """The rooms with drawers said between two moments, the latest first, without the one of session `but`."""
    within = (rooms.c.opened_at < until, rooms.c.last_at >= since, rooms.c.drawers > 0)
    found = _EVERY.where(*here(rooms, space), *within, *([] if but is None else [rooms.c.session != but]))
    return [Room(**row._mapping) for row in connection.execute(found.order_by(rooms.c.last_at.desc()).limit(most))]


def _one(connection: Connection, wanted: Select[Any]) -> Room | None:
    row = connection.execute(wanted.limit(1)).first()
    return None if row is None else Room(**row._mapping)


_WING = bindparam("wing", type_=Integer)
_HIGHEST_ROOM = select(func.coalesce(func.max(rooms.c.number), 0)).where(*here(rooms)).scalar_subquery()
_NUMBER = select(func.greatest(_HIGHEST_ROOM, facts.least(LAST_ROOM)) + 1).scalar_subquery()
_IN_WING = here(rooms, address_wing=_WING)
_HIGHEST_IN_WING = select(func.coalesce(func.max(rooms.c.address_room), 0)).where(*_IN_WING).scalar_subquery()
_LEAST_IN_WING = facts.least(literal(LAST_IN_WING).concat(cast(_WING, Text)))
_ADDRESS = select(func.greatest(_HIGHEST_IN_WING, _LEAST_IN_WING) + 1).scalar_subquery()
_GIVEN = ("space", "session", "wing", "project", "agent", "opened_at", "last_at", "touched_at", "drawers")
_OPEN_ROOM = Prepared(
    insert(rooms)
    .values(number=_NUMBER, address_wing=_WING, address_room=_ADDRESS, **{name: bindparam(name) for name in _GIVEN})
    .returning(rooms.c.number)
)


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
    project: str | None = None,
    agent: str | None = None,
) -> int:
    """Create a room at the next free address of a wing, for drawers said from `first` to `last`. Returns its number."""
    values = {
        "space": space,
        "session": session,
        "wing": wing,
        "project": project,
        "agent": agent,
        "opened_at": first,
        "last_at": last,
        "touched_at": at,
        "drawers": drawers,
    }
    ((number,),) = _OPEN_ROOM.rows(connection, **values)
    return int(number)


_TOUCH = Prepared(
    update(rooms)
    .where(*here(rooms, number=bindparam("room")))
    .values(
        drawers=bindparam("held"),
        opened_at=bindparam("first"),
        last_at=bindparam("last"),
        touched_at=bindparam("now"),
        ended_at=None,
    )
)


def touch(connection: Connection, space: str, room: Room, *, drawers: int, first: int, last: int, at: int) -> None:
    """Record that drawers said from `first` to `last` are added now; an ended session is reopened."""
    _TOUCH.change(
        connection,
        space=space,
        room=room.number,
        held=room.drawers + drawers,
        first=min(room.opened_at, first),
        last=max(room.last_at, last),
        now=at,
    )


def end(connection: Connection, space: str, number: int, at: int) -> None:
    """Record the explicit end of a session."""
    _update(connection, space, number, {"ended_at": at})


def refile(connection: Connection, space: str, number: int, wing: int) -> None:
    """Move a room to another wing; its address, and so every pointer into it, stays the same."""
    _update(connection, space, number, {"wing": wing})


_WINGS = Prepared(
    select(wings.c.number, wings.c.slug, wings.c.name, wings.c.kind, wing_aliases.c.name)
    .select_from(wings.outerjoin(wing_aliases, numbered(wing_aliases, wings.c.number, "wing")))
    .where(*here(wings))
    .order_by(wings.c.number, wing_aliases.c.slug)
)


def every_wing(connection: Connection, space: str) -> list[Wing]:
    """All wings in the order they were made."""
    named: dict[int, list[str]] = {}
    found: dict[int, Wing] = {}
    for number, slug, name, kind, alias in _WINGS.rows(connection, space=space):
        aliases = named.setdefault(number, [])
        aliases += [] if alias is None else [alias]
        found[number] = Wing(number=number, slug=slug, name=name, kind=kind, aliases=tuple(aliases))
    return list(found.values())


def wing_of(connection: Connection, space: str, number: int) -> int:
    """The wing of a room."""
    return int(connection.execute(select(rooms.c.wing).where(*here(rooms, space, number=number))).scalar_one())


def open_wing(
    connection: Connection, space: str, *, slug: str, name: str, kind: str, at: int, origin: str = "rule"
) -> int:
    """The number of the wing with this slug, created as `origin` if it is new."""
    known = connection.execute(select(wings.c.number).where(*here(wings, space, slug=slug))).scalar()
    if known is not None:
        return int(known)
    newest = connection.execute(select(func.max(wings.c.number)).where(*here(wings, space))).scalar()
    number = max(newest or 0, facts.number(connection, space, LAST_WING)) + 1
    row = {"number": number, "slug": slug, "name": name, "kind": kind, "origin": origin, "created_at": at}
    connection.execute(insert(wings).values(space=space, **row))
    return number


def _update(connection: Connection, space: str, number: int, values: dict[str, int | None]) -> None:
    connection.execute(update(rooms).where(*here(rooms, space, number=number)).values(**values))
