"""Running a server until its client leaves or a signal ends it. No business logic."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

Serve = Callable[[], Awaitable[None]]
WhenTerminated = Callable[["asyncio.Task[Any]"], object]


def run(serve: Serve, *, when_terminated: WhenTerminated = asyncio.Task.cancel) -> None:
    """Serve to the end; Ctrl-C and a request to terminate end it too, and whoever called goes on to close things."""
    with suppress(KeyboardInterrupt, asyncio.CancelledError):
        asyncio.run(_until_terminated(serve, when_terminated))


async def _until_terminated(serve: Serve, when_terminated: WhenTerminated) -> None:
    task = asyncio.current_task()
    assert task is not None
    # Windows has no such handlers, nor has a thread other than the first: there, being terminated ends all at once.
    with suppress(NotImplementedError, ValueError, RuntimeError):
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, when_terminated, task)
    await serve()
