"""The flush node: before a history is summarized, save the facts in it."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage

from langmem_tiers.errors import InvalidSettings
from langmem_tiers.graphs.identity import SpaceChoice
from langmem_tiers.graphs.messages import read_messages
from langmem_tiers.graphs.node import MemoryNode, NodeOutcome, OnError, memory_of, one_space, reading
from langmem_tiers.graphs.runs import feed_of
from langmem_tiers.graphs.track import turns_of
from langmem_tiers.graphs.visit import Visit
from langmem_tiers.writing import flushing
from langmem_tiers.writing.flushing import FlushReport

if TYPE_CHECKING:
    from langmem_tiers.context import SpaceContext
    from langmem_tiers.memory import Memory
    from langmem_tiers.space import Space


class FlushNode(MemoryNode):
    """Saves the facts of a long history before it is summarized. Does not change the state."""

    step = "flush"
    _door = "flush_node(memory, space='users/alice')"

    def __init__(self, memory: "Memory", *, context_window: int | None, **options: Any) -> None:
        super().__init__(memory, **options)
        self._context_window = _checked(context_window)

    def _work(self, visit: Visit) -> NodeOutcome:
        context = visit.space.context
        if not (visit.own and context.settings.tracks and _due(context, visit.messages, self._context_window)):
            return NodeOutcome()
        scope = visit.scope
        report = flushing.flush(visit.space.context, turns_of(visit.own), **scope.of_turns())
        if self.on_error == "raise":
            report.tracked.raise_rejected()
        event = _event(report)
        if event is not None and not report.skipped:
            feed_of(self.memory).tell_by_itself(visit.space, report.tracked.session, flushing.ACTIVITY)
        return NodeOutcome(event=event)


def flush_node(
    memory: "Memory",
    *,
    name: str = "flush",
    context_window: int | None = None,
    space: SpaceChoice | None = None,
    on_error: OnError = "log",
    messages_key: str = "messages",
    agent: str | None = None,
) -> FlushNode:
    """A node that saves the facts of a long history: put it before whatever summarizes or cuts that.

    It does nothing until the history has more than `Settings.flush.messages` messages, or fills more than
    `Settings.flush.window_share` of the context window. Then all that was said is stored, what is not mined yet is
    mined, and what came of it is appended to the document `memory/YYYY-MM-DD.md`, line by line with its date and
    pointer. With a model that takes at most `Settings.flush.steps` calls and `Settings.flush.timeout_seconds`; what it
    does not come to is read by rule now, and by the model later. Only what a person said is mined: no summaries and
    other synthetic messages (`lc_source`), no recalled blocks, no tools. The same history again changes nothing; of one
    that stays long, the newest turns are read by rule until they fill a window (`Settings.mining.window_turns`).

    On the custom stream it says `{"type": "memory_flushed", "turns": 51, "noted": 7, "document":
    "memory/2026-03-02.md", "path": "model", "calls": 5, "skipped": ""}`; `skipped` says why nothing was done, where
    another flush of the same space is under way.

    Args:
        memory: the open memory.
        name: the node's name in the graph.
        context_window: how many tokens the model takes; None goes by the number of messages alone.
        space: a space, or a function of config and runtime that names one; by default the user's own.
        on_error: "log" goes on when the memory fails or refuses a message, "raise" ends the run.
        messages_key: where the host's state keeps its messages.
        agent: who the user talks to, and whose settings are in force; by default the agent that the run names, if it
            names one.

    Raises:
        InvalidSettings: `context_window` is no positive number.
        InvalidInput: an argument is of another type, or none of the words there are.

    Example:
        >>> builder.add_sequence([flush_node(memory, context_window=128_000), summarize])  # doctest: +SKIP
    """
    kind = reading(messages_key, FlushNode)
    options: dict[str, Any] = {"space": space, "on_error": on_error, "messages_key": messages_key, "agent": agent}
    return kind(memory, name=name, context_window=context_window, **options)


def flush_before_compaction(
    memory: "Memory",
    space: "Space | str",
    messages: Sequence[Any],
    context_window: int | None = None,
    *,
    session: str | None = None,
    project: str | None = None,
    agent: str | None = None,
    task: str | None = None,
) -> FlushReport | None:
    """What `flush_node` does, for a hook that runs before a summarizer; None if the history is not long enough.

    Args:
        memory: the open memory.
        space: whose it is, such as "users/alice".
        messages: the history, as messages or whatever LangChain takes for them.
        context_window: how many tokens the model takes; None goes by the number of messages alone.
        session: the conversation, such as a thread id; None for the current unnamed one.
        project: what it is about, if known.
        agent: who the user talks to, if there are several.
        task: id of the task that it is part of.

    Raises:
        StorageError: what was acknowledged stays; calling again goes on from there.
        InvalidInput: `memory` or `space` is something else, or the name cannot be that of a space.
        InvalidSettings: `context_window` is no positive number.
    """
    memory_of(memory)
    whose = memory.space(space) if isinstance(space, str) else one_space(space)
    history = read_messages({"messages": messages})
    if not _due(whose.context.of_agent(agent), history, _checked(context_window)):
        return None
    about = {"session": session, "project": project, "agent": agent, "task": task}
    return flushing.flush(whose.context, turns_of(history), **about)


def _checked(context_window: int | None) -> int | None:
    if context_window is not None and context_window < 1:
        raise InvalidSettings(f"{context_window!r} is not a context window.", way_out="Give the model's, or None.")
    return context_window


def _due(context: "SpaceContext", messages: Sequence[BaseMessage], context_window: int | None) -> bool:
    def tokens() -> int:
        return sum(context.count_tokens(_sent(message)) for message in messages)

    limits = context.settings.flush
    return flushing.due(limits, messages=len(messages), tokens=tokens, context_window=context_window)


def _sent(message: BaseMessage) -> str:
    """The words of a message that fill the context window, including those of its tool calls."""
    calls = message.tool_calls if isinstance(message, AIMessage) else ()
    asked = (f"{call['name']} {json.dumps(call['args'], ensure_ascii=False, default=str)}" for call in calls)
    return "\n".join((str(message.text), *asked))


def _event(report: FlushReport) -> dict[str, Any] | None:
    """The event for the custom stream; None if nothing was new."""
    if not (report.turns or report.noted or report.skipped):
        return None
    return {
        "type": "memory_flushed",
        "turns": report.turns,
        "noted": len(report.noted),
        "document": report.document,
        "path": report.path,
        "calls": report.calls,
        "skipped": report.skipped,
    }
