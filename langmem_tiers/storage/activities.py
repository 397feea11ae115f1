"""Activities: what the memory did by itself, and why, for its user to see."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Connection, func, insert, select

from langmem_tiers.storage.schema import activities
from langmem_tiers.telemetry.logs import say

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class ActivityRow:
    """One activity as it is kept; `at` are milliseconds."""

    number: int
    at: int
    kind: str
    session: str | None
    body: Mapping[str, Any]


def append(
    connection: Connection, space: str, kind: str, body: Mapping[str, Any], *, at: int, session: str | None = None
) -> int:
    """Note an activity in the caller's transaction; its number."""
    number = newest(connection, space) + 1
    row = {"number": number, "at": at, "kind": kind, "session": session, "body": orjson.dumps(body).decode()}
    connection.execute(insert(activities).values(space=space, **row))
    return number


def latest(
    connection: Connection, space: str, most: int, *, kind: str | None = None, session: str | None = None
) -> list[ActivityRow]:
    """The newest activities first, of one kind or session where these are given."""
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


def behind(connection: Connection, space: str, number: int, most: int) -> list[ActivityRow]:
    """The activities after a number, oldest first."""
    wanted = select(activities).where(activities.c.space == space, activities.c.number > number)
    rows = connection.execute(wanted.order_by(activities.c.number).limit(most))
    return [read for row in rows if (read := _read(row)) is not None]


def _read(row: Any) -> ActivityRow | None:
    """The activity of a row, None with a warning where it can not be read: it is a note, no memory."""
    try:
        body = orjson.loads(row.body)
    except ValueError:
        say(log, logging.WARNING, "unreadable_activity_skipped", activity=row.number)
        return None
    return ActivityRow(number=row.number, at=row.at, kind=row.kind, session=row.session, body=body)
