"""Reading a host's state: its messages, as messages, each with an id."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, convert_to_messages

from langmem_tiers.trust.secrets import mask

# The keys of a state that are the memory's.
BLOCKS, SCOPE = "memory_blocks", "memory_scope"
# What the call limits of `langchain.agents.middleware` say in the place of a reply.
_LIMIT = re.compile(
    r"(?:Model call limits exceeded: (?:thread|run) limit \(\d+/\d+\)"
    r"|(?:'[^']+' tool|Tool) call limit reached: (?:thread|run) limit exceeded \(\d+/\d+ calls\))"
)


def peek(source: Any, key: str) -> Any:
    """`source[key]` of a mapping, `source.key` of anything else; None where there is neither."""
    if isinstance(source, Mapping):
        return source.get(key)
    return getattr(source, key, None)


def kept_in(state: Any, key: str) -> Mapping[str, Any]:
    """What the memory nodes keep under one of their keys; nothing where the host keeps something else there."""
    value = peek(state, key)
    return value if isinstance(value, Mapping) else {}


def read_messages(state: Any, key: str = "messages") -> list[BaseMessage]:
    """The messages under `key`, oldest first, each with an id.

    Hosts that collect messages with `operator.add` keep tuples and dicts as they came, and messages without ids.
    They are converted, and an id is derived from kind, text and count, so that it is the same on every run.
    The state itself is not touched.
    """
    value = peek(state, key)
    if not value:
        return []
    found = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    return _identified(convert_to_messages(found))


def _identified(messages: Iterable[BaseMessage]) -> list[BaseMessage]:
    seen: Counter[str] = Counter()
    result = []
    for message in messages:
        result.append(message if message.id else _with_derived_id(message, seen))
    return result


def _with_derived_id(message: BaseMessage, seen: Counter[str]) -> BaseMessage:
    # Of the text as it is stored: a short secret could be guessed from the hash of the whole.
    said = f"{message.type}\x1f{mask(str(message.text))}"
    digest = hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()[:32]
    seen[digest] += 1
    return message.model_copy(update={"id": f"derived-{digest}-{seen[digest]}"})


def is_synthetic(message: BaseMessage) -> bool:
    """Whether software wrote the message in somebody's name: LangChain marks summaries so, and its limits by words."""
    if message.additional_kwargs.get("lc_source"):
        return True
    return isinstance(message, AIMessage) and not message.tool_calls and bool(_LIMIT.match(str(message.text)))


def last_human(messages: Sequence[BaseMessage]) -> HumanMessage | None:
    """The latest message that a person wrote."""
    return next((m for m in reversed(messages) if isinstance(m, HumanMessage) and not is_synthetic(m)), None)
