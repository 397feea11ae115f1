"""Asking a reader or a judge, and what it took."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

from langmem_tiers.bench.logs import Fields
from langmem_tiers.errors import InvalidInput

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage


# A reply beyond this is a model that has lost its way, and no answer.
LONGEST = 20_000
_CLOSED_THOUGHT = re.compile(r"^.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_OPEN_THOUGHT = re.compile(r"^\s*<think(?:ing)?>.*", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """What one call gave. `error` says why there is no text; tokens are None where the provider does not tell."""

    text: str
    ms: float = 0.0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    error: str | None = None


# One prompt, or a conversation of prompts and replies that ends with a prompt.
Ask = Callable[[Sequence[str]], Reply]


def asking(model: BaseChatModel) -> Ask:
    """A function that asks this model; it never raises for what the model or its client does."""

    def ask(conversation: Sequence[str]) -> Reply:
        from langchain_core.messages import AIMessage, HumanMessage

        kinds = (HumanMessage, AIMessage)
        messages = [kinds[place % 2](said) for place, said in enumerate(conversation)]
        started = perf_counter()
        try:
            message = model.invoke(messages)
        except Exception as error:  # noqa: BLE001 - whatever a provider's client raises: it is told in the log
            return Reply(text="", ms=_since(started), error=_told(error))
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
        raise InvalidInput(f"A {type(model).__name__} has no temperature.", way_out="Leave --temperature away.")
    return model.model_copy(update={"temperature": temperature})


def spoken(text: str) -> str:
    """A reply without the thoughts that some models put before it between `<think>` marks."""
    return _OPEN_THOUGHT.sub("", _CLOSED_THOUGHT.sub("", text)).strip()


def _reply(message: AIMessage, ms: float) -> Reply:
    usage = message.usage_metadata
    said = str(message.text)
    text = spoken(said) if len(said) <= LONGEST else ""
    why_not = f"a reply of {len(said):,} characters" if len(said) > LONGEST else "an empty reply"
    return Reply(
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Prices:
    """Of a million tokens, in whatever money; None where it is not known."""

    tokens_in: float | None = None
    tokens_out: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """The calls of one source and their tokens. `untold` calls did not say how many they took."""

    source: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    untold: int
    cost: float | None = None


def usage_of(source: str, lines: Iterable[Fields], prices: Prices | None) -> Usage:
    """The sum over the lines of a log."""
    calls = prompt = completion = untold = 0
    for line in lines:
        count = _known(line, "calls") or 1
        calls += count
        untold += count if line.get("prompt_tokens") is None else 0
        prompt += _known(line, "prompt_tokens") or 0
        completion += _known(line, "completion_tokens") or 0
    return Usage(
        source=source,
        calls=calls,
        prompt_tokens=prompt,
        completion_tokens=completion,
        untold=untold,
        cost=_cost(prompt, completion, prices),
    )


def with_earlier(line: Fields, earlier: Fields | None) -> Fields:
    """A line of a log with what earlier attempts took added to it."""
    if earlier is None:
        return line
    tokens = {
        name: added((_known(line, name), _known(earlier, name))) for name in ("prompt_tokens", "completion_tokens")
    }
    return {**line, **tokens, "calls": (_known(line, "calls") or 1) + (_known(earlier, "calls") or 1)}


def added(numbers: Iterable[int | None]) -> int | None:
    """The sum of those that are known; None when none is."""
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None


def _cost(prompt: int, completion: int, prices: Prices | None) -> float | None:
    if prices is None or (prices.tokens_in is None and prices.tokens_out is None):
        return None
    return (prompt * (prices.tokens_in or 0) + completion * (prices.tokens_out or 0)) / _MILLION


def _known(line: Fields, name: str) -> int | None:
    value = line.get(name)
    return value if isinstance(value, int) else None
