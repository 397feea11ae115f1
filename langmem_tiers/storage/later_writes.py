"""What is written behind a reply, once nobody else writes in the space, so that the reply does not wait for that."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager

from sqlalchemy import Connection

from langmem_tiers.errors import DatabaseLocked


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
