"""Asking a reader or a judge, and what it took."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

from langmem_tiers.bench.logs import AnswerLog, Fields
from langmem_tiers.bench.workers import Progress, in_threads, unwatched
from langmem_tiers.errors import InvalidInput
from langmem_tiers.wording import type_of

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage


# A reply beyond this is a model that has lost its way, and no answer.
LONGEST = 20_000
_CLOSED_THOUGHT = re.compile(r"^.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_OPEN_THOUGHT = re.compile(r"^\s*<think(?:ing)?>.*", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class CallReply:
    """The reply to one call. `error` says why there is no text; tokens are None if not reported."""

    text: str
    ms: float = 0.0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    error: str | None = None


# One prompt, or a conversation of prompts and replies that ends with a prompt.
Ask = Callable[[Sequence[str]], CallReply]


def asking(model: BaseChatModel) -> Ask:
    """A function that asks this model; whatever it or its client raises becomes a `CallReply` with an error."""

    def ask(conversation: Sequence[str]) -> CallReply:
        from langchain_core.messages import AIMessage, HumanMessage

        kinds = (HumanMessage, AIMessage)
        messages = [kinds[place % 2](said) for place, said in enumerate(conversation)]
        started = perf_counter()
        try:
            message = model.invoke(messages)
        except Exception as error:  # noqa: BLE001 - whatever a provider's client raises: it is told in the log
            return CallReply(text="", ms=_since(started), error=_told(error))
        return _reply(message, _since(started))

    return ask


def with_temperature(model: BaseChatModel, temperature: float | None) -> BaseChatModel:
    """The model at this temperature; itself for None.

    Raises:
        InvalidInput: it has none.
    """
    if temperature is None:
        return model
    if "temperature" not in type(model).model_fields:
        raise InvalidInput(f"{type_of(model)} has no temperature.", way_out="Leave --temperature away.")
    return model.model_copy(update={"temperature": temperature})


def spoken(text: str) -> str:
    """A reply without the thoughts that some models put in front, between `<think>` marks."""
    return _OPEN_THOUGHT.sub("", _CLOSED_THOUGHT.sub("", text)).strip()


def _reply(message: AIMessage, ms: float) -> CallReply:
    usage = message.usage_metadata
    said = str(message.text)
    text = spoken(said) if len(said) <= LONGEST else ""
    why_not = f"a reply of {len(said):,} characters" if len(said) > LONGEST else "an empty reply"
    return CallReply(
        text=text,
        ms=ms,
        prompt_tokens=usage["input_tokens"] if usage else None,
        completion_tokens=usage["output_tokens"] if usage else None,
        error=None if text else why_not,
    )


def _told(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:500]


def _since(started: float) -> float:
    return round((perf_counter() - started) * 1000, 3)


_MILLION = 1_000_000
_TOKENS = ("prompt_tokens", "completion_tokens")
Thing = TypeVar("Thing")


@dataclass(frozen=True, kw_only=True, slots=True)
class Prices:
    """Prices of a million tokens, in any currency; None if unknown."""

    tokens_in: float | None = None
    tokens_out: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class CallUsage:
    """The calls of one source and their tokens. `untold` calls did not report their tokens."""

    source: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    untold: int
    cost: float | None = None


def usage_of(source: str, lines: Iterable[Fields], prices: Prices | None) -> CallUsage:
    """The totals over the lines of a log; the cost is only there if a price is known."""
    logged = list(lines)
    prompt, completion = (sum(_known(line, name) or 0 for line in logged) for name in _TOKENS)
    cost = None
    if prices is not None and (prices.tokens_in is not None or prices.tokens_out is not None):
        cost = (prompt * (prices.tokens_in or 0) + completion * (prices.tokens_out or 0)) / _MILLION
    return CallUsage(
        source=source,
        calls=sum(_known(line, "calls") or 1 for line in logged),
        prompt_tokens=prompt,
        completion_tokens=completion,
        untold=sum(_known(line, "calls") or 1 for line in logged if line.get("prompt_tokens") is None),
        cost=cost,
    )


def log_all(
    log: AnswerLog,
    left: Sequence[Thing],
    ask: Callable[[Thing], Fields],
    jobs: int,
    on_progress: Progress | None = None,
) -> None:
    """Log the result of `ask` for each thing, `jobs` at a time; the usage of earlier attempts is added."""
    progress = on_progress or unwatched
    progress(0, len(left))
    for done, line in enumerate(in_threads(ask, left, jobs), 1):
        log.append(_with_earlier(line, log.lines.get(str(line["question_id"]))))
        progress(done, len(left))


def _with_earlier(line: Fields, earlier: Fields | None) -> Fields:
    if earlier is None:
        return line
    tokens = {name: added((_known(line, name), _known(earlier, name))) for name in _TOKENS}
    return {**line, **tokens, "calls": (_known(line, "calls") or 1) + (_known(earlier, "calls") or 1)}


def added(numbers: Iterable[int | None]) -> int | None:
    """The sum of those that are known; None when none is."""
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None


def _known(line: Fields, name: str) -> int | None:
    value = line.get(name)
    return value if isinstance(value, int) else None
