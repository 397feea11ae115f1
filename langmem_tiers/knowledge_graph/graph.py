"""The façade of a space's knowledge graph: `space.graph`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from langmem_tiers.knowledge_graph.types import (
    Entity,
    EntityType,
    GraphChange,
    GraphDeleted,
    GraphEvidence,
    GraphStats,
    KeptApart,
    LikelyPair,
    Merge,
    Paths,
    Relation,
    RelationLanded,
    Resolution,
    Subgraph,
    Timeline,
    When,
)
from langmem_tiers.types import Origin

if TYPE_CHECKING:
    import networkx as nx

    from langmem_tiers.knowledge_graph.transfer import Imported
    from langmem_tiers.space import Space


class KnowledgeGraph:
    """Who and what is known in a space, how they relate, since when and until when.

    Every relation has two times: when it holds, and since when the memory believes so. `as_of` asks for the first
    ("where did she live in 2023"), `known_at` for the second ("what did we believe in May"). Nothing is overwritten:
    where only one value can hold, such as where somebody lives, a new one ends the old one.

    An entity is named by its id, or by a name or alias that only one entity has.

    Example:
        >>> with Memory.open("memory", embedder=None) as memory:
        ...     graph = memory.user("alice").graph
        ...     _ = graph.add_relation("Anna", "lives in", "Lisbon", valid_from="2021")
        ...     _ = graph.add_relation("Anna", "lives in", "Porto", valid_from="2024-05")
        ...     graph.neighbours("Anna", as_of="2023").relations[0].target
        'Lisbon'
    """

    def __init__(self, space: Space) -> None:
        self._space = space

    # Writing.

    def add_entity(
        self,
        name: str,
        *,
        type: EntityType = "other",
        aliases: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        evidence: Sequence[GraphEvidence | int | str] = (),
        origin: Origin = "user",
        distinct: bool = False,
    ) -> Entity:
        """The entity of this name, made where there is none; aliases, evidence and metadata are added to it.

        Args:
            name: As it is written, at most 200 characters.
            type: One of `BUILT_IN_TYPES`, or a word of your own that is not nearly one of them. "other" leaves a
                known type as it is.
            aliases: Other names it goes by.
            metadata: A JSON object of your own.
            evidence: Drawers that speak of it, by number or pointer.
            origin: Who says so.
            distinct: True makes another one, also where somebody has the name: name both by their ids from then on.

        Raises:
            InvalidInput: a name that is empty, too long, or a secret; a type that nearly is a built-in one.
            AmbiguousEntity: several entities have this name; name one by its id.
        """
        from langmem_tiers.knowledge_graph import writing

        return writing.add_entity(
            self._space,
            name,
            type=type,
            aliases=aliases,
            metadata=metadata,
            evidence=evidence,
            origin=origin,
            distinct=distinct,
        )

    def add_relation(
        self,
        subject: str,
        predicate: str,
        object: str | None = None,
        *,
        value: str | float | None = None,
        unit: str | None = None,
        subject_type: EntityType = "other",
        object_type: EntityType = "other",
        valid_from: When | None = None,
        valid_to: When | None = None,
        evidence: Sequence[GraphEvidence | int | str] = (),
        origin: Origin = "user",
        confidence: float = 1.0,
    ) -> RelationLanded:
        """Note how an entity relates to another one, or to a value.

        Entities that are not known yet are made. A predicate that holds one value at a time ends the value before it;
        what is said of an earlier time takes its place there.

        Args:
            subject: Id, name or alias of an entity.
            predicate: In any words, such as "works for"; those that mean the same become one.
            object: Id, name or alias of an entity; or give `value`.
            value: What is no entity, such as 20.
            unit: Of the value, such as "Ah".
            subject_type: Of the subject, where it is new; a person and a place of one name are two.
            object_type: Of the object, likewise.
            valid_from: Since when; None where nobody knows.
            valid_to: The first moment that it does not hold any more; None while it does.
            evidence: Drawers that say so, by number or pointer.
            origin: Who says so.
            confidence: 0 to 1.

        Raises:
            InvalidRelation: it can not be, such as of something to itself, or the predicate says that something is
                over or not so.
            InvalidPeriod: `valid_to` is not behind `valid_from`, or one of them is no date.
            UnknownEntity, AmbiguousEntity: an id that there is not, a name that several have.
        """
        from langmem_tiers.knowledge_graph import writing

        return writing.add_relation(
            self._space,
            subject,
            predicate,
            object,
            value=value,
            unit=unit,
            subject_type=subject_type,
            object_type=object_type,
            valid_from=valid_from,
            valid_to=valid_to,
            evidence=evidence,
            origin=origin,
            confidence=confidence,
        )

    def end_relation(self, relation: str, at: When | None = None, *, origin: Origin = "user") -> Relation:
        """Note that a relation holds no longer, from `at` on (now by default); it stays in the timeline.

        Raises:
            UnknownRelation: no relation has this id.
            InvalidPeriod: `at` lies before it began, or behind the beginning of another one that took its place.
            AuthorityTooLow: somebody of higher authority said that it holds.
        """
        from langmem_tiers.knowledge_graph import writing

        return writing.end_relation(self._space, relation, at, origin=origin)

    def withdraw_relation(self, relation: str, *, origin: Origin = "user") -> Relation:
        """Note that a relation was never so; what it had ended holds again. `known_at` still sees it.

        Raises:
            UnknownRelation, AuthorityTooLow: as for `end_relation`.
        """
        from langmem_tiers.knowledge_graph import writing

        return writing.withdraw_relation(self._space, relation, origin=origin)

    def delete_relation(self, relation: str) -> GraphDeleted:
        """Delete a relation and its history for good. An unknown one is no error."""
        from langmem_tiers.knowledge_graph import writing

        return writing.delete_relation(self._space, relation)

    def delete_entity(self, entity: str) -> GraphDeleted:
        """Delete an entity, those merged into it, and all their relations for good. An unknown one is no error."""
        from langmem_tiers.knowledge_graph import writing

        return writing.delete_entity(self._space, entity)

    # Looking up.

    def entity(self, which: str, *, type: EntityType | None = None) -> Entity | None:
        """The entity of this id, name or alias, with its evidence; None where there is none.

        Raises:
            AmbiguousEntity: several have this name.
        """
        from langmem_tiers.knowledge_graph import looking

        return looking.entity(self._space, which, type=type)

    def entities(
        self, *, type: EntityType | None = None, text: str | None = None, limit: int = 100
    ) -> tuple[Entity, ...]:
        """Entities that stand, those spoken of last first; of a type, or with this text in a name."""
        from langmem_tiers.knowledge_graph import looking

        return looking.entities(self._space, type=type, text=text, limit=limit)

    def relation(self, which: str) -> Relation | None:
        """The relation of this id, with its evidence; None where there is none."""
        from langmem_tiers.knowledge_graph import looking

        return looking.relation(self._space, which)

    def history(self, relation: str) -> tuple[Relation, ...]:
        """What was believed of a relation, oldest first.

        Raises:
            UnknownRelation: no relation has this id.
        """
        from langmem_tiers.knowledge_graph import looking

        return looking.history(self._space, relation)

    def resolve(self, mention: str, *, type: EntityType | None = None) -> Resolution:
        """What a mention means: by name, alias, kinship ("my sister"), likeness of spelling, and meaning.

        Where several may be meant, all are shown and none is chosen.
        """
        from langmem_tiers.knowledge_graph import resolving

        return resolving.resolve(self._space, mention, type=type)

    # Questions.

    def neighbours(
        self,
        entity: str,
        *,
        depth: int = 1,
        predicates: Collection[str] | None = None,
        as_of: When | None = None,
        known_at: When | None = None,
        ended: bool = False,
        mentioned: bool = False,
        limit: int | None = None,
    ) -> Subgraph:
        """What is around an entity: as of now, of another moment, or with `ended` of all times.

        Args:
            entity: Id, name or alias.
            depth: Steps, at most `Settings.graph.depth`.
            predicates: Only these.
            as_of: The moment that it held at; now by default.
            known_at: The moment whose knowledge counts; now by default.
            ended: Also what holds no longer, or not yet.
            mentioned: Also what was only spoken of together.
            limit: Most relations, instead of the setting.

        Raises:
            UnknownEntity, AmbiguousEntity: no entity, or several, of this name.
            InvalidPeriod: no date.
        """
        return self.subgraph(
            [entity],
            depth=depth,
            predicates=predicates,
            as_of=as_of,
            known_at=known_at,
            ended=ended,
            mentioned=mentioned,
            limit=limit,
        )

    def subgraph(
        self,
        entities: Sequence[str],
        *,
        depth: int = 1,
        predicates: Collection[str] | None = None,
        as_of: When | None = None,
        known_at: When | None = None,
        ended: bool = False,
        mentioned: bool = False,
        limit: int | None = None,
    ) -> Subgraph:
        """What is around several entities; see `neighbours`."""
        from langmem_tiers.knowledge_graph import asking

        wanted = asking.Wanted(predicates=predicates, as_of=as_of, known_at=known_at, ended=ended, mentioned=mentioned)
        return asking.neighbours(self._space, entities, wanted, depth=depth, limit=limit)

    def paths(
        self,
        start: str,
        end: str,
        *,
        depth: int = 4,
        limit: int = 5,
        as_of: When | None = None,
        known_at: When | None = None,
        ended: bool = False,
        mentioned: bool = False,
    ) -> Paths:
        """How two entities are connected: the shortest ways, of at most `depth` steps (6 at most)."""
        from langmem_tiers.knowledge_graph import asking

        wanted = asking.Wanted(as_of=as_of, known_at=known_at, ended=ended, mentioned=mentioned)
        return asking.paths(self._space, start, end, wanted, depth=depth, limit=limit)

    def timeline(self, entity: str, *, known_at: When | None = None, limit: int | None = None) -> Timeline:
        """Everything that was ever said of an entity, in the order it began, also what was contradicted since."""
        from langmem_tiers.knowledge_graph import asking

        return asking.timeline(self._space, entity, known_at=known_at, limit=limit)

    def changes(self, since: When, until: When | None = None, *, entity: str | None = None) -> tuple[GraphChange, ...]:
        """What began, ended or was displaced between two moments, in order; of one entity, or of all."""
        from langmem_tiers.knowledge_graph import asking

        return asking.changes(self._space, since, until, entity=entity)

    def networkx(self, *, as_of: When | None = None, known_at: When | None = None) -> nx.MultiDiGraph:
        """A copy of the graph as it was at these moments (all times by default), for use with NetworkX."""
        from langmem_tiers.knowledge_graph import asking

        return asking.networkx(self._space, as_of=as_of, known_at=known_at)

    def stats(self, *, now: datetime | None = None) -> GraphStats:
        """Counts."""
        from langmem_tiers.knowledge_graph import looking

        return looking.stats(self._space, now=now)

    # One entity under two names.

    def merge(self, source: str, target: str, *, reason: str = "the same", origin: Origin = "user") -> Merge:
        """Speak of `source` as `target` from now on; both keep their own relations, so that it can be undone.

        Raises:
            MergeRefused: they are one already, or were said to be two.
            UnknownEntity, AmbiguousEntity: no entity, or several, of this name.
        """
        from langmem_tiers.knowledge_graph import merging

        return merging.merge(self._space, source, target, reason=reason, origin=origin)

    def unmerge(self, merge: int) -> Merge:
        """Undo a merge. Two that the memory merged, or could, are kept apart until `allow_merge` takes that back.

        Raises:
            UnknownEntity: no merge has this id, or it was undone before.
        """
        from langmem_tiers.knowledge_graph import merging

        return merging.unmerge(self._space, merge)

    def merges(self, *, undone: bool = False) -> tuple[Merge, ...]:
        """The merges that stand, newest first; with `undone` all."""
        from langmem_tiers.knowledge_graph import merging

        return merging.merges(self._space, undone=undone)

    def likely_pairs(self, *, limit: int = 50) -> tuple[LikelyPair, ...]:
        """Pairs that may be the same and that nobody has judged, the likeliest first."""
        from langmem_tiers.knowledge_graph import merging

        return merging.likely_pairs(self._space, limit=limit)

    def keep_apart(self, first: str, second: str) -> None:
        """Note that two entities are not the same, whatever they are called; `allow_merge` takes it back."""
        from langmem_tiers.knowledge_graph import merging

        merging.keep_apart(self._space, first, second)

    def kept_apart(self) -> tuple[KeptApart, ...]:
        """Those that are not the same, because somebody said so or a merge of them was undone."""
        from langmem_tiers.knowledge_graph import merging

        return merging.kept_apart(self._space)

    def allow_merge(self, first: str, second: str) -> bool:
        """Take back that two entities are kept apart, and let the memory judge them anew; whether they were.

        Raises:
            UnknownEntity, AmbiguousEntity: no entity, or several, of this name.
        """
        from langmem_tiers.knowledge_graph import merging

        return merging.allow_merge(self._space, first, second)

    # In and out.

    def export(self, path: str | Path, *, format: Literal["json", "graphml"] | None = None) -> Path:
        """Write the graph to a file, with both times; the format is that of the suffix. JSON can be imported again."""
        from langmem_tiers.knowledge_graph import transfer

        return transfer.export(self._space, path, format=format)

    def import_(self, path: str | Path) -> Imported:
        """Read entities and relations from a JSON file that `export` wrote; what is there already is left as it is.

        Raises:
            UnreadableFile: the file is missing, damaged, or not such a file; nothing is imported.
        """
        from langmem_tiers.knowledge_graph import transfer

        return transfer.import_(self._space, path)
