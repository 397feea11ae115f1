"""The track node: after the model, keep what was said."""

import logging
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from langmem_tiers import arguments
from langmem_tiers.clock import require_aware
from langmem_tiers.graphs.identity import SpaceChoice
from langmem_tiers.graphs.messages import is_synthetic, without_recalled
from langmem_tiers.graphs.node import MemoryNode, NodeOutcome, OnError, reading
from langmem_tiers.graphs.visit import Visit
from langmem_tiers.telemetry.logs import say
from langmem_tiers.types import TrackReport, Turn

if TYPE_CHECKING:
    from langmem_tiers.memory import Memory

logger = logging.getLogger(__name__)

# A run that has not recalled does not know when its history was read: as far as it can tell, after all that is stored.
_NOW = arguments.MOST


class TrackNode(MemoryNode):
    """Stores every human and AI message that is not stored yet. Does not change the state."""

    step = "track"
    _door = "track_node(memory, space='users/alice')"
    _tells_news = True

    def _work(self, visit: Visit) -> NodeOutcome:
        turns = turns_of(visit.own)
        if not turns:
            return NodeOutcome()
        seen = _NOW if visit.seen is None else visit.seen
        report = visit.space.track(turns, **visit.scope.of_turns(), history=True, seen=seen)
        self._tell(report)
        return NodeOutcome(
            event={"type": "memory_tracked", "stored": len(report.stored), "revised": len(report.revised)}
        )

    def _tell(self, report: TrackReport) -> None:
        if self.on_error == "raise":
            report.raise_rejected()
        log_rejected(report)


def track_node(
    memory: "Memory",
    *,
    name: str = "track",
    space: SpaceChoice | None = None,
    on_error: OnError = "log",
    messages_key: str = "messages",
    agent: str | None = None,
) -> TrackNode:
    """A node that stores what was said, verbatim: put it after the model.

    It looks at all messages of the state, so turns that an abandoned run left behind are caught up by the next one;
    a message known by its id and content is not stored again, one with the same id and other content is a revision.
    A history that a client sends again under new ids, or a reply that a replay makes again, is recognised by its words
    and its place. Tool messages, empty ones and synthetic ones (`lc_source`, such as summaries) are left out, and so is
    what the memory put before the model; where the thread had another user before, what was said until then; and in
    a tool of another agent, all. Where a graph removes
    or summarizes messages, put a second track node in front of that. A message's time is taken from
    `additional_kwargs["timestamp"]` (ISO 8601 with a zone) if it is there, else from the clock. On the custom stream it
    says `{"type": "memory_tracked", "stored": 2, "revised": 0}`, after what the memory did by itself since the thread
    last heard of it: `{"type": "memory_mined", "number": 12, "session": "monday", "kept": […], "refused": […], …}`, and
    in the same way `memory_enriched`, `memory_archived` and `memory_flushed`.

    Args:
        memory: the open memory.
        name: the node's name in the graph.
        space: a space, or a function of config and runtime that names one; by default the user's own.
        on_error: "log" goes on when the memory fails or refuses a message, "raise" ends the run.
        messages_key: where the host's state keeps its messages.
        agent: who the user talks to, and whose settings are in force; by default the agent that the run names, if it
            names one. With `tracking.enabled = false` for it, nothing is stored.

    Raises:
        InvalidInput: an argument is of another type, or none of the words there are.

    Example:
        >>> builder.add_node(track_node(memory))  # doctest: +SKIP
    """
    kind = reading(messages_key, TrackNode)
    return kind(memory, name=name, space=space, on_error=on_error, messages_key=messages_key, agent=agent)


def turns_of(messages: Iterable[BaseMessage]) -> list[Turn]:
    """What people and models said in these messages, as turns to track."""
    said = (m for m in messages if isinstance(m, HumanMessage | AIMessage) and not is_synthetic(m))
    return [turn for turn in map(turn_of, said) if turn.content.strip()]


def turn_of(message: BaseMessage) -> Turn:
    """A human or AI message as a turn to track, without what the memory put into it."""
    return Turn(
        role="user" if isinstance(message, HumanMessage) else "assistant",
        content=without_recalled(str(message.text)),
        message_id=message.id,
        speaker=message.name,
        said_at=_said_at(message),
    )


def _said_at(message: BaseMessage) -> datetime | None:
    timestamp = message.additional_kwargs.get("timestamp")
    if timestamp is None:
        return None
    try:
        return require_aware(datetime.fromisoformat(timestamp), "timestamp")
    except (TypeError, ValueError) as error:
        say(logger, logging.WARNING, "timestamp_ignored", message_id=message.id, error=error, reason=error)
        return None


def log_rejected(report: TrackReport) -> None:
    """Log which turns were not stored, and why."""
    for rejected in report.rejected:
        error, message = rejected.error, rejected.turn.message_id
        say(logger, logging.WARNING, "turn_rejected", error=error, message_id=message, reason=error)
