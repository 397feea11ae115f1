"""Activities: what the memory did on its own and why, for the user to see."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import orjson
from sqlalchemy import Connection, func, insert, select

from langmem_tiers.clock import from_millis
from langmem_tiers.records import Activity
from langmem_tiers.storage.schema import activities
from langmem_tiers.telemetry.logs import say

log = logging.getLogger(__name__)


def append(
    connection: Connection, space: str, kind: str, body: Mapping[str, Any], *, at: int, session: str | None = None
) -> Activity:
    """Record an activity in the caller's transaction."""
    number = newest(connection, space) + 1
    row = {"number": number, "at": at, "kind": kind, "session": session, "body": orjson.dumps(body).decode()}
    connection.execute(insert(activities).values(space=space, **row))
    return Activity(number=number, at=from_millis(at), kind=kind, session=session, body=body)


def latest(
    connection: Connection, space: str, most: int, *, kind: str | None = None, session: str | None = None
) -> list[Activity]:
    """The newest activities first, optionally of one kind or session."""
    wanted = select(activities).where(activities.c.space == space)
    if kind is not None:
        wanted = wanted.where(activities.c.kind == kind)
    if session is not None:
        wanted = wanted.where(activities.c.session == session)
    rows = connection.execute(wanted.order_by(activities.c.number.desc()).limit(most))
    return [read for row in rows if (read := _read(row)) is not None]


def newest(connection: Connection, space: str) -> int:
    """The number of the last activity, 0 before the first."""
    last = select(func.max(activities.c.number)).where(activities.c.space == space)
    return int(connection.execute(last).scalar() or 0)


def behind(connection: Connection, space: str, number: int, most: int) -> list[Activity]:
    """The activities after a number, oldest first."""
    wanted = select(activities).where(activities.c.space == space, activities.c.number > number)
    rows = connection.execute(wanted.order_by(activities.c.number).limit(most))
    return [read for row in rows if (read := _read(row)) is not None]


def _read(row: Any) -> Activity | None:
    """The activity in a row; None, with a warning, if it cannot be read: it is a log line, not a memory."""
    try:
        body = orjson.loads(row.body)
    except ValueError:
        say(log, logging.WARNING, "unreadable_activity_skipped", activity=row.number)
        return None
    return Activity(number=row.number, at=from_millis(row.at), kind=row.kind, session=row.session, body=body)
