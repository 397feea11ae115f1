"""Asking a chat model once: what it said and took, or why it did not; a failure is a value here."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

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
