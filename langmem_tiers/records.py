"""The records that storage returns and every layer above works with: entries, episodes, documents, the graph, evidence.

Users get the same records. All are frozen and keyword-only.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import IntEnum
from typing import Any, Literal

from langmem_tiers.clock import to_millis
from langmem_tiers.language.periods import Exactness, after
from langmem_tiers.language.values import Value
from langmem_tiers.types import Origin, Role

EntryStatus = Literal["active", "inactive"]
EntryPath = Literal["user", "tool", "rule", "model"]
ProposalKind = Literal["fact", "preference", "correction", "decision", "action"]
MiningPath = Literal["rule", "model"]
EpisodePath = Literal["compaction", "model", "rule"]
Encoding = Literal["utf-8", "base64"]
EntityType = str
"""person, organisation, place, project, item, event, topic, other, or one of the caller's own."""
BUILT_IN_TYPES = ("person", "organisation", "place", "project", "item", "event", "topic", "other")
GAVE_WAY: frozenset[str] = frozenset({"merged", "consolidated"})
"""Reasons of inactive entries whose fact lives on in their successor; a dream may also retire one without any."""
GraphPath = Literal["user", "tool", "rule", "model"]
RelationKind = Literal["stated", "mentioned"]
FOUND: frozenset[str] = frozenset({"rule", "model"})
"""The paths of what the memory found in messages by itself."""
VersionReason = Literal[
    "said", "succeeded", "contradicted", "outranked", "repeated", "ended", "moved", "withdrawn", "restored"
]
DISPLACING: frozenset[VersionReason] = frozenset({"contradicted", "outranked", "repeated"})
"""Why a relation holds at no time although nobody withdrew it: another relation covers the same time."""


class Authority(IntEnum):
    """Who vouches for an entry. A write never overwrites or deactivates an entry of higher authority."""

    SYSTEM = 0
    AGENT = 1
    USER = 2
    CORRECTION = 3


def rank_of(origin: Origin, authority: int) -> int:
    """An authority to compare with others: what only a tool has said, whoever saved it, comes below all of them."""
    return -1 if origin == "tool" and authority < Authority.USER else int(authority)


def was_told(origin: Origin, path: EntryPath, authority: int) -> bool:
    """Whether the user stands behind it, or the memory has found it in what was said: no tool's result changes that."""
    return authority >= Authority.USER or (path in FOUND and origin != "tool")


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """One turn of a conversation: the drawer that holds it, and its place in the room."""

    drawer: int
    place: int
    role: Role
    origin: Origin
    speaker: str | None
    content: str
    said_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class SpokenTurn:
    """A message of a user or an assistant, and the conversation it belongs to."""

    drawer: int
    session: str
    role: str
    content: str
    said_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """A drawer that supports something; `quote` are the words in it that say so, empty for the whole drawer."""

    drawer: int
    quote: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposal:
    """Something that may be worth keeping; not checked yet.

    `content` is a declarative sentence ("The user prefers tea."). In a correction, `corrects` is the wrong value as it
    was said. `contradicts` marks a correction that does not name the wrong value ("No, I live in Braga"): then any
    other value known for the same thing is wrong.
    """

    kind: ProposalKind
    content: str
    category: str
    evidence: tuple[Evidence, ...]
    tags: tuple[str, ...] = ()
    corrects: str | None = None
    contradicts: bool = False
    expires_at: datetime | None = None
    path: MiningPath = "rule"


