"""The only place that asks a chat model for an object."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field, replace
from functools import partial
from time import monotonic, sleep
from typing import TYPE_CHECKING, Generic, TypedDict

from langmem_tiers.clock import Clock
from langmem_tiers.errors import StorageError
from langmem_tiers.models.calls import Call, Failed, ModelAnswer, ModelReply, Prompt, T, parents
from langmem_tiers.models.chat_model import GuardedModel, guarded
from langmem_tiers.models.questions import Outcome, Question, asking
from langmem_tiers.models.threads import Stop, afinished, finished, in_thread
from langmem_tiers.models.tokens import estimate
from langmem_tiers.models.usage import UsageBook, cost_micros
from langmem_tiers.settings import BudgetSettings
from langmem_tiers.storage.usages import Usage, UsageKey
from langmem_tiers.telemetry import otel
from langmem_tiers.telemetry.logs import say
from langmem_tiers.threads import to_thread

if TYPE_CHECKING:
    from typing import Unpack

    from langchain_core.language_models import BaseChatModel

    from langmem_tiers.settings import ModelSettings

log = logging.getLogger(__name__)


class AskLimits(TypedDict, total=False):
    """What one question may take; see `ModelAsker.ask`."""

    timeout: float | None
    output_tokens: int | None
    stop: Stop | None


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
        return self._model.rest.left(self._clock().timestamp())

    def ask(
        self, schema: type[T], prompt: Prompt, *, source: str, session: str | None = None, **limits: Unpack[AskLimits]
    ) -> ModelAnswer[T]:
        """The object in the model's reply, or why there is none.

        Args:
            schema: The expected object; the model reads the descriptions of its fields.
            prompt: The instructions and the question.
            source: What to book it under, such as `memory_extract`.
            session: The conversation whose budget it counts against; None for none.
            limits: `timeout` and `output_tokens` override the settings: seconds after which to give up, repairs
                included, and the maximum length of the reply. `stop` says whether nobody waits for the reply any more;
                it is polled several times a second.

        Raises:
            StorageError: a call could not be booked, and was not made.
        """
        if refused := self._refused():
            return ModelAnswer(failure="resting", reason=f"resting: {refused}")
        attempt = self._attempt(schema, prompt, source, session, limits)
        with otel.step("ask") as span:
            return self._reported(span, attempt, attempt.run())

    async def aask(
        self, schema: type[T], prompt: Prompt, *, source: str, session: str | None = None, **limits: Unpack[AskLimits]
    ) -> ModelAnswer[T]:
        """Like `ask`, without blocking the event loop."""
        if refused := self._refused():
            return ModelAnswer(failure="resting", reason=f"resting: {refused}")
        attempt = self._attempt(schema, prompt, source, session, limits)
        with otel.step("ask") as span:
            return self._reported(span, attempt, await attempt.arun())

    def _attempt(
        self, schema: type[T], prompt: Prompt, source: str, session: str | None, limits: AskLimits
    ) -> _Attempt[T]:
        tokens = limits.get("output_tokens") or self._settings.output_tokens
        seconds = self.longest(limits.get("timeout"))
        until = monotonic() + seconds
        day = f"{self._clock():%Y-%m-%d}"
        return _Attempt(
            question=Question(
                schema=schema, prompt=prompt, model=self._model, tokens=tokens, left=lambda: until - monotonic()
            ),
            book=self._usage,
            budget=self._settings.budget,
            key=UsageKey(day=day, session=session or "", source=source, model=self._model.name),
            seconds=seconds,
            stop=limits.get("stop"),
        )

    def _reported(self, span: otel.Noting, attempt: _Attempt[T], result: T | Failed) -> ModelAnswer[T]:
        answer, model = self._answer(result, attempt.took), self._model
        about = {
            "gen_ai.provider.name": model.provider,
            "gen_ai.output.type": "json",
            "gen_ai.request.max_tokens": attempt.question.tokens,
        }
        span.note({**about, **otel.named({"calls": answer.calls})})
        took, failure = (answer.input_tokens, answer.output_tokens), answer.raised or answer.failure
        otel.question(span, attempt.key.source, model.name, *took, failure or "", raised=bool(answer.raised))
        return answer

    def _refused(self) -> str:
        """Why the model must not be asked now, empty if it may be."""
        seconds = self.resting()
        return f"{seconds:.0f} s more after {self._model.rest.reason}" if seconds else ""

    def longest(self, timeout: float | None = None) -> float:
        """Maximum seconds for one question, repairs included."""
        return self._settings.timeout_seconds if timeout is None else timeout

    def _answer(self, result: T | Failed, took: Usage) -> ModelAnswer[T]:
        """The result with its usage; also updates the model's health."""
        answer: ModelAnswer[T] = ModelAnswer(
            calls=took.calls, input_tokens=took.input_tokens, output_tokens=took.output_tokens
        )
        if not isinstance(result, Failed):
            self._model.works()
            return replace(answer, value=result)
        if result.failure in ("timeout", "error"):
            self._model.failed(self._clock(), result.reason, result.loggable)
        elif result.failure != "budget":
            self._model.works()
        # It may quote the model, and must be fit to be stored and printed.
        quoted = result.reason.encode("utf-8", "replace").decode()
        return replace(answer, failure=result.failure, reason=f"{result.failure}: {quoted}", raised=result.raised)


