"""Tombstones of entities and relations: what was deleted or withdrawn does not come back by itself."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection

from langmem_tiers.content import content_hash
from langmem_tiers.knowledge_graph import values
from langmem_tiers.knowledge_graph.naming import slug
from langmem_tiers.knowledge_graph.types import Entity, Value
from langmem_tiers.storage import tombstones

# An entity goes by a handful of names; one that goes by hundreds is told by the first ones.
_MOST_NAMES = 20


def entity_key(name: str) -> bytes:
    """The key of an entity: the same for all ways to write the name."""
    return content_hash(slug(name))


def relation_key(subject: str, predicate: str, target: str) -> bytes:
    """The key of a statement, whenever it is said to hold; `predicate` as it is stored, `target` from `target_of`."""
    return content_hash("\n".join((slug(subject), predicate, target)))


def target_of(name: str | Value) -> str:
    """What a statement leads to, the same for all ways to write it."""
    return slug(name) if isinstance(name, str) else "\t".join(values.key(name.text, name.unit))


def relation_keys(subject: Entity, predicate: str, target: Entity | Value) -> set[bytes]:
    """The keys of a statement by all names of those it is about."""
    ends = [target_of(target)] if isinstance(target, Value) else [target_of(name) for name in _names(target)]
    return {relation_key(name, predicate, end) for name in _names(subject) for end in ends}


def deleted_entity(connection: Connection, space: str, name: str) -> bool:
    """Whether an entity of this name was deleted, and nobody has named it anew since."""
    return bool(tombstones.among(connection, space, "entity", {entity_key(name)}))


def deleted_relation(
    connection: Connection, space: str, subject: Entity, predicate: str, target: Entity | Value
) -> bool:
    """Whether a statement was deleted or withdrawn, and nobody has made it anew since."""
    return bool(tombstones.among(connection, space, "relation", relation_keys(subject, predicate, target)))


def bury_entities(connection: Connection, space: str, gone: Iterable[Entity], at: int) -> None:
    """Set up the tombstones of entities that are deleted."""
    tombstones.put(connection, space, "entity", {entity_key(name) for each in gone for name in _names(each)}, at)


def unearth_entity(connection: Connection, space: str, names: Iterable[str]) -> None:
    """Take away the tombstones of names: somebody speaks of it again on purpose."""
    tombstones.lift(connection, space, "entity", {entity_key(name) for name in names})


def bury_relations(
    connection: Connection, space: str, said: Iterable[tuple[Entity, str, Entity | Value]], at: int
) -> None:
    """Set up the tombstones of statements: subject, predicate and what it leads to."""
    tombstones.put(connection, space, "relation", {key for each in said for key in relation_keys(*each)}, at)


def unearth_relation(
    connection: Connection, space: str, subject: Entity, predicate: str, target: Entity | Value
) -> None:
    """Take away the tombstone of a statement: somebody makes it again on purpose."""
    tombstones.lift(connection, space, "relation", relation_keys(subject, predicate, target))


def _names(entity: Entity) -> tuple[str, ...]:
    return (entity.name, *entity.aliases)[:_MOST_NAMES]
