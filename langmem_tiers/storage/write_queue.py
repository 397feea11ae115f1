"""A first-come, first-served queue for the writers of one process, in front of the database's own lock.

SQLite lets waiting connections retry at random moments: among many threads, some never win before they time out.
PostgreSQL has them wait in turn, but each with a connection, and times them out one by one.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic
from weakref import WeakValueDictionary

from langmem_tiers.errors import DatabaseLocked
from langmem_tiers.storage.later_writes import LaterWrites

HURRIED = 0.02
"""Seconds that a write waits at most which somebody waits for who could go on without it."""
# Seconds that one thread may write while others wait: only a hanging transaction takes that long.
_STUCK = 120.0
# Seconds between two looks at who writes, should nobody call the next one.
_LOOKS = 1.0


@dataclass(eq=False)
class QueuedWriter:
    """A writer in the queue; `begun` once the database has granted it the lock."""

    begun: bool = False
    thread: int = field(default_factory=threading.get_ident)
    came: float = field(default_factory=monotonic)
    called: threading.Event = field(default_factory=threading.Event)
    refused: DatabaseLocked | None = None


class WriteQueue:
    """The writers of one space in this process, first come, first served."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._turns: dict[QueuedWriter, None] = {}  # in the order in which they came
        self.later = LaterWrites()

    @contextmanager
    def turn(self, *, hurried: bool = False) -> Iterator[QueuedWriter]:
        """Wait for the turn to write, and hold it during the block; not for long if it is `hurried`.

        Raises:
            DatabaseLocked: another process has held the lock for too long, or another thread does not end its
                transaction.
        """
        turn = QueuedWriter()
        if self.is_mine():
            yield turn  # the database refuses it by name; waiting for itself, the thread would hang
            return
        try:
            self._turns[turn] = None
            self._wait(turn, hurried=hurried)
            started = monotonic()
            try:
                yield turn
            except DatabaseLocked as error:
                if not turn.begun and not hurried:
                    self._refuse(started, error)
                raise
        finally:  # also if Ctrl-C comes while it waits
            self._turns.pop(turn, None)  # before anything else, as a second one may come here
            self._call_next()

    def is_mine(self) -> bool:
        """Whether this thread has the turn."""
        writing = self._writing()
        return writing is not None and writing.thread == threading.get_ident()

    def _writing(self) -> QueuedWriter | None:
        return next(iter(tuple(self._turns)), None)  # a copy: others come and go

    def _wait(self, turn: QueuedWriter, *, hurried: bool) -> None:
        writing = self._writing()
        if writing is turn:
            return
        if hurried and not turn.called.wait(HURRIED):
            raise DatabaseLocked("The memory is locked by other threads that write.")
        since = monotonic()
        while not turn.called.wait(_LOOKS):
            before, writing = writing, self._writing()
            if writing is turn:
                return  # the one before was stopped before it could call this one
            if writing is not before:
                since = monotonic()
            elif monotonic() - since > _STUCK:
                raise DatabaseLocked(f"The memory is locked by a thread that has been writing for {_STUCK:g} s.")
        if turn.refused is not None:
            raise turn.refused

    def _call_next(self) -> None:
        with self._lock:
            if (writing := self._writing()) is not None:
                writing.called.set()

    def _refuse(self, started: float, error: DatabaseLocked) -> None:
        """Another process did not give way in time: everyone who has waited as long gets the same error."""
        with self._lock:
            for turn in [each for each in tuple(self._turns) if each.came <= started and not each.called.is_set()]:
                self._turns.pop(turn, None)
                turn.refused = DatabaseLocked(error.message)
                turn.called.set()


class _Queues:
    """The queue of each space open in this process; it lives as long as its users do."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Start over: a forked child has none of the threads that wait or write."""
        self._lock = threading.Lock()
        self._queues: WeakValueDictionary[Hashable, WriteQueue] = WeakValueDictionary()

    def of(self, what: Hashable) -> WriteQueue:
        with self._lock:
            return self._queues.setdefault(what, WriteQueue())


_queues = _Queues()
if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_queues.forget)


def queue_of(what: Hashable) -> WriteQueue:
    """The queue of a database file, by its resolved path, of a space on a server, or of a session.

    All in this process share it.
    """
    return _queues.of(what)
