"""Work on many things at once, in threads or processes: results as they come, never more taken on than can be done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, ProcessPoolExecutor, ThreadPoolExecutor, wait
from itertools import islice
from multiprocessing import get_context
from typing import TypeVar

Thing = TypeVar("Thing")
Result = TypeVar("Result")


def in_threads(work: Callable[[Thing], Result], things: Iterable[Thing], jobs: int) -> Iterator[Result]:
    """`work` on each thing, on up to `jobs` at once; with one job, in this thread and in order."""
    if jobs == 1:
        return map(work, things)
    return _pooled(ThreadPoolExecutor(jobs), work, things, jobs)


def in_processes(work: Callable[[Thing], Result], things: Iterable[Thing], jobs: int) -> Iterator[Result]:
    """The same in processes of their own; work, things and results must be picklable."""
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
