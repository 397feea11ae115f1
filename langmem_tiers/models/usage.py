"""Model usage: counted in memory, booked in the space, and checked against the budget."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from datetime import date

from langmem_tiers.errors import StorageError
from langmem_tiers.settings import BudgetSettings
from langmem_tiers.storage import usages
from langmem_tiers.storage.database import Database
from langmem_tiers.storage.usages import Usage, UsageBy, UsageKey
from langmem_tiers.telemetry.logs import say

log = logging.getLogger(__name__)

MICROS = 1_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class UsageLine:
    """A total: `name` is its source, day, session or model.

    `failures` are calls without a reply; `cost` is in the currency of the prices in `Settings.model.budget`, at the
    prices of the time.
    """

    name: str
    calls: int
    failures: int
    input_tokens: int
    output_tokens: int
    cost: float


class UsageBook:
    """Books usage in short transactions that may be lost on power failure, like notes about recalls."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, key: UsageKey, took: Usage) -> None:
        """Book usage; negative numbers correct an earlier booking.

        Raises:
            StorageError: it is not booked.
        """
        with self._database.writing(durable=False) as connection:
            usages.add(connection, self._database.space, key, took)

    def begin(self, key: UsageKey, expected: Usage, budget: BudgetSettings) -> str | None:
        """Book the maximum that a call may use, unless that exceeds the budget. Returns the exceeded limit in words.

        Booking comes before the call, so that concurrent calls, even from other processes, share one budget.

        Raises:
            StorageError: it is not booked.
        """
        with self._database.writing(durable=False) as connection:
            space = self._database.space
            day = usages.of_day(connection, space, key.day) + expected
            session = usages.of_session(connection, space, key.session) + expected if key.session else None
            limit = _exceeded(day, session, budget)
            if limit is None:
                usages.add(connection, space, key, expected)
        return limit

    def summary(self, *, since: date | None = None, by: UsageBy = "source") -> tuple[UsageLine, ...]:
        """Totals by source, day (UTC), session or model, ordered by name, from a day on."""
        day = None if since is None else since.isoformat()
        with self._database.reading() as connection:
            found = usages.grouped(connection, self._database.space, by, day)
        return tuple(
            UsageLine(
                name=name,
                calls=took.calls,
                failures=took.failures,
                input_tokens=took.input_tokens,
                output_tokens=took.output_tokens,
                cost=took.cost_micros / MICROS,
            )
            for name, took in found
        )


def cost_micros(input_tokens: int, output_tokens: int, budget: BudgetSettings) -> int:
    """The cost of tokens, in millionths: prices are per million."""
    return round(input_tokens * budget.input_price + output_tokens * budget.output_price)


def _exceeded(day: Usage, session: Usage | None, budget: BudgetSettings) -> str | None:
    """The first limit that is exceeded."""
    limits = [
        (day.calls, budget.day_calls, "calls a day"),
        (_tokens(day), budget.day_tokens, "tokens a day"),
        (day.cost_micros / MICROS, budget.day_cost, "of money a day"),
    ]
    if session is not None:
        limits.append((session.calls, budget.session_calls, "calls a session"))
        limits.append((_tokens(session), budget.session_tokens, "tokens a session"))
    reached = (f"no more than {limit:,} {what}" for used, limit, what in limits if limit is not None and used > limit)
    return next(reached, None)


def _tokens(used: Usage) -> int:
    return used.input_tokens + used.output_tokens


class UsageTally:
    """Counts by space, from any thread, until it is booked. What is not booked is lost with the process.

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

    def drop(self, space: str) -> None:
        """Forget the counts of a space that is deleted."""
        with self._lock:
            self._counted.pop(space, None)

    def spaces(self) -> tuple[str, ...]:
        """The spaces with unbooked usage."""
        with self._lock:
            return tuple(self._counted)

    def book(self, space: str, database: Database) -> None:
        """Book the usage of a space; what cannot be written now is retried next time."""
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
