"""Leaving a model in peace after failures in a row, longer each time."""

from __future__ import annotations

import logging
import threading
from datetime import datetime, timedelta

from langmem_tiers.telemetry.logs import say

log = logging.getLogger(__name__)

_LONGEST_REST = timedelta(hours=1)


class Breaker:
    """Counts failures in a row; from the given number on each further one makes it rest, twice as long as before."""

    def __init__(self, failures: int, rest_seconds: float) -> None:
        self._most = failures
        self._first_rest = timedelta(seconds=rest_seconds)
        self._failures = 0
        self._rest = self._first_rest
        self._since: datetime | None = None
        self._until: datetime | None = None
        self._reason = ""
        self._lock = threading.Lock()

    def resting(self, now: datetime) -> float:
        """Seconds until the next attempt makes sense, 0 when it may be made."""
        with self._lock:
            return self._left(now)

    @property
    def reason(self) -> str:
        """The last failure."""
        return self._reason

    def failed(self, now: datetime, reason: str, loggable: str = "") -> None:
        """Note a failure: one warning for those in a row, with the reason as it may be logged."""
        with self._lock:
            self._failures += 1
            self._reason = reason
            level = logging.WARNING if self._failures == 1 else logging.DEBUG
            if self._failures >= self._most and not self._left(now):  # else another asked at the same time, and failed
                self._since, self._until = now, now + self._rest
                self._rest = min(self._rest * 2, max(_LONGEST_REST, self._first_rest))
            rest = round(self._left(now))
        say(log, level, "model_unavailable", work="without_model", rest=rest or None, reason=loggable or reason)

    def works(self) -> None:
        """Note a success: the next failure is news again."""
        with self._lock:
            failures = self._failures
            self._failures, self._rest, self._since, self._until = 0, self._first_rest, None, None
        if failures:
            say(log, logging.INFO, "model_available", failures=failures)

    def _left(self, now: datetime) -> float:
        # A clock that was put back must not make a rest of minutes one of days.
        if self._since is None or self._until is None or not self._since <= now < self._until:
            return 0.0
        return (self._until - now).total_seconds()
