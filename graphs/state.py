"""The state that memory nodes read and write. All values are plain JSON, so that every checkpointer keeps them."""

from typing import Any, NotRequired, TypedDict, cast

from langchain_core.messages import AnyMessage
from langgraph.graph import MessagesState

# In `memory_scope`, what is always before the model: it stays as it was when the session began.
PROFILE = "profile"
# And the number of the last activity that the thread has heard of on its custom stream.
HEARD = "heard"
# The human message that was the newest when the scope was written.
ASKED = "asked"
# Whose run it was, where the space is not theirs alone.
OWNER = "owner"
# The last message that came before the first run of this user, where the thread had another one before.
OTHERS_UNTIL = "others_until"


class MemoryInput(TypedDict, total=False):
    """What a memory node takes from its host's state.

    `messages` has no reducer here on purpose: the host's own one is in force, whichever it is.
    """

    messages: list[AnyMessage]
    memory_blocks: dict[str, str]
    memory_scope: dict[str, Any]


class MemoryState(MessagesState):
    """A state to start a graph from: the messages, and what the memory nodes keep beside them.

    `memory_blocks` maps the id of a human message to the block recalled for it; `memory_scope` is whose memory it
    was, with the profile that the session began with, and from which message on. Both stay out of the message history.
    """

    memory_blocks: NotRequired[dict[str, str]]
    memory_scope: NotRequired[dict[str, Any]]


class MemoryContext(TypedDict, total=False):
    """What a run can say about itself: `graph.invoke(..., context={"user_id": "alice"})`."""

    user_id: str
    session_id: str
    agent_id: str
    project: str


def memory_input(messages_key: str) -> type[Any]:
    """`MemoryInput` for a host that keeps its messages under another key."""
    if messages_key == "messages":
        return MemoryInput
    fields = {messages_key: list[AnyMessage], "memory_blocks": dict[str, str], "memory_scope": dict[str, Any]}
    make = cast(Any, TypedDict)  # a type checker wants the fields spelled out; here they are known at run time only
    return cast("type[Any]", make("MemoryInput", fields, total=False))
