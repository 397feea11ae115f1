"""Looking up single entities and relations, out of the records."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from langmem_tiers import arguments
from langmem_tiers.clock import to_millis
from langmem_tiers.errors import UnknownRelation
from langmem_tiers.knowledge_graph import entering, naming
from langmem_tiers.knowledge_graph.types import Entity, EntityType, GraphStats, Relation
from langmem_tiers.knowledge_graph.whole import whole
from langmem_tiers.storage import entities as entity_rows
from langmem_tiers.storage import relations
from langmem_tiers.storage.schema import entity_pairs

if TYPE_CHECKING:
    from langmem_tiers.space import Space


def entity(space: Space, which: str, *, type: EntityType | None) -> Entity | None:
    """See `KnowledgeGraph.entity`."""
    named = arguments.any_text(which, "which")
    of_type = arguments.optional_text(type, "type")
    with space.memory.use(space.name) as store, store.reading() as connection:
        return entering.find(connection, store.key, named, type=of_type)


def entities(space: Space, *, type: EntityType | None, text: str | None, limit: int) -> tuple[Entity, ...]:
    """See `KnowledgeGraph.entities`."""
    most = arguments.whole(limit, "limit", least=1)
    of_type = None if type is None else naming.check_type(arguments.text(type, "type"))
    named = arguments.optional_text(text, "text")
    with space.memory.use(space.name) as store, store.reading() as connection:
        found = entity_rows.find(connection, store.key, type=of_type, text=named, limit=most)
        return tuple(whole(connection, store.key, found))


def relation(space: Space, which: str) -> Relation | None:
    """See `KnowledgeGraph.relation`."""
    named = arguments.any_text(which, "which")
    with space.memory.use(space.name) as store, store.reading() as connection:
        row = relations.of_id(connection, store.key, named)
        return None if row is None else relations.relations_of(connection, store.key, [row], with_evidence=True)[0]


def history(space: Space, relation: str) -> tuple[Relation, ...]:
    """See `KnowledgeGraph.history`."""
    named = arguments.any_text(relation, "relation")
    with space.memory.use(space.name) as store, store.reading() as connection:
        row = relations.of_id(connection, store.key, named)
        if row is None:
            raise UnknownRelation(f"There is no relation {named[:40]!a}.")
        return tuple(relations.beliefs(connection, store.key, row))


def stats(space: Space, *, now: datetime | None) -> GraphStats:
    """See `KnowledgeGraph.stats`."""
    at = to_millis(arguments.optional_moment(now, "now") or space.memory.clock())
    with space.memory.use(space.name) as store, store.reading() as connection:
        standing, merged = entity_rows.count(connection, store.key)
        counted = relations.count(connection, store.key, at)
        flagged = (entity_pairs.c.space == store.key, entity_pairs.c.status == "flagged")
        pairs = connection.execute(select(func.count()).select_from(entity_pairs).where(*flagged)).scalar_one()
    return GraphStats(
        entities=standing,
        merged=merged,
        relations=counted.believed,
        current=counted.current,
        mentioned=counted.mentioned,
        likely_pairs=pairs,
    )
