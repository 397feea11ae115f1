"""Adding, ending and withdrawing relations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from langmem_tiers.clock import to_millis
from langmem_tiers.errors import InvalidPeriod, InvalidRelation
from langmem_tiers.knowledge_graph import timeline_rows
from langmem_tiers.knowledge_graph.entities import new_id, standing
from langmem_tiers.knowledge_graph.timeline import Interval, Placement, place
from langmem_tiers.knowledge_graph.tombstones import bury_relations, unbury_statement
from langmem_tiers.knowledge_graph.transaction import GraphTransaction
from langmem_tiers.knowledge_graph.types import RelationLanded
from langmem_tiers.language import predicates, values
from langmem_tiers.language.periods import Exactness
from langmem_tiers.language.values import Value
from langmem_tiers.records import Authority, Entity, Evidence, GraphPath, Relation, RelationKind
from langmem_tiers.storage import relations
from langmem_tiers.storage.relations import NewRelationRow, RelationRow, VersionRow
from langmem_tiers.types import Origin


@dataclass(frozen=True, kw_only=True, slots=True)
class NewRelation:
    """A relation to add.

    `subject` and `object` are entities of this space as they were named, even if since merged into another. `predicate`
    is free text. `from_stated` is False where `valid_from` is only the date of the turn that mentions the relation.
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


def add_relation(graph: GraphTransaction, said: NewRelation, *, named: Sequence[str] = ()) -> RelationLanded:
    """Add a relation between entities, or to a value, at its place in the timeline.

    `named` are names used for the entities whose tombstones are still to be removed, along with the statement's.

    Raises:
        InvalidRelation: it relates something to itself, has no object or two, or an invalid predicate.
        InvalidPeriod: it ends before it begins.
        AuthorityTooLow: it would end a relation stated with higher authority.
    """
    new = _checked(said)
    subject, target = _ends(graph, new)
    end = target if isinstance(target, Value) else target.number
    group = timeline_rows.rivals_of(graph, subject.number, new.predicate, end, new.kind)
    placed = place(_interval(new, subject.number, end), timeline_rows.intervals(graph, group), graph.now)
    row = _stored(graph, new, said.predicate, placed, {each.number: each for each in group})
    if new.authority >= Authority.AGENT:
        unbury_statement(graph, subject, new.predicate, target, named)
    written = timeline_rows.write(graph, _resolved(graph, row, _draft(new, placed, row), group))
    own = next((each for each in written if each.number == row.number), row)
    changed = [each for each in written if each.number != row.number]
    relation, *others = graph.relations([own, *changed], known=(*group, own))
    return RelationLanded(relation=relation, outcome=placed.outcome, changed=tuple(others))


def end_relation(
    graph: GraphTransaction, which: str | int, at: datetime, *, unit: Exactness = "moment", by: Authority
) -> Relation:
    """Mark a relation as ended from a moment on.

    Raises:
        UnknownRelation: there is no such relation.
        InvalidRelation: it is no longer believed.
        InvalidPeriod: it had not begun by then.
        AuthorityTooLow: it was stated with higher authority.
    """
    row = graph.row(which)
    graph.require(row, by)
    if not row.believed:
        raise InvalidRelation(f"Relation {row.id} is not believed any more.", way_out="Add it anew.")
    moment, said = to_millis(at), row.last
    if said.valid_from is not None and moment <= said.valid_from:
        if said.from_stated:
            raise InvalidPeriod(f"Relation {row.id} had not begun at {at.isoformat()}.")
        # The start is only the date of the statement; the real start is unknown.
        said = said._replace(valid_from=None, from_unit="moment")
    if row.last.stated_to != moment:
        row = _raised(graph, row, by, row.confidence)
        draft = said._replace(stated_to=moment, to_unit=unit, reason="ended")
        group = (
            timeline_rows.group_of(graph, [graph.canonical(row.subject)], row.predicate) if _single(graph, row) else []
        )
        timeline_rows.write(graph, _resolved(graph, row, draft, group))
    return read_relation(graph, row.number)


def withdraw_relation(graph: GraphTransaction, which: str | int, *, by: Authority) -> Relation:
    """Mark a relation as never true; what it had ended holds again.

    What an agent or the user withdraws is not mined again.

    Raises:
        UnknownRelation: there is no such relation.
        AuthorityTooLow: it was stated with higher authority.
    """
    row = graph.row(which)
    graph.require(row, by)
    if row.believed or row.last.reason != "withdrawn":
        timeline_rows.withdraw(graph, row)
        if by >= Authority.AGENT:
            bury_relations(graph, row)
        timeline_rows.resolve_around(graph, row)
    return read_relation(graph, row.number)


