"""Tools for feedback: what a user thinks of a reply, recorded and looked up by the agent."""

from typing import Annotated, Literal

from pydantic import Field

from langmem_tiers.errors import InvalidText
from langmem_tiers.integrations.tools import base
from langmem_tiers.integrations.tools.arguments import LOWER, Words
from langmem_tiers.integrations.tools.base import Call, ToolAnswer
from langmem_tiers.integrations.tools.sources import source_of
from langmem_tiers.recall.rendering import excerpt
from langmem_tiers.types import ANNOYED, FeedbackSignal

_MOST = 20
_EXCERPT = 300
_SHOWN = {"mildly_frustrated": ", mildly annoyed", "very_irritated": ", very annoyed"}

Kind = Literal["correction", "wrong", "irritation", "praise"]


def record_feedback(
    call: Call,
    kind: Annotated[
        Kind, LOWER, Field(description="correction: says what is right; wrong: says only that it was wrong.")
    ],
    quote: Annotated[Words, Field(description="The user's words; their last message if left out.")] = None,
    annoyed: Annotated[Literal["no", "mild", "very"], LOWER, Field(description="How annoyed the user is.")] = "no",
    note: Annotated[Words, Field(description="What it is about, in your words.")] = None,
) -> ToolAnswer:
    """Record that the user corrected you, was annoyed, or praised you, where they made it plain."""
    source = source_of(call, quote or "")
    if quote and source.origin == "tool":
        raise InvalidText("That stands in a tool's result; the user did not say so.", way_out="Quote the user.")
    unheard = f"quoted: {quote}" if quote and not source.evidence else ""
    signal = call.space.signals.record(
        kind,
        strength=ANNOYED.get(annoyed),
        message=source.evidence[0] if source.evidence else None,
        session=None if source.evidence else call.scope.session,
        note="; ".join(filter(None, (note, unheard))),
        origin="agent",
    )
    return ToolAnswer(f"Recorded as {signal.kind}{_annoyed(signal)}.", {"number": signal.number})


def list_feedback(
    call: Call, kind: Annotated[Kind | None, LOWER, Field(description="Only of this kind.")] = None
) -> ToolAnswer:
    """List what the user corrected, disliked and praised of late, newest first."""
    found = call.space.signals.list(kind=kind, limit=_MOST)
    if not found:
        return ToolAnswer("There is no feedback of late.", {"pointers": []})
    shown = [base.item(excerpt(each.text or each.note, (), _EXCERPT), _label(each)) for each in found]
    artifact = {"pointers": [each.pointer for each in found if each.pointer]}
    return ToolAnswer(base.fenced(f"{len(found)} of feedback, newest first", shown), artifact)


def _label(signal: FeedbackSignal) -> str:
    pointer = f"[{signal.pointer}] " if signal.pointer else ""
    return f"{pointer}{base.day(signal.at)} {signal.kind}{_annoyed(signal)}: "


def _annoyed(signal: FeedbackSignal) -> str:
    return _SHOWN.get(signal.strength, "")
