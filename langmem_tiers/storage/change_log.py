"""The append-only change log and the cursors of its followers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from sqlalchemy import (
    Connection,
    Insert,
    Integer,
    ScalarSelect,
    Select,
    bindparam,
    func,
    insert,
    select,
    update,
)

from langmem_tiers.errors import DatabaseDamaged
from langmem_tiers.storage.schema import changes, cursors
from langmem_tiers.storage.statements import ROWS_AT_ONCE, Prepared, here, insert_new, plausible, put_row

Kind = Literal[
    "drawers.added",  # subject..until are the numbers of new drawers
    "drawer.superseded",  # subject is the drawer, until the number of its chunks
    "drawer.forgotten",  # subject is a drawer that is gone for good, until the number of chunks it had
    "drawers.embedded",  # subject..until got their vectors from the model in detail
    "drawers.filed",  # subject..until were filed in closets, and these are in the keyword index
    "keyword.rebuilt",  # the whole keyword index, of the drawers subject..until, was rebuilt
    "session.ended",  # subject is the room
    "room.refiled",  # subject is the room, until its new wing
    "notes.changed",  # subject..until are numbers of notes that were added or removed
    "notes.embedded",  # subject..until got their vectors from the model in detail
    "entry.changed",  # subject is an entry
    "episode.added",  # subject is an episode
    "episode.changed",  # the same, after deleted content was taken out of it
    "entities.changed",  # subject..until are entities that were added, changed, merged, split or removed
    "relations.changed",  # subject..until are relations that were added, got a new version, or were removed
    "dream.applied",  # subject is a dream
    "dream.undone",  # subject is a dream
    "revisions.changed",  # subject is a drawer: what its sentences revise was stored or deleted
    "proposals.added",  # subject..until are proposals for the graph
    "identity.changed",  # subject is its new version
    "document.changed",  # a document was written or deleted
    "item.changed",  # a store item was written or deleted
    "working.changed",  # an entry of working memory was written or deleted
    "task.changed",  # a task was begun, changed, closed or deleted; detail is its id, until it is deleted
]


OUT_OF_INDEX: frozenset[Kind] = frozenset({"drawer.superseded", "drawer.forgotten"})
"""A drawer is no longer found; `until` is the number of its chunks."""


News = tuple[Kind, int | None, int | None]
"""A change to be written: its kind, subject and until; None for its own position."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A snapshot of the records and the newest change in it; all followers can share one.

    With `until`, in milliseconds, it stands for an earlier moment: what was said later does not count.
    """

    connection: Connection
    head: int
    until: int | None = None
    last_drawer: int | None = None
    """The highest number that any drawer ever had, where it was read along."""
    recent: list[Change] = field(default_factory=list, compare=False, repr=False)
    """The changes of any kind after the position of the oldest follower that asked, once one has: for all of them."""
    unsearched: dict[str, int] = field(default_factory=dict, compare=False, repr=False)
    """By follower, of how many records the vectors were left out of a search, as too many wait to be indexed."""
    read: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """What is asked for several times and was read once, under names that its readers choose."""


_NEWEST = Prepared(select(func.max(changes.c.position)).where(*here(changes)))


def moment(connection: Connection, space: str, until: int | None = None) -> Moment:
    """The moment that a connection sees."""
    ((newest,),) = _NEWEST.rows(connection, space=space)
    return Moment(connection, int(newest or 0), until)


class Change(NamedTuple):
    """One line of the log; `until` equals `subject` where a change covers one record."""

    position: int
    kind: Kind
    subject: int
    until: int
    detail: str | None


# Rows read by one statement.
_FOLLOWED = 10_000


def _append() -> Insert:
    """Several rows at once, `ahead` of the newest change by one, by two and so on."""
    newest = select(func.coalesce(func.max(changes.c.position), 0)).where(*here(changes)).scalar_subquery()
    position = newest + bindparam("ahead", type_=Integer)
    values: dict[str, Any] = {name: bindparam(name) for name in ("space", "kind", "detail", "at")}
    values |= {name: func.coalesce(bindparam(name, type_=Integer), position) for name in ("subject", "until")}
    return insert(changes).values(position=position, **values).returning(changes.c.position)


_APPEND = Prepared(_append())
_COLUMNS = select(changes.c.position, changes.c.kind, changes.c.subject, changes.c.until, changes.c.detail)
_FOLLOWING = (
    _COLUMNS.where(*here(changes), changes.c.position > bindparam("after"))
    .order_by(changes.c.position)
    .limit(bindparam("most"))
)
_ANY_BEHIND = Prepared(_FOLLOWING)
_OF_KINDS = _FOLLOWING.where(changes.c.kind.in_(bindparam("kinds", expanding=True)))
_BEHIND = Prepared(_OF_KINDS)
# So many changes are read once for all followers.
_FEW = 200


def append(
    connection: Connection,
    space: str,
    kind: Kind,
    subject: int | None,
    *,
    at: int,
    until: int | None = None,
    detail: str | None = None,
) -> int:
    """Write one change in the caller's transaction. Returns its position, which is also the default subject."""
    last = subject if until is None else until
    row = {"space": space, "kind": kind, "subject": subject, "until": last, "detail": detail, "at": at, "ahead": 1}
    ((position,),) = _APPEND.insert(connection, [row])
    return int(position)


