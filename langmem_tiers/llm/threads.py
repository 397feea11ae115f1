"""Waiting for a call that may hang, no longer than one may. No business logic."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextvars import Context
from time import monotonic
from typing import TypeVar

from langmem_tiers.telemetry.tracing import carried

Result = TypeVar("Result")
Stop = Callable[[], bool]
"""Whether nobody waits any more."""

_LOOKS = 0.1  # seconds between two looks at whether to stop


def in_thread(call: Callable[[], Result]) -> Future[Result]:
    """The call, in a thread of its own that a hanging provider may keep: nothing waits for it, not even the exit.

    It begins with no context but OpenTelemetry's, so that what a model says here is not streamed as if an agent had
    said it. What the call raises, be it SystemExit, is raised by the future's `result`.
    """
    running: Future[Result] = Future()
    running.set_running_or_notify_cancel()  # who waits may be cancelled; the call can not be

    def work() -> None:
        try:
            running.set_result(call())
        except BaseException as error:  # noqa: BLE001 - not swallowed: raised again by who takes the result
            running.set_exception(error)

    threading.Thread(target=Context().run, args=(carried(work),), name="langmem-tiers-model", daemon=True).start()
    return running


def finished(running: Future[Result], seconds: float, stop: Stop | None = None) -> bool:
    """Wait for a call at most so long, and no longer than until `stop` says so; whether it has ended."""
    return any(wait([running], each).done for each in _pauses(seconds, stop))


async def afinished(running: Future[Result], seconds: float, stop: Stop | None = None) -> bool:
    """`finished`, while the event loop goes on."""
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
