"""Arguments and results of the knowledge graph: frozen, keyword-only, documented."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from langmem_tiers.records import Entity, GraphPath, Relation

RelationOutcome = Literal["added", "known", "moved", "ended"]
FoundBy = Literal["id", "name", "alias", "kinship", "fuzzy", "vector"]


@dataclass(frozen=True, kw_only=True, slots=True)
class RelationLanded:
    """The outcome of adding a relation.

    `outcome`: `added`; `known` if it already existed; `moved` if it existed with another start, or was thought to have
    ended; `ended` if it existed and is now known to be over. `changed` are the other relations whose time changed as a
    result, as they are now.
    """

    relation: Relation
    outcome: RelationOutcome
    changed: tuple[Relation, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Match:
    """An entity that a mention may refer to: how it was found, and how certain that is, 0 to 1."""

    entity: Entity
    found_by: FoundBy
    score: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Resolution:
    """The meaning of a mention: `entity`, or None if none or several match; `matches` are all, best first."""

    mention: str
    entity: Entity | None
    matches: tuple[Match, ...] = ()

    @property
    def ambiguous(self) -> bool:
        """Whether several entities may be meant."""
        return self.entity is None and bool(self.matches)


@dataclass(frozen=True, kw_only=True, slots=True)
class Subgraph:
    """Entities and the relations between them; `distance` counts steps from the entities asked for.

    `cut` lists what was left out, one line each; it is empty if nothing was.
    """

    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()
    distance: Mapping[str, int] = field(default_factory=dict)
    cut: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Paths:
    """Paths from one entity to another, the shortest first, each a sequence of relations."""

    paths: tuple[tuple[Relation, ...], ...] = ()
    cut: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Timeline:
    """All relations an entity ever had, in the order they began; unknown starts come first.

    Relations displaced by others, so that they hold at no time, are included as `withdrawn`.
    """

    entity: Entity
    relations: tuple[Relation, ...] = ()
    cut: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class GraphChange:
    """Something that became true or ceased to be: `began` or `ended`, and when.

    `displaced` was stated to begin then but never holds, because its `cause` was stated instead. If the start is
    unknown, `at` is when it was recorded.
    """

    at: datetime
    what: Literal["ended", "displaced", "began"]
    relation: Relation


@dataclass(frozen=True, kw_only=True, slots=True)
class Merge:
    """A merge of two entities: `source` is now treated as `target`. `id` undoes it."""

    id: int
    source: Entity
    target: Entity
    reason: str
    path: GraphPath
    at: datetime
    undone_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class LikelyPair:
    """Two entities that may be the same, for someone to decide: their similarity, 0 to 1, and the reason."""

    first: Entity
    second: Entity
    score: float
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class KeptApart:
    """Two entities marked as different, and why: someone said so, or a merge of them was undone."""

    first: Entity
    second: Entity
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class GraphDeleted:
    """The receipt of a deletion: what was deleted, and whether there was anything."""

    id: str
    existed: bool
    at: datetime
    entities: int = 0
    relations: int = 0
    entries: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class GraphStats:
    """Counts: canonical entities, believed relations, those that hold now, and what is only known from mentions."""

    entities: int
    merged: int
    relations: int
    current: int
    mentioned: int
    likely_pairs: int
