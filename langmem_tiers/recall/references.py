"""What somebody means who names a memory: by pointer, number, id or path, or by words of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from langmem_tiers.errors import InvalidPath
from langmem_tiers.knowledge.documents import Documents
from langmem_tiers.knowledge.episodes import Episodes
from langmem_tiers.knowledge.fallbacks import resolve_reference
from langmem_tiers.knowledge.knowledge import Knowledge
from langmem_tiers.knowledge_graph.graph import KnowledgeGraph
from langmem_tiers.knowledge_graph.wording import relation_words
from langmem_tiers.language.words import searchable, stems
from langmem_tiers.palace.lookup import look_up
from langmem_tiers.pointers import beside, find_pointers
from langmem_tiers.recall.message_search import search_messages
from langmem_tiers.records import Document, Entity, Entry, Episode, Relation
from langmem_tiers.types import Drawer, MemoryKind

if TYPE_CHECKING:
    from langmem_tiers.context import SpaceContext

Record = Drawer | Entry | Episode | Relation | Entity | Document
_ID = re.compile(r"[0-9a-fA-F]{12}")
_BY_WORDS = 5
# The share of the words that a memory must have to be taken for the one meant.
_SHARE = 0.5


@dataclass(frozen=True, kw_only=True)
class NamedMemory:
    """A memory that somebody named.

    `ref` is its pointer, id or path as the own space writes it, `key` how its space knows it: a drawer by its number.
    `record` is None for what has been deleted since it was looked at.
    """

    space: str
    kind: MemoryKind
    ref: str
    key: int | str
    text: str = ""
    record: Record | None = None

    @property
    def recorded_at(self) -> datetime | None:
        """When it was stored; of a document, when it was last written."""
        if isinstance(self.record, Drawer | Relation):
            return self.record.recorded_at
        if isinstance(self.record, Entry | Episode | Entity):
            return self.record.created_at
        return self.record.updated_at if self.record is not None else None


def find(context: SpaceContext, reference: int | str) -> NamedMemory | None:
    """The memory with this number, pointer, id or path, in the space or a fallback; None if there is none.

    Raises:
        InvalidPointer: it points to a room, or names a space that is not read.
    """
    if isinstance(reference, int) or _is_number(reference) or find_pointers(reference):
        pointed = isinstance(reference, int) or not _is_words(reference)
        drawer = look_up(context, reference) if pointed else None
        return None if drawer is None else of_drawer(context, drawer)
    name, sources = resolve_reference(context, reference.strip())
    for source in sources:
        found = _with_id(source, name) if _ID.fullmatch(name) else _at_path(source, name)
        if found is not None:
            return found if source.name == context.name else replace(found, ref=beside(found.ref, source.name))
    return None


def find_by_words(context: SpaceContext, words: str) -> NamedMemory | None:
    """The memory that most likely is meant by words of it: one that holds them, else one with most of the words."""
    found = list(_with_words(context, words))
    holding = [each for each in found if words.strip().casefold() in each.text.casefold()]
    wanted = frozenset(stems(words))
    near = (
        [each for each in found if len(wanted & frozenset(stems(each.text))) >= _SHARE * len(wanted)] if wanted else []
    )
    return max(holding or near, key=lambda each: len(wanted & frozenset(stems(each.text))), default=None)


def of_drawer(context: SpaceContext, drawer: Drawer) -> NamedMemory:
    """A drawer of the space or of a fallback, which its pointer then names."""
    pointer = next(iter(find_pointers(drawer.pointer)))
    space = context.source(pointer.space).name
    return NamedMemory(
        space=space, kind="message", ref=drawer.pointer, key=drawer.number, text=drawer.content, record=drawer
    )


def of_entry(context: SpaceContext, entry: Entry, space: str) -> NamedMemory:
    """An entry of the space or of a fallback."""
    ref = entry.id if space == context.name else beside(entry.id, space)
    return NamedMemory(space=space, kind="entry", ref=ref, key=entry.id, text=entry.content, record=entry)


def of_relation(context: SpaceContext, relation: Relation, space: str) -> NamedMemory:
    """A relation of the space or of a fallback."""
    ref = relation.id if space == context.name else beside(relation.id, space)
    return NamedMemory(
        space=space, kind="relation", ref=ref, key=relation.id, text=relation_words(relation), record=relation
    )


def with_ref(context: SpaceContext, kind: MemoryKind, name: str) -> NamedMemory | None:
    """What one space itself holds of a kind under an id or a path; None if that is gone."""
    if kind == "document":
        return _at_path(context, name)
    found = _with_id(context, name)
    return found if found is not None and found.kind == kind else None


def _is_number(reference: str) -> bool:
    """Whether it is the number of a drawer: 12 digits alone are an id of an earlier version."""
    return reference.strip().isdecimal() and not _ID.fullmatch(reference.strip())


def _is_words(reference: str) -> bool:
    """Whether it is a sentence that only cites a pointer."""
    return len(reference.split()) > 1 and not reference.strip().startswith(("§", "W-", "w-"))


def _with_id(source: SpaceContext, name: str) -> NamedMemory | None:
    graph, wanted = KnowledgeGraph(source), name.lower()
    found: NamedMemory | None = None
    if (entry := Knowledge(source).get(wanted)) is not None:
        found = _named(source, "entry", entry.id, entry.content, entry)
    elif (episode := Episodes(source).get(wanted)) is not None:
        found = _named(source, "episode", episode.id, episode.summary, episode)
    elif (relation := graph.relation(wanted)) is not None:
        found = _named(source, "relation", relation.id, relation_words(relation), relation)
    elif (entity := graph.entity(wanted)) is not None:
        found = _named(source, "entity", entity.id, entity.name, entity)
    return found


def _at_path(source: SpaceContext, path: str) -> NamedMemory | None:
    try:
        document = Documents(source).read(path)
    except InvalidPath:  # words, not a path
        return None
    return None if document is None else _named(source, "document", document.path, document.content, document)


def _named(source: SpaceContext, kind: MemoryKind, ref: str, text: str, record: Record) -> NamedMemory:
    return NamedMemory(space=source.name, kind=kind, ref=ref, key=ref, text=text, record=record)


def _with_words(context: SpaceContext, words: str) -> Iterator[NamedMemory]:
    """What holds these words, or has some of them: entries of any status first, then messages."""
    knowledge = Knowledge(context)
    for found in (
        *knowledge.search(substring=words.strip(), status="all", limit=_BY_WORDS),
        *knowledge.search(words, status="all", limit=_BY_WORDS),
    ):
        yield of_entry(context, found.entry, found.space or context.name)
    if searchable(words).strip():
        for item in search_messages(context, words, limit=_BY_WORDS, threshold=0):
            yield of_drawer(context, item.drawer)
