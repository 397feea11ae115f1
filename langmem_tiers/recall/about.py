"""What is known of somebody or something that a message asks all about: "What do you know about Ben?".

The entries that name them, over all sessions, and the relations that say more than these.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple, get_args

from langmem_tiers.clock import to_millis
from langmem_tiers.knowledge.earlier import active_entries
from langmem_tiers.knowledge_graph import entity_lookup
from langmem_tiers.knowledge_graph.outdated import relation_line, target_words
from langmem_tiers.knowledge_graph.view import Asked, GraphView
from langmem_tiers.language import kinship
from langmem_tiers.language.questions import names_someone
from langmem_tiers.language.standing_facts import StandingFact, Topic, in_relation, in_sentence
from langmem_tiers.language.words import meaningful_words, stem
from langmem_tiers.recall.needed import Needed
from langmem_tiers.recall.request import Query, RecallRequest
from langmem_tiers.recall.sources import SpaceSnapshot

_TOPICS: Sequence[Topic] = get_args(Topic)
_RELATIONS = 50
# How many words of a message may be missing in lines that say all of it.
_REWORDED = 1
_KIN = re.compile(rf"\b(?:user's|[Mm]y|[Oo]ur) (?:[a-z]+ )?(?P<kin>{kinship.WORDS})\b(?! [A-Z])")


Finder = Callable[[str], re.Match[str] | None]
"""Where a text names somebody first, by name, or as "the user's brother" or "my brother"; None if it does not."""


class _Line(NamedTuple):
    """Something known: what lasts comes first, then the newest. `telling` are words that nothing else says together."""

    order: tuple[int, int]
    needed: Needed
    telling: frozenset[str]


class _Named(NamedTuple):
    """Those asked about: their names, and what they are to the user if nobody else is."""

    nodes: Collection[int]
    names: Collection[str]
    kin: Collection[str]

    def finder(self) -> Finder:
        """What finds where a text names them."""
        names = "|".join(map(re.escape, sorted(self.names, key=lambda name: (-len(name), name))))
        called = re.compile(rf"(?<!\w)(?:{names})(?!\w)" if names else r"(?!)")

        def find(sentence: str) -> re.Match[str] | None:
            as_kin = (match for match in _KIN.finditer(sentence) if kinship.canonical(match["kin"]) in self.kin)
            return called.search(sentence) or next(as_kin, None)

        return find


def known_about(source: SpaceSnapshot, query: Query, request: RecallRequest) -> list[Needed]:
    """What a space knows of those a message asks all about, what lasts first; nothing if it asks about nobody."""
    if query.about is None:
        return []
    view, at = source.store.graph.view(source.moment), to_millis(request.as_of)
    named = _named(view, query.about, at)
    said = [*_entries(source, named, request)]
    more = [line for line in _relations(view, named, at) if not any(line.telling <= each.telling for each in said)]
    lines = sorted([*said, *more], key=lambda line: (line.order, line.needed))
    return [line.needed for line in lines[: max(request.settings.knowledge, request.settings.lists.knowledge)]]


def finder(source: SpaceSnapshot, about: str, request: RecallRequest) -> Finder:
    """What finds those that a mention names in texts of a space."""
    return _named(source.store.graph.view(source.moment), about, to_millis(request.as_of)).finder()


def _named(view: GraphView, about: str, at: int) -> _Named:
    user = view.user()
    found = [view.canonical(match.entity.number) for match in entity_lookup.named_in(view, about, at=at)]
    nodes = [node for node in dict.fromkeys(found) if node != user]
    names = {name for node in nodes for name in _names(view, node, at)}
    if not nodes and names_someone(about):
        names.add(about)
    kin = {word for node in nodes for word in _kin(view, node, user, at)} if user is not None else set()
    return _Named(nodes, names, kin)


def _names(view: GraphView, node: int, at: int) -> Iterator[str]:
    """The names of an entity; of a person, the first name alone as well if nobody else has it."""
    yield from (name := view.entities[node].name, *view.aliases(node))
    first = name.partition(" ")[0]
    if view.entities[node].type == "person" and first != name:
        called = entity_lookup.named_in(view, first, at=at)
        yield from [first] if {view.canonical(each.entity.number) for each in called} == {node} else []


def _kin(view: GraphView, node: int, user: int, at: int) -> Iterator[str]:
    """What somebody, and nobody else, is to the user: "brother"."""
    numbers, _ = view.edges(user, Asked(first=at, last=at), _RELATIONS)
    rows = [view.relations[number] for number in numbers]
    own = [row for row in rows if view.canonical(row.subject) == user and row.object is not None]
    for row in own:
        kin = kinship.read(row.predicate)
        same = {view.canonical(each.object) for each in own if each.predicate == row.predicate and each.object}
        if kin is not None and same == {node}:
            yield kin.word


def _entries(source: SpaceSnapshot, named: _Named, request: RecallRequest) -> Iterator[_Line]:
    find = named.finder()
    naming = active_entries(source.moment, source.key, request.now, lambda content, _: find(content) is not None)
    for entry in naming:
        if match := find(entry.content):
            fact = in_sentence(entry.content[match.end() :].strip(), "")
            order = _order(fact, to_millis(entry.said_at))
            yield _Line(order, Needed("entry", entry.id), _words(entry.content))


def _relations(view: GraphView, named: _Named, at: int) -> Iterator[_Line]:
    for node in named.nodes:
        for number in view.edges(node, Asked(first=at, last=at), _RELATIONS)[0]:
            row = view.relations[number]
            kin, line = kinship.read(row.predicate), relation_line(view, row)
            # Whatever else names the two tells what is between them, but not what they are to each other.
            ends = f"{view.entities[view.canonical(row.subject)].name} {target_words(view, row)}"
            order = _order(in_relation(row.predicate), row.created_at)
            yield _Line(order, Needed("relation", row.id), _words(line if kin else ends))


def _order(fact: StandingFact | None, at: int) -> tuple[int, int]:
    return len(_TOPICS) if fact is None else _TOPICS.index(fact.topic), -at


def says_more(text: str, lines: str) -> bool:
    """Whether a text says more than lines that were made of it."""
    return len(_words(text) - _words(lines)) > _REWORDED


def _words(text: str) -> frozenset[str]:
    return frozenset(stem(word.removesuffix("'s")) for word in meaningful_words(text))
