"""The connections of a process to one server, first come, first served.

SQLAlchemy's own pool lets whoever comes just now take the connection that somebody else is waiting for: among many
threads, some wait until they time out while others are served again and again. It also fails where the server has no
room for one more: here, those that the process has are shared then, and another one is tried for a second later.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool

from langmem_tiers.storage.postgres import errors

# Seconds until another connection is tried for after the server had no room.
_AGAIN = 1.0


class FairPool(QueuePool):
    """A pool that gives its connections to those who wait in the order in which they came."""

    # What it tells is of SQLAlchemy, and not in the log of this package.
    _sqla_logger_namespace = "sqlalchemy.pool.impl.QueuePool"

    def __init__(self, creator: Any, *, pool_size: int, max_overflow: int, **options: Any) -> None:
        super().__init__(creator, pool_size=pool_size, max_overflow=max_overflow, **options)
        self.most = pool_size + max_overflow
        self._turns = _Turns(self.most)
        self._line = _Line()
        self._is_disposed = False

    def dispose(self) -> None:
        """Close its connections, and those that are in use when they are given back."""
        self._is_disposed = True
        super().dispose()

    def recreate(self) -> FairPool:
        """A pool in its place; after `dispose`, for those who have not come to their end, and it keeps none."""
        made = super().recreate()
        assert isinstance(made, FairPool)
        made._is_disposed = self._is_disposed
        return made

    @contextmanager
    def several(self) -> Iterator[None]:
        """Let this thread, which has no connection yet, take several during the block and begin transactions on them.

        Threads that each held one and waited for another would wait for each other. Only one at a time takes several,
        while those who have all that they need go on and give theirs back: also where the server, or a pooler, has
        fewer connections than the pool.

        Raises:
            PoolTimeout: its turn did not come in time.
        """
        with self._line.turn(self._timeout) as came:
            if not came:
                raise self._no_connection()
            yield

    def _no_connection(self) -> PoolTimeout:
        return PoolTimeout(f"no connection within {self._timeout:g} s")

    def _do_get(self) -> ConnectionPoolEntry:
        until = monotonic() + self._timeout
        first = False
        while self._turns.take(until - monotonic(), first=first):
            try:
                return super()._do_get()
            except BaseException as error:
                if not (errors.says_full(error) and self._turns.give_up(idle=self.checkedin())):
                    self._turns.give()
                    raise
            first = True  # it has waited already
        raise self._no_connection()

    def _do_return_conn(self, record: ConnectionPoolEntry) -> None:
        try:
            super()._do_return_conn(record)
            if self._is_disposed:
                super().dispose()
        finally:
            self._turns.give()


class _Line:
    """Threads that follow each other, first come, first served."""

    def __init__(self) -> None:
        self._there: dict[threading.Event, None] = {}  # in the order in which they came

    @contextmanager
    def turn(self, patience: float) -> Iterator[bool]:
        """Wait for the turn, and hold it during the block; False if it did not come within `patience` seconds."""
        called = threading.Event()
        try:
            self._there[called] = None
            yield self._first() is called or called.wait(patience) or self._first() is called
        finally:  # also if Ctrl-C comes while it waits
            self._there.pop(called, None)
            if (following := self._first()) is not None:
                following.set()

    def _first(self) -> threading.Event | None:
        return next(iter(tuple(self._there)), None)  # a copy: others come and go


class _Turns:
    """A number of turns, each held by one thread at a time; fewer for a while after one was given up."""

    def __init__(self, number: int) -> None:
        self._free = number  # none while somebody waits
        self._held = 0
        self._given_up = 0
        self._until = 0.0
        self._waiting: deque[threading.Event] = deque()
        self._lock = threading.Lock()

    def take(self, patience: float, *, first: bool = False) -> bool:
        """Wait for a turn, before all others if one is `first`; False if there is none within `patience` seconds."""
        with self._lock:
            if self._is_to_be_had():
                self._held += 1
                return True
            called = threading.Event()
            if first:
                self._waiting.appendleft(called)
            else:
                self._waiting.append(called)
        try:
            called.wait(max(patience, 0.0))
        except BaseException:  # an interrupt: nobody else may wait for this thread
            if not self._left(called):
                self.give()
            raise
        return not self._left(called)

    def _is_to_be_had(self) -> bool:
        """Take a turn from those that nobody has, or that were given up a while ago."""
        if self._free:
            self._free -= 1
            return True
        if self._given_up and monotonic() > self._until:
            self._given_up -= 1
            return True
        return False

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
                self._held -= 1

    def give_up(self, *, idle: int) -> bool:
        """End a turn that nobody is to have for a while; False, and nothing is done, if no other one is held.

        So many connections are `idle`: one may have been given back since the server refused another.
        """
        with self._lock:
            if self._held < 2:
                return False
            self._held -= 1
            # Nor those for which there is no connection: there is no room for them either.
            left = min(self._free, idle)
            self._given_up += 1 + self._free - left
            self._free = left
            self._until = monotonic() + _AGAIN
            return True