@dataclass(kw_only=True)
class _Attempt(Generic[T]):
    """A question in progress and what it took so far; `run` and `arun` differ in how they wait."""

    question: Question[T]
    book: UsageBook
    budget: BudgetSettings
    key: UsageKey
    seconds: float
    stop: Stop | None
    took: Usage = field(default_factory=Usage)

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
        outcome: Outcome | None = self._begun(call)
        if outcome is not None:
            return outcome
        outcome = self._too_late()
        try:
            running = in_thread(partial(call.made, self.key.source, parents()))
            if finished(running, self.question.left(), self.stop):
                outcome = running.result()
        finally:
            self._settle(call, outcome)
        return outcome

    async def _amade(self, call: Call) -> Outcome:
        await asyncio.sleep(call.pause)
        outcome: Outcome | None = await to_thread(self._begun, call)
        if outcome is not None:
            return outcome
        outcome = self._too_late()
        try:
            running = in_thread(partial(call.made, self.key.source, parents()))
            if await afinished(running, self.question.left(), self.stop):
                outcome = running.result()
        finally:
            await to_thread(self._settle, call, outcome)
        return outcome

    def _begun(self, call: Call) -> Failed | None:
        """Book a call at its maximum and as failed, until the outcome is known. Returns why not to make it, if so."""
        if self.question.left() <= 0:
            return self._too_late()
        limit = self.book.begin(self.key, self._expected(call), self.budget)
        return None if limit is None else Failed(failure="budget", reason=limit)

    def _settle(self, call: Call, outcome: Outcome) -> None:
        """Correct the booking."""
        if isinstance(outcome, ModelReply):
            # No provider charges for more than the maximum requested.
            longest = self.question.model.longest(self.question.tokens)
            made = outcome.output_tokens if outcome.told else min(outcome.output_tokens, longest)
            took = self._usage(0, outcome.input_tokens, made)
        else:
            # A provider that answers with an error charges nothing; one that is still working has read the prompt.
            took = self._usage(1, 0 if outcome.answered else estimate(call.sent), 0)
        self.took += took
        try:
            self.book.add(self.key, took - self._expected(call))
        except StorageError as error:
            # The reply is there and has been paid for; what stays booked is too much, never too little.
            say(log, logging.WARNING, "usage_not_corrected", source=self.key.source, error=error, reason=error)

    def _expected(self, call: Call) -> Usage:
        return self._usage(1, estimate(call.sent), self.question.model.longest(self.question.tokens))

    def _usage(self, failures: int, given: int, made: int) -> Usage:
        cost = cost_micros(given, made, self.budget)
        return Usage(calls=1, failures=failures, input_tokens=given, output_tokens=made, cost_micros=cost)

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

    def _answer(self, result: T | Failed, took: Usage) -> ModelAnswer[T]:
        """The answer; if its last call was refused by the ration, that does not mean that the budget is used up."""
        answer = super()._answer(result, took)
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
