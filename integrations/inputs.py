"""Reading what a chain is given and gives: which of several values is the message."""

import logging
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage

from langmem_tiers.errors import InvalidInput
from langmem_tiers.graphs.messages import last_human
from langmem_tiers.telemetry.logs import say

ASKED = ("input", "question", "query")
ANSWERED = ("output", "response", "answer", "text", "result")
# What chains and agents add to their inputs by themselves.
_MACHINERY = frozenset({"stop", "agent_scratchpad", "intermediate_steps"})

_NAME_IT = "name it with input_key or output_key"

logger = logging.getLogger(__name__)


def pick(values: Mapping[str, Any], key: str | None, usual: Sequence[str], but: Collection[str] = ()) -> str:
    """The text under `key`; without one that of the only text, else under a usual name, else the longest.

    Raises:
        InvalidInput: there is no `key`, or no text at all.
    """
    if key is not None:
        if key not in values:
            raise InvalidInput(f"There is no {key!r} here.", way_out=f"There are {', '.join(values)}.")
        return text_of(values[key])
    texts = {
        name: text
        for name, value in values.items()
        if name not in _MACHINERY and name not in but and (text := _single_text(value)).strip()
    }
    if not texts:
        raise InvalidInput("There is no text here.", way_out="Name the key of the message: input_key or output_key.")
    named = next((name for name in usual if name in texts), None)
    if named is None:
        named = max(texts, key=lambda name: len(texts[name]))
        if len(texts) > 1:
            _guessed(named, tuple(sorted(texts)))
    return texts[named]


def text_of(value: Any) -> str:
    """A text, a message, content blocks, or of several messages the last one, as text."""
    if isinstance(value, list) and value and isinstance(value[-1], BaseMessage):
        return str(value[-1].text)
    return _single_text(value)


def messages_in(value: Any) -> list[BaseMessage]:
    """The messages that a chain is given, by themselves or under whichever keys."""
    if isinstance(value, BaseMessage):
        return [value]
    if isinstance(value, list | tuple):
        return [each for each in value if isinstance(each, BaseMessage)]
    return [each for part in value.values() for each in messages_in(part)] if isinstance(value, Mapping) else []


def asked_in(value: Any, key: str | None) -> tuple[str, str | None]:
    """What a chain is asked, and the id of the message that asks it if that is known.

    Raises:
        InvalidInput: `key` is missing, or there is nothing that could be asked.
    """
    if isinstance(value, Mapping) and (key is not None or any(_single_text(each).strip() for each in value.values())):
        chosen = value.get(key) if key is not None else None
        found = [] if chosen is None else messages_in(chosen)
        return pick(value, key, ASKED), found[-1].id if found else None
    asked = last_human(messages_in(value))
    if asked is not None:
        return str(asked.text), asked.id
    if isinstance(value, Mapping):
        raise InvalidInput("There is no text here.", way_out="Name the key of the message: input_key.")
    return text_of(value), None


def _single_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, BaseMessage):
        return str(value.text)
    blocks = isinstance(value, list) and all(isinstance(each, str | dict) for each in value)
    return str(HumanMessage(value).text) if blocks else ""


@cache
def _guessed(named: str, names: tuple[str, ...]) -> None:
    say(logger, logging.WARNING, "key_guessed", key=named, among=",".join(names), hint=_NAME_IT)
