"""Saying of relations that they hold, that they hold no longer, or that they never did."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from langmem_tiers.clock import to_millis
from langmem_tiers.errors import InvalidPeriod, InvalidRelation
from langmem_tiers.knowledge.types import Authority
from langmem_tiers.knowledge_graph import deleting, entering, forgetting, grouping, predicates
from langmem_tiers.knowledge_graph.grouping import Draft, Place
from langmem_tiers.knowledge_graph.landing import Landing, Said, land
from langmem_tiers.knowledge_graph.transaction import Transaction
from langmem_tiers.knowledge_graph.types import (
    Entity,
    Exactness,
    GraphPath,
    Relation,
    RelationKind,
    RelationLanded,
    Value,
)
from langmem_tiers.knowledge_graph.versions import Versions
from langmem_tiers.storage import relations
from langmem_tiers.storage.relations import NewRelationRow, RelationRow
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


def add(versions: Versions, said: NewRelation) -> RelationLanded:
    """See `Ledger.add`."""
    within, new = versions.within, _checked(said)
    subject, target = _ends(within, new)
    place = _place(versions, new, subject, target)
    landing = land(_said(new), place.same, place.others, within.now)
    number = _landed(within, new, said.predicate, landing, place.row(landing.number))
    if new.authority >= Authority.AGENT:
        forgetting.unearth_relation(within.connection, within.space, subject, new.predicate, target)
    written = versions.settle(number, _draft(within, new, landing, number), place.group_of(number))
    changed = [each for each in written if each != number]
    found = relations.by_numbers(within.connection, within.space, [number, *changed], evidence=True)
    return RelationLanded(
        relation=found[number], outcome=landing.outcome, changed=tuple(found[each] for each in changed)
    )


def end(versions: Versions, which: str | int, at: datetime, *, unit: Exactness, by: Authority) -> Relation:
    """See `Ledger.end`."""
    within = versions.within
    row = within.row(which)
    within.require(row, by)
    if not row.believed:
        raise InvalidRelation(f"Relation {row.id} is not believed any more.", way_out="Add it anew.")
    moment, last, said = to_millis(at), row.last, Draft.of(row.last)
    if last.valid_from is not None and moment <= last.valid_from:
        if last.from_stated:
            raise InvalidPeriod(f"Relation {row.id} had not begun at {at.isoformat()}.")
        # It was only told of then: since when it held nobody knows.
        said = said._replace(valid_from=None, from_unit="moment")
    if last.stated_to != moment:
        _raise(within, row, by, row.confidence)
        versions.settle(row.number, said._replace(stated_to=moment, to_unit=unit, reason="ended"))
    return within.relation(row.number)


def withdraw(versions: Versions, which: str | int, *, by: Authority) -> Relation:
    """See `Ledger.withdraw`."""
    within = versions.within
    row = within.row(which)
    within.require(row, by)
    if row.last.reason == "withdrawn" and not row.believed:
        return within.relation(row.number)
    versions.withdraw(row)
    if by >= Authority.AGENT:
        deleting.bury(within, row)
    versions.settle_around(row)
    return within.relation(row.number)


def _checked(new: NewRelation) -> NewRelation:
    """A relation that can be, its predicate as it is stored, subject and object in that order."""
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


def _ends(within: Transaction, new: NewRelation) -> tuple[Entity, Entity | Value]:
    """What a relation is of and leads to, as these are now."""
    subject = within.canonical(new.subject)
    if new.object is None:
        assert new.value is not None
        return subject, new.value
    target = within.canonical(new.object)
    if target.number == subject.number:
        raise InvalidRelation(f"{subject.name!r} can not be related to itself.", way_out="Name two entities.")
    return subject, target


def _place(versions: Versions, new: NewRelation, subject: Entity, target: Entity | Value) -> Place:
    return grouping.look(
        versions.within.connection,
        versions.within.space,
        subject=subject.number,
        predicate=new.predicate,
        target=target if isinstance(target, Value) else target.number,
        kind=new.kind,
        single=versions.single(new.predicate, new.kind),
    )


def _said(new: NewRelation) -> Said:
    start_said = new.from_stated and new.valid_from is not None
    return Said(_millis(new.valid_from), _millis(new.valid_to), start_said, int(new.authority))


def _landed(within: Transaction, new: NewRelation, said_as: str, landing: Landing, there: RelationRow | None) -> int:
    """The number of the relation that says so now, with the evidence of it."""
    if there is None:
        number = relations.put(within.connection, within.space, _row(new, said_as), within.now)
    else:
        if landing.outcome != "known" and landing.end != there.last.stated_to:
            within.require(there, new.authority)
        _raise(within, there, new.authority, round(new.confidence * 100))
        number = there.number
    relations.add_evidence(within.connection, within.space, number, new.evidence, within.now)
    within.log_relations(number)
    return number


def _raise(within: Transaction, row: RelationRow, authority: int, confidence: int) -> None:
    """Note who else stands behind a relation, and how sure that is, where that is higher."""
    higher = {"authority": max(row.authority, int(authority)), "confidence": max(row.confidence, confidence)}
    if (row.authority, row.confidence) != (higher["authority"], higher["confidence"]):
        relations.change(within.connection, within.space, row.number, higher)
        within.log_relations(row.number)


def _draft(within: Transaction, new: NewRelation, landing: Landing, number: int) -> Draft | None:
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
    draft = Draft.of(within.row(number).last)._replace(reason=landing.outcome)
    if landing.end != draft.stated_to:
        draft = draft._replace(stated_to=landing.end, to_unit=new.to_unit)
    if landing.outcome == "moved" and landing.start != draft.valid_from:
        draft = draft._replace(valid_from=landing.start, from_unit=new.from_unit, from_stated=landing.start_said)
    return draft


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
