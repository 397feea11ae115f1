"""What callers of the knowledge graph give and get: frozen, keyword-only, documented."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Literal

from langmem_tiers.knowledge.types import Authority
from langmem_tiers.types import Origin

EntityType = str
"""person, organisation, place, project, item, event, topic, other, or one of the caller's own."""
BUILT_IN_TYPES = ("person", "organisation", "place", "project", "item", "event", "topic", "other")
GraphPath = Literal["user", "tool", "rule", "model"]
RelationKind = Literal["stated", "mentioned"]
Exactness = Literal["year", "month", "day", "moment"]
When = datetime | date | str
"""A moment, a day, or text such as "2024", "2024-05", "2024-05-17" or "2024-05-17T10:00:00+00:00"."""
VersionReason = Literal[
    "said", "succeeded", "contradicted", "outranked", "repeated", "ended", "moved", "withdrawn", "restored"
]
DISPLACING: frozenset[VersionReason] = frozenset({"contradicted", "outranked", "repeated"})
"""Why a relation holds at no time although nobody took it back: another one was said of the same time."""
RelationOutcome = Literal["added", "known", "moved", "ended"]
FoundBy = Literal["id", "name", "alias", "kinship", "fuzzy", "vector"]


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
class Value:
    """A value that is no entity, such as 20 with the unit Ah."""

    text: str
    unit: str | None = None

    def __str__(self) -> str:
        return self.text if self.unit is None else f"{self.text} {self.unit}"


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
class Belief:
    """What was believed of a relation's time, from `recorded_at` until `until` (None: it still is), and why."""

    version: int
    period: Period
    recorded_at: datetime
    until: datetime | None
    reason: VersionReason
    cause: str | None = None
    """Id of the relation that made it so."""


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
class RelationLanded:
    """What became of a relation that was added.

    `outcome`: `added`; `known` where it was there; `moved` where it was there and is now known to hold since another
    moment, or still; `ended` where it was there and is now known to hold no longer. `changed` are the other relations
    whose time became another by it, as they are now.
    """

    relation: Relation
    outcome: RelationOutcome
    changed: tuple[Relation, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Match:
    """An entity that a mention may mean: how it was found, and how sure that is, 0 to 1."""

    entity: Entity
    found_by: FoundBy
    score: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Resolution:
    """What a mention means: `entity`, or None where nothing does or several may; `matches` are all, best first."""

    mention: str
    entity: Entity | None
    matches: tuple[Match, ...] = ()

    @property
    def ambiguous(self) -> bool:
        """Whether several entities may be meant."""
        return self.entity is None and bool(self.matches)


@dataclass(frozen=True, kw_only=True, slots=True)
class Subgraph:
    """Entities and the relations between them; `distance` in steps from where the question began.

    `cut` says in words what was left out, one line each, empty where nothing was.
    """

    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()
    distance: Mapping[str, int] = field(default_factory=dict)
    cut: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Paths:
    """Ways from one entity to another, the shortest first, each as the relations along it."""

    paths: tuple[tuple[Relation, ...], ...] = ()
    cut: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Timeline:
    """Everything that ever related to an entity, in the order it began; what is not known since when comes first.

    What was said, but holds at no time because another one was said instead, is there too, as `withdrawn`.
    """

    entity: Entity
    relations: tuple[Relation, ...] = ()
    cut: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class GraphChange:
    """Something that became so, or ceased to be: `began` or `ended`, and when.

    `displaced` was said to begin then, but holds at no time: another one, its `cause`, was said instead. Where nobody
    knows since when, `at` is when that was noted.
    """

    at: datetime
    what: Literal["ended", "displaced", "began"]
    relation: Relation


@dataclass(frozen=True, kw_only=True, slots=True)
class Merge:
    """Two entities found to be the same: `source` is now spoken of as `target`. `id` undoes it."""

    id: int
    source: Entity
    target: Entity
    reason: str
    path: GraphPath
    at: datetime
    undone_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class LikelyPair:
    """Two entities that may be the same, for somebody to say: how like they are, 0 to 1, and why."""

    first: Entity
    second: Entity
    score: float
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class KeptApart:
    """Two entities that are not the same, and why: somebody said so, or a merge of them was undone."""

    first: Entity
    second: Entity
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class GraphDeleted:
    """The receipt of a deletion: what went, and whether there was anything."""

    id: str
    existed: bool
    at: datetime
    entities: int = 0
    relations: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class GraphStats:
    """Counts: entities that stand, relations believed, of which hold now, and what is known only by mention."""

    entities: int
    merged: int
    relations: int
    current: int
    mentioned: int
    likely_pairs: int
