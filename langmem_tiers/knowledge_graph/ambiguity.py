"""Find the entity a caller refers to, and explain the choices when a name is ambiguous or unknown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from langmem_tiers.errors import AmbiguousEntity, UnknownEntity
from langmem_tiers.knowledge_graph.transaction import GraphTransaction
from langmem_tiers.knowledge_graph.types import FoundBy, Match, Resolution
from langmem_tiers.knowledge_graph.wording import predicate_words, relation_words
from langmem_tiers.records import Entity
from langmem_tiers.storage import relations

NONE_LIKE = "No name is like it."
_SHOWN = 8
_SAID = 60
# Fuzzy and semantic matches are only offered as suggestions; they never count as the entity meant.
_SURE: frozenset[FoundBy] = frozenset({"id", "name", "alias", "kinship"})
# How many relations of an entity to try before giving up on finding one that is believed.
_LOOKED_AT = 20


def require_entity(resolve: Callable[[str], Resolution], mention: str) -> Entity:
    """The entity with this id, name, alias or kinship ("my sister"), or the only close match by spelling.

    Args:
        resolve: `KnowledgeGraph.resolve`.
        mention: How the caller refers to it.

    Raises:
        AmbiguousEntity: several entities match; the message lists them with their ids.
        UnknownEntity: none matches; the message lists similar ones.
    """
    found = resolve(mention)
    if found.entity is not None:
        return found.entity
    said = f"“{mention[:_SAID]}”" if mention.isprintable() else ascii(mention[:_SAID])
    sure = [match for match in found.matches if match.found_by in _SURE]
    if sure:
        ids = tuple(match.entity.id for match in sure)
        raise AmbiguousEntity(f"Several may be meant by {said}: {listed(sure)}.", ids=ids)
    like = f"Like it: {listed(found.matches)}." if found.matches else NONE_LIKE
    raise UnknownEntity(f"Nothing is known of {said}.", way_out=like)


def listed(matches: Sequence[Match]) -> str:
    """The candidate entities on one line."""
    return _on_one_line([entity_words(match.entity) for match in matches[:_SHOWN]], len(matches))


def entity_words(entity: Entity, fact: str = "") -> str:
    """An entity with its id and one known fact: "[3f2a9c01d4e5] Anna (person, also Annie: is a nurse)".

    The other names help to tell namesakes apart, so three are enough.
    """
    also = f", also {', '.join(entity.aliases[:3])}" if entity.aliases else ""
    return f"[{entity.id}] {entity.name} ({entity.type}{also}{f': {fact}' if fact else ''})"


def describe_ambiguity(graph: GraphTransaction, several: Iterable[Entity]) -> str:
    """Entities on one line, each with one known fact.

    Example: "[3f2a9c01d4e5] Anna (person: lives in Porto); [0c6d1f9be2aa] Anna (place)".
    """
    each = list(several)
    return _on_one_line([entity_words(one, _fact(graph, one)) for one in each[:_SHOWN]], len(each))


def _on_one_line(shown: Sequence[str], total: int) -> str:
    return "; ".join(shown) + (f" and {total - _SHOWN} more" if total > _SHOWN else "")


def _fact(graph: GraphTransaction, entity: Entity) -> str:
    """The newest believed fact about an entity in words, or an empty string."""
    numbers = sorted(relations.numbers_of_entities(*graph.at, [entity.number]), reverse=True)[:_LOOKED_AT]
    rows = [row for row in relations.of_numbers(*graph.at, numbers) if row.believed and row.kind == "stated"]
    if not rows:
        return ""
    newest = max(rows, key=lambda row: row.number)
    relation = graph.relations([newest], evidence=False)[0]
    if newest.subject == entity.number:
        return f"{predicate_words(relation)} {relation.target}"
    return relation_words(relation)
