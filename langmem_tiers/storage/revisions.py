"""Sentences that end, change or take back what was said before them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import NamedTuple

import orjson
from sqlalchemy import Connection, bindparam, delete, select

from langmem_tiers.clock import from_millis
from langmem_tiers.language.endings import Revised
from langmem_tiers.language.revisions import Revision, revision_of
from langmem_tiers.storage import change_log, facts
from langmem_tiers.storage.schema import drawers, revisions
from langmem_tiers.storage.sealed_text import excerpt
from langmem_tiers.storage.statements import Prepared, among, here, insert_new, listed, numbered

RULES = 3
"""The edition of the rules that find these sentences. What an older one found is read again in the background."""

# The edition of the rules, and up to which drawer their sentences were read again, or that all were.
_READ_BY = "revisions.rules"
_ALL = -1


class RevisedRow(NamedTuple):
    """A sentence that revises something: its drawer, its place there, its words, when it was said, and what it says."""

    drawer: int
    start: int
    quote: str
    said_at: datetime
    revisions: tuple[Revision, ...]


def put(connection: Connection, space: str, revised: Revised, *, at: int) -> None:
    """Store a sentence that revises something; one that is known stays as it is."""
    if not facts.get(connection, space, _READ_BY) and _next(connection, space, 0, 1) == []:
        _note_read(connection, space, _ALL)
    if insert_new(connection, revisions, space, [_row(revised)]):
        change_log.append(connection, space, "revisions.changed", revised.drawer, at=at)


def _row(revised: Revised) -> dict[str, int | str]:
    body = orjson.dumps([each.body() for each in revised.revisions]).decode()
    return {"drawer": revised.drawer, "start": revised.start, "stop": revised.stop, "body": body}


def read_again(connection: Connection, space: str) -> None:
    """Have all such sentences be read again: an older edition of the rules may have found some."""
    facts.put_numbers(connection, space, _READ_BY, [0, 0])


class Found(NamedTuple):
    """Where sentences that revise something were found."""

    drawer: int
    room: int
    place: int


def of_older_rules(connection: Connection, space: str, most: int) -> list[Found]:
    """Up to so many drawers, in order, in which an older edition of the rules found such sentences."""
    edition, upto = facts.numbers(connection, space, _READ_BY) or (0, 0)
    # Where versions are at work side by side, the older one takes nothing for its own: they would go on in turns.
    if edition > RULES or (edition == RULES and upto == _ALL):
        return []
    return _next(connection, space, upto if edition == RULES else 0, most)


_NEXT = Prepared(
    select(drawers.c.number, drawers.c.room, drawers.c.place)
    .where(
        *here(drawers),
        drawers.c.number > bindparam("after"),
        drawers.c.number.in_(select(revisions.c.drawer).where(*here(revisions))),
    )
    .order_by(drawers.c.number)
    .limit(bindparam("most"))
)


def _next(connection: Connection, space: str, after: int, most: int) -> list[Found]:
    """Drawers with such sentences behind one."""
    return [Found(*row) for row in _NEXT.rows(connection, space=space, after=after, most=most)]


def replace(
    connection: Connection, space: str, read: Collection[int], found: Sequence[Revised], *, upto: int, at: int
) -> None:
    """Store what today's rules find in these drawers in the place of what an older edition found.

    All up to a drawer have been read again then.
    """
    these = (*here(revisions, space), revisions.c.drawer.in_(read))
    columns = (revisions.c.drawer, revisions.c.start, revisions.c.stop, revisions.c.body)
    stored = {tuple(row) for row in connection.execute(select(*columns).where(*these))}
    new = {tuple(row.values()): row for row in map(_row, found)}
    connection.execute(delete(revisions).where(*these))
    insert_new(connection, revisions, space, [*new.values()])
    for drawer in sorted({int(row[0]) for row in stored.symmetric_difference(new)}):
        change_log.append(connection, space, "revisions.changed", drawer, at=at)
    _note_read(connection, space, upto if _next(connection, space, upto, 1) else _ALL)


def _note_read(connection: Connection, space: str, upto: int) -> None:
    facts.put_numbers(connection, space, _READ_BY, [RULES, upto])


_LENGTH = revisions.c.stop - revisions.c.start
_STANDING = (
    select(
        revisions.c.drawer,
        revisions.c.start,
        excerpt(drawers.c.content, revisions.c.start + 1, _LENGTH).label("quote"),
        drawers.c.said_at,
        revisions.c.body,
    )
    .select_from(revisions.join(drawers, numbered(drawers, revisions.c.drawer)))
    .where(*here(revisions), drawers.c.superseded_by.is_(None))
)
_OF_DRAWERS = _STANDING.where(listed(revisions.c.drawer))


def standing(connection: Connection, space: str, drawers: Collection[int] | None = None) -> list[RevisedRow]:
    """Those of messages that stand as they are, of all or of some drawers."""
    if drawers is None:
        rows = connection.execute(_STANDING, {"space": space}).all()
    else:
        rows = among(connection, _OF_DRAWERS, drawers, space=space)
    return [
        RevisedRow(each.drawer, each.start, each.quote, from_millis(each.said_at), _parsed(each.body)) for each in rows
    ]


def _parsed(body: str) -> tuple[Revision, ...]:
    return tuple(map(revision_of, orjson.loads(body)))


def forget(connection: Connection, space: str, drawer: int, unwanted: Callable[[str], bool], *, at: int) -> None:
    """Delete those of a drawer whose words are unwanted."""
    for row in connection.execute(_STANDING.where(revisions.c.drawer == drawer), {"space": space}):
        if unwanted(row.quote):
            connection.execute(delete(revisions).where(*here(revisions, space, drawer=drawer, start=row.start)))
            change_log.append(connection, space, "revisions.changed", drawer, at=at)
