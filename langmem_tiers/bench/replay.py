"""Storing imported sessions through the real track node, so that imports and benchmarks measure what agents run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from langmem_tiers.types import TrackReport

if TYPE_CHECKING:
    from langchain_core.messages import AnyMessage

    from langmem_tiers.memory import Memory
    from langmem_tiers.transfer.importing import Track


def through_track_node(memory: Memory) -> Track:
    """A function that hands the messages of a session to `track_node` and gives the node's report.

    A message that the memory refuses is in the report; any other fault is raised.
    """
    from langmem_tiers.graphs.track import TrackNode

    class Overheard(TrackNode):
        """Keeps the report, refused messages and all; the node itself would raise the first of them."""

        def _tell(self, report: TrackReport) -> None:
            self.report = report

    def track(messages: list[AnyMessage], *, space: str, session: str) -> TrackReport:
        node = Overheard(memory, name="track", space=space, on_error="raise", messages_key="messages")
        node.report = TrackReport(session=session)
        node.invoke({"messages": messages}, {"configurable": {"thread_id": session}})
        return node.report

    return track
