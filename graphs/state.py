"""The keys that memory keeps in a graph's state, and whether a host's state has room for them."""

import types
from collections.abc import Mapping
from typing import Annotated, Any, NotRequired, Required, TypeVar, Union, cast, get_args, get_origin

from langchain_core.messages import AnyMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import MessagesState
from typing_extensions import TypedDict

from langmem_tiers.errors import InvalidInput
from langmem_tiers.fencing import OPENING
from langmem_tiers.graphs.messages import BLOCKS, SCOPE, peek, read_messages
from langmem_tiers.wording import with_article

# Keys of `memory_scope`. Identity, profile and notes as they are in the prompt.
PROFILE = "profile"
# When it was read, and the first message that the model saw then.
PROFILE_READ = "profile_read"
# Where blocks go, unless in front of their messages.
PLACEMENT = "placement"
# What is in working memory, as it stands at the end of the prompt.
WORKING = "working"
# The number of the last activity that was reported on the custom stream of the thread.
HEARD = "heard"
# The newest human message when the scope was written.
ASKED = "asked"
# The session's last drawer when a run began, by the message that it began with.
SEEN = "seen"
# The message that the middleware recalled for last, as it was worded.
RECALLED_FOR = "recalled_for"
# Whose run it was: the own space of its user.
OWNER = "owner"
# The last message before the first run of this user, if the thread had another user before.
OTHERS_UNTIL = "others_until"


class MemoryInput(TypedDict, total=False):
    """What a memory node reads from the state of its graph.

    `messages` has no reducer here on purpose: the host's own one is in force, whichever it is.
    """

    messages: list[AnyMessage]
    memory_blocks: dict[str, str]
    memory_scope: dict[str, Any]


class MemoryState(MessagesState):
    """A state to start a graph from: the messages, and what the memory nodes keep beside them.

    `memory_blocks` maps the id of a human message to the block recalled for it; `memory_scope` is whose memory it
    was, with the profile as it is in the prompt, and from which message on. Both stay out of the message history.
    """

    memory_blocks: NotRequired[dict[str, str]]
    memory_scope: NotRequired[dict[str, Any]]


class MemoryContext(TypedDict, total=False):
    """What a run can say about itself: `graph.invoke(..., context={"user_id": "alice"})`."""

    user_id: str
    session_id: str
    agent_id: str
    project: str
    task_id: str


def memory_input(messages_key: str, more: Mapping[str, Any] | None = None) -> type[Any]:
    """`MemoryInput` for a host that keeps its messages under another key, or for a node with `more` keys."""
    if messages_key == "messages" and not more:
        return MemoryInput
    fields = {messages_key: list[AnyMessage], "memory_blocks": dict[str, str], "memory_scope": dict[str, Any]}
    fields |= more or {}
    make = cast("Any", TypedDict)  # a type checker wants the fields spelled out; here they are known at run time only
    return cast("type[Any]", make("MemoryInput", fields, total=False))


_OTHER_NAME = "Give that key of your state another name."
# Where LangGraph gives a node the function that reads its channels.
_READ = "__pregel_read"
_WRAPPERS = (Annotated, Required, NotRequired)


def require_fitting(state: Any, messages_key: str, config: RunnableConfig | None = None) -> None:
    """Refuse a state that the memory nodes cannot work with.

    Raises:
        InvalidInput: it has no messages under `messages_key`, or something of the host's under a key of theirs; or, as
            far as the graph of this config tells, such a key is declared for something else.
    """
    if peek(state, messages_key) is None:
        raise InvalidInput(
            f"The graph's state has no {messages_key!r}.",
            way_out="Say where it keeps its messages: recall_node(memory, messages_key=…), and so for the other nodes.",
        )
    for key in (BLOCKS, SCOPE):
        value = peek(state, key)
        if value is not None and not isinstance(value, Mapping):
            kind = with_article(type(value).__name__)
            raise InvalidInput(
                f"The graph's state has {kind} under {key!r}, which the memory uses.",
                way_out=_OTHER_NAME,
            )
        _require_declared(config, key)
    _require_ours(state, messages_key)


def _require_ours(state: Any, messages_key: str) -> None:
    """Blocks are keyed by message ids, and a scope names its space: anything else belongs to the host."""
    scope, blocks = peek(state, SCOPE), peek(state, BLOCKS)
    if scope and not isinstance(scope.get("space"), str):
        raise InvalidInput(f"The graph's state uses {SCOPE!r} for something else than the memory.", way_out=_OTHER_NAME)
    strange = [key for key, block in (blocks or {}).items() if not str(block).startswith(OPENING)]
    if strange and not {message.id for message in read_messages(state, messages_key)}.issuperset(strange):
        raise InvalidInput(
            f"What the graph's state holds under {BLOCKS!r} is not the memory's: its keys are no ids of messages.",
            way_out=_OTHER_NAME,
        )


def _require_declared(config: RunnableConfig | None, key: str) -> None:
    declared = _declared(config, key)
    if not _takes(declared, dict):
        name = getattr(declared, "__name__", str(declared))
        raise InvalidInput(
            f"The graph's state declares {key!r} as {name}, where the memory keeps a dict of its own.",
            way_out=_OTHER_NAME,
        )
    keys_and_values = get_args(_bare(declared))
    if key == BLOCKS and len(keys_and_values) == 2 and not all(_takes(each, str) for each in keys_and_values):
        raise InvalidInput(
            f"The graph's state declares {key!r} as {declared}, where the memory keeps texts by the ids of messages.",
            way_out=_OTHER_NAME,
        )


def _declared(config: RunnableConfig | None, key: str) -> Any:
    """The type that the graph's schema gives a key; Any if that cannot be seen."""
    read = ((config or {}).get("configurable") or {}).get(_READ)
    found = (each[key] for each in getattr(read, "args", ()) if isinstance(each, Mapping) and key in each)
    return getattr(next(found, None), "typ", Any)


def _bare(declared: Any) -> Any:
    """The type without `Annotated` and the like."""
    while get_origin(declared) in _WRAPPERS:
        declared = get_args(declared)[0]
    return declared


def _takes(declared: Any, kind: type[Any]) -> bool:
    """Whether a value of this kind fits; True if that cannot be told."""
    plain = _bare(declared)
    origin = get_origin(plain) or plain
    if origin in (Union, types.UnionType):
        return any(_takes(each, kind) for each in get_args(plain))
    # `typing.is_typeddict` does not know those of typing_extensions.
    if origin is Any or isinstance(origin, TypeVar) or hasattr(origin, "__required_keys__"):
        return True
    return not isinstance(origin, type) or issubclass(kind, origin)
