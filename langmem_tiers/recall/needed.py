"""What a message needs of what is known of the user, though its words do not say so.

"Suggest a cake" needs their diet, "Tell me about myself" the standing facts, "Email Bob" the rule that forbids it; and
"Where do I live?" their own newest words about moving, whatever these are.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from langmem_tiers.clock import to_millis
from langmem_tiers.knowledge import standing
from langmem_tiers.knowledge.profile import standing_facts
from langmem_tiers.knowledge_graph import entity_lookup
from langmem_tiers.knowledge_graph.view import Asked
from langmem_tiers.language.chatter import asks
from langmem_tiers.language.needs import (
    Need,
    asks_for_all,
    forbidden,
    is_list,
    names_category,
    tells_of_oneself,
    told_by,
)
from langmem_tiers.language.plans import is_undone
from langmem_tiers.language.questions import TimeSpan, spans
from langmem_tiers.language.standing_facts import RULES
from langmem_tiers.language.words import stems
from langmem_tiers.recall import conversations, plans
from langmem_tiers.recall.candidates import FoundDrawer
from langmem_tiers.recall.request import Query, RecallRequest
from langmem_tiers.recall.sources import SpaceSnapshot, read_texts
from langmem_tiers.storage import drawers, entries, keyword
from langmem_tiers.storage.entries import Filters
from langmem_tiers.storage.keyword import MOST_TERMS
from langmem_tiers.types import Drawer, KnownKind

if TYPE_CHECKING:
    from langmem_tiers.records import Entry
    from langmem_tiers.storage.embedding_cache import Vectors

# Most lines that a message gets because it needs them, of those most of each category.
_MOST, _OF_A_CATEGORY = 10, 5
# Rules for the agent that are looked at.
_RULES = 50
# The newest messages of the user that are looked at for what they need, and how many are taken.
_LOOKED_AT, _MESSAGES = 60, 4
# And if all that is known of them is asked for, or a list.
_LOOKED_AT_FOR_ALL, _FOR_ALL = 400, 8
# Where none says so plainly: how many have a word of it, and how many near ones are looked at.
_NAMING, _NEAR = 2, 8
# Of a list, how many messages are looked at, how many that tell of one are taken, and how many lines it gets.
_LOOKED_AT_OF_LIST, _OF_LIST = 2_000, 40
# A message of more words names no category.
_PATH_WORDS = 4
_DAY = 86_400_000
_PARTS = re.compile("[/-]")


class Needed(NamedTuple):
    """An entry or a relation that a message needs, by its id."""

    kind: KnownKind
    ref: str


def needed(source: SpaceSnapshot, query: Query, request: RecallRequest) -> list[Needed]:
    """What a message needs of a space, most important first; a fallback has no user, only rules."""
    found = list(_rules(source, query, request))
    if source.own:
        found += _standing(source, query.needs, request)
        found += _in_categories(source, query, request)
        found += _listed_relations(source, query.needs)
    return list(dict.fromkeys(found))[: _OF_LIST if is_list(query.needs) else _MOST]


def messages(source: SpaceSnapshot, query: Query, vector: Vectors | None, request: RecallRequest) -> dict[int, float]:
    """The user's newest messages about what a question asks of them, with their fit: the newest fits best.

    If none says so plainly, they are the newest with a word of it, and those nearest to the question. If all that is
    known of the user is asked for, what tells of home, work and the like comes before whatever else they tell of.

    Raises:
        InvalidVector: the query's vector has another length than those stored.
    """
    sought = [need for need in query.needs if need.words]
    if not source.own:
        return {}
    if any(need.ahead for need in query.needs):
        return _ahead(source, query, request)
    if lists := [need for need in query.needs if need.every]:
        return _listed(source, lists, query, request)
    if asks_for_all(query.needs):
        return _of_oneself(source, request)
    if not sought:
        return {}
    naming = _naming(source, sought)
    newest = _own_words(source, naming) | _newest(source, _LOOKED_AT)
    ordered = sorted(newest, key=lambda number: newest[number].said_at, reverse=True)
    told = [number for number in ordered if any(need.is_told(newest[number].content) for need in sought)]
    told = [number for number in told if number in naming] or told
    if not told and not all(need.plainly for need in sought):
        told = [number for number in ordered if number in naming and not asks(newest[number].content)][:_NAMING]
        told += _nearest(source, vector)
    return {number: 1 - place / 10 for place, number in enumerate(list(dict.fromkeys(told))[:_MESSAGES])}


def fitting(sources: Sequence[SpaceSnapshot], query: Query, found: list[FoundDrawer]) -> list[FoundDrawer]:
    """Of the candidates for a message, those that may answer it.

    The words of "what do you know about me" and "what's coming up" are no reason to show anything, and plans and wishes
    are no part of a list of what was done.
    """
    wanted = {each.key for each in found if each.signals.get("needed", 0.0) > 0}
    if asks_for_all(query.needs) or (wanted and any(need.ahead for need in query.needs)):
        return [each for each in found if each.key in wanted]
    if not is_list(query.needs):
        return found
    texts = read_texts(sources, [each.key for each in found if each.key not in wanted])
    return [each for each in found if not is_undone(texts.get(each.key, ""))]


def _of_oneself(source: SpaceSnapshot, request: RecallRequest) -> dict[int, float]:
    """What the user told of themselves and what holds, the most telling first, then the newest."""
    said = _newest(source, _LOOKED_AT_FOR_ALL)
    worth = {number: tells_of_oneself(drawer.content) for number, drawer in said.items()}
    told = [number for number, telling in worth.items() if telling]
    over = standing.in_drawers(source.store, source.moment, told, request.as_of)
    told.sort(key=lambda number: (-worth[number], -to_millis(said[number].said_at), -number))
    holding = [number for number in told if number not in over]
    return {number: 1 - place / 20 for place, number in enumerate(holding[:_FOR_ALL])}


def _ahead(source: SpaceSnapshot, query: Query, request: RecallRequest) -> dict[int, float]:
    """What the user told of days to come, the nearest first."""
    dated = {number for number, _ in drawers.tagged(source.connection, source.key, "t", most=_LOOKED_AT_OF_LIST)}
    said = _own_words(source, dated, most=_LOOKED_AT_OF_LIST) | _newest(source, _LOOKED_AT)
    return {number: 1 - place / 100 for place, number in enumerate(plans.ahead(source, said, query, request))}


def _listed(source: SpaceSnapshot, needs: Sequence[Need], query: Query, request: RecallRequest) -> dict[int, float]:
    """All messages of the user that belong to a list, newest first; of a time asked about, if there are any."""
    told = {number: drawer for need in needs for number, drawer in _telling(source, need)}
    lasting = any(need.lasting for need in needs)
    times = () if lasting else spans(query.text, request.as_of.date())
    then = {number for number, drawer in told.items() if any(_is_within(drawer, span) for span in times)}
    then |= told.keys() & set(conversations.about(source, times))
    ordered = sorted(then or told, key=lambda number: (told[number].said_at, number), reverse=True)
    return {number: 1 - place / 100 for place, number in enumerate(ordered[:_OF_LIST])}


def _telling(source: SpaceSnapshot, need: Need) -> Iterator[tuple[int, Drawer]]:
    """The messages of the user that tell of one of a list."""
    if need.tag:
        tagged = drawers.tagged(source.connection, source.key, need.tag, most=_LOOKED_AT_OF_LIST)
        said = _own_words(source, {number for number, _ in tagged}, most=_LOOKED_AT_OF_LIST)
    else:
        named = _own_words(source, _naming(source, [need]), most=_LOOKED_AT_OF_LIST)
        said = named | _newest(source, _LOOKED_AT_FOR_ALL)
    return ((number, drawer) for number, drawer in said.items() if need.is_told(drawer.content))


def _is_within(drawer: Drawer, span: TimeSpan) -> bool:
    day = to_millis(drawer.said_at) / _DAY
    return span.start <= day < span.stop + (0 if span.strict else span.margin)


def _listed_relations(source: SpaceSnapshot, needs: Sequence[Need]) -> Iterator[Needed]:
    """The relations of the user that belong to a list."""
    wanted = frozenset().union(*(need.predicates for need in needs))
    view = source.store.graph.view(source.moment)
    user = view.user()
    if wanted and user is not None:
        numbers, _ = view.edges(user, Asked(predicates=wanted), _OF_LIST)
        yield from (Needed("relation", view.relations[number].id) for number in numbers)


def is_unheard(sources: Sequence[SpaceSnapshot], query: Query) -> bool:
    """Whether a question asks for something of the user's own that nobody ever told of, in any of the spaces."""
    sought = told_by(query.text)
    return bool(sought) and not any(_is_heard(source, query, sought) for source in sources)


