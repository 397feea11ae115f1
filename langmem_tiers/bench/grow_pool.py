"""The pool on disk: its sessions by place, so that neither file nor pool is ever held whole."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path

from langmem_tiers.bench.grow_survey import PoolSession, other_session
from langmem_tiers.transfer.records import ImportedMessage, ImportedSession

_SCHEMA = """
CREATE TABLE sessions (
    place    INTEGER PRIMARY KEY,
    name     TEXT NOT NULL UNIQUE,  -- the file's own: to tell what a haystack has already, never copied to a memory
    messages TEXT NOT NULL          -- JSON: message id, role, content, time
)
"""
_VARIABLES = 500  # of one statement


class Pool:
    """The sessions written by `write_pool`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def sessions(self, start: int, stop: int | None = None) -> Iterator[ImportedSession]:
        """The sessions of the places from `start` on, up to and without `stop`."""
        query = "SELECT place, messages FROM sessions WHERE place >= ? AND (? IS NULL OR place < ?) ORDER BY place"
        with closing(sqlite3.connect(self._path)) as connection:
            for place, messages in connection.execute(query, (start, stop, stop)):
                yield _session(other_session(place), messages)

    def places(self, names: Collection[str]) -> dict[str, int]:
        """The places of the sessions that the file calls so; those that are not in the pool are left out."""
        wanted = list(dict.fromkeys(names))
        found: dict[str, int] = {}
        with closing(sqlite3.connect(self._path)) as connection:
            for start in range(0, len(wanted), _VARIABLES):
                some = wanted[start : start + _VARIABLES]
                query = f"SELECT name, place FROM sessions WHERE name IN ({','.join('?' * len(some))})"
                found.update(connection.execute(query, some))
        return found


def write_pool(path: Path, sessions: Iterable[PoolSession]) -> Pool:
    """Write a new pool, in whatever order its sessions come."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(_SCHEMA)
        rows = ((entry.place, entry.name, _written(entry.session)) for entry in sessions)
        connection.executemany("INSERT INTO sessions VALUES (?, ?, ?)", rows)
    return Pool(path)


def _written(session: ImportedSession) -> str:
    return json.dumps([(m.message_id, m.role, m.content, m.at and m.at.isoformat()) for m in session.messages])


def _session(name: str, written: str) -> ImportedSession:
    messages = tuple(
        ImportedMessage(
            session=name,
            role=role,
            content=content,
            at=at and datetime.fromisoformat(at),
            speaker=None,
            message_id=message_id,
        )
        for message_id, role, content, at in json.loads(written)
    )
    return ImportedSession(session=name, messages=messages)
