"""Replies in this process that somebody waits for; work in the background steps back for them between its own steps.

Threads of Python take turns of five milliseconds, so a reply beside one that computes takes several times as long.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from math import inf
from time import monotonic
from typing import TypeVar

Item = TypeVar("Item")

LONGEST_WAY = 0.05
"""Seconds that a step waits for replies at most, so that work goes on however many there are."""
# Seconds after a reply in which another one is likely, and in which it follows at once.
_LIKELY, _AT_ONCE = 1.0, 0.01


class _Replies:
    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Start over: a forked child has none of the threads that reply."""
        self._running: set[int] = set()  # the threads that reply
        self._last = -_LIKELY
        self._lock = threading.Lock()
        self._ended = threading.Condition(self._lock)

    @contextmanager
    def running(self) -> Iterator[None]:
        """During the block, somebody waits for a reply that this thread works on."""
        if self.is_here():
            yield
            return
        here = threading.get_ident()
        try:
            self._running.add(here)
            yield
        finally:
            self._running.discard(here)  # before anything else, as Ctrl-C may come here
            self._last = monotonic()
            with self._lock:  # not `_ended`, which Ctrl-C can leave locked: its `__enter__` is Python
                self._ended.notify_all()

    def expected(self) -> bool:
        """Whether some are running, or may soon: long steps of work are cut into shorter ones."""
        return bool(self._running) or monotonic() - self._last < _LIKELY

    def alone(self) -> bool:
        """Whether at most one is running: only then may a processor be free for what it begins in another thread."""
        return len(self._running) <= 1

    def give_way(self, longest: float | None = None) -> None:
        """Wait while others reply, so many seconds at most. Whoever calls it must hold no lock that they may want."""
        if self.is_here() or not self._busy():
            return
        until = monotonic() + (LONGEST_WAY if longest is None else longest)
        with self._ended:
            while (left := min(self._busy(), until - monotonic())) > 0:
                self._ended.wait(left)

    def between(self, items: Iterable[Item]) -> Iterator[Item]:
        """The items; gives way before each."""
        for item in items:
            self.give_way()
            yield item

    def _busy(self) -> float:
        """Seconds until nobody replies, 0 if that is so."""
        return inf if self._running else max(0.0, self._last + _AT_ONCE - monotonic())

    def is_here(self) -> bool:
        """Whether somebody waits for this thread."""
        return threading.get_ident() in self._running


_replies = _Replies()
running, expected, alone, is_here = _replies.running, _replies.expected, _replies.alone, _replies.is_here
give_way, between = _replies.give_way, _replies.between
if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_replies.forget)
