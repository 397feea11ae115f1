"""Deleting from the graph: what is gone leaves a tombstone, and time is right again around it."""

from __future__ import annotations

from langmem_tiers.clock import from_millis
from langmem_tiers.errors import AuthorityTooLow, UnknownRelation
from langmem_tiers.knowledge.types import Authority
from langmem_tiers.knowledge_graph import forgetting, name_vectors
from langmem_tiers.knowledge_graph.transaction import Transaction
from langmem_tiers.knowledge_graph.types import Entity, GraphDeleted, Value
from langmem_tiers.knowledge_graph.versions import Versions
from langmem_tiers.storage import entities, merges, relations
from langmem_tiers.storage.relations import RelationRow


def relation(versions: Versions, which: str | int, *, by: Authority) -> GraphDeleted:
    """See `Ledger.delete_relation`."""
    within = versions.within
    at = from_millis(within.now)
    try:
        row = within.row(which)
    except UnknownRelation:
        return GraphDeleted(id=str(which), existed=False, at=at)
    within.require(row, by)
    bury(within, row)
    relations.remove(within.connection, within.space, [row.number])
    within.log_relations(row.number)
    versions.settle_around(row)
    return GraphDeleted(id=row.id, existed=True, at=at, relations=1)


def entity(versions: Versions, gone: Entity, *, by: Authority) -> GraphDeleted:
    """See `Ledger.delete_entity`."""
    within = versions.within
    connection, space = within.connection, within.space
    standing = within.canonical(gone)
    members = within.members(standing.number)
    numbers = relations.numbers_of_entities(connection, space, members)
    around = relations.groups_of(connection, space, members)
    _bury_all(within, standing, members, numbers, by)
    relations.remove(connection, space, numbers)
    merges.remove(connection, space, members)
    entities.remove(connection, space, members)
    within.log_relations(*numbers)
    within.log_entities(*members)
    versions.settle_groups({each for each in around if each[0] not in members})
    at = from_millis(within.now)
    return GraphDeleted(id=gone.id, existed=True, at=at, entities=len(members), relations=len(numbers))


def bury(within: Transaction, *rows: RelationRow) -> None:
    """Set up the tombstones of what relations say."""
    named = {number for row in rows for number in (row.subject, row.object) if number is not None}
    found = entities.by_numbers(within.connection, within.space, named)
    said = [(found[row.subject], row.predicate, _target(row, found)) for row in rows]
    forgetting.bury_relations(within.connection, within.space, said, within.now)


def _target(row: RelationRow, found: dict[int, Entity]) -> Entity | Value:
    return Value(text=row.value or "", unit=row.unit) if row.object is None else found[row.object]


def _bury_all(within: Transaction, standing: Entity, members: list[int], numbers: list[int], by: Authority) -> None:
    """Set up the tombstones of an entity, those merged into it and their relations, where somebody may delete them."""
    connection, space = within.connection, within.space
    gone = list(entities.by_numbers(connection, space, members).values())
    rows = relations.of_numbers(connection, space, numbers)
    behind = [*(each.authority for each in gone), *(row.authority for row in rows)]
    if by is Authority.SYSTEM and max(behind) > by:
        raise AuthorityTooLow(f"Entity {standing.id} can not be deleted: somebody else stands behind it.")
    bury(within, *rows)
    forgetting.bury_entities(connection, space, gone, within.now)
    name_vectors.forget(connection, space, (each.name for each in gone))
