"""What a dream asks a model, and the two ways to have a step answered: waiting, and while the event loop goes on.

A step is a generator: it yields questions and takes answers, so that it is written once and tested without a model.
Everything that a dream asks is booked under `memory_dream`, in a session of its own, whose budget is the dream's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from langmem_tiers.llm.answers import Answer, Prompt
from langmem_tiers.llm.asker import ModelAsker

SOURCE = "memory_dream"
Given = TypeVar("Given")


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """What a model is asked; `timeout` and `output_tokens` take the place of the settings where they are given."""

    schema: type[BaseModel]
    prompt: Prompt
    source: str = SOURCE
    timeout: float | None = None
    output_tokens: int | None = None


Step = Generator[Question, Answer[Any], Given]
"""A step of a dream on its way to what it gives."""

NO_MODEL: Answer[Any] = Answer(failure="resting", reason="there is no model")
"""The answer where nobody can be asked."""


class Stopped(Exception):
    """The memory is being closed: a dream ends here, and nothing of it is kept."""


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How long a dream may take yet before it asks no more, and whether it is to end at once.

    `seconds` are those of the whole dream, None for as long as it takes; `spent` those of its earlier steps.
    """

    seconds: float | None = None
    spent: float = 0.0
    stop: Callable[[], bool] = lambda: False
    began: float = field(default_factory=monotonic)

    @property
    def took(self) -> float:
        """Seconds that the dream has taken by now."""
        return self.spent + monotonic() - self.began

    def longest(self, asker: ModelAsker, timeout: float | None) -> float | None:
        """Seconds that one question may take, None for the setting; 0 and less where there is no time left."""
        return timeout if self.seconds is None else min(asker.longest(timeout), self.seconds - self.took)

    def require(self) -> None:
        """Nothing, while the dream may go on.

        Raises:
            Stopped: it is to end.
        """
        if self.stop():
            raise Stopped


@dataclass(frozen=True, kw_only=True)
class DreamAsker:
    """Answers the questions of one dream: by the memory's model, or by saying why there is no answer.

    `answered` is called after each answer, in the thread that a step works in: a dream whose model takes its time
    says there that it lives.
    """

    asker: ModelAsker | None
    session: str
    answered: Callable[[], None]
    patience: Patience = field(default_factory=Patience)

    def ask(self, question: Question) -> Answer[Any]:
        """The answer to a question; its `value` is None where there is none.

        Raises:
            Stopped: the dream is to end.
        """
        options = self._options(question)
        if self.asker is None or options is None:
            return self._unasked()
        answer = self.asker.ask(question.schema, question.prompt, **options)
        self.patience.require()
        return answer

    async def aask(self, question: Question) -> Answer[Any]:
        """`ask`, while the event loop goes on."""
        options = self._options(question)
        if self.asker is None or options is None:
            return self._unasked()
        answer = await self.asker.aask(question.schema, question.prompt, **options)
        self.patience.require()
        return answer

    def _options(self, question: Question) -> dict[str, Any] | None:
        """How a question is asked, None where nobody is to be asked any more."""
        self.patience.require()
        timeout = None if self.asker is None else self.patience.longest(self.asker, question.timeout)
        if timeout is not None and timeout <= 0:
            return None
        return {
            "source": question.source,
            "session": self.session,
            "timeout": timeout,
            "output_tokens": question.output_tokens,
            "stop": self.patience.stop,
        }

    def _unasked(self) -> Answer[Any]:
        """The answer where nobody was asked."""
        if self.asker is None:
            return NO_MODEL
        return Answer(failure="timeout", reason=f"the dream has had its {self.patience.seconds:g} s")


def run(step: Step[Given], asker: DreamAsker) -> Given:
    """What a step gives, its questions asked one after the other."""
    moved = _moved(step, None, asker)
    while isinstance(moved, Question):
        moved = _moved(step, asker.ask(moved), asker)
    return moved.given


async def arun(step: Step[Given], asker: DreamAsker) -> Given:
    """`run`, while the event loop goes on: between its questions, a step works in a thread."""
    moved = await asyncio.to_thread(_moved, step, None, asker)
    while isinstance(moved, Question):
        moved = await asyncio.to_thread(_moved, step, await asker.aask(moved), asker)
    return moved.given


def listening(asking: Generator[Question, Answer[Any], Given], heard: list[Answer[Any]]) -> Step[Given]:
    """A pass as a step, with every answer noted."""
    try:
        question = next(asking)
        while True:
            answer = yield question
            heard.append(answer)
            question = asking.send(answer)
    except StopIteration as done:
        given: Given = done.value
        return given


@dataclass(frozen=True)
class _Done(Generic[Given]):
    given: Given


def _moved(step: Step[Given], answer: Answer[Any] | None, asker: DreamAsker) -> Question | _Done[Given]:
    """The next question of a step, or what it gives: StopIteration does not pass through a thread."""
    try:
        if answer is None:
            return next(step)
        if answer is not NO_MODEL:
            asker.answered()
        return step.send(answer)
    except StopIteration as done:
        return _Done(done.value)
