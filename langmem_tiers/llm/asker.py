"""The one place that asks a chat model for an object."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic, sleep
from typing import TYPE_CHECKING, Generic

from langmem_tiers.clock import Clock
from langmem_tiers.llm.answers import Answer, Prompt, T
from langmem_tiers.llm.asking import Outcome, Question, asking
from langmem_tiers.llm.booking import Booking
from langmem_tiers.llm.calling import Call, Failed
from langmem_tiers.llm.guarded_model import GuardedModel, guarded
from langmem_tiers.llm.runs import parents
from langmem_tiers.llm.threads import Stop, afinished, finished, in_thread
from langmem_tiers.llm.usage_book import UsageBook
from langmem_tiers.telemetry import figures, tracing

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from langmem_tiers.settings import ModelSettings


class ModelAsker:
    """Asks a model for objects on behalf of one space: within a deadline, within the budget, every call booked.

    What a model's client raises becomes the answer's `reason`. Making one costs nothing; give it a `GuardedModel` that
    lives as long as the memory, so that failures are remembered.

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
        """Seconds until the model is asked again after failures, 0 when it may be now."""
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
        """The object that the model replies with, or why there is none.

        Args:
            schema: What is asked for; descriptions of its fields are read by the model.
            prompt: The instructions and the question.
            source: What it is booked under, such as `memory_extract`.
            session: The conversation whose budget it counts against; None for none.
            timeout: Seconds after which nobody waits any more, repairs included, instead of the setting.
            output_tokens: Longest reply asked for, instead of the setting.
            stop: Whether nobody waits for the reply any more; asked some times a second.

        Raises:
            StorageError: a call could not be booked, and was not made.
        """
        if refused := self._refused():
            return Answer(failure="resting", reason=f"resting: {refused}")
        attempt = self._attempt(schema, prompt, source, session, timeout, output_tokens, stop)
        with tracing.step("ask") as span:
            return self._told(span, source, self._answer(attempt.run(), attempt.booking), output_tokens)

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
        """`ask`, while the event loop goes on."""
        if refused := self._refused():
            return Answer(failure="resting", reason=f"resting: {refused}")
        attempt = self._attempt(schema, prompt, source, session, timeout, output_tokens, stop)
        with tracing.step("ask") as span:
            return self._told(span, source, self._answer(await attempt.arun(), attempt.booking), output_tokens)

    def _told(self, span: tracing.Noting, source: str, answer: Answer[T], output_tokens: int | None) -> Answer[T]:
        model, longest = self._model, output_tokens or self._settings.output_tokens
        figures.question(span, source, model.name, answer, provider=model.provider, longest=longest)
        return answer

    def _refused(self) -> str:
        """Why nothing is asked now, empty where something may be."""
        seconds = self.resting()
        return f"{seconds:.0f} s more after {self._model.breaker.reason}" if seconds else ""

    def longest(self, timeout: float | None = None) -> float:
        """Seconds that one question may take, repairs included."""
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
        """The result with what it took; the model's health is noted."""
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
    """One question on its way; `run` and `arun` differ in how they wait."""

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
        """Nothing, once a call is booked; else why it must not be made."""
        return self.booking.begin(call) if self.question.left() > 0 else self._too_late()

    def _too_late(self) -> Failed:
        return Failed(failure="timeout", reason=f"no reply in {self.seconds:g} s", answered=False)
