"""Tombstones of entities and relations, so that what was deleted or withdrawn is not mined again.

A tombstone holds hashes of all spellings of the names, and no words.
"""

from __future__ import annotations

from collections.abc import Iterable

from langmem_tiers.content import content_hash
from langmem_tiers.knowledge_graph.transaction import GraphTransaction
from langmem_tiers.language import values
from langmem_tiers.language.slugs import name_key
from langmem_tiers.language.values import Value
from langmem_tiers.records import Entity
from langmem_tiers.storage import entities, tombstones
from langmem_tiers.storage.relations import RelationRow

Statement = tuple[Entity, str, Entity | Value]
"""Subject, predicate as it is stored, and what it leads to, whenever that is said to hold."""
# Entities have a handful of names; of one with hundreds the first ones are enough.
_MOST_NAMES = 20


def entity_deleted(graph: GraphTransaction, name: str) -> bool:
    """Whether an entity with this name was deleted and not added again since."""
    return bool(tombstones.among(*graph.at, "entity", {entity_key(name)}))


def statement_deleted(graph: GraphTransaction, subject: Entity, predicate: str, target: Entity | Value) -> bool:
    """Whether a statement was deleted or withdrawn and not made again since."""
    return bool(tombstones.among(*graph.at, "relation", _statement_keys(subject, predicate, target)))


def bury_entities(graph: GraphTransaction, gone: Iterable[Entity]) -> None:
    """Add tombstones for deleted entities."""
    tombstones.put(*graph.at, "entity", {entity_key(name) for each in gone for name in _names(each)}, graph.now)


def bury_relations(graph: GraphTransaction, *rows: RelationRow) -> None:
    """Add tombstones for the statements of relations."""
    tombstones.put(*graph.at, "relation", statement_keys(graph, *rows), graph.now)


def statement_keys(graph: GraphTransaction, *rows: RelationRow) -> set[bytes]:
    """The keys of the tombstones of relations, under all names of their entities."""
    named = {number for row in rows for number in (row.subject, row.object) if number is not None}
    found = entities.by_numbers(*graph.at, named)
    keys: set[bytes] = set()
    for row in rows:
        target = Value(text=row.value or "", unit=row.unit) if row.object is None else found[row.object]
        keys |= _statement_keys(found[row.subject], row.predicate, target)
    return keys


def unbury_entities(graph: GraphTransaction, names: Iterable[str]) -> None:
    """Remove the tombstones of names, because someone names the entity again on purpose."""
    tombstones.lift(*graph.at, "entity", {entity_key(name) for name in names})


def unbury_statement(
    graph: GraphTransaction, subject: Entity, predicate: str, target: Entity | Value, names: Iterable[str] = ()
) -> None:
    """Remove the tombstone of a statement, because someone makes it again on purpose, and those of `names`."""
    keys: dict[tombstones.Kind, set[bytes]] = {"relation": _statement_keys(subject, predicate, target)}
    if named := {entity_key(name) for name in names}:
        keys["entity"] = named
    tombstones.lift_all(*graph.at, keys)


def entity_key(name: str) -> bytes:
    """The key of an entity's tombstone under one of its names."""
    return content_hash(name_key(name))


def _statement_keys(subject: Entity, predicate: str, target: Entity | Value) -> set[bytes]:
    """The keys of a statement under all names of its entities."""
    if isinstance(target, Value):
        ends = ["\t".join(values.key(target.text, target.unit))]
    else:
        ends = [name_key(name) for name in _names(target)]
    return {content_hash("\n".join((name_key(name), predicate, end))) for name in _names(subject) for end in ends}


def _names(entity: Entity) -> tuple[str, ...]:
    return (entity.name, *entity.aliases)[:_MOST_NAMES]
