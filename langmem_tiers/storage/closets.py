"""Closets: the topics of a room, and the drawers filed under each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, Update, and_, bindparam, func, insert, select, update

from langmem_tiers.language.slugs import slugify
from langmem_tiers.language.words import LOOKED_AT
from langmem_tiers.storage.schema import closets, drawers, rooms, wings

UNNAMED = "untitled"


@dataclass(frozen=True, kw_only=True, slots=True)
class Closet:
    """A closet, with those of the requested drawers that are in it."""

    number: int
    name: str
    origin: str
    drawers: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class ClosetTurn:
    """What closet filing looks at in a turn: its drawer number, role and the beginning of its text."""

    number: int
    role: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class LastCloset:
    """The closet that a room last filed into: its name if it has one, its last turns, and how many it has."""

    number: int
    name: str | None
    recent: tuple[ClosetTurn, ...]
    size: int


# SQLite allows 32,766 variables in a statement by default.
_AT_ONCE = 10_000
_TURN = (drawers.c.number, drawers.c.role, func.substr(drawers.c.content, 1, LOOKED_AT).label("text"))


def rooms_of(connection: Connection, space: str, first: int, last: int) -> dict[int, bool]:
    """The rooms that hold the drawers `first` to `last`; True if one of these opened the room."""
    found = connection.execute(_rooms(), {"space": space, "first": first, "last": last})
    return {row.room: row.place == 1 for row in found}


def unfiled(connection: Connection, space: str, room: int) -> list[ClosetTurn]:
    """The drawers of a room that are in no closet yet, in order."""
    return _turns(connection.execute(_unfiled(), {"space": space, "room": room}))


def last_of(connection: Connection, space: str, room: int, *, recent: int) -> LastCloset | None:
    """The closet that a room last filed into, with its last turns."""
    row = connection.execute(_newest(), {"space": space, "room": room}).first()
    if row is None:
        return None
    within = {"space": space, "room": room, "closet": row.number}
    last = tuple(_turns(connection.execute(_last_turns(), {**within, "most": recent})))[::-1]
    name = None if row.name == UNNAMED else row.name
    return LastCloset(number=row.number, name=name, recent=last, size=connection.execute(_size(), within).scalar_one())


def open_closet(connection: Connection, space: str, room: int, name: str | None) -> int:
    """Create a closet in a room. Returns its number."""
    newest = select(func.max(closets.c.number)).where(closets.c.space == space)
    number = (connection.execute(newest).scalar() or 0) + 1
    row = {"number": number, "room": room, "slug": slugify(name or UNNAMED), "name": name or UNNAMED, "origin": "rule"}
    connection.execute(insert(closets), {"space": space, **row})
    return number


def rename(connection: Connection, space: str, number: int, name: str) -> None:
    """Rename a closet, unless a model or the user has named it."""
    connection.execute(_rename(), {"of": space, "this": number, "name": name, "slug": slugify(name)})


def name_by_model(connection: Connection, space: str, number: int, name: str) -> None:
    """Give a closet that was named by a rule the name that a model suggests."""
    this = (closets.c.space == space, closets.c.number == number, closets.c.origin == "rule")
    connection.execute(update(closets).where(*this).values(name=name, slug=slugify(name), origin="model"))


def name_of(connection: Connection, space: str, slug: str) -> str | None:
    """The name of closets with this slug, None if there are none; the first name is kept."""
    found = select(closets.c.name).where(closets.c.space == space, closets.c.slug == slug)
    return connection.execute(found.order_by(closets.c.number).limit(1)).scalar()


def holding(connection: Connection, space: str, numbers: Collection[int]) -> list[Closet]:
    """The closets that hold these drawers, in order."""
    same = and_(closets.c.space == drawers.c.space, closets.c.number == drawers.c.closet)
    columns = (drawers.c.number.label("drawer"), closets.c.number, closets.c.name, closets.c.origin)
    wanted = select(*columns).select_from(drawers.join(closets, same)).where(drawers.c.space == space)
    rows = connection.execute(wanted.where(drawers.c.number.in_(list(numbers))).order_by(drawers.c.number)).all()
    held: dict[int, Closet] = {}
    for row in rows:
        before = held[row.number].drawers if row.number in held else ()
        held[row.number] = Closet(number=row.number, name=row.name, origin=row.origin, drawers=(*before, row.drawer))
    return list(held.values())


def put(connection: Connection, space: str, number: int, filed: Sequence[int]) -> None:
    """File drawers in a closet."""
    for these in _batches(filed):
        connection.execute(_put(), {"of": space, "these": list(these), "closet": number})


def categories(connection: Connection, space: str, room: int) -> list[tuple[int, str]]:
    """The category words of each current drawer in a room: its wing, if that is informative, and its topic."""
    return _named(connection.execute(_places_in(), {"space": space, "room": room}))


def categories_of(connection: Connection, space: str, numbers: Collection[int]) -> list[tuple[int, str]]:
    """The category words of those of these drawers that are current."""
    some = _batches(sorted(numbers))
    return [
        place for these in some for place in _named(connection.execute(_places_of(), {"space": space, "these": these}))
    ]


def user_texts(connection: Connection, space: str, room: int) -> list[str]:
    """The user's texts in a room, in order."""
    said = (drawers.c.space == space, drawers.c.room == room, drawers.c.role == "user")
    text = func.substr(drawers.c.content, 1, LOOKED_AT)
    return list(connection.execute(select(text).where(*said).order_by(drawers.c.place)).scalars())


