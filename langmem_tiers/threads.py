"""Threads of the package's own for its asynchronous calls, so that those who wait hold up nobody else's work.

Those of the event loop are four more than the machine has cores, and the host's as well: some calls of one user whose
space another process holds, or whose database is slow, would have them all. As many more that compute at the same time
would delay the event loop; so here as many calls work at once, and one that takes long is taken to wait and counts no
more.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from time import monotonic
from typing import Any, ParamSpec, TypeVar

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")

# How many calls of all event loops have a thread, and how many of these may have begun in the last so many seconds.
_MOST = 32
_AT_ONCE = min(_MOST, (os.cpu_count() or 1) + 4)
_LONG = 0.1


@dataclass(eq=False, slots=True)
class _Call:
    """A call that waits for a thread, or has one since `begun`."""

    work: Callable[[], Any]
    result: Future[Any] = field(default_factory=Future)
    begun: float | None = None


class _Threads:
    """The threads that all event loops of a process share, and the calls in them; others wait in turn."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Start over: a forked child has none of the threads."""
        self._pool = ThreadPoolExecutor(_MOST, thread_name_prefix="langmem-tiers-call")
        self._lock = Lock()
        self._waiting: deque[_Call] = deque()
        self._running: set[_Call] = set()

    async def to_thread(
        self, call: Callable[_Given, _Result], /, *args: _Given.args, **kwargs: _Given.kwargs
    ) -> _Result:
        """Like `asyncio.to_thread`: in the caller's context, and what has begun goes on if its caller is cancelled."""
        asked = _Call(partial(copy_context().run, call, *args, **kwargs))
        with self._lock:
            self._waiting.append(asked)
        self._look_after(asked, asyncio.get_running_loop())
        result: _Result = await asyncio.wrap_future(asked.result)
        return result

    def _look_after(self, asked: _Call, loop: asyncio.AbstractEventLoop) -> None:
        """Begin what can begin; until that is this call too, look again when others may have taken long."""
        self._begin()
        if asked.begun is None and not asked.result.done():
            loop.call_later(_LONG, self._look_after, asked, loop)

    def _begin(self) -> None:
        while call := self._next():
            try:
                self._pool.submit(self._run, call)
            except RuntimeError as error:  # the interpreter is about to end
                call.result.set_exception(error)

    def _next(self) -> _Call | None:
        """The call that has waited longest, which has the right to a thread now; None while others have them."""
        with self._lock:
            while self._waiting and self._has_room(now := monotonic()):
                call = self._waiting.popleft()
                if call.result.set_running_or_notify_cancel():
                    call.begun = now
                    self._running.add(call)
                    return call
        return None

    def _has_room(self, now: float) -> bool:
        if len(self._running) < _AT_ONCE:
            return True
        fresh = sum(1 for call in self._running if call.begun is None or now - call.begun < _LONG)
        return fresh < _AT_ONCE and len(self._running) < _MOST

    def _run(self, call: _Call) -> None:
        try:
            call.result.set_result(call.work())
        except BaseException as error:  # noqa: BLE001 - not swallowed: raised again by who awaits the result
            call.result.set_exception(error)
        finally:
            with self._lock:
                self._running.discard(call)
            self._begin()
            del call  # the error knows this frame, and would hold itself


_threads = _Threads()
to_thread = _threads.to_thread
if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_threads.forget)
