"""The background worker: one thread per memory that runs the jobs of spaces with new writes.

A crash loses nothing: pending work is derived from each space's log and cursors, not from a queue in memory.
"""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from time import monotonic
from typing import TypeVar

from langmem_tiers.errors import DatabaseLocked, StorageError
from langmem_tiers.telemetry import otel
from langmem_tiers.telemetry.logs import say
from langmem_tiers.telemetry.otel import Waiting

T = TypeVar("T")
log = logging.getLogger(__name__)

_LONGEST_PAUSE = 300.0
# Seconds between being woken and starting work.
_GATHERING = 0.05


class WorkLeft(Enum):
    """What is left to do after running a space's jobs."""

    DONE = "done"
    WAITING = "waiting"
    """Vectors are still missing, because the embedder or the server of the vectors is unavailable."""
    FAILED = "failed"
    """Something went wrong, such as with Chroma; it is tried again after ever longer pauses."""
    STOPPED = "stopped"


Work = Callable[[str, Callable[[], bool]], tuple[WorkLeft, float | None]]
"""Does the jobs of a space by name, and asks the second argument whether to stop.

It returns what is left to do, and in how many seconds something is due again; None if never as things stand.
"""


class Background(ABC):
    """Whoever does the background work of a memory."""

    @abstractmethod
    def wake(self, space: str) -> None:
        """A space has work to do."""

    @abstractmethod
    def wait(self, spaces: set[str] | None, timeout: float | None) -> bool:
        """Wait until no more can be done for these spaces (None: any); True if nothing is left to do."""

    @abstractmethod
    def stop(self, timeout: float) -> bool:
        """Let the current step come to its end; True if it has."""


def after(timeout: float | None) -> Callable[[], bool]:
    """Asks whether so many seconds have passed; never if None."""
    deadline = None if timeout is None else monotonic() + timeout
    return lambda: deadline is not None and monotonic() >= deadline


def attempted(space: str, work: Callable[[], T]) -> T | None:
    """The result of background work; None if it failed, which is logged: the space is tried again later."""
    try:
        return work()
    except DatabaseLocked as error:
        # Heavy writers go first; this is retried.
        say(log, logging.WARNING, "background_work_waits", space=space, error=error, reason=error)
    except BaseException as error:  # noqa: BLE001 - it is logged: `say` is this package's way to
        # The thread must survive one bad space, and a model or listener that exits; the cursors stay where
        # they are, and the space is retried.
        # Failures during interpreter shutdown (libraries' thread pools close first) are not reported: the space
        # is left for the next start.
        level = logging.ERROR if threading.main_thread().is_alive() else logging.DEBUG
        # For a damaged file or a full disk the message is enough; a traceback adds nothing.
        told = error if isinstance(error, StorageError) else None
        say(log, level, "background_work_failed", space=space, error=error, reason=told, trace=told is None)
        otel.failed("background", type(error).__name__)
    return None


