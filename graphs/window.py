"""Which part of a conversation goes to the model."""

from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage


def window_start(messages: Sequence[BaseMessage], turns: int) -> int:
    """The index in `messages` where the last `turns` turns begin.

    A turn is a human or an AI message; tool messages ride along with the AI message that asked for them. The window
    begins with a human message wherever there is one to begin it, so it can be a little shorter than `turns`. It is
    longer only when the last human message lies further back: that message and all that follows it always stay.
    System messages at the very beginning stand outside: they are not counted, and come before the index.

    Example:
        >>> from langchain_core.messages import AIMessage, HumanMessage
        >>> window_start([HumanMessage("a"), AIMessage("b"), HumanMessage("c"), AIMessage("d")], 3)
        2
    """
    lead = leading_systems(messages)
    spoken = [i for i in range(lead, len(messages)) if isinstance(messages[i], HumanMessage | AIMessage)]
    earliest = lead if len(spoken) <= turns else spoken[-max(turns, 1)]
    humans = [i for i in spoken if isinstance(messages[i], HumanMessage)]
    if humans:
        return next((i for i in humans if i >= earliest), humans[-1])
    return _past_tool_messages(messages, earliest)


def leading_systems(messages: Sequence[BaseMessage]) -> int:
    """How many system messages stand at the very beginning."""
    return next((i for i, m in enumerate(messages) if not isinstance(m, SystemMessage)), len(messages))


def _past_tool_messages(messages: Sequence[BaseMessage], start: int) -> int:
    """Providers refuse a tool's answer whose question is missing."""
    return next((i for i in range(start, len(messages)) if not isinstance(messages[i], ToolMessage)), len(messages))