def _is_heard(source: SpaceSnapshot, query: Query, sought: tuple[str, ...]) -> bool:
    if any(len(said) or len(place) for said, place in keyword.notes.holding(source.connection, sought)):
        return True
    named = entity_lookup.named_in(source.store.graph.view(source.moment), f"my {sought[0]}")
    if any(match.found_by == "kinship" for match in named):
        return True
    held, _ = source.store.words.holding(source.drawers_at, sought)
    numbers = {number for said, _ in held for number in said.tolist()}
    asked = stems(query.text)
    told = _own_words(source, numbers).values()
    return any(not (asks(drawer.content) and stems(drawer.content) <= asked) for drawer in told)


def _naming(source: SpaceSnapshot, needs: Sequence[Need]) -> set[int]:
    """The messages with one of the words of these needs."""
    words = tuple(dict.fromkeys(word for need in needs for word in need.words))
    parts = (words[start : start + MOST_TERMS] for start in range(0, len(words), MOST_TERMS))
    held = (each for part in parts for each in source.store.words.holding(source.drawers_at, part)[0])
    return {number for said, _ in held for number in said.tolist()}


def _newest(source: SpaceSnapshot, most: int) -> dict[int, Drawer]:
    """What the user wrote of the newest messages."""
    _, last = source.store.words.holding(source.drawers_at, ())
    return _own_words(source, range(max(1, last - most + 1), last + 1), most=most)