def append_all(connection: Connection, space: str, news: Sequence[News], *, at: int) -> int:
    """Write several changes in the caller's transaction.

    Returns the position of the last one, 0 if there is none; the others come right before it.
    """
    last = 0
    for start in range(0, len(news), ROWS_AT_ONCE):
        rows = [
            {"space": space, "kind": kind, "subject": subject, "until": until, "detail": None, "at": at, "ahead": ahead}
            for ahead, (kind, subject, until) in enumerate(news[start : start + ROWS_AT_ONCE], start=1)
        ]
        last = max(position for (position,) in _APPEND.insert(connection, rows))
    return last


def head(connection: Connection, space: str) -> int:
    """Position of the newest change, 0 in an empty log."""
    return moment(connection, space).head


def at(connection: Connection, space: str, position: int) -> str:
    """The log entry at a position as one line of text; empty if there is none.

    Two logs, one of which was rolled back and then continued, differ at the same position.
    """
    columns = (changes.c.kind, changes.c.subject, changes.c.until, changes.c.at)
    row = connection.execute(select(*columns).where(*here(changes, space, position=position))).first()
    return "" if row is None else " ".join(map(str, row))


_MADE_AT = Prepared(select(changes.c.at).where(*here(changes, position=bindparam("position"))))


def made_at(connection: Connection, space: str, position: int) -> int | None:
    """When the change at a position was made, in UTC milliseconds; None if there is none."""
    return next((at for (at,) in _MADE_AT.rows(connection, space=space, position=position)), None)


def first_at(connection: Connection, space: str) -> int | None:
    """When the first change was made, in UTC milliseconds; None in an empty log."""
    oldest = select(changes.c.at).where(*here(changes, space)).order_by(changes.c.position).limit(1)
    return connection.execute(oldest).scalar()


def read(
    connection: Connection, space: str, *, after: int, kinds: Collection[Kind], most: int = _FOLLOWED
) -> list[Change]:
    """Changes of these kinds after a position, oldest first."""
    return _plausible(_BEHIND.rows(connection, space=space, after=after, kinds=sorted(kinds), most=most))


def _plausible(rows: Iterable[Any]) -> list[Change]:
    news = [Change(*row) for row in rows]
    for change in news:
        plausible(change.subject or 0)
        plausible(change.until or 0)
    return news


def follow(moment: Moment, space: str, *, after: int, kinds: Collection[Kind]) -> Iterator[Change]:
    """All changes of these kinds after a position and up to a moment, oldest first."""
    if after < moment.head <= after + _FEW:
        few = (each for each in _recent(moment, space, after) if each.kind in kinds)
        yield from (each for each in few if after < each.position <= moment.head)
        return
    while after < moment.head:
        news = read(moment.connection, space, after=after, kinds=kinds, most=_FOLLOWED)
        yield from news
        if news and news[-1].position <= after:
            raise DatabaseDamaged(f"The log of changes goes back from {after} to {news[-1].position}.")
        if len(news) < _FOLLOWED:
            return
        after = news[-1].position


_HIGHEST = Prepared(select(func.max(changes.c.until)).where(*here(changes, kind=bindparam("kind"))))


def reached(moment: Moment, space: str, kind: Kind) -> int:
    """The highest number that the changes of a kind name as their last, 0 if there are none."""
    ((highest,),) = _HIGHEST.rows(moment.connection, space=space, kind=kind)
    return plausible(highest or 0)


def _recent(moment: Moment, space: str, after: int) -> Sequence[Change]:
    """The few changes after a position, and perhaps some before: read again only if an earlier one is asked for."""
    if not moment.recent or moment.recent[0].position > after + 1:
        moment.recent[:] = _plausible(_ANY_BEHIND.rows(moment.connection, space=space, after=after, most=_FEW))
    return moment.recent


