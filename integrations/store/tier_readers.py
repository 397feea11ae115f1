"""How each tier is read and searched, as items with id, text, date and score."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from langmem_tiers.documents.types import Document
from langmem_tiers.episodes.types import Episode
from langmem_tiers.errors import InvalidPath, InvalidPointer
from langmem_tiers.integrations.store import known
from langmem_tiers.integrations.store.known import Shown
from langmem_tiers.knowledge_graph import asking, resolving
from langmem_tiers.knowledge_graph.types import Relation
from langmem_tiers.knowledge_graph.wording import relation_words, standing_words
from langmem_tiers.recall import lookup
from langmem_tiers.storage import drawers as rows
from langmem_tiers.types import Drawer

if TYPE_CHECKING:
    from langmem_tiers.space import Space

# Entities whose relations are looked at.
_ENTITIES = 50


class Reader(NamedTuple):
    """Reads one by its id, and finds several by a query or, without one, the newest."""

    get: "Callable[[Space, str], Shown | None]"
    search: "Callable[[Space, str, int], Sequence[Shown]]"


def _drawer(drawer: Drawer, score: float | None = None) -> Shown:
    return Shown(
        key=drawer.pointer,
        text=drawer.content,
        created_at=drawer.recorded_at,
        updated_at=drawer.said_at,
        score=score,
        more={"role": drawer.role, "speaker": drawer.speaker, "session": drawer.session, "wing": drawer.wing},
    )


def _get_drawer(space: "Space", key: str) -> Shown | None:
    try:
        drawer = space.drawer(key)
    except InvalidPointer:
        return None
    return None if drawer is None else _drawer(drawer)


def _search_drawers(space: "Space", query: str, most: int) -> list[Shown]:
    if query.strip():
        return [_drawer(item.drawer, item.score) for item in lookup.drawers(space, query, limit=most, threshold=0.0)]
    with space.memory.use(space.name) as store, store.reading() as connection:
        newest = rows.next_number(connection, store.key) - 1
        found = rows.read(connection, store.key, range(max(1, newest - most + 1), newest + 1))
    return [_drawer(found[number]) for number in sorted(found, reverse=True)]


def _episode(episode: Episode, score: float | None = None) -> Shown:
    return Shown(
        key=episode.id,
        text=episode.summary or episode.abstract,
        created_at=episode.created_at,
        updated_at=episode.ended_at,
        score=score,
        more={"session": episode.session, "abstract": episode.abstract, "topics": list(episode.topics)},
    )


def _get_episode(space: "Space", key: str) -> Shown | None:
    episode = space.archive.get(key)
    return None if episode is None else _episode(episode)


def _search_episodes(space: "Space", query: str, most: int) -> list[Shown]:
    asked = bool(query.strip())
    return [_episode(each.episode, each.score if asked else None) for each in space.archive.search(query, limit=most)]


def _document(document: Document, text: str, score: float | None = None) -> Shown:
    at = document.updated_at
    more = {"version": document.version, "encoding": document.encoding}
    return Shown(key=document.path, text=text, created_at=at, updated_at=at, score=score, more=more)


def _get_document(space: "Space", key: str) -> Shown | None:
    try:
        document = space.documents.read(key)
    except InvalidPath:
        return None
    return None if document is None else _document(document, document.content)


def _search_documents(space: "Space", query: str, most: int) -> list[Shown]:
    if query.strip():
        pieces = {hit.path: hit for hit in reversed(space.documents.search(query, limit=4 * most))}
        best = sorted(pieces.values(), key=lambda hit: -hit.score)[:most]
        read = ((space.documents.read(hit.path), hit) for hit in best)
        return [_document(document, hit.text, hit.score) for document, hit in read if document is not None]
    newest = sorted(space.documents.list(), key=lambda each: each.updated_at, reverse=True)[:most]
    return [each for summary in newest if (each := _get_document(space, summary.path)) is not None]


def _relation(space: "Space", relation: Relation, score: float | None = None) -> Shown:
    when = standing_words(relation, space.memory.clock())
    return Shown(
        key=relation.id,
        text=f"{relation_words(relation)}, {when}" if when else relation_words(relation),
        created_at=relation.recorded_at,
        updated_at=relation.recorded_at,
        score=score,
        more={"subject": relation.subject.name, "predicate": relation.predicate, "object": relation.target},
    )


def _get_relation(space: "Space", key: str) -> Shown | None:
    relation = space.graph.relation(key)
    return None if relation is None else _relation(space, relation)


def _search_relations(space: "Space", query: str, most: int) -> list[Shown]:
    """What holds now of those whom the query names, by how surely it names them; else of those spoken of last."""
    sure = _named(space, query) if query.strip() else dict.fromkeys(_newest_entities(space))
    if not sure:
        return []
    found = space.graph.subgraph(list(sure), limit=most).relations
    scored = [_relation(space, each, _surest(each, sure)) for each in found]
    newest = sorted(scored, key=lambda each: each.updated_at, reverse=True)
    return sorted(newest, key=lambda each: -(each.score or 0.0))


def _named(space: "Space", query: str) -> dict[str, float | None]:
    with asking.answering(space) as answer:
        return {match.entity.id: match.score for match in resolving.named_in(answer.view, query)[:_ENTITIES]}


def _newest_entities(space: "Space") -> list[str]:
    return [entity.id for entity in space.graph.entities(limit=_ENTITIES)]


def _surest(relation: Relation, sure: Mapping[str, float | None]) -> float | None:
    ends = (relation.subject, *([] if relation.object is None else [relation.object]))
    return max((score for end in ends if (score := sure.get(end.id)) is not None), default=None)


READERS: Mapping[str, Reader] = {
    "knowledge": Reader(known.get, known.search),
    "drawers": Reader(_get_drawer, _search_drawers),
    "episodes": Reader(_get_episode, _search_episodes),
    "documents": Reader(_get_document, _search_documents),
    "relations": Reader(_get_relation, _search_relations),
}