def _own_words(source: SpaceSnapshot, numbers: Collection[int], *, most: int = _LOOKED_AT) -> dict[int, Drawer]:
    """The newest of these messages that the user wrote."""
    known = sorted(_said_by_then(source, set(numbers)), reverse=True)[:most]
    found = drawers.read(source.connection, source.key, known)
    return {number: drawer for number, drawer in found.items() if drawer.role == "user"}


def _nearest(source: SpaceSnapshot, vector: Vectors | None) -> list[int]:
    """The user's messages nearest to a question, unless they ask as well."""
    if vector is None or source.store.vectors is None:
        return []
    near = source.store.vectors.similar(source.drawers_at, vector, _NEAR)
    own = _own_words(source, near)
    return [number for number in near if number in own and not asks(own[number].content)]


def _rules(source: SpaceSnapshot, query: Query, request: RecallRequest) -> Iterator[Needed]:
    for category in sorted(RULES):
        for entry in _active(source, category, _RULES, request):
            if forbidden(entry.content, query.text, entry.category):
                yield Needed("entry", entry.id)


def _standing(source: SpaceSnapshot, needs: Sequence[Need], request: RecallRequest) -> Iterator[Needed]:
    topics = frozenset().union(*(need.topics for need in needs))
    if topics:
        for line in standing_facts(source.store, source.moment, request.now):
            if line.topic in topics:
                yield Needed(line.kind, line.ref)


def _in_categories(source: SpaceSnapshot, query: Query, request: RecallRequest) -> Iterator[Needed]:
    """Entries of the categories that a message names ("my food preferences"), or that are about what it needs."""
    parts = frozenset().union(*(need.categories for need in query.needs))
    if not parts and len(query.terms) > _PATH_WORDS:
        return
    for category in sorted(_categories(source, request)):
        if not parts.isdisjoint(_PARTS.split(category)) or names_category(query.text, category):
            for entry in _active(source, category, _OF_A_CATEGORY, request):
                yield Needed("entry", entry.id)


def _active(source: SpaceSnapshot, category: str, most: int, request: RecallRequest) -> list[Entry]:
    """The newest entries in and below a category."""
    if source.earlier is not None:
        return source.earlier.within(category)[:most]
    chosen = Filters(category=category, status="active", active_at=to_millis(request.now))
    return entries.find(source.connection, source.key, chosen, most)


def _categories(source: SpaceSnapshot, request: RecallRequest) -> Collection[str]:
    if source.earlier is not None:
        return {each.category for each in source.earlier.held.values()}
    return entries.categories(source.connection, source.key, to_millis(request.now))


def _said_by_then(source: SpaceSnapshot, numbers: Collection[int]) -> Collection[int]:
    """Those of these drawers that were said by the moment asked about."""
    if source.moment.until is None:
        return numbers
    rows = source.store.columns.rows(source.drawers_at, numbers)
    said: list[int] = rows.numbers[rows.said_at <= source.moment.until].tolist()
    return said
