"""Activities: what the memory did on its own and why, for the user to see."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import orjson
from sqlalchemy import Connection, Select, func, insert, select

from langmem_tiers.clock import from_millis
from langmem_tiers.records import Activity
from langmem_tiers.storage.schema import activities
from langmem_tiers.storage.statements import here
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
    given = {name: value for name, value in (("kind", kind), ("session", session)) if value is not None}
    wanted = select(activities).where(*here(activities, space, **given)).order_by(activities.c.number.desc())
    return _read(connection, wanted.limit(most))


def newest(connection: Connection, space: str) -> int:
    """The number of the last activity, 0 before the first."""
    last = select(func.max(activities.c.number)).where(*here(activities, space))
    return int(connection.execute(last).scalar() or 0)


def behind(connection: Connection, space: str, number: int, most: int) -> list[Activity]:
    """The activities after a number, oldest first."""
    wanted = select(activities).where(*here(activities, space), activities.c.number > number)
    return _read(connection, wanted.order_by(activities.c.number).limit(most))


def _read(connection: Connection, wanted: Select[Any]) -> list[Activity]:
    """The activities; one that cannot be read is left out with a warning: it is a log line, not a memory."""
    found: list[Activity] = []
    for row in connection.execute(wanted):
        try:
            body = orjson.loads(row.body)
        except ValueError:
            say(log, logging.WARNING, "unreadable_activity_skipped", activity=row.number)
            continue
        made = Activity(number=row.number, at=from_millis(row.at), kind=row.kind, session=row.session, body=body)
        found.append(made)
    return found