def details(connection: Connection, space: str, kind: Kind, *, since: int, until: int) -> set[str]:
    """The details of the changes of a kind that were made from one moment until before another."""
    wanted = select(changes.c.detail).where(*here(changes, space, kind=kind), changes.c.detail.is_not(None))
    return set(connection.execute(wanted.where(changes.c.at >= since, changes.c.at < until)).scalars())


def rename(connection: Connection, space: str, kind: Kind, old: str, new: str | None) -> None:
    """Put another detail in the place of one that is deleted; None: no detail."""
    these = here(changes, space, kind=kind, detail=old)
    connection.execute(update(changes).where(*these).values(detail=new))


def ranges(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same numbers in as few ranges as possible, ascending, each number once.

    Example:
        >>> ranges([(7, 7), (3, 4), (4, 5)])
        [(3, 5), (7, 7)]
    """
    merged: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return merged


def first_drawers(news: Iterable[Change], least: int) -> list[Change]:
    """The first of these changes that together cover at least this many drawers; all of them if there are fewer."""
    taken: list[Change] = []
    for change in news:
        taken.append(change)
        least -= change.until - change.subject + 1
        if least <= 0:
            break
    return taken


def drawers_behind(connection: Connection, space: str, follower: str) -> int:
    """How many new drawers a follower has yet to process."""
    after = cursor(connection, space, follower)
    news = read(connection, space, after=after, kinds={"drawers.added"}, most=1_000_000)
    return sum(change.until - change.subject + 1 for change in news)


def follower_at(name: str) -> ScalarSelect[int]:
    """As part of a statement: how far the follower that a parameter of this name tells has come."""
    # Of no row, the aggregate makes one: PostgreSQL would look through the whole log for what is computed outside it.
    furthest = func.coalesce(func.max(cursors.c.position), 0)
    return select(furthest).where(*here(cursors, name=bindparam(name))).scalar_subquery()


def news_for(follower: str, kind: str) -> Select[Any]:
    """As part of a statement: the next `most` changes of a kind that a follower has yet to process.

    Parameters of these names tell which kind and which follower.
    """
    these = (*here(changes, kind=bindparam(kind)), changes.c.position > follower_at(follower))
    behind = _COLUMNS.where(*these).order_by(changes.c.position).limit(bindparam("most")).subquery()
    return select(*behind.c)


_AT = follower_at("follower")
_UNREAD = Prepared(_OF_KINDS.where(changes.c.position > _AT).add_columns(_AT.label("follower_at")))


def unread(
    connection: Connection, space: str, follower: str, *, kinds: Collection[Kind], most: int = _FOLLOWED
) -> tuple[int, list[Change]]:
    """The next changes of these kinds for a follower, oldest first, and how far it has come, if there are any."""
    rows = _UNREAD.rows(connection, space=space, follower=follower, after=0, kinds=sorted(kinds), most=most)
    return (rows[0][-1] if rows else 0), _plausible(row[:-1] for row in rows)


def changes_in(rows: Iterable[Any]) -> list[Change]:
    """The changes that rows hold; a row without one holds NULL."""
    return _plausible(row for row in rows if row[0] is not None)


_CURSOR = Prepared(select(cursors.c.position).where(*here(cursors, name=bindparam("name"))))


def cursor(connection: Connection, space: str, name: str) -> int:
    """How far a follower has come; 0 if it never ran."""
    return next((position for (position,) in _CURSOR.rows(connection, space=space, name=name)), 0)


_NAMED = Prepared(
    select(cursors.c.name)
    .where(*here(cursors), cursors.c.name.between(bindparam("first"), bindparam("last")))
    .order_by(cursors.c.name)
)


def cursors_named(connection: Connection, space: str, beginning: str) -> list[str]:
    """The names of the cursors with a prefix."""
    rows = _NAMED.rows(connection, space=space, first=beginning, last=f"{beginning}\U0010ffff")
    return [name for (name,) in rows]


_MOVE = Prepared(
    update(cursors)
    .where(*here(cursors, name=bindparam("name"), position=bindparam("old")))
    .values(position=bindparam("new"))
)


def move_cursor(connection: Connection, space: str, name: str, *, old: int, new: int) -> bool:
    """Move a cursor if it is still at `old`; False if another process has moved it."""
    if old == 0:
        insert_new(connection, cursors, space, [{"name": name, "position": 0}])
    return _MOVE.change(connection, space=space, name=name, old=old, new=new) == 1


def reset_cursor(connection: Connection, space: str, name: str, position: int = 0) -> None:
    """Set a cursor unconditionally, for a follower that starts over."""
    put_row(connection, cursors, space, {"name": name}, {"position": position})
