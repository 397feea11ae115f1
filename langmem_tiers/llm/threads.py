"""Waiting for a call that may hang, no longer than one may. No business logic."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextvars import Context
from typing import TypeVar

Result = TypeVar("Result")


def in_thread(call: Callable[[], Result]) -> Future[Result]:
    """The call, in a thread of its own that a hanging provider may keep: nothing waits for it, not even the exit.

    It begins with no context, so that what a model says here is not streamed as if an agent had said it. What the call
    raises, be it SystemExit, is raised by the future's `result`.
    """
    running: Future[Result] = Future()
    running.set_running_or_notify_cancel()  # who waits may be cancelled; the call can not be

    def work() -> None:
        try:
            running.set_result(call())
        except BaseException as error:  # noqa: BLE001 - not swallowed: raised again by who takes the result
            running.set_exception(error)

    threading.Thread(target=Context().run, args=(work,), name="langmem-tiers-model", daemon=True).start()
    return running


def finished(running: Future[Result], seconds: float) -> bool:
    """Wait for a call at most so long; whether it has ended."""
    return bool(wait([running], max(0.0, seconds)).done)


async def afinished(running: Future[Result], seconds: float) -> bool:
    """`finished`, while the event loop goes on."""
    done, _ = await asyncio.wait([asyncio.wrap_future(running)], timeout=max(0.0, seconds))
    return bool(done)
