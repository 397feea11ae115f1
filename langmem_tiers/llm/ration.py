"""A ration: what one piece of work may take of a model in all, within the budgets of the memory."""

from __future__ import annotations

from dataclasses import replace
from time import monotonic

from langmem_tiers.llm.answers import Answer, T
from langmem_tiers.llm.asker import ModelAsker
from langmem_tiers.llm.booking import Booking
from langmem_tiers.llm.calling import Failed
from langmem_tiers.llm.usage_book import UsageBook
from langmem_tiers.settings import BudgetSettings
from langmem_tiers.storage.usages import Usage, UsageKey


class RationedAsker(ModelAsker):
    """An asker for at most so many calls, repairs included, and so many seconds from now on.

    What is asked beyond that has no answer for now: its failure is "resting", so that it may be asked later.
    """

    def __init__(self, asker: ModelAsker, *, calls: int, seconds: float) -> None:
        self._calls = _CountedBook(asker._usage, calls)
        super().__init__(asker._model, asker._settings, self._calls, asker._clock)
        self._seconds = seconds
        self._until = monotonic() + seconds

    def longest(self, timeout: float | None = None) -> float:
        """Seconds that one question may take: no more than are left."""
        return min(super().longest(timeout), max(0.0, self._until - monotonic()))

    def _refused(self) -> str:
        if self._calls.left == 0:
            return self._calls.spent
        over = monotonic() >= self._until
        return f"no more than {self._seconds:g} s at once" if over else super()._refused()

    def _answer(self, result: T | Failed, booking: Booking) -> Answer[T]:
        """The answer; that its last call was refused for the ration does not mean that the budget is used up."""
        answer = super()._answer(result, booking)
        if answer.failure != "budget" or not self._calls.refused:
            return answer
        return replace(answer, failure="resting", reason=f"resting: {self._calls.spent}")


class _CountedBook(UsageBook):
    """A book that books so many calls and no more."""

    def __init__(self, book: UsageBook, calls: int) -> None:
        super().__init__(book._database)
        self.left = calls
        self.spent = f"no more than {calls} calls at once"
        self.refused = False

    def begin(self, key: UsageKey, expected: Usage, budget: BudgetSettings) -> str | None:
        """Book a call, unless it is one too many."""
        if self.left == 0:
            self.refused = True
            return self.spent
        limit = super().begin(key, expected, budget)
        if limit is None:
            self.left -= 1
        return limit
