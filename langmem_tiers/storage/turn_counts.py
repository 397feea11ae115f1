"""How many turns were said in a period, by session and by task, and the first and the last of them."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, func, select

from langmem_tiers.storage.schema import drawers, rooms
from langmem_tiers.storage.statements import here, numbered


class SessionTurns(NamedTuple):
    """A session in which something was said: how many turns, the first and the last, and the room it is filed in."""

    room: int
    session: str
    wing: int
    address: int
    touched_at: int
    ended_at: int | None
    drawers: int
    project: str | None
    turns: int
    first: int
    last: int


class TaskTurns(NamedTuple):
    """A task in which something was said: how many turns, and the first and the last."""

    task: str
    project: str | None
    turns: int
    first: int
    last: int


_COUNTED = (
    func.max(drawers.c.project),
    func.count(),
    func.min(drawers.c.said_at).label("first"),
    func.max(drawers.c.said_at).label("last"),
)
_OF_SESSION = ("number", "session", "address_wing", "address_room", "touched_at", "ended_at", "drawers")


def by_session(connection: Connection, space: str, since: int, until: int, project: str | None) -> list[SessionTurns]:
    """The sessions with turns from one moment until before another, of a project if given; the latest last."""
    wanted = (
        select(*(rooms.c[name] for name in _OF_SESSION), *_COUNTED)
        .select_from(drawers.join(rooms, numbered(rooms, drawers.c.room)))
        .where(*_said(space, since, until), *([] if project is None else [drawers.c.project == project]))
        .group_by(rooms.c.space, rooms.c.number)
        .order_by("last", rooms.c.number)
    )
    return [SessionTurns(*row) for row in connection.execute(wanted)]


def by_task(connection: Connection, space: str, since: int, until: int) -> dict[str, TaskTurns]:
    """The tasks with turns from one moment until before another, by id."""
    wanted = select(drawers.c.task, *_COUNTED).where(*_said(space, since, until), drawers.c.task.is_not(None))
    found = (TaskTurns(*row) for row in connection.execute(wanted.group_by(drawers.c.task)))
    return {each.task: each for each in found}


def _said(space: str, since: int, until: int) -> tuple[ColumnElement[bool], ...]:
    within = (drawers.c.said_at >= since, drawers.c.said_at < until)
    return (*here(drawers, space), drawers.c.superseded_by.is_(None), *within)
