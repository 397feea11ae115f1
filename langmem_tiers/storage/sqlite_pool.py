"""The connections to a SQLite file that are kept for the next call. No business logic."""

from __future__ import annotations

from collections import deque
from time import monotonic, sleep
from typing import Any
from weakref import WeakSet

from sqlalchemy.exc import TimeoutError as NoConnectionFree
from sqlalchemy.pool import ConnectionPoolEntry, Pool

# How many connections are kept while nobody uses them, and how many there are about at most.
_KEPT, _MOST = 8, 40
# Seconds that a call waits for a connection at most, and between two looks.
_PATIENCE, _LOOKS = 30.0, 0.002


class SqlitePool(Pool):
    """Like SQLAlchemy's `QueuePool`, but with neither a lock nor a count that Ctrl-C could leave as no call left it.

    A connection that a stopped call neither gives back nor keeps is garbage, and then counts no more.
    """

    __module__ = Pool.__module__  # what SQLAlchemy logs of it is under its own name, as of its other pools

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self._idle: deque[ConnectionPoolEntry] = deque()
        self._open: WeakSet[ConnectionPoolEntry] = WeakSet()

    def _do_get(self) -> ConnectionPoolEntry:
        until = monotonic() + _PATIENCE
        while not self._idle and len(self._open) >= _MOST:
            if monotonic() > until:
                raise NoConnectionFree(f"None of the {_MOST} connections was given back within {_PATIENCE:g} s.")
            sleep(_LOOKS)
        try:
            return self._idle.pop()
        except IndexError:
            opened = self._create_connection()
        self._open.add(opened)
        return opened

    def _do_return_conn(self, record: ConnectionPoolEntry) -> None:
        if len(self._idle) < _KEPT:
            self._idle.append(record)
        else:
            self._open.discard(record)
            record.close()

    def recreate(self) -> SqlitePool:
        """Another one like this, without connections."""
        return SqlitePool(self._creator, dialect=self._dialect)

    def dispose(self) -> None:
        """Close the connections that nobody uses."""
        for record in tuple(self._idle):
            try:
                self._idle.remove(record)
            except ValueError:  # somebody took it meanwhile
                continue
            self._open.discard(record)
            record.close()

    def status(self) -> str:
        """How many connections there are."""
        return f"{len(self._open)} connections, {len(self._idle)} of them idle"
