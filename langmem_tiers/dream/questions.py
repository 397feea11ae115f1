"""What a dream asks a model: questions, the drivers that answer them, and fields that parse replies leniently.

A step is a generator that yields questions and receives answers, so that it is written once and tested without a model.
All questions of a dream are booked under `memory_dream`, in a session of their own that carries the dream's budget.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from time import monotonic
from typing import Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, WithJsonSchema

from langmem_tiers.models.asker import ModelAsker
from langmem_tiers.models.calls import ModelAnswer, Prompt
from langmem_tiers.models.directives import Directives
from langmem_tiers.threads import to_thread

SOURCE = "memory_dream"
Given = TypeVar("Given")


@dataclass(frozen=True, kw_only=True, slots=True)
class DreamQuestion:
    """A question for a model; `output_tokens` overrides the setting."""

    schema: type[BaseModel]
    prompt: Prompt
    output_tokens: int | None = None


Step = Generator[DreamQuestion, ModelAnswer[Any], Given]
"""A step of a dream on its way to what it gives."""

BUILT_IN = Directives(None)
"""The prompts of a memory that replaces none."""

NO_MODEL: ModelAnswer[Any] = ModelAnswer(failure="resting", reason="there is no model")
"""The answer where nobody can be asked."""


class Stopped(Exception):
    """The memory is being closed: a dream ends here, and nothing of it is kept."""


@dataclass(frozen=True, kw_only=True)
class DreamAsker:
    """Answers the questions of one step with the memory's model, or says why there is no answer.

    `answered` is called after each answer, in the thread of the step: with a slow model it signals that the dream
    is alive. `seconds` limits the whole dream (None: no limit), `spent` is the time taken by its earlier steps, and
    `stop` says whether it must end at once.
    """

    asker: ModelAsker | None
    session: str
    answered: Callable[[], None]
    seconds: float | None = None
    spent: float = 0.0
    stop: Callable[[], bool] = lambda: False
    began: float = field(default_factory=monotonic)
    heard: list[ModelAnswer[Any]] = field(default_factory=list)
    """The answers so far."""

    @property
    def took(self) -> float:
        """Seconds that the dream has taken so far."""
        return self.spent + monotonic() - self.began

    def require_time(self) -> None:
        """Check that the dream may go on.

        Raises:
            Stopped: it must end.
        """
        if self.stop():
            raise Stopped

    def ask(self, question: DreamQuestion) -> ModelAnswer[Any]:
        """The answer to a question; its `value` is None if there is none.

        Raises:
            Stopped: the dream must end.
        """
        options = self._options(question)
        if self.asker is None or options is None:
            return self._unasked()
        answer = self.asker.ask(question.schema, question.prompt, **options)
        self.require_time()
        return answer

    async def aask(self, question: DreamQuestion) -> ModelAnswer[Any]:
        """Like `ask`, without blocking the event loop."""
        options = self._options(question)
        if self.asker is None or options is None:
            return self._unasked()
        answer = await self.asker.aask(question.schema, question.prompt, **options)
        self.require_time()
        return answer

    def hear(self, answer: ModelAnswer[Any]) -> None:
        """Take note of an answer that the step is about to get."""
        self.heard.append(answer)
        if answer is not NO_MODEL:
            self.answered()

    def _options(self, question: DreamQuestion) -> dict[str, Any] | None:
        """The options for asking a question; None if there is no model or no time left."""
        self.require_time()
        timeout = None
        if self.asker is not None and self.seconds is not None:
            timeout = min(self.asker.longest(None), self.seconds - self.took)
        if timeout is not None and timeout <= 0:
            return None
        return {
            "source": SOURCE,
            "session": self.session,
            "timeout": timeout,
            "output_tokens": question.output_tokens,
            "stop": self.stop,
        }

    def _unasked(self) -> ModelAnswer[Any]:
        if self.asker is None:
            return NO_MODEL
        return ModelAnswer(failure="timeout", reason=f"the dream has had its {self.seconds:g} s")


def run(step: Step[Given], asker: DreamAsker) -> Given:
    """Run a step to its result, answering its questions in order."""
    moved = _moved(step, None, asker)
    while isinstance(moved, DreamQuestion):
        moved = _moved(step, asker.ask(moved), asker)
    return moved.given


async def arun(step: Step[Given], asker: DreamAsker) -> Given:
    """Like `run`, without blocking the event loop: between its questions, a step works in a thread."""
    moved = await to_thread(_moved, step, None, asker)
    while isinstance(moved, DreamQuestion):
        moved = await to_thread(_moved, step, await asker.aask(moved), asker)
    return moved.given


@dataclass(frozen=True)
class _Done(Generic[Given]):
    given: Given


def _moved(step: Step[Given], answer: ModelAnswer[Any] | None, asker: DreamAsker) -> DreamQuestion | _Done[Given]:
    """The next question of a step, or its result: StopIteration cannot be raised across threads."""
    try:
        if answer is None:
            return next(step)
        asker.hear(answer)
        return step.send(answer)
    except StopIteration as done:
        return _Done(done.value)


# Replies: small models write numbers as text, and single items without a list.

MOST = 200
"""Of a list that is longer, the rest is not looked at."""

_NUMBER = re.compile(
    r"[\s\[(#]*+(?:line|turn|pair|signal|correction|summary|episode|number|no\.?)?[\s\[(#:]*+0*(\d{1,6})(?:\.0)?[\s\]).:]*",
    re.IGNORECASE | re.ASCII,
)
Listed = TypeVar("Listed")


def _text(given: Any) -> str:
    """A text on one line, in characters that a database can store; empty for anything else."""
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        return ""
    return " ".join(str(given).encode("utf-8", "replace").decode().split())


def _number(given: Any) -> int:
    """The number in 3, "[3]" or "line 3"; 0, which matches nothing, if there is none."""
    found = _NUMBER.fullmatch(_text(given))
    return int(found[1]) if found else 0


def _several(given: Any) -> list[Any]:
    listed = given if isinstance(given, list) else [given]
    return [each for each in listed[:MOST] if each is not None and each != ""]


def _numbers(given: Any) -> list[int]:
    return list(dict.fromkeys(filter(None, map(_number, _several(given)))))


def _objects(given: Any) -> list[Any]:
    return [each for each in _several(given) if isinstance(each, dict)]


def _yes(given: Any) -> bool:
    return given is True or _text(given).casefold() in {"true", "yes", "1"}


def _bare(schema: dict[str, Any]) -> None:
    """A schema without the titles that pydantic generates: it is sent with each question."""
    for part in schema.get("properties", {}).values():
        part.pop("title", None)


class PartialReply(BaseModel):
    """An object of which a model may leave parts out."""

    model_config = ConfigDict(json_schema_extra=_bare)


Words = Annotated[str, BeforeValidator(_text)]
Number = Annotated[int, BeforeValidator(_number)]
Numbers = Annotated[
    list[int], BeforeValidator(_numbers), WithJsonSchema({"type": "array", "items": {"type": "integer"}})
]
Yes = Annotated[bool, BeforeValidator(_yes)]
Objects = Annotated[list[Listed], BeforeValidator(_objects)]
