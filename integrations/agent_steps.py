"""The memory nodes as the hooks of an agent need them: called before every call of a model, to work once a turn."""

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from langmem_tiers import arguments
from langmem_tiers.graphs.messages import last_human, peek
from langmem_tiers.graphs.node import Outcome
from langmem_tiers.graphs.prompt import Placement
from langmem_tiers.graphs.recall import RecallNode
from langmem_tiers.graphs.state import HEARD, PROFILE
from langmem_tiers.graphs.track import TrackNode
from langmem_tiers.graphs.visit import Visit

if TYPE_CHECKING:
    from langmem_tiers.memory import Memory

# In `memory_scope`, the message that was recalled for last.
RECALLED_FOR = "recalled_for"


@dataclass(frozen=True, kw_only=True)
class _TurnVisit(Visit):
    """A visit that knows which message was recalled for last, in the space that it works on."""

    recalled_for: str | None = None


class TurnRecall(RecallNode):
    """Recalls once for a message, also where that failed: what is before the model stays the same for a whole turn.

    An agent sends all that its state holds, so blocks stay as long as their messages do.
    """

    def __init__(self, memory: "Memory", *, placement: Placement, **options: Any) -> None:
        super().__init__(memory, window=arguments.MOST, placement=placement, **options)

    def _visit(self, state: Any, config: RunnableConfig, runtime: Runtime[Any] | None) -> Visit:
        visit = super()._visit(state, config, runtime)
        last = (peek(state, "memory_scope") or {}).get(RECALLED_FOR)
        return _TurnVisit(**vars(visit), recalled_for=last if visit.blocks_are_ours else None)

    def _work(self, visit: Visit) -> Outcome:
        if _is_done(visit):
            return Outcome()
        outcome = super()._work(visit)
        scope = {**outcome.update["memory_scope"], RECALLED_FOR: _asked(visit)}
        return replace(outcome, update={**outcome.update, "memory_scope": scope})

    def _at_least(self, visit: Visit) -> Outcome:
        if _is_done(visit):
            return Outcome()
        kept = {PROFILE: visit.profile, HEARD: visit.heard, RECALLED_FOR: _asked(visit)}
        scope = {**visit.as_state(), **{key: value for key, value in kept.items() if value is not None}}
        return Outcome(update={**super()._at_least(visit).update, "memory_scope": scope})


class TurnTrack(TrackNode):
    """Stores what is not stored yet, and says so only where there was something."""

    def _work(self, visit: Visit) -> Outcome:
        outcome = super()._work(visit)
        event = outcome.event or {}
        return outcome if event.get("stored") or event.get("revised") else replace(outcome, event=None)


def _is_done(visit: Visit) -> bool:
    return isinstance(visit, _TurnVisit) and visit.recalled_for == _asked(visit)


def _asked(visit: Visit) -> str:
    """What tells the message, as it is worded now, from all others."""
    asked = last_human(visit.messages)
    return "" if asked is None else f"{asked.id}:{_digest(asked)}"


def _digest(message: BaseMessage) -> str:
    return hashlib.sha256(str(message.text).encode("utf-8", "replace")).hexdigest()[:16]
