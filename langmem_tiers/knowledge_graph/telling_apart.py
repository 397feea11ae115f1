"""What tells entities of like names apart, in words: id, type, other names, and something that is known of each."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection

from langmem_tiers.knowledge_graph.meant import entity_words
from langmem_tiers.knowledge_graph.types import Entity
from langmem_tiers.knowledge_graph.wording import predicate_words, relation_words
from langmem_tiers.storage import relations

# Relations of an entity that are looked at for one that is believed.
_LOOKED_AT = 20
_SHOWN = 8


def told_apart(connection: Connection, space: str, several: Iterable[Entity]) -> str:
    """Entities on one line: "[3f2a9c01d4e5] Anna (person: lives in Porto); [0c6d1f9be2aa] Anna (place)"."""
    each = list(several)
    told = [entity_words(one, fact(connection, space, one)) for one in each[:_SHOWN]]
    return "; ".join(told) + (f" and {len(each) - _SHOWN} more" if len(each) > _SHOWN else "")


def fact(connection: Connection, space: str, entity: Entity) -> str:
    """The newest thing that is believed of an entity, in words; empty where nothing is."""
    numbers = sorted(relations.numbers_of_entities(connection, space, [entity.number]), reverse=True)[:_LOOKED_AT]
    rows = [row for row in relations.of_numbers(connection, space, numbers) if row.believed and row.kind == "stated"]
    if not rows:
        return ""
    newest = max(rows, key=lambda row: row.number)
    relation = relations.relations_of(connection, space, [newest])[0]
    if newest.subject == entity.number:
        return f"{predicate_words(relation)} {relation.target}"
    return relation_words(relation)
