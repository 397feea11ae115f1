"""Writing to the graph on somebody's word: what is given is checked, and written in one transaction."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from langmem_tiers import arguments
from langmem_tiers.clock import from_millis, to_millis
from langmem_tiers.errors import InvalidPeriod, UnknownEntity
from langmem_tiers.knowledge.types import Authority
from langmem_tiers.knowledge_graph import checks, entering, naming, once, periods, resolving
from langmem_tiers.knowledge_graph.asking import answering
from langmem_tiers.knowledge_graph.ledger import Ledger
from langmem_tiers.knowledge_graph.stating import NewRelation
from langmem_tiers.knowledge_graph.types import (
    Entity,
    GraphDeleted,
    GraphEvidence,
    Relation,
    RelationLanded,
    When,
)
from langmem_tiers.storage import relations
from langmem_tiers.types import Origin

if TYPE_CHECKING:
    from langmem_tiers.space import Space


_OF_SOMEBODY = re.compile(r"['’]s? +\w")


@contextmanager
def writing(space: Space) -> Iterator[Ledger]:
    """The graph of a space, to be written in one transaction; the background then looks at what is new."""
    memory = space.memory
    with memory.use(space.name) as store, store.writing() as connection:
        yield Ledger(connection, store.key, to_millis(memory.clock()), memory.settings)
    memory.wake(space.name)


def add_entity(
    space: Space,
    name: str,
    *,
    type: str,
    aliases: Sequence[str],
    metadata: Mapping[str, Any] | None,
    evidence: Sequence[GraphEvidence | int | str],
    origin: Origin,
    distinct: bool,
) -> Entity:
    """See `KnowledgeGraph.add_entity`."""
    said_by = checks.said_by(origin)
    another = arguments.flag(distinct, "distinct")
    given = arguments.text(name, "name")
    called = naming.require_name(given) if another else _called(space, given)
    of_type = checks.entity_type(type, "type")
    names = checks.aliases(aliases)
    cited = checks.evidence(space, evidence)
    with writing(space) as ledger:
        if another:
            new = entering.Named(
                name=called,
                type=of_type,
                aliases=names,
                metadata=metadata,
                evidence=cited,
                seen=ledger.now,
                **said_by._asdict(),
            )
            return ledger.existing(ledger.another(new).id)
        entered = ledger.entity(
            called, type=of_type, aliases=names, metadata=metadata, evidence=cited, **said_by._asdict()
        )
        return ledger.existing(entered.id)


def add_relation(
    space: Space,
    subject: str,
    predicate: str,
    object: str | None,
    *,
    value: str | float | None,
    unit: str | None,
    subject_type: str,
    object_type: str,
    valid_from: When | None,
    valid_to: When | None,
    evidence: Sequence[GraphEvidence | int | str],
    origin: Origin,
    confidence: float,
) -> RelationLanded:
    """See `KnowledgeGraph.add_relation`."""
    said_by = checks.said_by(origin)
    named = _called(space, arguments.text(subject, "subject"))
    leads_to = None if object is None else _called(space, arguments.text(object, "object"))
    types = (checks.entity_type(subject_type, "subject_type"), checks.entity_type(object_type, "object_type"))
    given = None if value is None else checks.value(value, arguments.optional_text(unit, "unit"), space.memory.settings)
    now = space.memory.clock()
    start, start_unit = periods.parse_optional(valid_from, now=now)
    end, end_unit = periods.parse_optional(valid_to, now=now)
    said = checks.predicate(predicate, space.memory.settings)
    sure = arguments.share(confidence, "confidence")
    cited = checks.evidence(space, evidence)
    checks.leads_somewhere(leads_to, given, unit)
    with writing(space) as ledger:
        one = ledger.said(named, type=types[0], evidence=cited, **said_by._asdict())
        other = None if leads_to is None else ledger.said(leads_to, type=types[1], evidence=cited, **said_by._asdict())
        return ledger.add(
            NewRelation(
                subject=one,
                predicate=said,
                object=other,
                value=given,
                valid_from=start,
                from_unit=start_unit,
                valid_to=end,
                to_unit=end_unit,
                confidence=sure,
                evidence=cited,
                **said_by._asdict(),
            )
        )


def end_relation(space: Space, relation: str, at: When | None, *, origin: Origin) -> Relation:
    """See `KnowledgeGraph.end_relation`."""
    by = checks.said_by(origin).authority
    which = arguments.text(relation, "relation")
    moment, unit = periods.parse("now" if at is None else at, now=space.memory.clock())
    also = _alike(space, which)
    with writing(space) as ledger:
        _require_open(ledger, which, moment)
        for number in also:
            start = ledger.row(number).last.valid_from
            if start is None or start < to_millis(moment):
                ledger.end(number, moment, unit=unit, by=by)
        return ledger.end(which, moment, unit=unit, by=by)


def _require_open(ledger: Ledger, which: str, moment: datetime) -> None:
    """Nothing, where it would end by this.

    Raises:
        InvalidPeriod: another one had ended it before.
    """
    row = ledger.row(which)
    last = row.last
    if not row.believed or last.reason != "succeeded" or last.cause is None:
        return
    if last.valid_to is None or last.valid_to >= to_millis(moment):
        return
    by = relations.by_numbers(ledger.connection, ledger.space, [last.cause])[last.cause]
    raise InvalidPeriod(
        f"Relation {row.id} had ended by then: relation {by.id}, {by}, took its place "
        f"at {from_millis(last.valid_to).isoformat()}.",
        way_out="Withdraw that relation first, if it is wrong.",
    )


def withdraw_relation(space: Space, relation: str, *, origin: Origin) -> Relation:
    """See `KnowledgeGraph.withdraw_relation`."""
    by = checks.said_by(origin).authority
    which = arguments.text(relation, "relation")
    also = _alike(space, which)
    with writing(space) as ledger:
        for number in also:
            ledger.withdraw(number, by=by)
        return ledger.withdraw(which, by=by)


def delete_relation(space: Space, relation: str) -> GraphDeleted:
    """See `KnowledgeGraph.delete_relation`."""
    which = arguments.text(relation, "relation")
    also = _alike(space, which)
    with writing(space) as ledger:
        others = [ledger.delete_relation(number, by=Authority.CORRECTION) for number in also]
        receipt = ledger.delete_relation(which, by=Authority.CORRECTION)
    every = sum(each.relations for each in (receipt, *others))
    return _cleared(space, replace(receipt, relations=every))


def delete_entity(space: Space, entity: str) -> GraphDeleted:
    """See `KnowledgeGraph.delete_entity`."""
    which = arguments.text(entity, "entity")
    with writing(space) as ledger:
        found = ledger.find(which)
        if found is None:
            return GraphDeleted(id=which, existed=False, at=space.memory.clock())
        receipt = ledger.delete_entity(found, by=Authority.CORRECTION)
    return _cleared(space, receipt)


def _alike(space: Space, which: str) -> list[int]:
    """The numbers of the other relations that are shown as this one: they say the same of what was merged."""
    with answering(space) as answer:
        row = relations.of_id(answer.connection, answer.space, which)
        return [] if row is None else once.alike(answer.view, row.number)


def _called(space: Space, name: str) -> str:
    """A name as it was given; of "my cat" and "Anna's boss" the id of the one that is known to be theirs.

    Raises:
        UnknownEntity: none is known to be.
        AmbiguousEntity: several are.
    """
    what = naming.of_mine(name)
    if what is None and not _OF_SOMEBODY.search(name):
        return name
    with answering(space) as answer:
        number = resolving.known(answer.view, name, at=to_millis(space.memory.clock()))
        if number is not None:
            return answer.view.entities[number].id
    if what is None:
        return name
    raise UnknownEntity(
        f"Nothing is known of {name[:80]!a}.",
        way_out=f"Ask what it is called and give that name; that the user has this {what[:40]!a} is a relation, too.",
    )


def _cleared(space: Space, receipt: GraphDeleted) -> GraphDeleted:
    """The receipt, once the file of the graph, which holds what was deleted still, is gone as well."""
    if receipt.existed:
        with space.memory.use(space.name) as store:
            store.graph.discard()
    return receipt
