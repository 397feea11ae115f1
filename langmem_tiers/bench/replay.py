"""Storing imported sessions through the real track node, so that imports and benchmarks measure what agents run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from langmem_tiers.types import TrackReport, Turn

if TYPE_CHECKING:
    from langchain_core.messages import AnyMessage

    from langmem_tiers.memory import Memory
    from langmem_tiers.space import Space
    from langmem_tiers.transfer.importing import Track


def through_track_node(memory: Memory) -> Track:
    """A function that hands the messages of a session to `track_node` and gives the node's report.

    A message that the memory refuses is in the report; any other fault is raised.
    """
    from langmem_tiers.graphs import track_node

    def track(messages: list[AnyMessage], *, space: str, session: str) -> TrackReport:
        overheard = _Overheard(memory, session)
        node = track_node(cast("Memory", overheard), space=space, on_error="raise")
        node.invoke({"messages": messages}, {"configurable": {"thread_id": session}})
        return overheard.report

    return track


class _Overheard:
    """The memory as the node sees it; keeps the report that the node itself has no use for."""

    def __init__(self, memory: Memory, session: str) -> None:
        self._memory = memory
        self.settings = memory.settings
        self.report = TrackReport(session=session)

    def space(self, name: str, *, fallbacks: Sequence[str] = ()) -> _OverheardSpace:
        return _OverheardSpace(self, self._memory.space(name, fallbacks=fallbacks))


class _OverheardSpace:
    """One space of it."""

    def __init__(self, memory: _Overheard, space: Space) -> None:
        self._memory = memory
        self._space = space

    def track(
        self, turns: Sequence[Turn], *, session: str | None = None, project: str | None = None, agent: str | None = None
    ) -> TrackReport:
        self._memory.report = self._space.track(turns, session=session, project=project, agent=agent)
        # The refused ones are for the import to report; the node would raise the first of them.
        return replace(self._memory.report, rejected=())
