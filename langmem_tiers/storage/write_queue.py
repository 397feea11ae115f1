"""A first-come, first-served queue for the writers of one process, in front of the database's own lock.

SQLite lets waiting connections retry at random moments: among many threads, some never win before they time out.
PostgreSQL has them wait in turn, but each with a connection, and times them out one by one.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from time import monotonic
from weakref import WeakValueDictionary

from sqlalchemy import Connection

from langmem_tiers.errors import DatabaseLocked

HURRIED = 0.02
"""Seconds that a write waits at most which somebody waits for who could go on without it."""
# Seconds that one thread may write while others wait: only a hanging transaction takes that long.
_STUCK = 120.0


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
        self._turns: deque[QueuedWriter] = deque()
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
            self._wait(turn, hurried=hurried)
            started = monotonic()
            try:
                yield turn
            except DatabaseLocked as error:
                if not turn.begun and not hurried:
                    self._refuse(started, error)
                raise
        finally:  # also if Ctrl-C comes while it waits
            self._leave(turn)

    def is_mine(self) -> bool:
        """Whether this thread has the turn."""
        with self._lock:
            return bool(self._turns) and self._turns[0].thread == threading.get_ident()

    def is_wanted(self) -> bool:
        """Whether somebody waits for the turn of another."""
        return len(self._turns) > 1

    def _wait(self, turn: QueuedWriter, *, hurried: bool) -> None:
        with self._lock:
            self._turns.append(turn)
            writing = self._turns[0]
        if writing is turn:
            return
        if hurried and not turn.called.wait(HURRIED):
            raise DatabaseLocked("The memory is locked by other threads that write.")
        while not turn.called.wait(_STUCK):
            writing = self._other_than(writing)
        if turn.refused is not None:
            raise turn.refused

    def _other_than(self, before: QueuedWriter) -> QueuedWriter:
        """The current writer, if it is not the one seen before."""
        with self._lock:
            writing = self._turns[0]
        if writing is before:
            raise DatabaseLocked(f"The memory is locked by a thread that has been writing for {_STUCK:g} s.")
        return writing

    def _leave(self, turn: QueuedWriter) -> None:
        with self._lock:
            if turn in self._turns:
                self._turns.remove(turn)
            if self._turns:
                self._turns[0].called.set()

    def _refuse(self, started: float, error: DatabaseLocked) -> None:
        """Another process did not give way in time: everyone who has waited as long gets the same error."""
        with self._lock:
            for turn in [each for each in self._turns if each.came <= started and not each.called.is_set()]:
                self._turns.remove(turn)
                turn.refused = DatabaseLocked(error.message)
                turn.called.set()


class LaterWrite(ABC):
    """What is written once the lock is free, since somebody could not wait for it."""

    def __init__(self) -> None:
        self.done = threading.Event()

    @abstractmethod
    def writing(self) -> AbstractContextManager[Connection]:
        """A transaction in which it can be written, with others of the space."""

    @abstractmethod
    def write(self, connection: Connection) -> None:
        """Write it; it counts once `written` is called, and may be tried again before that."""

    @abstractmethod
    def written(self) -> None:
        """It was committed."""

    @abstractmethod
    def failed(self, error: Exception) -> None:
        """It was not, and is not tried again."""

    @abstractmethod
    def release(self) -> None:
        """Let go of what it needed, whatever came of it."""


class LaterWrites:
    """What is still to be written of a space in this process, in order, by a thread that ends when all is."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[LaterWrite] = []
        self._thread: threading.Thread | None = None

    def add(self, write: LaterWrite) -> None:
        """Have it written; `waiting` names it until then."""
        with self._lock:
            self._waiting.append(write)
        self._go_on()

    def waiting(self) -> tuple[LaterWrite, ...]:
        """What is not written yet, the oldest first."""
        return tuple(self._waiting)

    def wait(self) -> None:
        """Wait until what was added before is written or given up; the thread that writes it does not."""
        for write in () if threading.current_thread() is self._thread else self.waiting():
            self._go_on()
            write.done.wait()

    def _go_on(self) -> None:
        """Have a thread at work, unless there is one: Ctrl-C may have come before it was started."""
        with self._lock:
            if not self._waiting or (self._thread is not None and self._thread.is_alive()):
                return
            self._thread = thread = threading.Thread(target=self._write_all, name="langmem-tiers-later")
            try:
                thread.start()
            except RuntimeError:  # the interpreter is about to end, or there are too many: it is done here
                self._thread = threading.current_thread()
            else:
                return
        self._write_all()

    def _write_all(self) -> None:
        are_more = True
        while are_more:
            some = self.waiting()
            if not self._wrote(some):
                for each in some:  # one may keep the others from being written
                    self._wrote([each], at_last=True)
            with self._lock:
                self._waiting = [each for each in self._waiting if each not in some]
            for each in some:
                each.done.set()
            for each in some:
                each.release()
            with self._lock:
                are_more = bool(self._waiting)
                if not are_more:
                    self._thread = None

    def _wrote(self, some: Sequence[LaterWrite], *, at_last: bool = False) -> bool:
        """Whether these were written together, or given up; if not, none was."""
        try:
            with some[0].writing() as connection:
                for each in some:
                    each.write(connection)
        except Exception as error:  # noqa: BLE001 - not swallowed: each tells it to whoever asks
            if not at_last and len(some) > 1 and not isinstance(error, DatabaseLocked):
                return False
            for each in some:
                each.failed(error)
        else:
            for each in some:
                each.written()
        return True


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
    """The queue of a database file, by its resolved path, or of a space on a server; all in this process share it."""
    return _queues.of(what)
