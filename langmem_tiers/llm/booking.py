"""Booking the calls of one question: what each may take before it is made, what it took when it is over."""

from __future__ import annotations

import logging

from langmem_tiers.clock import Clock
from langmem_tiers.errors import StorageError
from langmem_tiers.llm.asking import Outcome
from langmem_tiers.llm.calling import Call, Failed, Reply
from langmem_tiers.llm.usage_book import UsageBook, cost_micros
from langmem_tiers.recall.tokens import estimate
from langmem_tiers.settings import BudgetSettings
from langmem_tiers.storage.usages import Usage, UsageKey
from langmem_tiers.telemetry.logs import say

log = logging.getLogger(__name__)


class Booking:
    """The account of one question; `took` is what its calls took so far."""

    def __init__(
        self,
        book: UsageBook,
        budget: BudgetSettings,
        clock: Clock,
        *,
        source: str,
        session: str,
        model: str,
        longest: int,
    ) -> None:
        self._book, self._budget = book, budget
        self._key = UsageKey(day=f"{clock():%Y-%m-%d}", session=session, source=source, model=model)
        self._longest = longest
        self.took = Usage()

    def begin(self, call: Call) -> Failed | None:
        """Book a call at its longest and as failed, until it is known to be otherwise; why it must not be made.

        Raises:
            StorageError: it could not be booked.
        """
        limit = self._book.begin(self._key, self._expected(call), self._budget)
        return None if limit is None else Failed(failure="budget", reason=limit)

    def settle(self, call: Call, outcome: Outcome) -> None:
        """Correct what was booked."""
        took = self._taken(call, outcome)
        self.took += took
        try:
            self._book.add(self._key, took - self._expected(call))
        except StorageError as error:
            # The reply is there and has been paid for; what stays booked is too much, never too little.
            say(log, logging.WARNING, "usage_not_corrected", source=self._key.source, error=error, reason=error)

    def _expected(self, call: Call) -> Usage:
        return self._usage(1, estimate(call.sent), self._longest)

    def _taken(self, call: Call, outcome: Outcome) -> Usage:
        if isinstance(outcome, Reply):
            # No provider charges for more than it was asked for at most.
            made = outcome.output_tokens if outcome.told else min(outcome.output_tokens, self._longest)
            return self._usage(0, outcome.input_tokens, made)
        # A provider that answers with an error charges nothing; one that is still at work has read the prompt.
        return self._usage(1, 0 if outcome.answered else estimate(call.sent), 0)

    def _usage(self, failures: int, given: int, made: int) -> Usage:
        cost = cost_micros(given, made, self._budget)
        return Usage(calls=1, failures=failures, input_tokens=given, output_tokens=made, cost_micros=cost)