class Worker(Background):
    """Runs the jobs of woken spaces, one space after the other, in a daemon thread that is started on demand."""

    def __init__(self, work: Work, *, retry_after: Callable[[], float]) -> None:
        self._work = work
        self._retry_after = retry_after
        self._lock = threading.RLock()  # not `_changed`, which Ctrl-C can leave locked: its `__enter__` is Python
        self._changed = threading.Condition(self._lock)
        self._woken: dict[str, None] = {}
        self._waiting: dict[str, float] = {}  # unfinished spaces, and when each was tried
        self._since: dict[str, float] = {}
        self._later: dict[str, float] = {}
        self._busy: str | None = None
        self._awaited = 0
        self._stopping = False
        self._thread: threading.Thread | None = None
        self._faults = 0
        otel.watch(self)

    def waiting(self) -> Waiting:
        """The spaces that are waiting for their work, or being worked on."""
        with self._lock:
            now = monotonic()
            return Waiting(len(self._since), now - min(self._since.values(), default=now))

    def wake(self, space: str) -> None:
        """A space has work to do."""
        with self._lock:
            # Woken by the work in progress, which covers everything anyway: with more spaces than may be open at once,
            # each would be opened, and so woken, forever.
            opened_by_worker = space == self._busy and threading.current_thread() is self._thread
            if self._stopping or opened_by_worker:
                return
            self._line_up(space)
            self._start()

    def wake_later(self, space: str, seconds: float) -> None:
        """A space will have work to do in this many seconds; `wait` does not wait for that."""
        with self._lock:
            if not self._stopping:
                self._later[space] = monotonic() + seconds
                self._start()

    def wait(self, spaces: set[str] | None, timeout: float | None) -> bool:
        """Wait until no more can be done for these spaces (None: any); True if nothing is left to do."""
        deadline = None if timeout is None else monotonic() + timeout
        with self._lock, self._somebody_waiting():
            while self._active(spaces) and not self._stopping:
                left = None if deadline is None else deadline - monotonic()
                if left is not None and left <= 0:
                    return False
                self._changed.wait(left)
            waiting = self._waiting if spaces is None else self._waiting.keys() & spaces
            return not waiting and not self._active(spaces)

    @contextmanager
    def _somebody_waiting(self) -> Iterator[None]:
        """During the block, which holds the lock, work begins at once."""
        self._awaited += 1
        self._changed.notify_all()
        try:
            yield
        finally:
            self._awaited -= 1

    def stop(self, timeout: float) -> bool:
        """Let the thread finish its current step and end; True if it has ended."""
        otel.unwatch(self)
        with self._lock:
            self._stopping = True
            self._changed.notify_all()
            thread = self._thread
        if thread is None or thread is threading.current_thread() or not thread.is_alive():
            return True
        thread.join(timeout)
        return not thread.is_alive()

    def _active(self, spaces: set[str] | None) -> bool:
        names = set(self._woken) | ({self._busy} if self._busy else set())
        return bool(names if spaces is None else names & spaces)

    def _start(self) -> None:
        """Start the thread, or tell it that something changed."""
        if self._thread is None or not self._thread.is_alive():  # Ctrl-C may have come before it was started
            self._thread = threading.Thread(target=self._run, name="langmem-tiers", daemon=True)
            self._thread.start()
        self._changed.notify_all()

    def _run(self) -> None:
        if threading.current_thread() is not self._thread:
            return  # another one was started in its place
        while (space := self._next()) is not None:
            outcome = self._attempt(space)
            with self._lock:
                self._busy = None
                if outcome is WorkLeft.DONE:
                    self._waiting.pop(space, None)
                    self._done(space)
                else:
                    self._waiting[space] = monotonic()
                self._changed.notify_all()

    def _line_up(self, space: str) -> None:
        self._woken[space] = None
        self._since.setdefault(space, monotonic())

    def _done(self, space: str) -> None:
        """Nothing waits in it any more, unless it was woken during the work."""
        if space in self._woken:
            self._since[space] = monotonic()
        else:
            self._since.pop(space, None)

    def _attempt(self, space: str) -> WorkLeft:
        result = attempted(space, lambda: self._work(space, lambda: self._stopping))
        outcome, later = (WorkLeft.FAILED, None) if result is None else result
        self._faults = self._faults + 1 if outcome is WorkLeft.FAILED else 0
        if later is not None:
            self.wake_later(space, later)
        return outcome

    def _pause(self) -> float:
        """Seconds until unfinished spaces are retried: longer after each failure."""
        return min(5.0 * 2.0**self._faults, _LONGEST_PAUSE)

    def _gather(self) -> None:
        """Wait briefly unless somebody waits for it: turns seldom come alone, and a batch costs less than each."""
        until = monotonic() + _GATHERING
        while not self._stopping and not self._awaited and (left := until - monotonic()) > 0:
            self._changed.wait(left)

    def _next(self) -> str | None:
        """The next space to work on; waits for one that is woken, or due by the clock."""
        with self._lock:
            while not self._stopping:
                # Before those that are woken: where some always are, the others would never have their turn.
                for space in self._due():
                    self._line_up(space)
                if self._woken:
                    self._gather()
                    self._busy = next(iter(self._woken))
                    del self._woken[self._busy]
                    return self._busy
                self._changed.wait(self._idle())
            return None

    def _idle(self) -> float | None:
        """Seconds until something is due by the clock, None if never."""
        now = monotonic()
        moments = [*self._later.values()]
        if self._waiting:
            moments.append(max(min(self._waiting.values()) + self._pause(), now + self._retry_after()))
        return max(0.0, min(moments) - now) if moments else None

    def _due(self) -> set[str]:
        """The spaces that are due by the clock, or to be retried."""
        now = monotonic()
        due = {space for space, moment in self._later.items() if moment <= now}
        for space in due:
            del self._later[space]
        if self._waiting and self._retry_after() <= 0.0:
            due |= {space for space, tried in self._waiting.items() if tried + self._pause() <= now}
        return due
