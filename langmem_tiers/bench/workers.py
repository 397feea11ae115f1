"""Working through many things, several at once, and saying how far it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, ProcessPoolExecutor, ThreadPoolExecutor, wait
from itertools import islice
from multiprocessing import get_context
from typing import TypeVar

# Called with the number of things done and the number there are to do.
Progress = Callable[[int, int], None]


def unwatched(_done: int, _total: int) -> None:
    """The default: nobody watches the progress."""


Thing = TypeVar("Thing")
Result = TypeVar("Result")


def in_threads(work: Callable[[Thing], Result], things: Iterable[Thing], jobs: int) -> Iterator[Result]:
    """`work` on each thing, up to `jobs` at once; with one job, in this thread and in order."""
    if jobs == 1:
        return map(work, things)
    return _pooled(ThreadPoolExecutor(jobs), work, things, jobs)


def in_processes(work: Callable[[Thing], Result], things: Iterable[Thing], jobs: int) -> Iterator[Result]:
    """The same in separate processes; work, things and results must be picklable."""
    if jobs == 1:
        return map(work, things)
    # Spawned, not forked: threads and the model's session do not survive a fork.
    return _pooled(ProcessPoolExecutor(jobs, mp_context=get_context("spawn")), work, things, 2 * jobs)


def _pooled(pool: Executor, work: Callable[[Thing], Result], things: Iterable[Thing], ahead: int) -> Iterator[Result]:
    waiting = iter(things)
    try:
        running = {pool.submit(work, thing) for thing in islice(waiting, ahead)}
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            running |= {pool.submit(work, thing) for thing in islice(waiting, len(done))}
            for future in done:
                yield future.result()
    finally:
        pool.shutdown(cancel_futures=True)
