"""The only place that asks a chat model for an object."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic, sleep
from typing import TYPE_CHECKING, Generic

from langmem_tiers.clock import Clock
from langmem_tiers.errors import StorageError
from langmem_tiers.models.calls import Answer, Call, Failed, Prompt, Reply, T, parents
from langmem_tiers.models.chat_model import GuardedModel, guarded
from langmem_tiers.models.questions import Outcome, Question, asking
from langmem_tiers.models.threads import Stop, afinished, finished, in_thread
from langmem_tiers.models.tokens import estimate
from langmem_tiers.models.usage import UsageBook, cost_micros
from langmem_tiers.settings import BudgetSettings
from langmem_tiers.storage.usages import Usage, UsageKey
from langmem_tiers.telemetry import otel
from langmem_tiers.telemetry.logs import say

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from langmem_tiers.settings import ModelSettings

log = logging.getLogger(__name__)


class Booking:
    """The usage account of one question; `took` is what its calls took so far."""

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
        """Book a call at its maximum and as failed, until the outcome is known. Returns why it must not be made, if so.

        Raises:
            StorageError: it could not be booked.
        """
        limit = self._book.begin(self._key, self._expected(call), self._budget)
        return None if limit is None else Failed(failure="budget", reason=limit)

    def settle(self, call: Call, outcome: Outcome) -> None:
        """Correct the booking."""
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
            # No provider charges for more than the maximum requested.
            made = outcome.output_tokens if outcome.told else min(outcome.output_tokens, self._longest)
            return self._usage(0, outcome.input_tokens, made)
        # A provider that answers with an error charges nothing; one that is still working has read the prompt.
        return self._usage(1, 0 if outcome.answered else estimate(call.sent), 0)

    def _usage(self, failures: int, given: int, made: int) -> Usage:
        cost = cost_micros(given, made, self._budget)
        return Usage(calls=1, failures=failures, input_tokens=given, output_tokens=made, cost_micros=cost)


class ModelAsker:
    """Asks a model for objects on behalf of one space: within a deadline, within the budget, every call booked.

    Errors of the model's client become the answer's `reason`. Creating one is free; give it a `GuardedModel` that lives
    as long as the memory, so that failures are remembered.

    Example:
        asker = ModelAsker(model, settings.model, UsageBook(store.database), clock)
        answer = asker.ask(Facts, Prompt(system="…", user="…"), source="memory_extract", session="monday")
        facts = answer.value or without_a_model()
    """

    def __init__(
        self, model: BaseChatModel | GuardedModel, settings: ModelSettings, usage: UsageBook, clock: Clock
    ) -> None:
        self._model = guarded(model, settings)
        self._settings = settings
        self._usage = usage
        self._clock = clock

    def resting(self) -> float:
        """Seconds until the model is asked again after failures, 0 if that is possible now."""
        return self._model.breaker.resting(self._clock())

    def ask(
        self,
        schema: type[T],
        prompt: Prompt,
        *,
        source: str,
        session: str | None = None,
        timeout: float | None = None,
        output_tokens: int | None = None,
        stop: Stop | None = None,
    ) -> Answer[T]:
        """The object in the model's reply, or why there is none.

        Args:
            schema: The expected object; the model reads the descriptions of its fields.
            prompt: The instructions and the question.
            source: What to book it under, such as `memory_extract`.
            session: The conversation whose budget it counts against; None for none.
            timeout: Seconds after which to give up, repairs included; overrides the setting.
            output_tokens: Maximum length of the reply; overrides the setting.
            stop: Whether nobody waits for the reply any more; polled several times a second.

        Raises:
            StorageError: a call could not be booked, and was not made.
        """
        if refused := self._refused():
            return Answer(failure="resting", reason=f"resting: {refused}")
        attempt = self._attempt(schema, prompt, source, session, timeout, output_tokens, stop)
        with otel.step("ask") as span:
            return self._reported(span, source, self._answer(attempt.run(), attempt.booking), output_tokens)

    async def aask(
        self,
        schema: type[T],
        prompt: Prompt,
        *,
        source: str,
        session: str | None = None,
        timeout: float | None = None,
        output_tokens: int | None = None,
        stop: Stop | None = None,
    ) -> Answer[T]:
        """Like `ask`, without blocking the event loop."""
        if refused := self._refused():
            return Answer(failure="resting", reason=f"resting: {refused}")
        attempt = self._attempt(schema, prompt, source, session, timeout, output_tokens, stop)
        with otel.step("ask") as span:
            return self._reported(span, source, self._answer(await attempt.arun(), attempt.booking), output_tokens)

    def _reported(self, span: otel.Noting, source: str, answer: Answer[T], output_tokens: int | None) -> Answer[T]:
        model, longest = self._model, output_tokens or self._settings.output_tokens
        about = {
            "gen_ai.provider.name": model.provider,
            "gen_ai.output.type": "json",
            "gen_ai.request.max_tokens": longest,
        }
        span.note({**about, **otel.named({"calls": answer.calls})})
        took, failure = (answer.input_tokens, answer.output_tokens), answer.raised or answer.failure
        otel.question(span, source, model.name, *took, failure or "", raised=bool(answer.raised))
        return answer

    def _refused(self) -> str:
        """Why the model must not be asked now, empty if it may be."""
        seconds = self.resting()
        return f"{seconds:.0f} s more after {self._model.breaker.reason}" if seconds else ""

    def longest(self, timeout: float | None = None) -> float:
        """Maximum seconds for one question, repairs included."""
        return self._settings.timeout_seconds if timeout is None else timeout

    def _attempt(
        self,
        schema: type[T],
        prompt: Prompt,
        source: str,
        session: str | None,
        timeout: float | None,
        output_tokens: int | None,
        stop: Stop | None,
    ) -> _Attempt[T]:
        tokens = output_tokens or self._settings.output_tokens
        seconds = self.longest(timeout)
        until = monotonic() + seconds
        booking = Booking(
            self._usage,
            self._settings.budget,
            self._clock,
            source=source,
            session=session or "",
            model=self._model.name,
            longest=self._model.longest(tokens),
        )
        question = Question(
            schema=schema, prompt=prompt, model=self._model, tokens=tokens, left=lambda: until - monotonic()
        )
        return _Attempt(question=question, booking=booking, source=source, seconds=seconds, stop=stop)

    def _answer(self, result: T | Failed, booking: Booking) -> Answer[T]:
        """The result with its usage; also updates the model's health."""
        took = booking.took
        answer: Answer[T] = Answer(calls=took.calls, input_tokens=took.input_tokens, output_tokens=took.output_tokens)
        if not isinstance(result, Failed):
            self._model.breaker.works()
            return replace(answer, value=result)
        if result.failure in ("timeout", "error"):
            self._model.breaker.failed(self._clock(), result.reason, result.loggable)
        elif result.failure != "budget":
            self._model.breaker.works()
        # It may quote the model, and must be fit to be stored and printed.
        quoted = result.reason.encode("utf-8", "replace").decode()
        return replace(answer, failure=result.failure, reason=f"{result.failure}: {quoted}", raised=result.raised)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Attempt(Generic[T]):
    """A question in progress; `run` and `arun` differ in how they wait."""

    question: Question[T]
    booking: Booking
    source: str
    seconds: float
    stop: Stop | None

    def run(self) -> T | Failed:
        steps = asking(self.question)
        try:
            call = next(steps)
            while True:
                call = steps.send(self._made(call))
        except StopIteration as done:
            result: T | Failed = done.value
            return result

    async def arun(self) -> T | Failed:
        steps = asking(self.question)
        try:
            call = next(steps)
            while True:
                call = steps.send(await self._amade(call))
        except StopIteration as done:
            result: T | Failed = done.value
            return result

    def _made(self, call: Call) -> Outcome:
        sleep(call.pause)
        refused = self._begun(call)
        if refused is not None:
            return refused
        outcome: Outcome = self._too_late()
        try:
            running = in_thread(partial(call.made, self.source, parents()))
            if finished(running, self.question.left(), self.stop):
                outcome = running.result()
        finally:
            self.booking.settle(call, outcome)
        return outcome

    async def _amade(self, call: Call) -> Outcome:
        await asyncio.sleep(call.pause)
        refused = await asyncio.to_thread(self._begun, call)
        if refused is not None:
            return refused
        outcome: Outcome = self._too_late()
        try:
            running = in_thread(partial(call.made, self.source, parents()))
            if await afinished(running, self.question.left(), self.stop):
                outcome = running.result()
        finally:
            await asyncio.to_thread(self.booking.settle, call, outcome)
        return outcome

    def _begun(self, call: Call) -> Failed | None:
        """Book a call. Returns why it must not be made, if so."""
        return self.booking.begin(call) if self.question.left() > 0 else self._too_late()

    def _too_late(self) -> Failed:
        return Failed(failure="timeout", reason=f"no reply in {self.seconds:g} s", answered=False)


