"""Sentences that end, change or take back what was said before them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime
from typing import NamedTuple

import orjson
from sqlalchemy import Connection, delete, select

from langmem_tiers.clock import from_millis
from langmem_tiers.language.revisions import Revised, Revision, revision_of
from langmem_tiers.storage import change_log
from langmem_tiers.storage.schema import drawers, revisions
from langmem_tiers.storage.sealed_text import excerpt
from langmem_tiers.storage.statements import among, here, insert_new, listed, numbered


class RevisedRow(NamedTuple):
    """A sentence that revises something: its drawer, its place there, its words, when it was said, and what it says."""

    drawer: int
    start: int
    quote: str
    said_at: datetime
    revisions: tuple[Revision, ...]


def put(connection: Connection, space: str, revised: Revised, *, at: int) -> None:
    """Store a sentence that revises something; one that is known stays as it is."""
    body = orjson.dumps([each.body() for each in revised.revisions]).decode()
    row = {"drawer": revised.drawer, "start": revised.start, "stop": revised.stop, "body": body}
    if insert_new(connection, revisions, space, [row]):
        change_log.append(connection, space, "revisions.changed", revised.drawer, at=at)


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
