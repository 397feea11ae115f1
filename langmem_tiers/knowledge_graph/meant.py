"""The entity that somebody means by a few words, or an error that says what is like it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from langmem_tiers.errors import AmbiguousEntity, UnknownEntity
from langmem_tiers.knowledge_graph.types import Entity, FoundBy, Match

if TYPE_CHECKING:
    from langmem_tiers.knowledge_graph.graph import KnowledgeGraph

NONE_LIKE = "No name is like it."
_SHOWN = 8
_SAID = 60
# What is like in spelling or meaning is offered, and not taken for what was meant.
_SURE: frozenset[FoundBy] = frozenset({"id", "name", "alias", "kinship"})


def meant(graph: KnowledgeGraph, mention: str) -> Entity:
    """The entity of this id, name, alias or kinship ("my sister"), or the only one that is spelled much like it.

    Raises:
        AmbiguousEntity: several have this name; the message names them with their ids.
        UnknownEntity: none has; the message names those that are like it.
    """
    found = graph.resolve(mention)
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
    """Entities that may be meant, on one line."""
    named = [entity_words(match.entity) for match in matches[:_SHOWN]]
    more = f" and {len(matches) - _SHOWN} more" if len(matches) > _SHOWN else ""
    return "; ".join(named) + more


def entity_words(entity: Entity, fact: str = "") -> str:
    """An entity with its id, and a fact that is known of it: "[3f2a9c01d4e5] Anna (person, also Annie: is a nurse)".

    Other names are there to tell apart those of one name; three will do.
    """
    also = f", also {', '.join(entity.aliases[:3])}" if entity.aliases else ""
    return f"[{entity.id}] {entity.name} ({entity.type}{also}{f': {fact}' if fact else ''})"