class RationedAsker(ModelAsker):
    """An asker limited to a number of calls, repairs included, and a number of seconds from now on.

    Further questions have no answer for now: their failure is "resting", so that they may be asked again later.
    """

    def __init__(self, asker: ModelAsker, *, calls: int, seconds: float) -> None:
        self._calls = _CountedBook(asker._usage, calls)
        super().__init__(asker._model, asker._settings, self._calls, asker._clock)
        self._seconds = seconds
        self._until = monotonic() + seconds

    def longest(self, timeout: float | None = None) -> float:
        """Maximum seconds for one question: no more than are left."""
        return min(super().longest(timeout), max(0.0, self._until - monotonic()))

    def _refused(self) -> str:
        if self._calls.left == 0:
            return self._calls.spent
        over = monotonic() >= self._until
        return f"no more than {self._seconds:g} s at once" if over else super()._refused()

    def _answer(self, result: T | Failed, booking: Booking) -> Answer[T]:
        """The answer; if its last call was refused by the ration, that does not mean that the budget is used up."""
        answer = super()._answer(result, booking)
        if answer.failure != "budget" or not self._calls.refused:
            return answer
        return replace(answer, failure="resting", reason=f"resting: {self._calls.spent}")


class _CountedBook(UsageBook):
    """A book that accepts a limited number of calls."""

    def __init__(self, book: UsageBook, calls: int) -> None:
        super().__init__(book._database)
        self.left = calls
        self.spent = f"no more than {calls} calls at once"
        self.refused = False

    def begin(self, key: UsageKey, expected: Usage, budget: BudgetSettings) -> str | None:
        """Book a call, unless the limit is reached."""
        if self.left == 0:
            self.refused = True
            return self.spent
        limit = super().begin(key, expected, budget)
        if limit is None:
            self.left -= 1
        return limit
