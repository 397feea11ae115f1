"""Recorded feedback: rows that say who was how pleased or annoyed with which message."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, insert, select, update

from langmem_tiers.storage import facts
from langmem_tiers.storage.schema import feedback_signals
from langmem_tiers.storage.statements import delete_among, here
from langmem_tiers.types import Sentiment, SignalKind, SignalOrigin

_NEWEST = "newest_feedback_signal"
_ROW = select(*(column for column in feedback_signals.c if column.name != "space"))


class FeedbackRow(NamedTuple):
    """Recorded feedback; `at` is in UTC milliseconds."""

    number: int
    kind: SignalKind
    strength: Sentiment
    drawer: int | None
    session: str | None
    note: str
    origin: SignalOrigin
    at: int


def put(connection: Connection, space: str, row: FeedbackRow) -> FeedbackRow:
    """Store feedback. Returns it with its number."""
    new = row._replace(number=facts.count_up(connection, space, _NEWEST))
    connection.execute(insert(feedback_signals).values(space=space, **new._asdict()))
    return new


def put_new(connection: Connection, space: str, found: Iterable[FeedbackRow]) -> None:
    """Store what a model found, except of messages of which the same is known from it."""
    for row in found:
        same = here(feedback_signals, space, drawer=row.drawer, origin=row.origin)
        if connection.execute(_ROW.where(*same).limit(1)).first() is None:
            put(connection, space, row)


def since(
    connection: Connection, space: str, moment: int, *, most: int, session: str | None = None
) -> Sequence[FeedbackRow]:
    """The latest feedback from a moment on, in all sessions or in one; oldest first."""
    wanted = _ROW.where(*here(feedback_signals, space), feedback_signals.c.at >= moment)
    if session is not None:
        wanted = wanted.where(feedback_signals.c.session == session)
    latest = wanted.order_by(feedback_signals.c.number.desc()).limit(most)
    return [FeedbackRow(**row._mapping) for row in connection.execute(latest)][::-1]


def unsay(connection: Connection, space: str, without: Callable[[str], str]) -> None:
    """Remove permanently deleted content from the notes on feedback."""
    for row in every(connection, space):
        if row.note and (left := without(row.note)) != row.note:
            renote(connection, space, row.number, left)


def every(connection: Connection, space: str) -> list[FeedbackRow]:
    """All feedback, oldest first."""
    wanted = _ROW.where(*here(feedback_signals, space)).order_by(feedback_signals.c.number)
    return [FeedbackRow(**row._mapping) for row in connection.execute(wanted)]


def renote(connection: Connection, space: str, number: int, note: str) -> None:
    """Give feedback another note."""
    connection.execute(update(feedback_signals).where(*here(feedback_signals, space, number=number)).values(note=note))


def drop(connection: Connection, space: str, numbers: Collection[int]) -> None:
    """Delete feedback."""
    delete_among(connection, space, feedback_signals.c.number, numbers)