def count(connection: Connection, space: str) -> int:
    """How many closets there are."""
    return int(connection.execute(select(func.count()).where(closets.c.space == space)).scalar_one())


# Statements are built once: they run for every message, and building one takes longer than running it.
@cache
def _rooms() -> Select[Any]:
    between = drawers.c.number.between(bindparam("first"), bindparam("last"))
    first = func.min(drawers.c.place).label("place")
    return select(drawers.c.room, first).where(drawers.c.space == bindparam("space"), between).group_by(drawers.c.room)


@cache
def _unfiled() -> Select[Any]:
    return select(*_TURN).where(*_in_room(), drawers.c.closet.is_(None)).order_by(drawers.c.place)


@cache
def _newest() -> Select[Any]:
    of_room = (closets.c.space == bindparam("space"), closets.c.room == bindparam("room"))
    return select(closets.c.number, closets.c.name).where(*of_room).order_by(closets.c.number.desc()).limit(1)


@cache
def _last_turns() -> Select[Any]:
    within = (*_in_room(), drawers.c.closet == bindparam("closet"))
    return select(*_TURN).where(*within).order_by(drawers.c.place.desc()).limit(bindparam("most"))


@cache
def _size() -> Select[Any]:
    return select(func.count()).select_from(drawers).where(*_in_room(), drawers.c.closet == bindparam("closet"))


@cache
def _rename() -> Update:
    this = (closets.c.space == bindparam("of"), closets.c.number == bindparam("this"), closets.c.origin == "rule")
    return update(closets).where(*this).values(name=bindparam("name"), slug=bindparam("slug"))


@cache
def _put() -> Update:
    these = (drawers.c.space == bindparam("of"), drawers.c.number.in_(bindparam("these", expanding=True)))
    return update(drawers).where(*these).values(closet=bindparam("closet"))


@cache
def _places() -> Select[Any]:
    """The current drawers with the names of wing and closet."""
    same_closet = and_(closets.c.space == drawers.c.space, closets.c.number == drawers.c.closet)
    same_room = and_(rooms.c.space == drawers.c.space, rooms.c.number == drawers.c.room)
    same_wing = and_(wings.c.space == rooms.c.space, wings.c.number == rooms.c.wing, wings.c.kind != "general")
    tables = drawers.join(rooms, same_room).outerjoin(wings, same_wing).outerjoin(closets, same_closet)
    columns = (drawers.c.number, wings.c.name.label("wing"), closets.c.name.label("topic"))
    standing = (drawers.c.space == bindparam("space"), drawers.c.superseded_by.is_(None))
    return select(*columns).select_from(tables).where(*standing)


@cache
def _places_in() -> Select[Any]:
    return _places().where(drawers.c.room == bindparam("room"))


@cache
def _places_of() -> Select[Any]:
    return _places().where(drawers.c.number.in_(bindparam("these", expanding=True)))


def _batches(numbers: Sequence[int]) -> Iterator[Sequence[int]]:
    return (numbers[start : start + _AT_ONCE] for start in range(0, len(numbers), _AT_ONCE))


def _in_room() -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return drawers.c.space == bindparam("space"), drawers.c.room == bindparam("room")


def _turns(found: Iterable[Row[Any]]) -> list[ClosetTurn]:
    return [ClosetTurn(number=row.number, role=row.role, text=row.text) for row in found]


def _named(found: Iterable[Row[Any]]) -> list[tuple[int, str]]:
    return [(row.number, " ".join(filter(None, (row.wing, row.topic)))) for row in found]
