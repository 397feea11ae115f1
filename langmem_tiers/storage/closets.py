"""Closets: the topics of a room, and which drawers are filed under them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, and_, func, insert, select, update

from langmem_tiers.palace.slugs import slugify
from langmem_tiers.palace.topics import OpenCloset, TopicTurn
from langmem_tiers.palace.words import LOOKED_AT
from langmem_tiers.storage.schema import closets, drawers, rooms, wings

UNNAMED = "untitled"
_TURN = (drawers.c.number, drawers.c.role, func.substr(drawers.c.content, 1, LOOKED_AT).label("text"))


def rooms_of(connection: Connection, space: str, first: int, last: int) -> set[int]:
    """The rooms that drawers `first` to `last` stand in."""
    between = drawers.c.number.between(first, last)
    return set(connection.execute(select(drawers.c.room).distinct().where(drawers.c.space == space, between)).scalars())


def rooms_opened(connection: Connection, space: str, first: int, last: int) -> bool:
    """Did one of drawers `first` to `last` open its room?"""
    opening = (drawers.c.space == space, drawers.c.number.between(first, last), drawers.c.place == 1)
    return connection.execute(select(drawers.c.number).where(*opening).limit(1)).first() is not None


def unfiled(connection: Connection, space: str, room: int) -> list[TopicTurn]:
    """The drawers of a room that are in no closet yet, in order."""
    wanted = select(*_TURN).where(drawers.c.space == space, drawers.c.room == room, drawers.c.closet.is_(None))
    return [TopicTurn(**row._mapping) for row in connection.execute(wanted.order_by(drawers.c.place))]


def last_of(connection: Connection, space: str, room: int, *, recent: int) -> OpenCloset | None:
    """The closet that a room was last filed in, with its last turns."""
    newest = select(closets).where(closets.c.space == space, closets.c.room == room).order_by(closets.c.number.desc())
    row = connection.execute(newest.limit(1)).first()
    if row is None:
        return None
    within = (drawers.c.space == space, drawers.c.room == room, drawers.c.closet == row.number)
    turns = connection.execute(select(*_TURN).where(*within).order_by(drawers.c.place.desc()).limit(recent))
    last = tuple(TopicTurn(**turn._mapping) for turn in turns)[::-1]
    size = connection.execute(select(func.count()).select_from(drawers).where(*within)).scalar_one()
    return OpenCloset(number=row.number, name=None if row.name == UNNAMED else row.name, recent=last, size=size)


def open_closet(connection: Connection, space: str, room: int, name: str | None) -> int:
    """Make a closet in a room; its number."""
    newest = select(func.max(closets.c.number)).where(closets.c.space == space)
    number = (connection.execute(newest).scalar() or 0) + 1
    row = {"number": number, "room": room, "slug": slugify(name or UNNAMED), "name": name or UNNAMED, "origin": "rule"}
    connection.execute(insert(closets).values(space=space, **row))
    return number


def rename(connection: Connection, space: str, number: int, name: str) -> None:
    """Give a closet another name, unless a model or the user has named it."""
    this = (closets.c.space == space, closets.c.number == number, closets.c.origin == "rule")
    connection.execute(update(closets).where(*this).values(name=name, slug=slugify(name)))


def put(connection: Connection, space: str, number: int, filed: Sequence[int]) -> None:
    """File drawers in a closet."""
    these = (drawers.c.space == space, drawers.c.number.in_(list(filed)))
    connection.execute(update(drawers).where(*these).values(closet=number))


def categories(connection: Connection, space: str, room: int) -> list[tuple[int, str]]:
    """The words of its place for each standing drawer of a room: its wing, if that says anything, and its topic."""
    same_closet = and_(closets.c.space == drawers.c.space, closets.c.number == drawers.c.closet)
    same_room = and_(rooms.c.space == drawers.c.space, rooms.c.number == drawers.c.room)
    same_wing = and_(wings.c.space == rooms.c.space, wings.c.number == rooms.c.wing, wings.c.kind != "general")
    tables = drawers.join(rooms, same_room).outerjoin(wings, same_wing).outerjoin(closets, same_closet)
    columns = (drawers.c.number, wings.c.name.label("wing"), closets.c.name.label("topic"))
    standing = (drawers.c.space == space, drawers.c.room == room, drawers.c.superseded_by.is_(None))
    found = connection.execute(select(*columns).select_from(tables).where(*standing))
    return [(row.number, " ".join(filter(None, (row.wing, row.topic)))) for row in found]


def user_texts(connection: Connection, space: str, room: int) -> list[str]:
    """What the user said in a room, in order."""
    said = (drawers.c.space == space, drawers.c.room == room, drawers.c.role == "user")
    text = func.substr(drawers.c.content, 1, LOOKED_AT)
    return list(connection.execute(select(text).where(*said).order_by(drawers.c.place)).scalars())


def count(connection: Connection, space: str) -> int:
    """How many closets there are."""
    return int(connection.execute(select(func.count()).where(closets.c.space == space)).scalar_one())
