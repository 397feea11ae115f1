"""The records that storage gives and every layer above works with: entries, episodes, documents, what they rest on.

What users see of the layers is among them too. They are frozen, keyword-only and documented.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum
from typing import Any, Literal

from langmem_tiers.language.periods import Exactness
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
GraphPath = Literal["user", "tool", "rule", "model"]
RelationKind = Literal["stated", "mentioned"]
VersionReason = Literal[
    "said", "succeeded", "contradicted", "outranked", "repeated", "ended", "moved", "withdrawn", "restored"
]
DISPLACING: frozenset[VersionReason] = frozenset({"contradicted", "outranked", "repeated"})
"""Why a relation holds at no time although nobody took it back: another one was said of the same time."""


class Authority(IntEnum):
    """Who stands behind an entry. A write never overwrites or deactivates an entry of a higher one."""

    SYSTEM = 0
    AGENT = 1
    USER = 2
    CORRECTION = 3


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
class Evidence:
    """A drawer that something rests on, with the words of it that say so."""

    drawer: int
    quote: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposal:
    """Something that may be worth keeping, not checked yet.

    `content` is a declarative sentence ("The user prefers tea."); `corrects` is the wrong value as it was said, where
    this is a correction. `contradicts` says that it was said against something that it does not name ("No, I live in
    Braga"): what is known of the same thing with another value is wrong then.
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
    """A drawer that an entry rests on.

    `quote` are the words of it that say so, empty for the whole drawer. `via` is the id of the entry that brought it,
    where that is another one: they were merged.
    """

    drawer: int
    pointer: str
    quote: str = ""
    via: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One thing that is known: a declarative sentence, where it belongs, and what it rests on.

    `id` is its name, 12 characters; `number` is what the log calls it. An inactive entry says why in `reason`
    (`corrected`, `merged`, `updated`, `enriched`, `expired`, `removed`, or words of the caller's own), and in
    `successor` the id of the entry that holds instead. `path` tells what made it, `authority` who stands behind it,
    `version` counts changes.
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
    evidence: tuple[EntryEvidence, ...] = ()

    @property
    def active(self) -> bool:
        """Whether it holds."""
        return self.status == "active"


@dataclass(frozen=True, kw_only=True, slots=True)
class Episode:
    """The summary of a session, of a part of one, or of a task.

    `compaction` counts the summaries that the session had before; what archives a task counts down from -1. `path`
    says what made it: a summary that was there already, a model, or rules. It tells of what was said from `began_at`
    to `ended_at`, in the drawers `first_drawer` to `last_drawer`. Without `expires_at` it is kept for ever.
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


@dataclass(frozen=True, kw_only=True, slots=True)
class IdentityVersion:
    """The identity as it stood from some moment on, and who wrote it."""

    version: int
    text: str
    origin: Origin
    at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """One file of the notes.

    `content` is its text, or its bytes in base64 where these are no text; `encoding` says which. `version` grows with
    every change, also where a document is deleted and written again. `searched` is true for Markdown.
    """

    path: str
    content: str
    encoding: Encoding
    searched: bool
    origin: Origin
    version: int
    updated_at: datetime

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
    """A drawer that an entity or a relation rests on; `quote` are the words of it, empty for the whole drawer."""

    drawer: int
    pointer: str = ""
    quote: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Entity:
    """Somebody or something that is spoken of.

    `id` is its name for agents and users, 12 characters; `aliases` are its other names. `first_seen` and `last_seen`
    are when it was spoken of. `merged_into` is the id of the entity that it was found to be the same as.
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
    """When something holds: from `start` on, and no longer at `end`; None is unknown, or still.

    `start_unit` and `end_unit` are how exact that is. Where nobody said since when, `start` is when it was said, and
    `start_stated` is False.
    """

    start: datetime | None = None
    end: datetime | None = None
    start_unit: Exactness = "moment"
    end_unit: Exactness = "moment"
    start_stated: bool = True

    def holds(self, at: datetime) -> bool:
        """Whether it holds at a moment."""
        return (self.start is None or self.start <= at) and (self.end is None or at < self.end)

    @property
    def empty(self) -> bool:
        """Whether it never holds: something of the same time, or of higher authority, was said instead."""
        return self.start is not None and self.end is not None and self.end <= self.start


@dataclass(frozen=True, kw_only=True, slots=True)
class Relation:
    """How an entity relates to another one, or to a value, and since when and until when.

    `predicate` is the normalised word, `said` the words used. Exactly one of `object` and `value` is set. `period` is
    what is believed now, or was at the `known_at` asked for. `kind` is "mentioned" where two were only spoken of
    together. `confidence` is 0 to 1. `withdrawn` says that it is not believed any more, at no time. `reason` says why
    its time is as it is; where that is another relation, `cause` is the id of it, and `cause_target` the name of what
    it leads to.
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

    @property
    def target(self) -> str:
        """The name of what it leads to: the entity's, or the value."""
        return self.object.name if self.object is not None else str(self.value)

    def __str__(self) -> str:
        return f"{self.subject.name} {self.predicate} {self.target}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Activity:
    """Something that the memory did by itself, for its user to see; `body` is what was kept or refused, and why."""

    number: int
    at: datetime
    kind: str
    session: str | None
    body: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class RefusedProposal:
    """What was proposed and not kept, with secrets masked, and why."""

    content: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class MiningReport:
    """What mining some turns of a session did.

    `kept`, `merged`, `known` and `corrected` are ids of entries: made, joined by another wording, known before, and
    made inactive by a correction. `entities` and `relations` count what was kept for the graph. `path` says whether a
    model or the rules did it, `reason` why the rules did where there is a model.
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
"""Called with each activity, in the thread that did the work."""
