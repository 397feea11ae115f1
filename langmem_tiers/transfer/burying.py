"""Forgetting again: what was forgotten in one memory is deleted in an earlier state of it that is to take its place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from langmem_tiers.content import content_hash, keyed_hash
from langmem_tiers.forgetting.forget import forget
from langmem_tiers.forgetting.selection import Selection
from langmem_tiers.knowledge import tombstones as of_entries
from langmem_tiers.knowledge.documents import Documents
from langmem_tiers.knowledge.episodes import Episodes
from langmem_tiers.knowledge.knowledge import Knowledge
from langmem_tiers.knowledge_graph import tombstones as of_graph
from langmem_tiers.knowledge_graph.graph import KnowledgeGraph
from langmem_tiers.knowledge_graph.transaction import reading
from langmem_tiers.storage import documents, drawers, entities, entries, episodes, forgotten, relations, tombstones

if TYPE_CHECKING:
    from langmem_tiers.context import SpaceContext


@dataclass(frozen=True, kw_only=True, slots=True)
class _Fresh:
    """The tombstones that the older state does not have, as they are stored, and the key they are stored under."""

    rows: tuple[tuple[str, bytes, int], ...]
    secret: bytes

    def of(self, kind: str) -> frozenset[bytes]:
        return frozenset(key for other, key, _ in self.rows if other == kind)

    def holds(self, stored: frozenset[bytes], key: bytes) -> bool:
        return keyed_hash(key, self.secret) in stored


def bury_again(space: SpaceContext, newer: SpaceContext) -> Counter[str]:
    """Delete in a space what a newer state of it has tombstones for, and carry these over.

    Returns how many of them the older state did not have, by kind.
    """
    with newer.use() as store, store.reading() as connection:
        rows = tombstones.every(connection, store.key)
        secret = tombstones.secret_of(connection, store.key)
    with space.use() as store, store.reading() as connection:
        known = {(kind, key) for kind, key, _ in tombstones.every(connection, store.key)}
    fresh = _Fresh(rows=tuple(row for row in rows if row[:2] not in known), secret=secret or b"")
    # Before anything is deleted: otherwise the older state would make itself a key of its own.
    with space.use() as store, store.writing() as connection:
        tombstones.carry_over(connection, store.key, fresh.rows, secret)
    if fresh.rows:
        # What was forgotten goes, also where the restored settings turn the memory off.
        _delete(replace(space, settings=space.settings.model_copy(update={"enabled": True})), fresh)
    return Counter(kind for kind, _, _ in fresh.rows)


def _delete(space: SpaceContext, fresh: _Fresh) -> None:
    """Delete what is buried, as its user did."""
    knowledge, graph = Knowledge(space), KnowledgeGraph(space)
    if said := [*_messages(space, fresh)]:
        forget(space, Selection(messages=tuple(said)), True)
    for entry_id in [*_entries(space, fresh)]:
        knowledge.delete(entry_id, origin="user")
    for path in [*_documents(space, fresh)]:
        Documents(space).delete(path)
    for episode_id in [*_episodes(space, fresh)]:
        Episodes(space).delete(episode_id)
    for entity_id in [*_entities(space, fresh)]:
        graph.delete_entity(entity_id)
    for relation_id in [*_relations(space, fresh)]:
        graph.delete_relation(relation_id)


def _messages(space: SpaceContext, fresh: _Fresh) -> Iterator[int]:
    if stored := fresh.of("message"):
        with space.use() as store, store.reading() as connection:
            told = drawers.tracked(connection, store.key)
        named = ((drawer, forgotten.message_key(session, message_id)) for drawer, session, message_id in told)
        yield from dict.fromkeys(drawer for drawer, key in named if fresh.holds(stored, key))


def _entries(space: SpaceContext, fresh: _Fresh) -> Iterator[str]:
    if stored := fresh.of("entry"):
        with space.use() as store, store.reading() as connection:
            told = entries.contents(connection, store.key)
        yield from (entry_id for entry_id, content in told if fresh.holds(stored, of_entries.key(content)))


def _documents(space: SpaceContext, fresh: _Fresh) -> Iterator[str]:
    if stored := fresh.of("document"):
        with space.use() as store, store.reading() as connection:
            there = documents.paths(connection, store.key)
        yield from (path for path in there if fresh.holds(stored, content_hash(path)))


def _episodes(space: SpaceContext, fresh: _Fresh) -> Iterator[str]:
    if stored := fresh.of("episode"):
        with space.use() as store, store.reading() as connection:
            told = episodes.keys(connection, store.key)
        yield from (episode_id for episode_id, key in told if fresh.holds(stored, key))


def _entities(space: SpaceContext, fresh: _Fresh) -> Iterator[str]:
    if stored := fresh.of("entity"):
        with reading(space) as graph:
            rows = [*entities.every(*graph.at)]
        yield from (row.id for row in rows if fresh.holds(stored, of_graph.entity_key(row.name)))


def _relations(space: SpaceContext, fresh: _Fresh) -> Iterator[str]:
    if stored := fresh.of("relation"):
        with reading(space) as graph:
            told = [(row.id, of_graph.statement_keys(graph, row)) for row in relations.every(*graph.at)]
        yield from (one for one, keys in told if any(fresh.holds(stored, key) for key in keys))
