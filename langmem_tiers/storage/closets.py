"""Closets: the topics of a room, and the drawers filed under each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import BindParameter, Connection, Integer, and_, bindparam, func, insert, select, update

from langmem_tiers.language.slugs import slugify
from langmem_tiers.language.words import LOOKED_AT
from langmem_tiers.storage import facts
from langmem_tiers.storage.rooms import LAST_CLOSET
from langmem_tiers.storage.schema import closets, drawers, rooms, wings
from langmem_tiers.storage.sealed_text import excerpt
from langmem_tiers.storage.statements import Prepared, among, here, listed, numbered

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
class OpenCloset:
    """The closet that a room last filed into: its name if it has one, its last turns, and how many it has.

    `number` is 0 for a closet that is not stored yet.
    """

    number: int = 0
    name: str | None = None
    recent: tuple[ClosetTurn, ...] = ()
    size: int = 0


# Statements are built once: they run for every message, and building one takes longer than running it.
_ROOM: BindParameter[int] = bindparam("room", type_=Integer)
_IN_CLOSET = here(drawers, room=_ROOM, closet=bindparam("closet"))
# An altered message has no topic.
_SAID = excerpt(drawers.c.content, 1, LOOKED_AT, otherwise="").label("text")
_TURN = select(drawers.c.number, drawers.c.role, _SAID)
_UNFILED = Prepared(_TURN.where(*here(drawers, room=_ROOM), drawers.c.closet.is_(None)).order_by(drawers.c.place))
_LAST_TURNS = Prepared(_TURN.where(*_IN_CLOSET).order_by(drawers.c.place.desc()).limit(bindparam("most")))
_NEWEST = Prepared(
    select(closets.c.number, closets.c.name)
    .where(*here(closets, room=_ROOM))
    .order_by(closets.c.number.desc())
    .limit(1)
)
_SIZE = Prepared(select(func.count()).select_from(drawers).where(*_IN_CLOSET))
_ROOMS = (
    select(drawers.c.room, func.min(drawers.c.place).label("place"))
    .where(*here(drawers), drawers.c.number.between(bindparam("first"), bindparam("last")))
    .group_by(drawers.c.room)
)
_KNOWN_WING = and_(numbered(wings, rooms.c.wing), wings.c.kind != "general")
_PLACES = (
    select(drawers.c.number, wings.c.name.label("wing"), closets.c.name.label("topic"))
    .select_from(
        drawers.join(rooms, numbered(rooms, drawers.c.room))
        .outerjoin(wings, _KNOWN_WING)
        .outerjoin(closets, numbered(closets, drawers.c.closet))
    )
    .where(*here(drawers), drawers.c.superseded_by.is_(None))
)


def rooms_of(connection: Connection, space: str, first: int, last: int) -> dict[int, bool]:
    """The rooms that hold the drawers `first` to `last`; True if one of these opened the room."""
    found = connection.execute(_ROOMS, {"space": space, "first": first, "last": last})
    return {row.room: row.place == 1 for row in found}


def unfiled(connection: Connection, space: str, room: int) -> list[ClosetTurn]:
    """The drawers of a room that are in no closet yet, in order."""
    return _turns(_UNFILED.rows(connection, space=space, room=room))


def last_of(connection: Connection, space: str, room: int, *, recent: int) -> OpenCloset | None:
    """The closet that a room last filed into, with its last turns."""
    found = _NEWEST.rows(connection, space=space, room=room)
    if not found:
        return None
    ((number, name),) = found
    turns = _turns(_LAST_TURNS.rows(connection, space=space, room=room, closet=number, most=recent))
    ((size,),) = _SIZE.rows(connection, space=space, room=room, closet=number)
    return OpenCloset(number=number, name=None if name == UNNAMED else name, recent=tuple(turns[::-1]), size=size)


def _turns(rows: Iterable[Any]) -> list[ClosetTurn]:
    return [ClosetTurn(number=number, role=role, text=text) for number, role, text in rows]


_LAST = Prepared(select(func.max(closets.c.number)).where(*here(closets)))
_OPEN = Prepared(insert(closets))


def open_closets(connection: Connection, space: str, new: Sequence[tuple[int, str | None]]) -> range:
    """Create closets in rooms, each with its name if it has one. Returns their numbers."""
    ((newest,),) = _LAST.rows(connection, space=space)
    first = max(newest or 0, facts.number(connection, space, LAST_CLOSET)) + 1
    rows = [
        {
            "space": space,
            "number": first + place,
            "room": room,
            "slug": slugify(name or UNNAMED),
            "name": name or UNNAMED,
            "origin": "rule",
        }
        for place, (room, name) in enumerate(new)
    ]
    _OPEN.insert(connection, rows)
    return range(first, first + len(new))


def rename(connection: Connection, space: str, number: int, name: str, *, by: str = "rule") -> None:
    """Rename a closet, unless a model or the user has named it."""
    this = here(closets, space, number=number, origin="rule")
    connection.execute(update(closets).where(*this).values(name=name, slug=slugify(name), origin=by))


def name_of(connection: Connection, space: str, slug: str) -> str | None:
    """The name of closets with this slug, None if there are none; the first name is kept."""
    found = select(closets.c.name).where(*here(closets, space, slug=slug))
    return connection.execute(found.order_by(closets.c.number).limit(1)).scalar()


def holding(connection: Connection, space: str, numbers: Collection[int]) -> list[Closet]:
    """The closets that hold these drawers, in order."""
    columns = (drawers.c.number.label("drawer"), closets.c.number, closets.c.name, closets.c.origin)
    tables = drawers.join(closets, numbered(closets, drawers.c.closet))
    wanted = select(*columns).select_from(tables).where(*here(drawers, space), listed(drawers.c.number))
    held: dict[int, Closet] = {}
    for drawer, number, name, origin in among(connection, wanted.order_by(drawers.c.number), sorted(numbers)):
        closet = held.setdefault(number, Closet(number=number, name=name, origin=origin, drawers=()))
        held[number] = replace(closet, drawers=(*closet.drawers, drawer))
    return list(held.values())


_FILE = update(drawers).where(drawers.c.space == bindparam("in_space"), drawers.c.number == bindparam("drawer"))
_FILE = _FILE.values(closet=bindparam("in_closet"))


def put(connection: Connection, space: str, filed: Iterable[tuple[int, int]]) -> None:
    """File drawers, each in a closet."""
    values = [{"in_space": space, "drawer": drawer, "in_closet": closet} for drawer, closet in filed]
    if values:
        connection.execute(_FILE, values)


def categories(connection: Connection, space: str, room: int) -> list[tuple[int, str]]:
    """The category words of each current drawer in a room: its wing, if that is informative, and its topic."""
    return _named(connection.execute(_PLACES.where(drawers.c.room == room), {"space": space}))


def categories_of(connection: Connection, space: str, numbers: Collection[int]) -> list[tuple[int, str]]:
    """The category words of those of these drawers that are current."""
    return _named(among(connection, _PLACES.where(listed(drawers.c.number)), sorted(numbers), space=space))


_USER_TEXTS = Prepared(
    select(drawers.c.room, _SAID)
    .where(*here(drawers, role="user"), listed(drawers.c.room))
    .order_by(drawers.c.room, drawers.c.place)
)


def user_texts(connection: Connection, space: str, rooms: Collection[int]) -> dict[int, list[str]]:
    """The user's texts in some rooms, in order, by room."""
    found: dict[int, list[str]] = {}
    for room, text in _USER_TEXTS.among(connection, rooms, space=space):
        found.setdefault(room, []).append(text)
    return found


def count(connection: Connection, space: str) -> int:
    """How many closets there are."""
    return connection.execute(select(func.count()).where(*here(closets, space))).scalar_one()


def _named(found: Iterable[Any]) -> list[tuple[int, str]]:
    return [(row.number, " ".join(filter(None, (row.wing, row.topic)))) for row in found]
