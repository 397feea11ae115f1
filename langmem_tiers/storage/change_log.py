"""The append-only change log and the cursors of those who follow it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from sqlalchemy import Connection, Select, bindparam, func, insert, select, update
from sqlalchemy.dialects.sqlite import insert as insert_or

from langmem_tiers.storage.schema import changes, cursors

Kind = Literal[
    "drawers.added",  # subject..until are the numbers of new drawers
    "drawer.superseded",  # subject is the drawer, until the number of its chunks
    "drawers.embedded",  # subject..until have their vectors of the model in detail
    "drawers.filed",  # subject..until have their closets, and these are in the keyword index
    "keyword.rebuilt",  # the whole keyword index, of the drawers subject..until, was made anew
    "session.ended",  # subject is the room
    "room.refiled",  # subject is the room, until its new wing
    "notes.changed",  # subject..until are numbers of notes that are new, or gone
    "notes.embedded",  # subject..until have their vectors of the model in detail
    "entry.changed",  # subject is an entry
    "episode.added",  # subject is an episode
    "episode.changed",  # the same, where what was deleted is out of it
    "entities.changed",  # subject..until are entities that are new, changed, merged, parted or gone
    "relations.changed",  # subject..until are relations that are new, have a new version, or are gone
    "dream.applied",  # subject is a dream
    "dream.undone",  # subject is a dream
    "proposals.added",  # subject..until are proposals for the graph
    "identity.changed",  # subject is its new version
    "document.changed",  # a document was written or deleted; detail is its path
    "item.changed",  # a store item was written or deleted
]


@dataclass(frozen=True, slots=True)
class Moment:
    """A snapshot of the records, and the newest change that it sees: one look at the log serves all who follow it."""

    connection: Connection
    head: int


def moment(connection: Connection, space: str) -> Moment:
    """The moment that a connection sees."""
    return Moment(connection, int(connection.execute(_newest(), {"space": space}).scalar_one() or 0))


@dataclass(frozen=True, kw_only=True)
class Change:
    """One line of the log; `until` equals `subject` where a change covers one record."""

    position: int
    kind: Kind
    subject: int
    until: int
    detail: str | None


def append(
    connection: Connection, space: str, kind: Kind, subject: int, *, at: int, until: int = -1, detail: str | None = None
) -> int:
    """Write one change in the caller's transaction; its position."""
    position = head(connection, space) + 1
    last = subject if until < 0 else until
    row = {"position": position, "kind": kind, "subject": subject, "until": last, "detail": detail, "at": at}
    connection.execute(insert(changes).values(space=space, **row))
    return position


def head(connection: Connection, space: str) -> int:
    """Position of the newest change, 0 in an empty log."""
    return moment(connection, space).head


def at(connection: Connection, space: str, position: int) -> str:
    """What the log says at a position, in one line; empty where it says nothing there.

    Two logs of which one was rolled back and written on say something else at the same place.
    """
    columns = (changes.c.kind, changes.c.subject, changes.c.until, changes.c.at)
    row = connection.execute(select(*columns).where(changes.c.space == space, changes.c.position == position)).first()
    return "" if row is None else " ".join(map(str, row))


def first_at(connection: Connection, space: str) -> int | None:
    """When the first change was made, in UTC milliseconds; None in an empty log."""
    oldest = select(changes.c.at).where(changes.c.space == space).order_by(changes.c.position).limit(1)
    return connection.execute(oldest).scalar()


def read(
    connection: Connection, space: str, *, after: int, kinds: Collection[Kind], most: int = 10_000
) -> list[Change]:
    """Changes of these kinds behind a position, oldest first."""
    rows = connection.execute(_behind(), {"space": space, "after": after, "kinds": sorted(kinds), "most": most})
    return [Change(**row._mapping) for row in rows]


def follow(moment: Moment, space: str, *, after: int, kinds: Collection[Kind]) -> Iterator[Change]:
    """All changes of these kinds from behind a position up to a moment, oldest first."""
    while after < moment.head and (news := read(moment.connection, space, after=after, kinds=kinds)):
        yield from news
        after = news[-1].position


@cache
def _newest() -> Select[Any]:
    return select(func.max(changes.c.position)).where(changes.c.space == bindparam("space"))


@cache
def _behind() -> Select[Any]:
    """Built once: it is asked on every recall."""
    columns = (changes.c.position, changes.c.kind, changes.c.subject, changes.c.until, changes.c.detail)
    wanted = select(*columns).where(
        changes.c.space == bindparam("space"),
        changes.c.position > bindparam("after"),
        changes.c.kind.in_(bindparam("kinds", expanding=True)),
    )
    return wanted.order_by(changes.c.position).limit(bindparam("most"))


def first_drawers(news: Iterable[Change], least: int) -> list[Change]:
    """As many of these changes, from the first on, as cover at least so many drawers; all if there are fewer."""
    taken: list[Change] = []
    for change in news:
        taken.append(change)
        least -= change.until - change.subject + 1
        if least <= 0:
            break
    return taken


def drawers_behind(connection: Connection, space: str, follower: str) -> int:
    """How many new drawers a follower has not come to yet."""
    after = cursor(connection, space, follower)
    news = read(connection, space, after=after, kinds={"drawers.added"}, most=1_000_000)
    return sum(change.until - change.subject + 1 for change in news)


def cursor(connection: Connection, space: str, name: str) -> int:
    """How far a follower has come; 0 for one that never ran."""
    position = select(cursors.c.position).where(cursors.c.space == space, cursors.c.name == name)
    return connection.execute(position).scalar() or 0


def cursors_named(connection: Connection, space: str, beginning: str) -> list[str]:
    """The names of the cursors that begin so."""
    fits = cursors.c.name.startswith(beginning, autoescape=True)
    named = select(cursors.c.name).where(cursors.c.space == space, fits)
    return list(connection.scalars(named.order_by(cursors.c.name)))


def move_cursor(connection: Connection, space: str, name: str, *, old: int, new: int) -> bool:
    """Move a cursor if it still stands at `old`; False when another process has moved it meanwhile."""
    if old == 0:
        start = insert_or(cursors).values(space=space, name=name, position=0).on_conflict_do_nothing()
        connection.execute(start)
    move = update(cursors).where(cursors.c.space == space, cursors.c.name == name, cursors.c.position == old)
    return connection.execute(move.values(position=new)).rowcount == 1


def reset_cursor(connection: Connection, space: str, name: str, position: int = 0) -> None:
    """Set a cursor wherever it stands, for a follower that starts anew."""
    row = insert_or(cursors).values(space=space, name=name, position=position)
    connection.execute(row.on_conflict_do_update(index_elements=["space", "name"], set_={"position": position}))
