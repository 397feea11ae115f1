"""The background worker of a memory on servers: threads that lease spaces with work, whoever wrote to them.

Any number of processes may do so. The longest waiting space comes first, and each gets a slice of time before it goes
to the end of the line, so that nobody with much work holds up the others.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import copy_context
from dataclasses import dataclass
from time import monotonic, sleep

from langmem_tiers.background.worker import Background, Work, WorkLeft, after, attempted
from langmem_tiers.errors import StorageError
from langmem_tiers.storage.postgres.work_queue import Held, SpaceQueue
from langmem_tiers.telemetry import otel
from langmem_tiers.telemetry.logs import say
from langmem_tiers.telemetry.otel import Waiting

log = logging.getLogger(__name__)

# Seconds that a space is worked on before it is the turn of the next one.
_SLICE = 5.0
# Seconds between two looks for work, and for a space that somebody else is at.
_IDLE, _AWAITING = 1.0, 0.1
# Seconds between being woken and looking for work: turns seldom come alone.
_GATHERING = 0.05
# Seconds until the server is asked again after it did not answer, or a space after its work failed; then twice as long.
_AGAIN, _LONGEST = 5.0, 300.0
# Spaces that a process used, before those without work are left out.
_USED = 1_000


class LeasingWorker(Background):
    """Works on spaces as they fall due, in some daemon threads."""

    def __init__(self, queue: SpaceQueue, work: Work, *, threads: int = 1) -> None:
        self._queue = queue
        self._do = work
        self._changed = threading.Condition()
        self._wanted: dict[str, None] = {}
        self._busy: set[str] = set()
        self._waiting: set[str] = set()
        self._faults: dict[str, int] = {}
        self._stopping = False
        self._news = True
        # Their own context: what a caller has on is no matter of theirs.
        self._threads = [
            threading.Thread(target=copy_context().run, args=(self._run,), name=f"langmem-tiers-{number}", daemon=True)
            for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def wake(self, space: str) -> None:
        """Something was written: look for work at once."""
        with self._changed:
            self._news = True
            self._changed.notify_all()

    def wait(self, spaces: set[str] | None, timeout: float | None) -> bool:
        """Do or await the work of these spaces, due or not (None: what is at work here); True if nothing is left."""
        with self._changed:
            names = set(self._busy) if spaces is None else spaces
            self._wanted |= dict.fromkeys(sorted(names))
            self._news = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._stopping or not self._active(names), timeout)
            return not self._active(names) and not self._waiting & names

    def stop(self, timeout: float) -> bool:
        """Let the threads finish their current step and give their leases back; True if they have."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        deadline = monotonic() + timeout
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, deadline - monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _active(self, names: set[str]) -> set[str]:
        return names & {*self._wanted, *self._busy}

    def _run(self) -> None:
        failures = 0
        while not self._stopping:
            try:
                held = self._next()
                if held is not None:
                    self._work(held)
                failures = 0
            except BaseException as error:  # noqa: BLE001 - it is logged: `say` is this package's way to
                # Nobody would miss a thread that ended, as where the machine has no room for that of a lease, and
                # whoever waits for its work would wait for ever.
                told = error if isinstance(error, StorageError) else None
                level = logging.ERROR if told is None else logging.WARNING
                say(log, level, "no_work_from_server", error=error, reason=told, trace=told is None)
                self._rest(backoff(failures))
                failures += 1

    def _next(self) -> _Turn | None:
        """The next space, leased; None after a look for one that found none."""
        with self._changed:
            wanted = [name for name in self._wanted if name not in self._busy]
        fault: StorageError | None = None
        for name in wanted:
            try:
                held = self._taken(name)
            except StorageError as error:  # of one of several databases: those of the others go on
                fault = error
                continue
            if held is not None:
                return self._turn(held)
        if (found := self._queue.take()) is not None:
            return self._turn(found)
        if fault is not None:
            say(log, logging.WARNING, "no_work_from_server", error=fault, reason=fault)
        self._rest(_AGAIN if fault is not None else _AWAITING if wanted else _IDLE)
        return None

    def _taken(self, name: str) -> Held | None:
        """A space that somebody waits for, None while others are at it; of one that is gone, nobody waits."""
        held = self._queue.take_this(name)
        if held is None and not self._queue.has(name):
            with self._changed:
                self._wanted.pop(name, None)
                self._changed.notify_all()
        return held

    def _turn(self, held: Held) -> _Turn:
        with self._changed:
            self._busy.add(held.name)
            awaited = held.name in self._wanted
            self._wanted.pop(held.name, None)
        return _Turn(held, awaited, monotonic() + _SLICE)

    def _rest(self, seconds: float) -> None:
        """Wait for that time, or a moment after something was written here."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopping or self._news, seconds)
            if self._news and not self._stopping:
                self._changed.wait_for(lambda: self._stopping, min(seconds, _GATHERING))
            self._news = False

    def _work(self, turn: _Turn) -> None:
        held, outcome = turn.held, WorkLeft.WAITING
        try:
            with self._queue.working_on(held):
                result = attempted(held.name, lambda: self._do(held.name, lambda: self._stopping or turn.over))
                outcome, held.after = self._judged(held.name, result)
        finally:
            with self._changed:
                self._busy.discard(held.name)
                if turn.awaited and outcome is WorkLeft.STOPPED:
                    self._wanted[held.name] = None
                (self._waiting.add if outcome is WorkLeft.WAITING else self._waiting.discard)(held.name)
                self._changed.notify_all()

    def _judged(self, name: str, result: tuple[WorkLeft, float | None] | None) -> tuple[WorkLeft, float | None]:
        """The result of a round; of one that failed, None, that it is to be tried again: later each time."""
        if result is not None:
            self._faults.pop(name, None)
            return result
        faults = self._faults.get(name, 0)
        self._faults[name] = faults + 1
        return WorkLeft.WAITING, backoff(faults)


@dataclass(frozen=True)
class _Turn:
    """A space that was leased, whether somebody waits for it, and until when it is worked on."""

    held: Held
    awaited: bool
    until: float

    @property
    def over(self) -> bool:
        """Whether it is the turn of the next one."""
        return self.held.lost or monotonic() > self.until


@dataclass
class Awaited:
    """Spaces whose work is awaited, and whether it is done."""

    names: set[str]
    done: bool = False


class WaitingSpaces:
    """What waits for anybody's work: every process measures it, so that it is seen when no worker is left."""

    def __init__(self, queue: SpaceQueue) -> None:
        self._queue = queue
        otel.watch(self)

    def waiting(self) -> Waiting | None:
        """How many spaces wait and how long, None if the server does not say."""
        try:
            return self._queue.waiting()
        except StorageError:
            return None

    def close(self) -> None:
        """Measure it no more."""
        otel.unwatch(self)


