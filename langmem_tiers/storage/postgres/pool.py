"""The connections of a process to one server, first come, first served.

SQLAlchemy's own pool lets whoever comes just now take the connection that somebody else is waiting for: among many
threads, some wait until they time out while others are served again and again.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool


class FairPool(QueuePool):
    """A pool that gives its connections to those who wait in the order in which they came."""

    def __init__(self, creator: Any, *, pool_size: int, max_overflow: int, **options: Any) -> None:
        super().__init__(creator, pool_size=pool_size, max_overflow=max_overflow, **options)
        self._turns = _Turns(pool_size + max_overflow)

    def _do_get(self) -> ConnectionPoolEntry:
        if not self._turns.take(self._timeout):
            raise PoolTimeout(f"no connection within {self._timeout:g} s")
        try:
            return super()._do_get()
        except BaseException:
            self._turns.give()
            raise

    def _do_return_conn(self, record: ConnectionPoolEntry) -> None:
        try:
            super()._do_return_conn(record)
        finally:
            self._turns.give()


class _Turns:
    """A number of turns, each held by one thread at a time."""

    def __init__(self, number: int) -> None:
        self._free = number  # none while somebody waits
        self._waiting: deque[threading.Event] = deque()
        self._lock = threading.Lock()

    def take(self, patience: float) -> bool:
        """Wait for a turn; False if there is none within `patience` seconds."""
        with self._lock:
            if self._free:
                self._free -= 1
                return True
            called = threading.Event()
            self._waiting.append(called)
        try:
            called.wait(patience)
        except BaseException:  # an interrupt: nobody else may wait for this thread
            if not self._left(called):
                self.give()
            raise
        return not self._left(called)

    def _left(self, called: threading.Event) -> bool:
        """Whether a thread left without a turn: it was not called before."""
        with self._lock:
            if called.is_set():
                return False
            self._waiting.remove(called)
            return True

    def give(self) -> None:
        """End a turn; whoever has waited longest is next."""
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._free += 1
