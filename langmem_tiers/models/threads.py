"""Calls in other threads: such as may hang, waited for up to a limit, and such as save time. No business logic."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import ContextVar, copy_context
from time import monotonic
from typing import TypeVar

Result = TypeVar("Result")
Stop = Callable[[], bool]
"""Whether nobody waits any more."""

_LOOKS = 0.1  # seconds between two checks whether to stop
# Seconds for which a thread that computes keeps the interpreter while another one wants it, unless the host changed it.
_TURN = 0.005

_leaves: ContextVar[Callable[[], object]] = ContextVar("leaves", default=lambda: None)


def leaving() -> None:
    """Said by a model right before it computes outside Python, so that whoever asked it can go on beside it."""
    _leaves.get()()


class SpareThreads:
    """A few threads for what somebody waits for, who does something else meanwhile; `close` ends them."""

    def __init__(self, most: int, name: str) -> None:
        self._pool = ThreadPoolExecutor(most, thread_name_prefix=name)
        self._free = threading.Semaphore(most)

    def begin(self, call: Callable[[], Result]) -> Future[Result] | None:
        """Run the call in one of the threads, in the caller's context; None if none is free."""
        if not self._free.acquire(blocking=False):
            return None
        try:
            running = self._pool.submit(copy_context().run, call)
        except RuntimeError:  # they have ended, or the interpreter is about to
            self._free.release()
            return None
        running.add_done_callback(lambda _: self._free.release())
        return running

    def begin_computing(self, call: Callable[[], Result]) -> Future[Result] | None:
        """The same for a call that computes outside Python, as models do; returns when it is `leaving`, or soon.

        A caller that computed on at once would keep the interpreter, and the call from beginning, for a turn.
        """
        left = threading.Event()

        def told() -> Result:
            _leaves.set(left.set)
            try:
                return call()
            finally:
                left.set()

        begun = self.begin(told)
        if begun is not None:
            left.wait(_TURN)
        return begun

    def close(self) -> None:
        """End the threads: none is free from now on."""
        self._pool.shutdown()


def in_thread(call: Callable[[], Result]) -> Future[Result]:
    """Run the call in a thread of its own, which a hanging provider may keep: nothing waits for it, not even exit.

    It has the caller's context variables, such as a host's tenant or trace, but is no part of the caller's run: what a
    model says here is not streamed as if an agent had said it. Whatever the call raises, even SystemExit, is raised by
    the future's `result`.
    """
    running: Future[Result] = Future()
    running.set_running_or_notify_cancel()  # the waiting side may be cancelled; the call cannot

    def work() -> None:
        _leave_run()
        try:
            running.set_result(call())
        except BaseException as error:  # noqa: BLE001 - not swallowed: raised again by who takes the result
            running.set_exception(error)

    threading.Thread(target=copy_context().run, args=(work,), name="langmem-tiers-model", daemon=True).start()
    return running


def _leave_run() -> None:
    """Say that what is called from here on in this context is not part of a run of LangChain or LangGraph."""
    if (config := sys.modules.get("langchain_core.runnables.config")) is not None:  # else nobody has begun one
        config.var_child_runnable_config.set(None)


def finished(running: Future[Result], seconds: float, stop: Stop | None = None) -> bool:
    """Wait for a call up to a limit, or until `stop` says so. Returns whether it has ended."""
    return any(wait([running], each).done for each in _pauses(seconds, stop))


async def afinished(running: Future[Result], seconds: float, stop: Stop | None = None) -> bool:
    """Like `finished`, without blocking the event loop."""
    waiting = asyncio.wrap_future(running)
    for each in _pauses(seconds, stop):
        if (await asyncio.wait([waiting], timeout=each))[0]:
            return True
    return False


def _pauses(seconds: float, stop: Stop | None) -> Iterator[float]:
    """How long to wait at a time."""
    if stop is None:
        yield max(0.0, seconds)
        return
    until = monotonic() + seconds
    yield 0.0
    while (left := until - monotonic()) > 0 and not stop():
        yield min(left, _LOOKS)
