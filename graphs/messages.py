"""Messages of a graph's state: reading them, the words that are the user's own, the window a model sees."""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
)

from langmem_tiers.block_lines import MESSAGE_LINE, MESSAGE_MARK
from langmem_tiers.fencing import OPENING
from langmem_tiers.knowledge.prompt_blocks import (
    IDENTITY_FENCE,
    IDENTITY_HEADER,
    NOTES_FENCE,
    NOTES_HEADER,
    PROFILE_FENCE,
    PROFILE_HEADER,
    TASK_FENCE,
    TASK_HEADER,
)
from langmem_tiers.recall import rendering as recall
from langmem_tiers.trust.secrets import mask

# The memory's keys in the state of a graph.
BLOCKS, SCOPE = "memory_blocks", "memory_scope"
_DERIVED = "derived-"
# What the call limits of `langchain.agents.middleware` say instead of a reply.
_LIMIT = re.compile(
    r"(?:Model call limits exceeded: (?:thread|run) limit \(\d+/\d+\)"
    r"|(?:'[^']+' tool|Tool) call limit reached: (?:thread|run) limit exceeded \(\d+/\d+ calls\))"
)


def peek(source: Any, key: str) -> Any:
    """`source[key]` of a mapping, `source.key` of anything else; None if there is neither."""
    if isinstance(source, Mapping):
        return source.get(key)
    return getattr(source, key, None)


def kept_in(state: Any, key: str) -> Mapping[str, Any]:
    """What the memory nodes keep under one of their keys; empty if the host keeps something else there."""
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
    seen: Counter[str] = Counter()
    return [message if message.id else _with_derived_id(message, seen) for message in convert_to_messages(found)]


def _with_derived_id(message: BaseMessage, seen: Counter[str]) -> BaseMessage:
    # Hashed as it is stored, with secrets masked: a short secret could be guessed from its hash.
    said = f"{message.type}\x1f{mask(str(message.text))}"
    digest = hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()[:32]
    seen[digest] += 1
    return message.model_copy(update={"id": f"{_DERIVED}{digest}-{seen[digest]}"})


def is_without_id(message: BaseMessage) -> bool:
    """Whether the message came without an id, and has one that `read_messages` derived."""
    return str(message.id).startswith(_DERIVED)


def is_synthetic(message: BaseMessage) -> bool:
    """Whether software wrote the message: LangChain marks summaries, and its call limits have fixed wordings."""
    if message.additional_kwargs.get("lc_source"):
        return True
    return isinstance(message, AIMessage) and not message.tool_calls and bool(_LIMIT.match(str(message.text)))


def last_human(messages: Sequence[BaseMessage]) -> HumanMessage | None:
    """The latest message that a person wrote."""
    return next((m for m in reversed(messages) if isinstance(m, HumanMessage) and not is_synthetic(m)), None)


_HEADERS = (recall.HEADER, recall.KNOWN_HEADER, IDENTITY_HEADER, PROFILE_HEADER, NOTES_HEADER, TASK_HEADER)
_OPENINGS = (OPENING, IDENTITY_FENCE[0], PROFILE_FENCE[0], NOTES_FENCE[0], TASK_FENCE[0])
# This much of a header is enough to tell it from what a user would write after the same tag.
_TELLING = 20
_TAGS = "|".join(re.escape(opening.strip("<>")) for opening in _OPENINGS)
_BEGINNINGS = "|".join(re.escape(header[:_TELLING]) for header in _HEADERS)
# A block, or as much of it as there is if its end is missing.
_CUT = rf"(?:{_BEGINNINGS})[^\n]*(?:\n(?:- | {{2}}|#)[^\n]*)*"
_BLOCK = re.compile(rf"<(?P<tag>{_TAGS})>\n(?:(?s:.*?)\n</(?P=tag)>|{_CUT})")


def without_recalled(text: str) -> str:
    r"""`text` without blocks of the memory and items of such; one that holds none as it is, to the last space.

    Example:
        >>> without_recalled("You said: <memory_context>\n- a line\n</memory_context>\nIn Porto.")
        'You said: \nIn Porto.'
    """
    if not any(opening in text for opening in _OPENINGS) and MESSAGE_MARK not in text:
        return text
    kept = MESSAGE_LINE.sub("", _BLOCK.sub("", text))
    return text if kept == text else kept.strip()


def window_start(messages: Sequence[BaseMessage], turns: int, step: int = 1) -> int:
    """The index in `messages` where the window begins: the last `turns` turns, and up to `step - 1` before them.

    A turn is a human or an AI message; tool messages ride along with the AI message that asked for them. The window
    moves on by `step` turns at a time, so that requests begin alike until it does. It begins with a human message
    wherever there is one to begin it, so it can be a little shorter than `turns`. It is longer only when the last
    human message lies further back: that message and all that follows it always stay. System messages at the very
    beginning stand outside: they are not counted, and come before the index.

    Example:
        >>> from langchain_core.messages import AIMessage, HumanMessage
        >>> window_start([HumanMessage("a"), AIMessage("b"), HumanMessage("c"), AIMessage("d")], 3)
        2
    """
    lead = leading_systems(messages)
    spoken = [i for i in range(lead, len(messages)) if isinstance(messages[i], HumanMessage | AIMessage)]
    held = window_length(len(spoken), turns, step)
    earliest = lead if held == len(spoken) else spoken[-held]
    humans = [i for i in spoken if isinstance(messages[i], HumanMessage)]
    if humans:
        return next((i for i in humans if i >= earliest), humans[-1])
    # Providers reject a tool message without the call that it answers.
    later = range(earliest, len(messages))
    return next((i for i in later if not isinstance(messages[i], ToolMessage)), len(messages))


def window_length(count: int, turns: int, step: int) -> int:
    """How many of `count` turns are in the window: all up to `turns + step - 1`, then `turns` to `turns + step - 1`.

    Example:
        >>> [window_length(count, 20, 10) for count in (12, 29, 30, 39, 40)]
        [12, 29, 20, 29, 20]
    """
    turns = max(turns, 1)
    return count if count <= turns else count - (count - turns) // step * step


def leading_systems(messages: Sequence[BaseMessage]) -> int:
    """How many system messages stand at the very beginning."""
    return next((i for i, m in enumerate(messages) if not isinstance(m, SystemMessage)), len(messages))
