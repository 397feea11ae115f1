"""A ration: what one piece of work may take of a model in all, within the budgets of the memory."""

from __future__ import annotations

from dataclasses import replace
from time import monotonic

from langmem_tiers.llm.answers import Answer, Prompt, T
from langmem_tiers.llm.asker import ModelAsker
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

    def ask(
        self,
        schema: type[T],
        prompt: Prompt,
        *,
        source: str,
        session: str | None = None,
        timeout: float | None = None,
        output_tokens: int | None = None,
    ) -> Answer[T]:
        """`ModelAsker.ask`, as long as there is something left."""
        if spent := self._spent():
            return _later(Answer(), spent)
        given = {"source": source, "session": session, "output_tokens": output_tokens}
        answer = super().ask(schema, prompt, timeout=self._longest(timeout), **given)  # type: ignore[arg-type]
        return self._told(answer)

    async def aask(
        self,
        schema: type[T],
        prompt: Prompt,
        *,
        source: str,
        session: str | None = None,
        timeout: float | None = None,
        output_tokens: int | None = None,
    ) -> Answer[T]:
        """`ask`, while the event loop goes on."""
        if spent := self._spent():
            return _later(Answer(), spent)
        given = {"source": source, "session": session, "output_tokens": output_tokens}
        answer = await super().aask(schema, prompt, timeout=self._longest(timeout), **given)  # type: ignore[arg-type]
        return self._told(answer)

    def _longest(self, timeout: float | None) -> float:
        left = max(0.0, self._until - monotonic())
        return min(self._settings.timeout_seconds if timeout is None else timeout, left)

    def _spent(self) -> str:
        """Why nothing more is asked, empty where it may be."""
        if self._calls.left == 0:
            return self._calls.spent
        return "" if monotonic() < self._until else f"no more than {self._seconds:g} s at once"

    def _told(self, answer: Answer[T]) -> Answer[T]:
        """The answer; that its last call was refused for the ration does not mean that the budget is used up."""
        refused = answer.failure == "budget" and self._calls.refused
        return _later(answer, self._calls.spent) if refused else answer


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


def _later(answer: Answer[T], reason: str) -> Answer[T]:
    return replace(answer, failure="resting", reason=f"resting: {reason}")
