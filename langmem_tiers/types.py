"""The records that callers give and get: frozen, keyword-only, documented.

Times are timezone-aware datetimes in UTC. Numbers of drawers, rooms and receipts count up within one space.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from langmem_tiers.errors import MemoryTiersError

Role = Literal["user", "assistant", "tool", "system"]
Origin = Literal["user", "assistant", "tool", "system", "import", "dream", "quoted"]
"""Who something comes from; `quoted` is a user's message that only passes on what somebody else wrote."""
Sentiment = Literal["very_irritated", "mildly_frustrated", "casual"]
ANNOYED: Mapping[str, Sentiment] = {"mild": "mildly_frustrated", "very": "very_irritated"}
"""How annoyed somebody is, in the words of models."""
SignalKind = Literal["correction", "wrong", "irritation", "praise"]
"""A correction says what is right or to be done otherwise, `wrong` only that something was wrong."""
SignalOrigin = Literal["rules", "model", "agent", "user"]
"""Who noticed feedback; `user` is also a host that records what a user clicked."""
DrawerStatus = Literal["active", "superseded"]
Channel = Literal["keyword", "vector", "graph", "rerank"]
CandidateVerdict = Literal[
    "shown",
    "below_threshold",
    "judged_unfit",
    "in_window",
    "already_shown",
    "asked_again",
    "duplicate",
    "chatter",
    "below_best",
    "over_limit",
    "over_budget",
    "outside_dates",
    "withheld",
]
KnownKind = Literal["entry", "episode", "document", "relation", "item"]
KnownVerdict = Literal[
    "shown",
    "already_shown",
    "below_threshold",
    "not_asked_for",
    "below_best",
    "quoted_instead",
    "outside_dates",
    "duplicate",
    "over_limit",
    "over_budget",
]
MemoryKind = Literal["message", "entry", "relation", "entity", "episode", "document", "item"]
"""What can be asked about: messages, and all that is derived from them or kept beside them."""
WhyStage = Literal[
    CandidateVerdict,
    KnownVerdict,
    "not_looked_up",
    "layer_off",
    "recorded_later",
    "superseded",
    "no_longer_true",
    "expired",
    "not_found",
    "gone",
]
"""Where a memory fell on its way into a block, in the order of `recall`; `shown` if it did not."""
ConversationFormat = Literal["locomo", "longmemeval", "jsonl"]
Format = Literal[
    ConversationFormat,
    "langmem-tiers",
    "langmem",
    "langgraph",
    "mem0",
    "mempalace",
    "rockbot",
    "letta",
    "claude",
    "chatgpt",
]
"""What can be imported; `transfer/formats.py` says how each is read."""
ToolGroup = Literal["memory", "graph", "working", "tasks", "notes", "episodes", "feedback", "forgetting"]
"""The tools of agents, by what they are about; `integrations/tools/making.py` says which these are."""
RecallVerdict = Literal["recalled", "nothing_found", "nothing_new", "trivial", "disabled", "repeated"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """One message of a conversation, as it is handed to `Space.track`.

    `message_id` makes tracking idempotent; without one, content and place in the call stand in for it.
    `said_at` must carry a zone; None means now. `origin` defaults to the role. A turn with the role "user", the origin
    "import" and a speaker is by that person, not by the user of the memory. One with the origin "quoted" is a text that
    the user passes on: it is kept and found as a quotation, and nothing is learned from it.
    """

    role: Role
    content: str
    message_id: str | None = None
    speaker: str | None = None
    said_at: datetime | None = None
    origin: Origin | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Drawer:
    """One verbatim message in the palace.

    `pointer` is its AAAK address (`§W-001/R-02/D-003`), written once and valid for ever; where another space found it
    in this one as a fallback, with the name of the fallback (`§W-001/R-02/D-003@teams/research`). `tags` are such as
    `@p judith`. A drawer is `superseded` if its message was edited later, or is on a branch that its conversation has
    left. `project` is what it is about and `task` the id of the task it was said in, where that was named.
    """

    number: int
    pointer: str
    session: str
    wing: str
    closet: str | None
    role: Role
    origin: Origin
    speaker: str | None
    content: str
    said_at: datetime
    recorded_at: datetime
    tags: tuple[str, ...] = ()
    status: DrawerStatus = "active"
    superseded_by: int | None = None
    recall_count: int = 0
    last_recalled_at: datetime | None = None
    message_id: str | None = None
    project: str | None = None
    task: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RejectedTurn:
    """A turn that was not stored, and the error that says why."""

    turn: Turn
    error: MemoryTiersError


@dataclass(frozen=True, kw_only=True, slots=True)
class TrackReport:
    """What one `track` call did: drawer numbers stored and revised, turns known already, turns refused.

    `left` are the drawers of a branch that the conversation has left, by going on from an earlier message.
    """

    session: str
    stored: tuple[int, ...] = ()
    revised: tuple[int, ...] = ()
    left: tuple[int, ...] = ()
    known: int = 0
    rejected: tuple[RejectedTurn, ...] = ()

    def raise_rejected(self) -> None:
        """Raise the error of the first refused turn, if there is one."""
        if self.rejected:
            raise self.rejected[0].error


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """One drawer that a recall looked at: its score by channel, the factors, and what became of it.

    `scores` are on each channel's own scale from 0 to 1; `score` is the fused one that ranks. A reranker adds
    `rerank`: 1 over the place it named the drawer at, which then goes first, and 0 if it did not.
    """

    space: str
    drawer: int
    pointer: str
    session: str
    scores: Mapping[str, float]
    signals: Mapping[str, float] = field(default_factory=dict)
    factors: Mapping[str, float] = field(default_factory=dict)
    score: float = 0.0
    verdict: CandidateVerdict = "below_threshold"


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownCandidate:
    """One entry, episode, note, relation or store item that a recall looked at, and what became of it.

    `ref` is its id, or the path of the note; of a store item, its namespace, "..", and its key. `quoted_instead`
    means that the message it was derived from stands in the block, and `not_asked_for` that it is the summary of a
    session, which is shown to messages that ask what was said or done, and to others only if it fits very well.
    """

    space: str
    kind: KnownKind
    ref: str
    scores: Mapping[str, float]
    score: float
    verdict: KnownVerdict


@dataclass(frozen=True, kw_only=True, slots=True)
class Receipt:
    """The record of one recall: what it saw, what it chose, why, and how long each stage took.

    `timings` are milliseconds by stage. `notes` name whatever was degraded, such as a model out of reach. `usage` is
    what models took, by source: `{"memory_rerank": {"calls": 1, "input_tokens": 1900, "output_tokens": 7}}`. `limits`
    are what the recall had to keep to, by name: `threshold`, `limit` (of messages), `knowledge` (of everything else),
    `token_budget`, and `selective`, 0 where everything that fits was asked for; empty in a receipt of an older version.
    """

    number: int
    space: str
    session: str | None
    message_id: str | None
    query: str
    at: datetime
    verdict: RecallVerdict
    candidates: tuple[Candidate, ...] = ()
    timings: Mapping[str, float] = field(default_factory=dict)
    tokens: int = 0
    notes: tuple[str, ...] = ()
    usage: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    known: tuple[KnownCandidate, ...] = ()
    limits: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Explanation:
    """Why a recall showed a memory, or did not; of the whole recall (`kind` is None), why it showed what it did.

    `receipt`, `query`, `at`, `session` and `verdict` are those of the recall. `ref` is the pointer, id or path of the
    memory, `text` what it says now, and `stage` where it fell. `place` is its place among the candidates, from 1, and
    `threshold` the score that was needed. `scores` are those of each channel, from 0 to 1, with `signals` and
    `factors` as in `Candidate`. `repeated` means that the receipt does not hold it, so that these were found by
    repeating the recall on what was stored by then. `changed` is what has become of the memory since. `sentences` say
    all this for people. The `parts` of a whole recall are what it looked at, best first, known memories before
    messages; those of an entity are its relations.
    """

    receipt: int
    space: str
    query: str
    at: datetime
    session: str | None
    verdict: RecallVerdict
    kind: MemoryKind | None = None
    ref: str = ""
    text: str = ""
    shown: bool = False
    stage: WhyStage | None = None
    place: int | None = None
    score: float | None = None
    threshold: float | None = None
    scores: Mapping[str, float] = field(default_factory=dict)
    signals: Mapping[str, float] = field(default_factory=dict)
    factors: Mapping[str, float] = field(default_factory=dict)
    repeated: bool = False
    changed: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()
    parts: tuple[Explanation, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownItem:
    """One entry, episode, relation, store item or piece of a note that was shown; see `KnownCandidate`."""

    space: str
    kind: KnownKind
    ref: str
    text: str
    score: float
    tokens: int


@dataclass(frozen=True, kw_only=True, slots=True)
class RecalledItem:
    """One drawer that was shown, with its fused score and the tokens it took.

    The drawer's pointer names the `space` if that is a fallback. `ended` is what says that it no longer holds.
    """

    space: str
    drawer: Drawer
    score: float
    tokens: int
    ended: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Recalled:
    """What a recall gives: the fenced block (empty when nothing fits), its items best first, the receipt.

    `items` are messages, `known` what is known beside them: entries, episodes, notes and
    relations of the graph. Where somebody else was writing, `receipt` is waited for by whoever looks at it.
    """

    block: str
    items: tuple[RecalledItem, ...]
    receipt: Receipt
    known: tuple[KnownItem, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Session:
    """One conversation and the room it is filed in. `ended` is true after an explicit end or an idle hour."""

    session: str
    room: int
    wing: str
    project: str | None
    agent: str | None
    opened_at: datetime
    last_at: datetime
    turns: int
    ended: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class PalaceCloset:
    """A topic in a room, and the drawers filed under it, oldest first."""

    name: str | None
    drawers: tuple[Drawer, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class PalaceRoom:
    """One session: its address (`§W-001/R-02`), dates and closets."""

    pointer: str
    session: str
    opened_at: datetime
    last_at: datetime
    closets: tuple[PalaceCloset, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class PalaceWing:
    """One subject: a project, an agent, or somebody who keeps coming up."""

    name: str
    slug: str
    kind: str
    aliases: tuple[str, ...]
    rooms: tuple[PalaceRoom, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class SpacePositions:
    """How far a space has come: the newest number of its changes, its receipts, its activities and its dreams.

    0 means that there is none. A number grows with everything new, and falls only if the newest was deleted.
    """

    change: int
    receipt: int
    activity: int
    dream: int


@dataclass(frozen=True, kw_only=True, slots=True)
class SpaceStats:
    """Counts and sizes of a space.

    `entries` are active ones, `inactive_entries` those put aside. `items` are those of a LangGraph store. `notes` are
    the pieces that all these are searched by. `pending` is how many drawers still wait for their vectors. `index_bytes`
    are those of the file that searching in memory begins with. `bytes_by_kind` says what the bytes are for, where
    that was asked for: text, keyword index, vectors, receipts, log, other, index file, graph and Chroma. Of a space in
    a folder, they add up to all files in it.

    Of a space in a database, `folder` is its address without a password, `database_bytes` are those of its rows without
    indexes, and there are no files: `chroma_bytes` and `index_bytes` are 0.
    """

    space: str
    folder: str
    drawers: int
    superseded: int
    sessions: int
    wings: int
    closets: int
    entries: int
    inactive_entries: int
    episodes: int
    documents: int
    items: int
    notes: int
    chunks: int
    vectors: int
    pending: int
    unfiled: int
    recalls: int
    log_position: int
    embedding_model: str | None
    database_bytes: int
    chroma_bytes: int
    index_bytes: int
    bytes_by_kind: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing the doctor looked at. `level` is ok, note, or problem; `way_out` says what mends a problem."""

    check: str
    level: Literal["ok", "note", "problem"]
    message: str
    way_out: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Health:
    """Whether what a memory is kept by answers; `problems` says of what does not.

    Without `records` nothing is stored or recalled. Without `vectors`, the Chroma servers of a memory in a database,
    recall goes on by words; a memory that has none is not without them. In a folder, where Chroma failed, recall
    searches by meaning without it.
    """

    records: bool
    vectors: bool
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class FeedbackSignal:
    """Feedback on the assistant: what a user said to it about a reply, or what was recorded of it.

    `text` are the words that show it, or of the message that it is about; `drawer` and `pointer` name that message.
    `number` is None for what the rules hear, which is not stored.
    """

    kind: SignalKind
    strength: Sentiment
    text: str
    before: str
    """What the assistant had said, where the rules heard it."""
    note: str
    session: str | None
    drawer: int | None
    pointer: str | None
    origin: SignalOrigin
    at: datetime
    number: int | None = None
