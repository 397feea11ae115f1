"""A dream on its way: plain enough to be written down between two steps, so that another process goes on from there."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from langmem_tiers.dream.types import (
    Decision,
    DreamPath,
    DreamReport,
    GoldenResult,
    Material,
    Proposal,
    Trigger,
)
from langmem_tiers.knowledge import checks

if TYPE_CHECKING:
    from langmem_tiers.memory import Memory

_LONGEST_NOTE = 200


class DreamState(BaseModel):
    """A dream on its way; with its `report` it is over."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    space: str
    trigger: Trigger = "hand"
    dry_run: bool = False
    started_at: datetime
    path: DreamPath = "rule"
    notes: tuple[str, ...] = ()
    material: Material | None = None
    proposals: tuple[Proposal, ...] = ()
    decision: Decision = Decision()
    golden: tuple[GoldenResult, ...] = ()
    passed: bool = True
    took: float = 0.0
    """Seconds that its steps have taken: what lies between two of them, as where it was killed, does not count."""
    report: DreamReport | None = None

    def but(self, **changed: Any) -> DreamState:
        """The state with some of it changed."""
        return self.model_copy(update=changed)

    def noting(self, *notes: str) -> DreamState:
        """The state with more notes, each kept once."""
        cut = (note if len(note) <= _LONGEST_NOTE else f"{note[:_LONGEST_NOTE]}…" for note in notes)
        return self.but(notes=tuple(dict.fromkeys((*self.notes, *cut))))

    @property
    def seen(self) -> Material:
        """What was gathered."""
        if self.material is None:
            raise ValueError("Nothing was gathered yet: a dream begins with that.")
        return self.material


def begun(
    memory: Memory, space_name: str, *, trigger: Trigger = "hand", dry_run: bool = False, dream_id: str | None = None
) -> DreamState:
    """A dream that nothing was done for yet."""
    return DreamState(
        id=dream_id or checks.new_id(),
        space=space_name,
        trigger=trigger,
        dry_run=dry_run,
        started_at=memory.clock(),
    )


def report_of(state: DreamState) -> DreamReport:
    """What became of a dream that is over."""
    if state.report is None:
        raise ValueError("The dream is not over yet.")
    return state.report