@dataclass(frozen=True, kw_only=True, slots=True)
class EntryEvidence:
    """A drawer that supports an entry, and when it was said.

    `quote` is the passage that says so; empty means the whole drawer. If the entry got the drawer by a merge, `via` is
    the id of the entry that had it before.
    """

    drawer: int
    pointer: str
    quote: str = ""
    via: str | None = None
    said_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class NewEntry:
    """An entry to be stored, with those fields of `Entry` that its author decides; `expires_at` in UTC milliseconds."""

    id: str
    content: str
    category: str
    tags: tuple[str, ...]
    origin: Origin
    path: EntryPath
    authority: Authority
    pinned: bool = False
    flags: tuple[str, ...] = ()
    project: str | None = None
    agent: str | None = None
    task: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    expires_at: int | None = None
    status: EntryStatus = "active"
    reason: str | None = None
    successor: str | None = None

    @property
    def rank(self) -> int:
        """As `Entry.rank`."""
        return rank_of(self.origin, self.authority)

    @property
    def told(self) -> bool:
        """As `Entry.told`."""
        return was_told(self.origin, self.path, self.authority)


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One thing that is known: a declarative sentence, its category, and its evidence.

    `id` has 12 characters; `number` is the entry's number in the change log. An inactive entry has a `reason`
    (`corrected`, `merged`, `updated`, `enriched`, `expired`, `removed`, or the caller's own text) and, if another entry
    replaces it, that entry's id as `successor`. `path` says what created it, `authority` who vouches for it, and
    `version` counts its changes. `task` is the id of the task in which it was first known.
    """

    number: int
    id: str
    content: str
    category: str
    tags: tuple[str, ...]
    status: EntryStatus
    reason: str | None
    successor: str | None
    origin: Origin
    path: EntryPath
    authority: Authority
    pinned: bool
    flags: tuple[str, ...]
    project: str | None
    agent: str | None
    metadata: Mapping[str, Any]
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None
    version: int
    recall_count: int
    last_recalled_at: datetime | None
    task: str | None = None
    evidence: tuple[EntryEvidence, ...] = ()

    @property
    def active(self) -> bool:
        """Whether it holds."""
        return self.status == "active"

    @property
    def from_tool(self) -> bool:
        """Whether an agent saved it out of a tool's result, and the user has not said it as well."""
        return self.origin == "tool" and self.authority < Authority.USER

    @property
    def rank(self) -> int:
        """Which of two entries gives way: that of lower authority, and a tool's result before all else."""
        return rank_of(self.origin, self.authority)

    @property
    def told(self) -> bool:
        """Whether the user stands behind it, or the memory has found it in what was said."""
        return was_told(self.origin, self.path, self.authority)

    @property
    def said_at(self) -> datetime:
        """When it was last said: the time of its newest evidence, or of the last change by a user or an agent."""
        return max(self._times_said(), default=self.updated_at)

    @property
    def first_said_at(self) -> datetime:
        """When it was first said: the time of its oldest evidence, or when a user or an agent saved it."""
        return min(self._times_said(), default=self.created_at)

    @property
    def drawers(self) -> tuple[int, ...]:
        """The numbers of the drawers that it rests on."""
        return tuple(each.drawer for each in self.evidence)

    def copy(self, **values: Any) -> NewEntry:
        """A new entry like this one, except for the given values, which include an `id` of its own."""
        like = {each.name: getattr(self, each.name) for each in fields(NewEntry)}
        like["expires_at"] = None if self.expires_at is None else to_millis(self.expires_at)
        return NewEntry(**like | values)

    def _times_said(self) -> list[datetime]:
        found = self.path in {"rule", "model"}
        return [each.said_at for each in self.evidence if each.said_at] if found else []


@dataclass(frozen=True, kw_only=True, slots=True)
class Episode:
    """The summary of a session, of a part of one, or of a task.

    `compaction` numbers the summaries of a session from 0; those of tasks count down from -1. `path` says what wrote
    it: the host's own compaction, a model, or rules. It covers what was said from `began_at` to `ended_at`, in the
    drawers `first_drawer` to `last_drawer`. Without `expires_at` it is kept forever. `project` and `task` are those of
    the task, or of a session what all of it was said in; `title` is that of the task.
    """

    number: int
    id: str
    session: str
    compaction: int
    task: str | None
    summary: str
    abstract: str
    topics: tuple[str, ...]
    path: EpisodePath
    first_drawer: int | None
    last_drawer: int | None
    began_at: datetime
    ended_at: datetime
    created_at: datetime
    expires_at: datetime | None
    recall_count: int = 0
    last_recalled_at: datetime | None = None
    promoted_at: datetime | None = None
    project: str | None = None
    title: str | None = None

    @property
    def of_task(self) -> bool:
        """Whether it archives a task, rather than what was said in a session."""
        return self.compaction < 0


TaskStatus = Literal["open", "completed", "abandoned"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """Something that is being done, or was.

    `state` is the working state of an open task: how far it has come. When it was completed or abandoned, at
    `closed_at`, its state and what was said in it became the episode with the id `episode`; there is none if there was
    nothing to archive, or if that was deleted since. `version` counts its changes.
    """

    id: str
    title: str
    status: TaskStatus
    project: str | None
    state: str
    version: int
    created_at: datetime
    updated_at: datetime
    closed_at: datetime | None = None
    episode: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class IdentityVersion:
    """One version of the identity: its text, who wrote it, and when."""

    version: int
    text: str
    origin: Origin
    at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkingSummary:
    """An entry of working memory without its value.

    The `key` is its full path; that of a long value, which has several `parts`, ends in `-index` and names its outline.
    """

    key: str
    characters: int
    parts: int
    category: str | None
    tags: tuple[str, ...]
    stored_at: datetime
    expires_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkingEntry(WorkingSummary):
    """An entry of working memory: the whole value, one of its parts, or its outline, depending on the key asked for."""

    value: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """One file of the notes.

    `content` is its text or, for a binary file, its bytes in base64; `encoding` says which. `version` grows with every
    change, even if the document is deleted and written again. `searched` is True for Markdown. `space` is empty but for
    a document of a fallback.
    """

    path: str
    content: str
    encoding: Encoding
    searched: bool
    origin: Origin
    version: int
    updated_at: datetime
    space: str = ""

    @property
    def data(self) -> bytes:
        """The bytes of the file."""
        return b64decode(self.content) if self.encoding == "base64" else self.content.encode()


@dataclass(frozen=True, kw_only=True, slots=True)
class DocumentSummary:
    """A document without its content; `size` is in bytes."""

    path: str
    size: int
    searched: bool
    origin: Origin
    version: int
    updated_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class GraphEvidence:
    """A drawer that supports an entity or a relation; `quote` is the passage, empty for the whole drawer."""

    drawer: int
    pointer: str = ""
    quote: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Entity:
    """Somebody or something that was talked about.

    `id` has 12 characters; `aliases` are its other names. `first_seen` and `last_seen` say when it was talked about.
    After a merge, `merged_into` is the id of the entity that it is the same as.
    """

    number: int
    id: str
    name: str
    type: EntityType
    aliases: tuple[str, ...] = ()
    origin: Origin
    path: GraphPath
    authority: Authority
    metadata: Mapping[str, Any] = field(default_factory=dict)
    first_seen: datetime
    last_seen: datetime
    created_at: datetime
    updated_at: datetime
    merged_into: str | None = None
    evidence: tuple[GraphEvidence, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Period:
    """When something holds: from `start` until just before `end`. None means an unknown start, or no end so far.

    `start_unit` and `end_unit` say how exact these are. If nobody said since when, `start` is when it was said, and
    `start_stated` is False.
    """

    start: datetime | None = None
    end: datetime | None = None
    start_unit: Exactness = "moment"
    end_unit: Exactness = "moment"
    start_stated: bool = True

    def holds(self, at: datetime) -> bool:
        """Return whether it holds at a moment."""
        return (self.start is None or self.start <= at) and (self.end is None or at < self.end)

    @property
    def empty(self) -> bool:
        """Whether it never holds, because another relation covers the same time or has higher authority."""
        return self.start is not None and self.end is not None and self.end <= self.start

    @property
    def one_unit(self) -> bool:
        """Whether it is exactly one day, month or year."""
        if self.start is None or self.start_unit == "moment" or self.start_unit != self.end_unit:
            return False
        return self.end == after(self.start, self.start_unit)


@dataclass(frozen=True, kw_only=True, slots=True)
class Relation:
    """How an entity relates to another entity or to a value: since when, and until when.

    `predicate` is the normalised form, `said` the words used. Exactly one of `object` and `value` is set. `period` is
    what is believed now, or was believed at the `known_at` asked for. `kind` is "mentioned" if the two were only
    mentioned together. `confidence` is 0 to 1. A `withdrawn` relation is no longer believed at all. `reason` says why
    the period is what it is; if another relation is the reason, `cause` is its id and `cause_target` names its object.
    `said_later` are the user's later words that contradict it, where a query answers with it and nothing has ended it.
    """

    number: int
    id: str
    subject: Entity
    predicate: str
    said: str
    object: Entity | None = None
    value: Value | None = None
    kind: RelationKind = "stated"
    period: Period
    recorded_at: datetime
    withdrawn: bool = False
    reason: VersionReason = "said"
    cause: str | None = None
    cause_target: str | None = None
    origin: Origin
    path: GraphPath
    authority: Authority
    confidence: float = 1.0
    version: int = 1
    evidence: tuple[GraphEvidence, ...] = ()
    said_later: tuple[str, ...] = ()

    @property
    def from_tool(self) -> bool:
        """Whether an agent noted it out of a tool's result, and nobody else has said so."""
        return rank_of(self.origin, self.authority) < 0

    @property
    def target(self) -> str:
        """The name of its object, or its value."""
        return self.object.name if self.object is not None else str(self.value)

    def __str__(self) -> str:
        return f"{self.subject.name} {self.predicate} {self.target}"


@dataclass(frozen=True, kw_only=True, slots=True)
class RelationGrounds:
    """What is left of the evidence of a relation that the memory found by itself.

    `cited` counts the messages it rests on, `standing` those of them that still stand. `alone` says that nothing else
    is believed about either end, `last_seen` when one of the ends was last spoken of.
    """

    id: str
    kind: RelationKind
    cited: int
    standing: int
    alone: bool = False
    last_seen: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class GoldenQuestion:
    """A question, and what the recalled block must contain: all of these phrases and drawers.

    `number` identifies one that the user added; `about` names the source of a generated one: `entry a1b2c3d4e5f6`.
    """

    question: str
    words: tuple[str, ...] = ()
    drawers: tuple[int, ...] = ()
    number: int | None = None
    about: str = ""
    kept_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Activity:
    """Something the memory did by itself, recorded for its user; `body` says what was kept or refused, and why."""

    number: int
    at: datetime
    kind: str
    session: str | None
    body: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class RefusedProposal:
    """A proposal that was not kept, with secrets masked, and the reason."""

    content: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class MiningReport:
    """What mining a stretch of a session did.

    `kept`, `merged`, `known` and `corrected` are ids of entries: new ones, ones that gained another wording, ones known
    before, and ones made inactive by a correction. `entities` and `relations` count what was added to the graph. `path`
    says whether a model or the rules did the work; if the rules did it although there is a model, `reason` says why.
    """

    session: str
    first_place: int
    last_place: int
    path: MiningPath
    kept: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    corrected: tuple[str, ...] = ()
    refused: tuple[RefusedProposal, ...] = ()
    entities: int = 0
    relations: int = 0
    topics: tuple[str, ...] = ()
    subject: str = ""
    reason: str = ""
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


Listener = Callable[[Activity], None]
"""A function that receives each activity, in the thread that did the work."""
