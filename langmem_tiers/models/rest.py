"""The pause after failures of a provider, so that it is left alone for a while. No business logic."""

from __future__ import annotations

import logging
import threading


class Rest:
    """Counts consecutive failures; from a given number on, each further one doubles the pause, in seconds.

    `reason` is the last failure. `now` may come from any clock, as long as it is always the same one.
    """

    def __init__(self, first: float, longest: float, failures: int = 1) -> None:
        self._first, self._longest, self._most = first, max(longest, first), failures
        self._failures, self._pause = 0, first
        self._since = self._until = 0.0
        self._lock = threading.Lock()
        self.reason = ""

    def left(self, now: float) -> float:
        """Seconds until the next attempt makes sense, 0 if it may be made now."""
        # A clock that was set back must not turn a pause of minutes into one of days.
        return self._until - now if self._since <= now < self._until else 0.0

    def failed(self, now: float, reason: str) -> int:
        """Record a failure. Returns the level to log it at: only the first of a series is worth a warning."""
        with self._lock:
            self._failures += 1
            self.reason = reason
            if self._failures >= self._most and not self.left(now):  # otherwise a concurrent call has failed first
                self._since, self._until = now, now + self._pause
                self._pause = min(self._pause * 2, self._longest)
            return logging.WARNING if self._failures == 1 else logging.DEBUG

    def works(self) -> int:
        """Record a success: the next failure is news again. Returns how many failures came before it."""
        with self._lock:
            failures, self._failures, self._pause = self._failures, 0, self._first
            self._since = self._until = 0.0
            return failures
