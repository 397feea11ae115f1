"""Writing the graph: every change goes to the records and the log, in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from langmem_tiers.clock import from_millis, to_millis
from langmem_tiers.errors import (
    AuthorityTooLow,
    InvalidPeriod,
    InvalidRelation,
    MergeRefused,
    UnknownEntity,
    UnknownRelation,
)
from langmem_tiers.knowledge.types import Authority
from langmem_tiers.knowledge_graph import entering, forgetting, grouping, name_vectors, predicates
from langmem_tiers.knowledge_graph.entering import Entering
from langmem_tiers.knowledge_graph.grouping import Draft
from langmem_tiers.knowledge_graph.landing import Landing, Said, land
from langmem_tiers.knowledge_graph.types import (
    Entity,
    Exactness,
    GraphDeleted,
    GraphPath,
    Merge,
    Relation,
    RelationKind,
    RelationLanded,
    Value,
)
from langmem_tiers.settings import Settings
from langmem_tiers.storage import change_log, entities, merges, relations
from langmem_tiers.storage.merges import MergeRow
from langmem_tiers.storage.relations import NewRelationRow, RelationRow, VersionRow
from langmem_tiers.types import Origin
from langmem_tiers.writing.proposals import Evidence


@dataclass(frozen=True, kw_only=True, slots=True)
class NewRelation:
    """A relation that somebody says is so.

    `subject` and `object` are entities of this space, as they were named: also ones that were merged into another.
    `predicate` is in any words. `from_stated` is False where `valid_from` is only the date of the turn that says so.
    """

    subject: Entity
    predicate: str
    object: Entity | None = None
    value: Value | None = None
    valid_from: datetime | None = None
    from_unit: Exactness = "moment"
    from_stated: bool = True
    valid_to: datetime | None = None
    to_unit: Exactness = "moment"
    kind: RelationKind = "stated"
    origin: Origin = "user"
    path: GraphPath = "user"
    authority: Authority = Authority.USER
    confidence: float = 1.0
    evidence: tuple[Evidence, ...] = ()


class Ledger:
    """The graph of a space within one transaction, at one moment in milliseconds."""

    def __init__(self, connection: Connection, space: str, now: int, settings: Settings | None = None) -> None:
        self.connection = connection
        self.space = space
        self.now = now
        self.settings = settings or Settings()
        self._logged: set[tuple[str, int]] = set()

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

    def canonical(self, entity: Entity) -> Entity:
        """The entity that one is now."""
        number = entities.canonical(self.connection, self.space, entity.number)
        if number == entity.number:
            return entity
        return entities.by_numbers(self.connection, self.space, [number])[number]

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
        said_as = new.predicate
        new = _checked(new)
        subject, target = self._ends(new)
        place = grouping.look(
            self.connection,
            self.space,
            subject=subject.number,
            predicate=new.predicate,
            target=target if isinstance(target, Value) else target.number,
            kind=new.kind,
            single=self._single(new.predicate, new.kind),
        )
        start_said = new.from_stated and new.valid_from is not None
        said = Said(_millis(new.valid_from), _millis(new.valid_to), start_said, int(new.authority))
        landing = land(said, place.same, place.others, self.now)
        number = self._landed(new, said_as, landing, place.row(landing.number))
        if new.authority >= Authority.AGENT:
            forgetting.unearth_relation(self.connection, self.space, subject, new.predicate, target)
        written = self._settled(number, self._draft(new, landing, number), place.group_of(number))
        changed = [each for each in written if each != number]
        found = relations.by_numbers(self.connection, self.space, [number, *changed], evidence=True)
        return RelationLanded(
            relation=found[number], outcome=landing.outcome, changed=tuple(found[each] for each in changed)
        )

    def end(self, which: str | int, at: datetime, *, unit: Exactness = "moment", by: Authority) -> Relation:
        """Note that a relation holds no longer from a moment on.

        Raises:
            UnknownRelation: there is none.
            InvalidRelation: it is not believed any more.
            InvalidPeriod: it had not begun by then.
            AuthorityTooLow: somebody of higher authority said that it holds.
        """
        row = self.row(which)
        self._require(row, by)
        if not row.believed:
            raise InvalidRelation(f"Relation {row.id} is not believed any more.", way_out="Add it anew.")
        moment, last = to_millis(at), row.last
        if last.valid_from is not None and moment <= last.valid_from:
            raise InvalidPeriod(f"Relation {row.id} had not begun at {at.isoformat()}.")
        if last.stated_to != moment:
            self._raise(row, by, row.confidence)
            ended = Draft.of(last)._replace(stated_to=moment, to_unit=unit, reason="ended")
            self._settled(row.number, ended)
        return self.relation(row.number)

    def withdraw(self, which: str | int, *, by: Authority) -> Relation:
        """Note that a relation was never so; what it had ended holds again.

        What somebody withdraws, an agent or the user, does not come back by itself.

        Raises:
            UnknownRelation: there is none.
            AuthorityTooLow: somebody of higher authority said that it is so.
        """
        row = self.row(which)
        self._require(row, by)
        if row.last.reason == "withdrawn" and not row.believed:
            return self.relation(row.number)
        self._believe_no_longer(row, row.last)
        at = max(self.now, row.last.recorded_at)
        gone = row.last._replace(version=row.last.version + 1, recorded_at=at, until=at, reason="withdrawn", cause=None)
        relations.put_version(self.connection, self.space, row.number, gone)
        self.log_relations(row.number)
        if by >= Authority.AGENT:
            self._bury(row)
        self._resettled(row)
        return self.relation(row.number)

    def row(self, which: str | int) -> RelationRow:
        """A relation by its id or number, with all its versions.

        Raises:
            UnknownRelation: there is none.
        """
        if isinstance(which, str):
            found = relations.of_id(self.connection, self.space, which)
        else:
            found = next(iter(relations.of_numbers(self.connection, self.space, [which])), None)
        if found is None:
            raise UnknownRelation(f"There is no relation {str(which)[:40]!a}.")
        return found

    def relation(self, number: int) -> Relation:
        """The relation of a number as it is believed now, with its evidence."""
        return relations.by_numbers(self.connection, self.space, [number], evidence=True)[number]

    def settle_groups_of(self, entity: int) -> tuple[Relation, ...]:
        """Let time be right again around an entity that was merged or parted; the relations that changed by it."""
        members = entities.members(self.connection, self.space, entities.canonical(self.connection, self.space, entity))
        groups = relations.groups_of(self.connection, self.space, members)
        changed = self.settle_groups(groups)
        return tuple(relations.by_numbers(self.connection, self.space, changed).values())

    def settle_groups(self, groups: Iterable[tuple[int, str]]) -> list[int]:
        """Let time be right in the groups of these subjects and predicates; the numbers of what changed by it."""
        named = set(groups)
        ends = entities.canonical_of(self.connection, self.space, {subject for subject, _ in named})
        standing = sorted({(ends[subject], predicate) for subject, predicate in named})
        return [number for subject, predicate in standing for number in self._settle_group(subject, predicate)]

    # One entity under two names.

    def merge(self, source: Entity, target: Entity, *, reason: str, path: GraphPath) -> Merge:
        """Let one entity be another from now on.

        Raises:
            MergeRefused: they are one already, or one is related to the other.
        """
        one, other = self.canonical(source), self.canonical(target)
        if one.number == other.number:
            raise MergeRefused(f"{one.name!r} and {target.name!r} are one already.")
        self._require_unrelated(one, other)
        entities.change(self.connection, self.space, one.number, {"merged_into": other.number, "updated_at": self.now})
        number = merges.put(
            self.connection,
            self.space,
            source=one.number,
            target=other.number,
            reason=reason,
            path=path,
            at=self.now,
        )
        self._log_members(one.number, other.number)
        self.settle_groups_of(other.number)
        return self.read_merge(number)

    def unmerge(self, merge: int) -> Merge:
        """Let two entities be two again, each with the relations that were said of it.

        Raises:
            UnknownEntity: there is no such merge, or it was undone before.
        """
        row = merges.one(self.connection, self.space, merge)
        if row is None or row.undone_at is not None:
            raise UnknownEntity(f"There is no merge {merge} to undo.", way_out="See space.graph.merges().")
        entities.change(self.connection, self.space, row.source, {"merged_into": None, "updated_at": self.now})
        merges.undo(self.connection, self.space, merge, self.now)
        self._log_members(row.source, row.target)
        self.settle_groups_of(row.source)
        self.settle_groups_of(row.target)
        return self.read_merge(merge)

    def read_merge(self, number: int) -> Merge:
        """The merge of a number, with its entities as they are themselves."""
        row = merges.one(self.connection, self.space, number)
        if row is None:
            raise UnknownEntity(f"There is no merge {number}.")
        both = entities.by_numbers(self.connection, self.space, [row.source, row.target])
        return merge_of(row, both)

    # Deleting.

    def delete_relation(self, which: str | int, *, by: Authority = Authority.USER) -> GraphDeleted:
        """Delete a relation and all that was believed of it, leaving a tombstone.

        Raises:
            AuthorityTooLow: the memory itself deletes nothing that somebody stands behind.
        """
        at = from_millis(self.now)
        try:
            row = self.row(which)
        except UnknownRelation:
            return GraphDeleted(id=str(which), existed=False, at=at)
        self._require(row, by)
        self._bury(row)
        relations.remove(self.connection, self.space, [row.number])
        self.log_relations(row.number)
        self._resettled(row)
        return GraphDeleted(id=row.id, existed=True, at=at, relations=1)

    def delete_entity(self, entity: Entity, *, by: Authority = Authority.USER) -> GraphDeleted:
        """Delete an entity, those merged into it and all their relations, leaving tombstones.

        Raises:
            AuthorityTooLow: the memory itself deletes nothing that somebody stands behind.
        """
        standing = self.canonical(entity)
        members = entities.members(self.connection, self.space, standing.number)
        gone = list(entities.by_numbers(self.connection, self.space, members).values())
        numbers = relations.numbers_of_entities(self.connection, self.space, members)
        rows = relations.of_numbers(self.connection, self.space, numbers)
        behind = [*(each.authority for each in gone), *(row.authority for row in rows)]
        if by is Authority.SYSTEM and max(behind) > by:
            raise AuthorityTooLow(f"Entity {standing.id} can not be deleted: somebody else stands behind it.")
        around = relations.groups_of(self.connection, self.space, members)
        self._bury(*rows)
        forgetting.bury_entities(self.connection, self.space, gone, self.now)
        relations.remove(self.connection, self.space, numbers)
        merges.remove(self.connection, self.space, members)
        entities.remove(self.connection, self.space, members)
        name_vectors.forget(self.connection, self.space, (each.name for each in gone))
        self.log_relations(*numbers)
        self.log_entities(*members)
        self.settle_groups({each for each in around if each[0] not in members})
        at = from_millis(self.now)
        return GraphDeleted(id=entity.id, existed=True, at=at, entities=len(members), relations=len(numbers))

    # The log.

    def log_entities(self, *numbers: int) -> None:
        """Note in the log that entities are new, changed or gone; once in a transaction."""
        self._log("entities.changed", numbers)

    def log_relations(self, *numbers: int) -> None:
        """Note in the log that relations are new, changed or gone; once in a transaction."""
        self._log("relations.changed", numbers)

    def _log(self, kind: change_log.Kind, numbers: Iterable[int]) -> None:
        news = sorted({number for number in numbers if (kind, number) not in self._logged})
        self._logged.update((kind, number) for number in news)
        for first, last in _runs(news):
            change_log.append(self.connection, self.space, kind, first, until=last, at=self.now)

    def _log_members(self, *roots: int) -> None:
        """The entities that have another one to stand for them now."""
        for root in roots:
            self.log_entities(*entities.members(self.connection, self.space, root))

    # Within a group.

    def _ends(self, new: NewRelation) -> tuple[Entity, Entity | Value]:
        """What a relation is of and leads to, as these are now."""
        subject = self.canonical(new.subject)
        if new.object is None:
            assert new.value is not None
            return subject, new.value
        target = self.canonical(new.object)
        if target.number == subject.number:
            raise InvalidRelation(f"{subject.name!r} can not be related to itself.", way_out="Name two entities.")
        return subject, target

    def _landed(self, new: NewRelation, said_as: str, landing: Landing, there: RelationRow | None) -> int:
        """The number of the relation that says so now, with the evidence of it."""
        if there is None:
            number = relations.put(self.connection, self.space, _row(new, said_as), self.now)
        else:
            if landing.outcome != "known" and landing.end != there.last.stated_to:
                self._require(there, new.authority)
            self._raise(there, new.authority, round(new.confidence * 100))
            number = there.number
        relations.add_evidence(self.connection, self.space, number, new.evidence, self.now)
        self.log_relations(number)
        return number

    def _raise(self, row: RelationRow, authority: int, confidence: int) -> None:
        """Note who else stands behind a relation, and how sure that is, where that is higher."""
        higher = {"authority": max(row.authority, int(authority)), "confidence": max(row.confidence, confidence)}
        if (row.authority, row.confidence) != (higher["authority"], higher["confidence"]):
            relations.change(self.connection, self.space, row.number, higher)
            self.log_relations(row.number)

    def _draft(self, new: NewRelation, landing: Landing, number: int) -> Draft | None:
        """The next version of the relation that something landed with, None where nothing of its time is new."""
        if landing.outcome == "known":
            return None
        if landing.outcome == "added":
            return Draft(
                valid_from=landing.start,
                from_unit=new.from_unit if new.valid_from is not None else "moment",
                from_stated=landing.start_said and landing.start is not None,
                stated_to=landing.end,
                to_unit=new.to_unit,
                reason="said",
            )
        draft = Draft.of(self.row(number).last)._replace(reason=landing.outcome)
        if landing.end != draft.stated_to:
            draft = draft._replace(stated_to=landing.end, to_unit=new.to_unit)
        if landing.outcome == "moved":
            draft = draft._replace(valid_from=landing.start, from_unit=new.from_unit, from_stated=landing.start_said)
        return draft

    def _settled(self, number: int, draft: Draft | None, group: Sequence[RelationRow] | None = None) -> list[int]:
        """Write a relation's next version, and those of others that it makes so; the numbers of all.

        `group` are the relations that bear on it as they were read before, itself among them or not.
        """
        row = relations.with_last(self.connection, self.space, [number])[0]
        drafts = {} if draft is None else {number: draft}
        known = None if group is None else [*(each for each in group if each.number != number), row]
        if self._single(row.predicate, row.kind):
            return self._settle_group(row.subject, row.predicate, drafts, known)
        if draft is None:
            return []
        self._write(row, grouping.alone(draft))
        return [number]

    def _resettled(self, row: RelationRow) -> None:
        """Let time be right around a relation that is gone."""
        if row.kind == "stated":
            self._settle_group(row.subject, row.predicate)

    def _settle_group(
        self,
        subject: int,
        predicate: str,
        drafts: Mapping[int, Draft] | None = None,
        group: Sequence[RelationRow] | None = None,
    ) -> list[int]:
        """Let time be right in the group of a subject and a predicate; the numbers of what changed by it."""
        if not self._single(predicate, "stated"):
            return []
        settled = grouping.settled(self.connection, self.space, subject, predicate, drafts or {}, group=group)
        for row, version in settled:
            self._write(row, version)
        return [row.number for row, _ in settled]

    def _single(self, predicate: str, kind: RelationKind) -> bool:
        return kind == "stated" and predicates.single_valued(predicate, self.settings.graph)

    def _write(self, row: RelationRow, version: VersionRow) -> None:
        """Let a version be what is believed of a relation now."""
        last = row.versions[-1] if row.versions else None
        at = self.now if last is None else max(self.now, last.recorded_at)
        if last is not None:
            self._believe_no_longer(row, last)
        number = 1 if last is None else last.version + 1
        until = None if version.until is None else at
        stored = version._replace(version=number, recorded_at=at, until=until)
        relations.put_version(self.connection, self.space, row.number, stored)
        self.log_relations(row.number)

    def _believe_no_longer(self, row: RelationRow, last: VersionRow) -> None:
        if last.until is None:
            at = max(self.now, last.recorded_at)
            relations.believe_no_longer(self.connection, self.space, row.number, last.version, at)

    def _bury(self, *rows: RelationRow) -> None:
        """Set up the tombstones of what relations say."""
        named = {number for row in rows for number in (row.subject, row.object) if number is not None}
        found = entities.by_numbers(self.connection, self.space, named)
        said = [
            (
                found[row.subject],
                row.predicate,
                Value(text=row.value or "", unit=row.unit) if row.object is None else found[row.object],
            )
            for row in rows
        ]
        forgetting.bury_relations(self.connection, self.space, said, self.now)

    def _require(self, row: RelationRow, by: Authority) -> None:
        if by < row.authority:
            raise AuthorityTooLow(f"Relation {row.id} can not be changed: somebody of higher authority said so.")

    def _require_unrelated(self, one: Entity, other: Entity) -> None:
        first = entities.members(self.connection, self.space, one.number)
        second = entities.members(self.connection, self.space, other.number)
        between = relations.between(self.connection, self.space, first, second)
        standing = next((row for row in between if row.believed), None)
        if standing is not None:
            raise MergeRefused(
                f"{one.name!r} and {other.name!r} are two: relation {standing.id} says {standing.predicate!r} of them.",
                way_out="Withdraw that relation first, if they are one.",
            )


def merge_of(row: MergeRow, both: Mapping[int, Entity]) -> Merge:
    """The record that callers get of a merge."""
    return Merge(
        id=row.number,
        source=both[row.source],
        target=both[row.target],
        reason=row.reason,
        path=row.path,
        at=from_millis(row.at),
        undone_at=None if row.undone_at is None else from_millis(row.undone_at),
    )


def _checked(new: NewRelation) -> NewRelation:
    """A relation that can be, its predicate as it is stored, subject and object in that order."""
    from dataclasses import replace

    if (new.object is None) == (new.value is None):
        raise InvalidRelation("A relation leads to either an object or a value.")
    if not 0 <= new.confidence <= 1:
        raise InvalidRelation(f"The confidence {new.confidence} is not from 0 to 1.", way_out="Give a share.")
    if new.valid_from is not None and new.valid_to is not None and new.valid_to <= new.valid_from:
        raise InvalidPeriod(f"{new.valid_to.isoformat()} is not behind {new.valid_from.isoformat()}.")
    read = predicates.reading(new.predicate)
    if not read.turned:
        return replace(new, predicate=read.predicate)
    if new.object is None:
        raise InvalidRelation(f"{new.predicate!r} leads to an entity.", way_out="Give an object instead of a value.")
    return replace(new, predicate=read.predicate, subject=new.object, object=new.subject)


def _row(new: NewRelation, said_as: str) -> NewRelationRow:
    return NewRelationRow(
        id=entering.new_id(),
        subject=new.subject.number,
        predicate=new.predicate,
        said=said_as,
        object=None if new.object is None else new.object.number,
        value=None if new.value is None else new.value.text,
        unit=None if new.value is None else new.value.unit,
        kind=new.kind,
        origin=new.origin,
        path=new.path,
        authority=int(new.authority),
        confidence=round(new.confidence * 100),
    )


def _millis(moment: datetime | None) -> int | None:
    return None if moment is None else to_millis(moment)


def _runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """First and last of each run of numbers without a gap."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs
