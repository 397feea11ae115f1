"""The tiers of the memory as namespaces of the store."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from langgraph.store.base import Item, PutOp, SearchItem, SearchOp

from langmem_tiers.errors import InvalidInput, InvalidPath, InvalidPointer
from langmem_tiers.integrations.store import checks, known
from langmem_tiers.integrations.store.known import shown
from langmem_tiers.integrations.store.naming import TIERS, Namespace, user_id
from langmem_tiers.knowledge import validation
from langmem_tiers.knowledge_graph import entity_lookup
from langmem_tiers.knowledge_graph.answers import answering
from langmem_tiers.knowledge_graph.wording import relation_words, standing_words
from langmem_tiers.naming import user_space
from langmem_tiers.recall.message_search import search_messages
from langmem_tiers.records import Document, Episode, Relation
from langmem_tiers.storage import drawers
from langmem_tiers.types import Drawer

if TYPE_CHECKING:
    from langmem_tiers.integrations.store.caller import Caller
    from langmem_tiers.space import Space


# How many entities are looked at.
_ENTITIES = 50


class Reader(NamedTuple):
    """Reads one by its id, and finds several by a query or, without one, the newest."""

    get: "Callable[[Space, str], SearchItem | None]"
    search: "Callable[[Space, str, int], Sequence[SearchItem]]"


def _drawers(space: "Space", found: Sequence[tuple[Drawer, float | None]]) -> list[SearchItem]:
    over = space.ended([drawer for drawer, _ in found])
    return [_drawer(drawer, score, over[drawer.number]) for drawer, score in found]


def _drawer(drawer: Drawer, score: float | None, ended: Sequence[str]) -> SearchItem:
    more = {"role": drawer.role, "speaker": drawer.speaker, "session": drawer.session, "wing": drawer.wing}
    return shown(drawer.pointer, drawer.content, drawer.recorded_at, drawer.said_at, score, ended, **more)


def _get_drawer(space: "Space", key: str) -> SearchItem | None:
    with suppress(InvalidPointer):
        drawer = space.drawer(key)
        return None if drawer is None else _drawers(space, [(drawer, None)])[0]
    return None


def _search_drawers(space: "Space", query: str, most: int) -> list[SearchItem]:
    if query.strip():
        matching = search_messages(space.context, query, limit=most, threshold=0.0)
        return _drawers(space, [(item.drawer, item.score) for item in matching])
    with space.context.open() as store, store.reading() as connection:
        newest = drawers.newest(connection, store.key)
        found = drawers.read(connection, store.key, range(max(1, newest - most + 1), newest + 1))
    return _drawers(space, [(found[number], None) for number in sorted(found, reverse=True)])


def _episode(episode: Episode, score: float | None, ended: Sequence[str]) -> SearchItem:
    more = {"session": episode.session, "abstract": episode.abstract, "topics": list(episode.topics)}
    text = episode.summary or episode.abstract
    return shown(episode.id, text, episode.created_at, episode.ended_at, score, ended, **more)


def _get_episode(space: "Space", key: str) -> SearchItem | None:
    episode = space.archive.get(key) if validation.is_id(key) else None
    return None if episode is None else _episode(episode, None, space.archive.ended([episode])[episode.id])


def _search_episodes(space: "Space", query: str, most: int) -> list[SearchItem]:
    asked = bool(query.strip())
    found = space.archive.search(query, limit=most)
    return [_episode(each.episode, each.score if asked else None, each.ended) for each in found]


def _document(document: Document, text: str, score: float | None = None, ended: Sequence[str] = ()) -> SearchItem:
    at, more = document.updated_at, {"version": document.version, "encoding": document.encoding}
    return shown(document.path, text, at, at, score, ended, **more)


def _get_document(space: "Space", key: str) -> SearchItem | None:
    with suppress(InvalidPath):
        document = space.documents.read(key)
        return None if document is None else _document(document, document.content)
    return None


def _search_documents(space: "Space", query: str, most: int) -> list[SearchItem]:
    if query.strip():
        pieces = {hit.path: hit for hit in reversed(space.documents.search(query, limit=4 * most))}
        best = sorted(pieces.values(), key=lambda hit: -hit.score)[:most]
        read = ((space.documents.read(hit.path), hit) for hit in best)
        return [_document(document, hit.text, hit.score, hit.ended) for document, hit in read if document is not None]
    newest = sorted(space.documents.list(), key=lambda each: each.updated_at, reverse=True)[:most]
    return [each for summary in newest if (each := _get_document(space, summary.path)) is not None]


def _relation(space: "Space", relation: Relation, score: float | None = None) -> SearchItem:
    when, at = standing_words(relation, space.memory.clock()), relation.recorded_at
    text = f"{relation_words(relation)}, {when}" if when else relation_words(relation)
    more = {"subject": relation.subject.name, "predicate": relation.predicate, "object": relation.target}
    return shown(relation.id, text, at, at, score, **more)


def _get_relation(space: "Space", key: str) -> SearchItem | None:
    relation = space.graph.relation(key)
    return None if relation is None else _relation(space, relation)


def _search_relations(space: "Space", query: str, most: int) -> list[SearchItem]:
    """What holds now of those whom the query names, by how surely it names them; else of those spoken of last."""
    sure: dict[str, float | None] = {}
    if query.strip():
        with answering(space.context) as answer:
            sure |= {match.entity.id: match.score for match in entity_lookup.named_in(answer.view, query)[:_ENTITIES]}
    else:
        sure |= dict.fromkeys(entity.id for entity in space.graph.entities(limit=_ENTITIES))
    if not sure:
        return []
    scored = []
    for each in space.graph.subgraph(list(sure), limit=most).relations:
        ends = (each.subject, *([] if each.object is None else [each.object]))
        scores = [score for end in ends if (score := sure.get(end.id)) is not None]
        scored.append(_relation(space, each, max(scores, default=None)))
    newest = sorted(scored, key=lambda each: each.updated_at, reverse=True)
    return sorted(newest, key=lambda each: -(each.score or 0.0))


READERS: Mapping[str, Reader] = {
    "knowledge": Reader(known.get, known.search),
    "drawers": Reader(_get_drawer, _search_drawers),
    "episodes": Reader(_get_episode, _search_episodes),
    "documents": Reader(_get_document, _search_documents),
    "relations": Reader(_get_relation, _search_relations),
}


WRITABLE = "knowledge"
# How many are looked at when a filter may leave some out.
_LOOKED_AT = 1000


class Tiers:
    """Searches and reads the tiers, and writes knowledge."""

    def __init__(self, caller: "Caller") -> None:
        self._caller = caller

    def get(self, namespace: Namespace, key: str) -> Item | None:
        """What a tier holds under an id, None if there is nothing.

        Raises:
            InvalidInput: there is no such tier.
        """
        user, tier = _parts(namespace)
        space = self._existing(user)
        found = None if space is None else READERS[tier].get(space, key)
        if found is None:
            return None
        dates = {"created_at": found.created_at, "updated_at": found.updated_at}
        return Item(namespace=namespace, key=found.key, value=found.value, **dates)

    def search(self, op: SearchOp) -> list[SearchItem]:
        """What fits a query in a tier, or in all of a user, best first; without one, the newest of each tier.

        Raises:
            InvalidInput: there is no such tier, or no user is named.
        """
        user, tiers = _reach(tuple(op.namespace_prefix))
        space = self._existing(user)
        if space is None:
            return []
        most = max(op.offset + op.limit, _LOOKED_AT if op.filter else 1)
        found = [(tier, each) for tier in tiers for each in READERS[tier].search(space, op.query or "", most)]
        fitting = [(tier, each) for tier, each in found if checks.fits(each.value, op.filter)]
        newest = sorted(fitting, key=lambda one: one[1].updated_at, reverse=True)
        ranked = sorted(newest, key=lambda one: -(one[1].score or 0.0))[op.offset : op.offset + op.limit]
        for tier, each in ranked:
            each.namespace = (*op.namespace_prefix[:2], tier)
        return [each for _, each in ranked]

    def require_writable(self, op: PutOp) -> None:
        """Check that this can be written.

        Raises:
            InvalidInput: there is no such tier, it is read only, or an entry cannot be this.
        """
        _, tier = _parts(op.namespace)
        if tier != WRITABLE:
            raise InvalidInput(
                f"The tier {tier!r} can be read through a store, and not written.",
                way_out=f'Write to (…, "{WRITABLE}"), or to a namespace such as ("memories", user).',
            )
        if op.value is not None:
            known.require(op, self._caller.memory.settings)

    def space_of(self, op: PutOp) -> str:
        """The space that an op is about."""
        return _parts(op.namespace)[0]

    def put(self, op: PutOp) -> None:
        """Save an entry, or delete the one of this key."""
        user, _ = _parts(op.namespace)
        if op.value is not None:
            known.save(self._caller.space(user), op.key, op.value, checks.milliseconds(op.ttl))
        elif (held := self._existing(user)) is not None:
            known.delete(held, op.key)

    def _existing(self, name: str) -> "Space | None":
        context = self._caller.require_readable(name)
        return self._caller.space(name) if context.exists() else None


def _parts(namespace: Namespace) -> tuple[str, str]:
    """The space and the tier that a namespace names."""
    space, tiers = _reach(tuple(namespace))
    if len(tiers) != 1:
        raise _unknown(namespace)
    return space, tiers[0]


def _reach(prefix: Namespace) -> tuple[str, Sequence[str]]:
    """The space and the tiers below a prefix."""
    if len(prefix) == 1:
        raise InvalidInput("Whose tiers? The namespace names no user.", way_out=f'Give ("{TIERS}", user).')
    if len(prefix) > 3 or (len(prefix) == 3 and prefix[2] not in READERS):
        raise _unknown(prefix)
    return user_space(user_id(prefix[1])), prefix[2:] or tuple(READERS)


def _unknown(namespace: Namespace) -> InvalidInput:
    return InvalidInput(
        f"{namespace!r} is not a tier.", way_out=f'Give ("{TIERS}", user, tier); tiers are {", ".join(READERS)}.'
    )
