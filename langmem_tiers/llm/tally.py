"""What was taken on the way to a reply, counted in memory and booked later: no reply waits for a book."""

from __future__ import annotations

import logging
import threading

from langmem_tiers.errors import StorageError
from langmem_tiers.storage import usages
from langmem_tiers.storage.database import Database
from langmem_tiers.storage.usages import Usage, UsageKey
from langmem_tiers.telemetry.logs import say

log = logging.getLogger(__name__)


class UsageTally:
    """Counts by space until somebody books it, from any thread. What is not booked goes with the process.

    Example:
        >>> tally = UsageTally()
        >>> key = UsageKey(day="2026-03-02", session="", source="memory_embed", model="minilm")
        >>> tally.add("users/alice", key, Usage(calls=1, input_tokens=7))
        >>> tally.spaces()
        ('users/alice',)
    """

    def __init__(self) -> None:
        self._counted: dict[str, dict[UsageKey, Usage]] = {}
        self._lock = threading.Lock()

    def add(self, space: str, key: UsageKey, took: Usage) -> None:
        """Count something."""
        with self._lock:
            counted = self._counted.setdefault(space, {})
            counted[key] = counted.get(key, Usage()) + took

    def spaces(self) -> tuple[str, ...]:
        """The spaces that something is counted for."""
        with self._lock:
            return tuple(self._counted)

    def book(self, space: str, database: Database) -> None:
        """Write down what was counted for a space; what can not be written now is written next time."""
        with self._lock:
            counted = self._counted.pop(space, {})
        if not counted:
            return
        try:
            with database.writing(durable=False) as connection:
                for key, took in counted.items():
                    usages.add(connection, database.space, key, took)
        except StorageError as error:
            say(log, logging.WARNING, "usage_not_booked", space=space, error=error, reason=error)
            for key, took in counted.items():
                self.add(space, key, took)
