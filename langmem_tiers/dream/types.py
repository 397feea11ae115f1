"""What a dream sees, proposes, decides and reports: frozen, and simple enough to be stored in a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from langmem_tiers.naming import new_id
from langmem_tiers.records import Entry, Episode, Evidence, RelationGrounds, SpokenTurn
from langmem_tiers.types import Sentiment, SignalKind

DreamStatus = Literal["applied", "nothing", "gated", "previewed", "skipped", "undone", "failed"]
"""`gated`: recall would have become worse; `skipped`: another dream was under way, or the memory was closed."""
Kept = Literal["kept", "pruned", "forgotten", "altered"]
"""Whether what a dream changed is kept: `pruned` once it was old, `forgotten` with words that were deleted.

`altered` if another program or the disk changed it, so that `rebuild` deleted it.
"""
Trigger = Literal["hand", "episodes", "interval"]
DreamPath = Literal["rule", "model"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Signal(_Frozen):
    """Something a user said that shows that a reply was wrong or unwelcome: feedback."""

    drawer: int
    session: str
    kind: SignalKind
    sentiment: Sentiment
    quote: str
    before: str = ""
    """What the assistant had said."""
    at: datetime


class PairSeen(_Frozen):
    """Two entities that may be the same."""

    first: str
    second: str
    first_name: str
    second_name: str
    score: float
    reason: str


class WindowsSeen(_Frozen):
    """Relations of an entity of which only one can be true at a time, but several are open."""

    subject: str
    predicate: str
    closing: int
    """How many of them would be closed."""
    authority: int
    """The highest of those that would be."""


class Material(_Frozen):
    """What a dream works with: one moment of a space."""

    space: str
    at: datetime
    position: int
    """Of the change log."""
    fence: int = 0
    """Number of the lease; a commit under an older one is refused."""
    active: int = 0
    """How many entries are active; `entries` may be fewer."""
    entries: tuple[Entry, ...] = ()
    """One that has another version by the commit is left alone."""
    signals: tuple[Signal, ...] = ()
    turns: tuple[SpokenTurn, ...] = ()
    turns_upto: int = 0
    """The cursor of the conversation log moves here, whatever comes of the pass."""
    episodes: tuple[Episode, ...] = ()
    pairs: tuple[PairSeen, ...] = ()
    relations: tuple[RelationGrounds, ...] = ()
    """Those that may rest on nothing any more."""
    windows: tuple[WindowsSeen, ...] = ()


class MergeEntries(_Frozen):
    """Several entries become one; the sources are retired."""

    kind: Literal["merge"] = "merge"
    sources: tuple[str, ...]
    content: str
    category: str = ""
    tags: tuple[str, ...] = ()
    why: str = ""
    path: DreamPath = "model"


class RetireEntry(_Frozen):
    """An entry is noise, or no longer true: it becomes inactive."""

    kind: Literal["retire"] = "retire"
    id: str
    successor: str | None = None
    why: str = ""
    path: DreamPath = "model"


class RefineEntry(_Frozen):
    """An entry gets another category or other tags."""

    kind: Literal["refine"] = "refine"
    id: str
    category: str | None = None
    tags: tuple[str, ...] | None = None
    why: str = ""
    path: DreamPath = "model"


class AntiPattern(_Frozen):
    """Something the agent should not do again."""

    kind: Literal["anti_pattern"] = "anti_pattern"
    domain: str
    content: str
    evidence: tuple[Evidence, ...]
    why: str = ""
    path: DreamPath = "model"


class InferredPreference(_Frozen):
    """A preference that nobody stated, but several turns show."""

    kind: Literal["preference"] = "preference"
    content: str
    category: str = "user-preferences/inferred"
    tags: tuple[str, ...] = ()
    sentiment: Sentiment = "casual"
    evidence: tuple[Evidence, ...]
    sensitive: bool = False
    why: str = ""
    path: DreamPath = "model"


class Synthesis(_Frozen):
    """One long-term document out of several episodes, or a line that was left out of it.

    Without a text the episodes are only marked as taken up: they say nothing that the entries do not say already.
    """

    kind: Literal["synthesis"] = "synthesis"
    text: str
    episodes: tuple[str, ...]
    refused: str = ""
    """Why the line was left out."""
    path: DreamPath = "model"


class MergeEntities(_Frozen):
    """Two entities of the graph are one."""

    kind: Literal["merge_entities"] = "merge_entities"
    source: str
    target: str
    why: str = ""
    path: DreamPath = "model"


class WithdrawRelation(_Frozen):
    """A relation of the graph has no standing evidence."""

    kind: Literal["withdraw_relation"] = "withdraw_relation"
    id: str
    why: str = ""
    path: DreamPath = "rule"


class CloseWindows(_Frozen):
    """An entity's relations by a single-valued predicate: each ends where the next one begins."""

    kind: Literal["close_windows"] = "close_windows"
    subject: str
    predicate: str
    why: str = ""
    path: DreamPath = "rule"


Proposal = Annotated[
    MergeEntries
    | RetireEntry
    | RefineEntry
    | AntiPattern
    | InferredPreference
    | Synthesis
    | MergeEntities
    | WithdrawRelation
    | CloseWindows,
    Field(discriminator="kind"),
]


class ProposalRefused(Exception):
    """A proposal is not carried out; the text is the reason."""


class Rejected(_Frozen):
    """A proposal that is not carried out, and why."""

    proposal: Proposal
    reason: str


class Decision(_Frozen):
    """What is carried out, and what is not."""

    accepted: tuple[Proposal, ...] = ()
    rejected: tuple[Rejected, ...] = ()


class GoldenResult(_Frozen):
    """A question that recall answered before, and whether it still would."""

    question: str
    before: bool
    after: bool


class DreamReport(_Frozen):
    """What became of a dream: `diff` is readable, `usage` is what models took by source.

    It can be undone while `changes` are kept.
    """

    id: str
    space: str
    status: DreamStatus
    trigger: Trigger = "hand"
    path: DreamPath = "rule"
    started_at: datetime
    finished_at: datetime | None = None
    decision: Decision = Decision()
    golden: tuple[GoldenResult, ...] = ()
    usage: Mapping[str, Mapping[str, float]] = Field(default_factory=dict)
    notes: tuple[str, ...] = ()
    diff: str = ""
    changes: Kept = "kept"
    undone_at: datetime | None = None

    @classmethod
    def begun(
        cls, space: str, started_at: datetime, *, trigger: Trigger = "hand", dream_id: str | None = None
    ) -> DreamReport:
        """The report of a dream that starts; it is over once there is a `finished_at`."""
        return cls(id=dream_id or new_id(), space=space, status="nothing", trigger=trigger, started_at=started_at)

    def but(self, **changed: Any) -> DreamReport:
        """The report with some fields changed."""
        return self.model_copy(update=changed)