def read_relation(graph: GraphTransaction, number: int) -> Relation:
    """The relation with this number as believed now, with its evidence."""
    return graph.relations([graph.row(number)])[0]


def _checked(new: NewRelation) -> NewRelation:
    """A validated relation with its normalised predicate, and with subject and object in the matching order."""
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


def _ends(graph: GraphTransaction, new: NewRelation) -> tuple[Entity, Entity | Value]:
    """The two ends of a relation, as canonical entities."""
    subject = standing(graph, new.subject)
    if new.object is None:
        assert new.value is not None
        return subject, new.value
    target = standing(graph, new.object)
    if target.number == subject.number:
        raise InvalidRelation(f"{subject.name!r} can not be related to itself.", way_out="Name two entities.")
    return subject, target


def _interval(new: NewRelation, subject: int, target: int | Value) -> Interval:
    both = isinstance(target, int) and predicates.symmetric(new.predicate)
    fact = values.key(target.text, target.unit) if isinstance(target, Value) else target
    return Interval(
        number=0,
        fact=frozenset((subject, target)) if both else fact,
        start=None if new.valid_from is None else to_millis(new.valid_from),
        stated_end=None if new.valid_to is None else to_millis(new.valid_to),
        start_stated=new.from_stated and new.valid_from is not None,
        authority=int(new.authority),
        slots=(subject, target) if both else (subject,),
    )


def _stored(
    graph: GraphTransaction, new: NewRelation, said_as: str, placed: Placement, known: dict[int, RelationRow]
) -> RelationRow:
    """The relation that states this now, new or existing, with its evidence."""
    row = known.get(placed.interval.number)
    if row is None:
        row = _insert(graph, new, said_as)
    else:
        if placed.outcome != "known" and placed.interval.stated_end != row.last.stated_to:
            graph.require(row, new.authority)
        row = _raised(graph, row, new.authority, round(new.confidence * 100))
    relations.add_evidence(*graph.at, row.number, new.evidence, graph.now)
    graph.log_relations(row.number)
    return row


def _insert(graph: GraphTransaction, new: NewRelation, said_as: str) -> RelationRow:
    stored = NewRelationRow(
        id=new_id(),
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
    number = relations.put(*graph.at, stored, graph.now)
    named = {name: getattr(stored, name) for name in NewRelationRow.__slots__}
    return RelationRow(number=number, created_at=graph.now, versions=(), **named)


def _raised(graph: GraphTransaction, row: RelationRow, authority: int, confidence: int) -> RelationRow:
    """A relation with its authority and confidence raised by a further statement."""
    raised = row._replace(authority=max(row.authority, int(authority)), confidence=max(row.confidence, confidence))
    if raised != row:
        higher = {"authority": raised.authority, "confidence": raised.confidence}
        relations.change(*graph.at, row.number, higher)
        graph.log_relations(row.number)
    return raised


def _resolved(
    graph: GraphTransaction, row: RelationRow, draft: VersionRow | None, group: Sequence[RelationRow]
) -> list[tuple[RelationRow, VersionRow]]:
    """The versions to write: of the relation itself, and of those whose time it changes."""
    if _single(graph, row):
        rows = [*(each for each in group if each.number != row.number), row]
        return timeline_rows.resolve_group(graph, rows, {} if draft is None else {row.number: draft})
    if draft is None:
        return []
    return [(row, draft._replace(valid_to=draft.stated_to, until=None, cause=None))]


def _single(graph: GraphTransaction, row: RelationRow) -> bool:
    return graph.single(row.predicate, row.kind)


def _draft(new: NewRelation, placed: Placement, row: RelationRow) -> VersionRow | None:
    """The relation's next version, before others affect it; None if its time is unchanged."""
    outcome, interval = placed.outcome, placed.interval
    if outcome == "known":
        return None
    if outcome == "added":
        return VersionRow(
            version=0,
            valid_from=interval.start,
            valid_to=None,
            from_unit=new.from_unit if new.valid_from is not None else "moment",
            to_unit=new.to_unit,
            from_stated=interval.start_stated and interval.start is not None,
            stated_to=interval.stated_end,
            recorded_at=0,
            until=None,
            reason="said",
            cause=None,
        )
    draft = row.last._replace(reason=outcome)
    if interval.stated_end != draft.stated_to:
        draft = draft._replace(stated_to=interval.stated_end, to_unit=new.to_unit)
    if outcome == "moved" and interval.start != draft.valid_from:
        draft = draft._replace(valid_from=interval.start, from_unit=new.from_unit, from_stated=interval.start_stated)
    return draft
