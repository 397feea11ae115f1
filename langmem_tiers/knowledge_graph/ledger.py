"""Writing the graph: every change goes to the records and the log, in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from langmem_tiers.clock import to_millis
from langmem_tiers.errors import UnknownEntity
from langmem_tiers.knowledge.types import Authority
from langmem_tiers.knowledge_graph import deleting, entering, forgetting, joining, stating
from langmem_tiers.knowledge_graph.entering import Entering
from langmem_tiers.knowledge_graph.stating import NewRelation
from langmem_tiers.knowledge_graph.transaction import Transaction
from langmem_tiers.knowledge_graph.types import (
    Entity,
    Exactness,
    GraphDeleted,
    GraphPath,
    Merge,
    Relation,
    RelationLanded,
)
from langmem_tiers.knowledge_graph.versions import Versions
from langmem_tiers.settings import Settings
from langmem_tiers.storage import entities, relations
from langmem_tiers.types import Origin
from langmem_tiers.writing.proposals import Evidence


class Ledger(Transaction):
    """The graph of a space within one transaction, at one moment in milliseconds: what can be written in it."""

    def __init__(self, connection: Connection, space: str, now: int, settings: Settings | None = None) -> None:
        super().__init__(connection, space, now, settings)
        self._versions = Versions(self)

    # Entities.

    def entity(
        self,
        name: str,
        *,
        type: str = "other",
        aliases: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
        evidence: Iterable[Evidence] = (),
        origin: Origin = "user",
        path: GraphPath = "user",
        authority: Authority = Authority.USER,
        seen: datetime | None = None,
    ) -> Entity:
        """The entity of an id, name or alias, made where no entity has the name; where it was merged, the other one.

        Aliases, metadata, evidence and when it was seen are added to the one that was named. What it rests on is not
        read with it; see `read_entity`.

        Raises:
            InvalidText, TextTooLong, SecretRefused: it can be no name.
            UnknownEntity: no entity has this id.
            AmbiguousEntity: several have this name.
        """
        named = self.said(
            name,
            type=type,
            aliases=aliases,
            metadata=metadata,
            evidence=evidence,
            origin=origin,
            path=path,
            authority=authority,
            seen=seen,
        )
        return self.canonical(named)

    def said(
        self,
        name: str,
        *,
        type: str = "other",
        aliases: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
        evidence: Iterable[Evidence] = (),
        origin: Origin = "user",
        path: GraphPath = "user",
        authority: Authority = Authority.USER,
        seen: datetime | None = None,
    ) -> Entity:
        """As `entity`, but the one that goes by this name itself, also where it was merged into another.

        A relation of it follows it when the merge is undone.
        """
        new = entering.Named(
            name=name,
            type=type,
            aliases=tuple(aliases),
            metadata=metadata,
            evidence=tuple(evidence),
            origin=origin,
            path=path,
            authority=authority,
            seen=self.now if seen is None else to_millis(seen),
        )
        entered = Entering(self.connection, self.space, self.now, self.settings).enter(new)
        if entered.changed:
            self.log_entities(entered.entity.number)
        if authority >= Authority.AGENT:
            forgetting.unearth_entity(self.connection, self.space, [name, *new.aliases])
        return entered.entity

    def another(self, named: entering.Named) -> Entity:
        """A new entity of a name that others may have; they are kept apart from it.

        Raises:
            InvalidText, TextTooLong, SecretRefused, InvalidInput: it can be no name, alias, type or metadata.
        """
        entity = Entering(self.connection, self.space, self.now, self.settings).enter_another(named)
        self.log_entities(entity.number)
        return entity

    def find(self, which: str, *, type: str | None = None) -> Entity | None:
        """The entity of an id, name or alias as it stands now, None where there is none.

        Raises:
            AmbiguousEntity: several have this name.
        """
        return entering.find(self.connection, self.space, which, type=type)

    def existing(self, which: str) -> Entity:
        """As `find`.

        Raises:
            UnknownEntity: there is none.
            AmbiguousEntity: several have this name.
        """
        found = self.find(which)
        if found is None:
            raise UnknownEntity(f"There is no entity {which[:80]!a}.")
        return found

    def read_entity(self, number: int) -> Entity:
        """The entity of a number, with its evidence."""
        return entities.by_numbers(self.connection, self.space, [number], evidence=True)[number]

    # Relations.

    def add(self, new: NewRelation) -> RelationLanded:
        """Note how an entity relates to another one, or to a value, where it belongs in the timeline.

        Raises:
            InvalidRelation: it is of something to itself, leads to nothing or to two things, or the predicate is none.
            InvalidPeriod: it ends before it begins.
            AuthorityTooLow: it would end what somebody of higher authority said holds.
        """
        return stating.add(self._versions, new)

    def end(self, which: str | int, at: datetime, *, unit: Exactness = "moment", by: Authority) -> Relation:
        """Note that a relation holds no longer from a moment on.

        Raises:
            UnknownRelation: there is none.
            InvalidRelation: it is not believed any more.
            InvalidPeriod: it had not begun by then.
            AuthorityTooLow: somebody of higher authority said that it holds.
        """
        return stating.end(self._versions, which, at, unit=unit, by=by)

    def withdraw(self, which: str | int, *, by: Authority) -> Relation:
        """Note that a relation was never so; what it had ended holds again.

        What somebody withdraws, an agent or the user, does not come back by itself.

        Raises:
            UnknownRelation: there is none.
            AuthorityTooLow: somebody of higher authority said that it is so.
        """
        return stating.withdraw(self._versions, which, by=by)

    def settle_groups_of(self, entity: int) -> tuple[Relation, ...]:
        """Let time be right again around an entity that was merged or parted; the relations that changed by it."""
        changed = self._versions.settle_groups_of(entity)
        return tuple(relations.by_numbers(self.connection, self.space, changed).values())

    def settle_groups(self, groups: Iterable[tuple[int, str]]) -> list[int]:
        """Let time be right in the groups of these subjects and predicates; the numbers of what changed by it."""
        return self._versions.settle_groups(groups)

    # One entity under two names.

    def merge(self, source: Entity, target: Entity, *, reason: str, path: GraphPath) -> Merge:
        """Let one entity be another from now on.

        Raises:
            MergeRefused: they are one already, or one is related to the other.
        """
        return joining.merge(self._versions, source, target, reason=reason, path=path)

    def unmerge(self, merge: int) -> Merge:
        """Let two entities be two again, each with the relations that were said of it.

        Raises:
            UnknownEntity: there is no such merge, or it was undone before.
        """
        return joining.unmerge(self._versions, merge)

    def read_merge(self, number: int) -> Merge:
        """The merge of a number, with its entities as they are themselves.

        Raises:
            UnknownEntity: there is none.
        """
        return joining.read(self, number)

    # Deleting.

    def delete_relation(self, which: str | int, *, by: Authority = Authority.USER) -> GraphDeleted:
        """Delete a relation and all that was believed of it, leaving a tombstone.

        Raises:
            AuthorityTooLow: the memory itself deletes nothing that somebody stands behind.
        """
        return deleting.relation(self._versions, which, by=by)

    def delete_entity(self, entity: Entity, *, by: Authority = Authority.USER) -> GraphDeleted:
        """Delete an entity, those merged into it and all their relations, leaving tombstones.

        Raises:
            AuthorityTooLow: the memory itself deletes nothing that somebody stands behind.
        """
        return deleting.entity(self._versions, entity, by=by)
