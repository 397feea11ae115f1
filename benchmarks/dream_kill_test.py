"""Kill a process that dreams at many points, and look whether the memory is as it was before or as it is after.

Each round dreams of a fresh copy of one memory, in a process that kills itself (SIGKILL) before one of the statements
of the dream, or at a random moment. Then the memory is opened again: it must hold the old state, byte for byte, or the
whole dream, which is told by undoing it: that must give the old state, byte for byte. The next dream must go on once
the lease of the dead one has run out.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Timer
from time import perf_counter
from typing import Any

from dream_making import decision, dump, fill, material, opened
from reporting import Row, parser, report, say
from sqlalchemy import Engine, event

from langmem_tiers import Memory
from langmem_tiers.dream import apply, undo
from langmem_tiers.dream.types import DreamReport
from langmem_tiers.storage import dreams
from langmem_tiers.storage.leases import DREAM, Lease
from langmem_tiers.store import SpaceStore
from langmem_tiers.testing import FrozenClock

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
USER = "bench"


@dataclass
class Counts:
    """What all rounds together came to."""

    kills: int = 0
    old: int = 0
    new: int = 0
    between: int = 0
    stuck: int = 0
    problems: list[str] = field(default_factory=list)


def main() -> int:
    arguments = parser(__doc__ or "", "dream_kill_test")
    arguments.add_argument("--kills", type=int, default=100)
    arguments.add_argument("--entries", type=int, default=40, help="entries of the space")
    chosen = arguments.parse_args()
    counts = kill(chosen.kills, chosen.entries, chosen.seed)
    report(f"{chosen.kills} times kill -9 of a process that dreams", [row(counts)], chosen.out)
    return min(failures(counts), 1)


def kill(kills: int, entries: int, seed: int) -> Counts:
    """All rounds."""
    counts, rng = Counts(), random.Random(seed)
    with TemporaryDirectory() as work:
        base = Path(work) / "base"
        with opened(str(base), FrozenClock(START)) as memory:
            fill(memory.user(USER), rng, size=entries)
        statements, seconds = _uninterrupted(base, seed)
        for number in count():
            if counts.kills == kills:
                break
            folder = Path(work) / f"round-{number}"
            shutil.copytree(base, folder)
            by_statement = number % 2 == 0
            at = 1 + round((number / 2) * statements / (kills / 2)) % statements if by_statement else None
            counts.kills += _dream_and_die(folder, seed, at, rng.uniform(0, seconds))
            _examine(base, folder, counts)
            shutil.rmtree(folder)
            if number % 10 == 9:
                say(f"{counts.kills} kills: {counts.old} old, {counts.new} new, {failures(counts)} failures")
    return counts


def _uninterrupted(base: Path, seed: int) -> tuple[int, float]:
    """How many statements a dream takes, and how many seconds."""
    with TemporaryDirectory() as work:
        folder = Path(work) / "whole"
        shutil.copytree(base, folder)
        seen = 0

        def look(*_: Any) -> None:
            nonlocal seen
            seen += 1

        started = perf_counter()
        with _listening(look):
            _dream(folder, seed)
        return seen, perf_counter() - started


def _dream_and_die(folder: Path, seed: int, statement: int | None, seconds: float) -> bool:
    """Dream in a process of its own, which is killed before a statement, or after so many seconds; whether it was."""
    child = os.fork()
    if not child:
        left = statement

        def fall(*_: Any) -> None:
            nonlocal left
            left = None if left is None else left - 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

        if statement is None:
            Timer(seconds, os.kill, (os.getpid(), signal.SIGKILL)).start()
        with _listening(fall):
            _dream(folder, seed)
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def _dream(folder: Path, seed: int) -> None:
    """A dream with its lease; what it decides is drawn from the seed."""
    with opened(str(folder), FrozenClock(START)) as memory, memory.use(memory.user(USER).name) as store:
        _apply(memory, store, random.Random(seed))


def _apply(memory: Memory, store: SpaceStore, rng: random.Random) -> bool:
    """Whether a dream could begin, and was carried out."""
    lease = Lease(store.database, DREAM, str(os.getpid()), memory.settings.dream.lease_seconds, memory.clock)
    fence = lease.acquire()
    if fence is None:
        return False
    seen = material(store, memory.clock(), fence=fence)
    draft = DreamReport.begun(store.name, memory.clock()).but(decision=decision(store, seen, rng, most=40))
    apply.apply(store, seen, draft, memory.settings, memory.clock())
    lease.release(fence)
    return True


def _examine(base: Path, folder: Path, counts: Counts) -> None:
    """Open the memory and tell its state."""
    with opened(str(base), FrozenClock(START)) as memory, memory.use(memory.user(USER).name) as store:
        before = dump(store)
    clock = FrozenClock(START)
    with opened(str(folder), clock) as memory, memory.use(memory.user(USER).name) as store:
        with store.reading() as connection:
            last = next(iter(dreams.latest(connection, store.key, 1)), None)
        if last is None:
            counts.old += dump(store) == before
            counts.between += dump(store) != before
        else:
            undo.undo(memory.context(store.name), last.report["id"])
            counts.new += dump(store) == before
            counts.between += dump(store) != before
        counts.problems += [found.message for found in memory.user(USER).doctor() if found.level == "problem"]
        clock.tick(memory.settings.dream.lease_seconds)
        counts.stuck += not _apply(memory, store, random.Random(1))


@contextmanager
def _listening(told: Any) -> Iterator[None]:
    """Have a function called before each statement."""
    event.listen(Engine, "before_cursor_execute", told)
    try:
        yield
    finally:
        event.remove(Engine, "before_cursor_execute", told)


def failures(counts: Counts) -> int:
    return counts.between + counts.stuck + len(counts.problems)


def row(counts: Counts) -> Row:
    return {
        "kills": counts.kills,
        "rounds": counts.old + counts.new + counts.between,
        "old state": counts.old,
        "whole dream": counts.new,
        "between": counts.between,
        "next dream held up": counts.stuck,
        "problems found": "; ".join(sorted(set(counts.problems))) or "none",
    }


if __name__ == "__main__":
    sys.exit(main())