class UsedSpaces:
    """The spaces that this process used and whose work it did not await yet; thread-safe.

    Where there are many, those whose work others have done are left out.
    """

    def __init__(self, queue: SpaceQueue) -> None:
        self._queue = queue
        self._names: set[str] = set()
        self._most = _USED
        self._lock = threading.Lock()

    def add(self, name: str) -> None:
        """Note that a space is used, unless it is being worked on."""
        if name in self._names or self._queue.is_at_work(name):
            return
        with self._lock:
            self._names.add(name)
            full = len(self._names) > self._most
            if full:  # nobody else looks meanwhile
                self._most = 2 * len(self._names)
        if full:
            self._leave_out_finished()

    @contextmanager
    def awaited(self, names: set[str] | None) -> Iterator[Awaited]:
        """The spaces whose work is awaited during the block, all if not named; they stay in use if it is not done."""
        with self._lock:
            awaited = Awaited(set(self._names) if names is None else names)
            self._names -= awaited.names
        try:
            yield awaited
        finally:
            if not awaited.done:
                with self._lock:
                    self._names |= awaited.names

    def _leave_out_finished(self) -> None:
        with self._lock:
            names = set(self._names)
        finished: set[str] = set()
        with suppress(StorageError):
            finished = names - self._queue.unfinished(names)
        with self._lock:
            self._names -= finished
            self._most = max(_USED, 2 * len(self._names))


def finish(queue: SpaceQueue, work: Work, names: Iterable[str], timeout: float | None) -> bool:
    """Do the work of these spaces in the caller's thread, after whoever is at it; True if nothing is left to do.

    Raises:
        StorageError: it could not be done; it is done later.
    """
    names, over = [*names], after(timeout)
    if over():  # nothing can be begun
        return not queue.unfinished(names)
    outcomes = {WorkLeft.DONE}
    for name in names:
        while (held := queue.take_this(name)) is None and queue.has(name):
            if over():
                return False
            sleep(_AWAITING)
        if held is not None:
            outcomes.add(_done_at_once(queue, work, held, over))
    return outcomes == {WorkLeft.DONE}


def _done_at_once(queue: SpaceQueue, work: Work, held: Held, over: Callable[[], bool]) -> WorkLeft:
    with queue.working_on(held):
        outcome, held.after = work(held.name, lambda: held.lost or over())
    return outcome


def backoff(failures: int) -> float:
    """Seconds until the next attempt after so many failures in a row."""
    return min(_AGAIN * 2.0 ** min(failures, 10), _LONGEST)
