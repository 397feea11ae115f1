"""Deletes from the graph, and removes what was based on deleted or superseded messages."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from langmem_tiers.clock import from_millis
from langmem_tiers.errors import AuthorityTooLow, UnknownRelation
from langmem_tiers.knowledge_graph import name_vectors
from langmem_tiers.knowledge_graph.relations import resolve_around, resolve_groups, withdraw_relation
from langmem_tiers.knowledge_graph.tombstones import bury_entities, bury_relations
from langmem_tiers.knowledge_graph.transaction import GraphTransaction
from langmem_tiers.knowledge_graph.types import GraphDeleted
from langmem_tiers.language.words import occurs
from langmem_tiers.records import FOUND, Authority, Entity, GraphEvidence
from langmem_tiers.storage import drawers, entities, merges, progress, purging, relations

Passages = Mapping[int, Sequence[str]]
"""What was said in drawers, by number."""


def delete_relation(graph: GraphTransaction, which: str | int, *, by: Authority = Authority.USER) -> GraphDeleted:
    """Delete a relation with its history, leaving a tombstone.

    Raises:
        AuthorityTooLow: the memory may not delete what a user or agent stated.
    """
    at = from_millis(graph.now)
    try:
        row = graph.row(which)
    except UnknownRelation:
        return GraphDeleted(id=str(which), existed=False, at=at)
    graph.require(row, by)
    bury_relations(graph, row)
    relations.remove(*graph.at, [row.number])
    graph.log_relations(row.number)
    if by is not Authority.SYSTEM:
        purging.request(*graph.at, at=graph.now)
    resolve_around(graph, row)
    return GraphDeleted(id=row.id, existed=True, at=at, relations=1)


def delete_entity(graph: GraphTransaction, gone: Entity, *, by: Authority = Authority.USER) -> GraphDeleted:
    """Delete an entity, the entities merged into it, and all their relations, leaving tombstones.

    Raises:
        AuthorityTooLow: the memory may not delete what a user or agent stated.
    """
    standing = graph.canonical(gone.number)
    members = graph.members(standing)
    each = entities.by_numbers(*graph.at, members)
    rows = relations.of_numbers(*graph.at, relations.numbers_of_entities(*graph.at, members))
    if by is Authority.SYSTEM and max([one.authority for one in each.values()] + [row.authority for row in rows]) > by:
        raise AuthorityTooLow(f"Entity {each[standing].id} cannot be deleted: somebody else stands behind it.")
    around = relations.groups_of(*graph.at, members)
    bury_relations(graph, *rows)
    bury_entities(graph, each.values())
    name_vectors.forget(*graph.at, (one.name for one in each.values()))
    numbers = [row.number for row in rows]
    relations.remove(*graph.at, numbers)
    merges.remove(*graph.at, members)
    entities.remove(*graph.at, members)
    graph.merges_changed()
    graph.log_relations(*numbers)
    graph.log_entities(*members)
    purging.request(*graph.at, at=graph.now)
    resolve_groups(graph, (group for group in around if group[0] not in members))
    at = from_millis(graph.now)
    return GraphDeleted(id=gone.id, existed=True, at=at, entities=len(members), relations=len(numbers))


def retract_evidence(graph: GraphTransaction, passages: Passages) -> int:
    """Delete what the memory found in these passages only, with tombstones; returns the number of relations.

    Relations with other evidence, or added by someone, are kept without these passages.
    """
    progress.forget_proposals(*graph.at, [*passages], lambda drawer, quote: _said(drawer, quote, passages))
    gone = 0
    ends: set[int] = set()
    numbers = relations.of_drawers(*graph.at, passages)
    rests = relations.evidence(*graph.at, numbers)
    for row in relations.of_numbers(*graph.at, numbers):
        deleted = said_in(rests.get(row.number, ()), passages)
        if not deleted:
            continue
        ends |= {end for end in (row.subject, row.object) if end is not None}
        if row.path in FOUND and len(deleted) == len(rests[row.number]):
            gone += delete_relation(graph, row.number, by=Authority.SYSTEM).relations
        else:
            relations.drop_evidence(*graph.at, row.number, deleted)
    _retract_from_entities(graph, passages, ends)
    return gone


def withdraw_superseded(graph: GraphTransaction, gone: Collection[int]) -> tuple[list[str], set[int]]:
    """Withdraw what came from superseded drawers; returns its ids, and the drawers to ingest again.

    A relation with further evidence is withdrawn, too, where the superseded message may have set its dates: the other
    messages are ingested again to restore them, and so is whatever the superseded message had denied.
    """
    numbers = relations.of_drawers(*graph.at, gone)
    rests = relations.evidence(*graph.at, numbers)
    cited = drawers.read(*graph.at, {each.drawer for found in rests.values() for each in found})
    withdrawn: list[str] = []
    again: set[int] = set()
    for row in relations.of_numbers(*graph.at, numbers):
        active = {each.drawer for each in rests[row.number] if cited[each.drawer].status == "active"}
        if row.path in FOUND and not row.believed and row.last.reason == "withdrawn":
            again |= active
        by_itself = row.believed and row.path in FOUND and row.authority <= Authority.SYSTEM
        if not by_itself or (active and len(row.versions) == 1 and row.last.stated_to is None):
            continue
        withdraw_relation(graph, row.number, by=Authority.SYSTEM)
        withdrawn.append(row.id)
        again |= active
    return withdrawn, again


def _retract_from_entities(graph: GraphTransaction, passages: Passages, ends: set[int]) -> None:
    """Remove the passages from the evidence of entities; delete entities found only there that have no relations."""
    named = {*ends, *entities.of_drawers(*graph.at, passages)}
    rests = entities.evidence_of(*graph.at, named)
    for number, entity in entities.by_numbers(*graph.at, named).items():
        deleted = said_in(rests.get(number, ()), passages)
        entities.drop_evidence(*graph.at, number, deleted)
        if entity.path in FOUND and len(deleted) == len(rests.get(number, ())) and _alone(graph, number):
            merges.remove(*graph.at, [number])
            entities.remove(*graph.at, [number])
            graph.merges_changed()
            graph.log_entities(number)


def _alone(graph: GraphTransaction, number: int) -> bool:
    return not relations.numbers_of_entities(*graph.at, [number]) and graph.members(number) == [number]


def said_in(evidence: Sequence[GraphEvidence], passages: Passages) -> list[int]:
    """The drawers of the evidence that is in these passages."""
    return [each.drawer for each in evidence if _said(each.drawer, each.quote, passages)]


def _said(drawer: int, quote: str, passages: Passages) -> bool:
    return any(not quote or occurs(quote, each) or occurs(each, quote) for each in passages.get(drawer, ()))
