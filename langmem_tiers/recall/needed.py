"""What a message needs of what is known, though its words do not say so: entries and relations.

"Suggest a cake" needs the user's diet, "Tell me about myself" the standing facts, "Email Bob" the rule that forbids it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from langmem_tiers.clock import to_millis
from langmem_tiers.knowledge.preferences import within
from langmem_tiers.knowledge.profile import standing_facts
from langmem_tiers.knowledge_graph.view import Asked
from langmem_tiers.language.needs import (
    Need,
    forbidden,
    is_list,
    names_category,
)
from langmem_tiers.language.standing_facts import RULES
from langmem_tiers.recall.request import Query, RecallRequest
from langmem_tiers.recall.sources import SpaceSnapshot
from langmem_tiers.storage import entries
from langmem_tiers.storage.entries import Filters
from langmem_tiers.types import KnownKind

if TYPE_CHECKING:
    from langmem_tiers.records import Entry

# Most lines that a message gets because it needs them, of those most of each category, and most of a list.
_MOST, _OF_A_CATEGORY, _OF_LIST = 10, 5, 40
# Rules for the agent that are looked at.
_RULES = 50
# A message of more words names no category.
_PATH_WORDS = 4
_PARTS = re.compile("[/-]")


class Needed(NamedTuple):
    """An entry or a relation that a message needs, by its id."""

    kind: KnownKind
    ref: str


def needed(source: SpaceSnapshot, query: Query, request: RecallRequest) -> list[Needed]:
    """What a message needs of a space, most important first; a fallback has no user, only rules."""
    categories = sorted(_categories(source, request))
    found = list(_rules(source, categories, query, request))
    if source.own:
        found += _standing(source, query.needs, request)
        found += _in_categories(source, categories, query, request)
        found += _listed_relations(source, query.needs)
    return list(dict.fromkeys(found))[: _OF_LIST if is_list(query.needs) else _MOST]


def _listed_relations(source: SpaceSnapshot, needs: Sequence[Need]) -> Iterator[Needed]:
    """The relations of the user that belong to a list."""
    wanted = frozenset().union(*(need.predicates for need in needs))
    view = source.store.graph.view(source.moment)
    user = view.user()
    if wanted and user is not None:
        numbers, _ = view.edges(user, Asked(predicates=wanted), _OF_LIST)
        yield from (Needed("relation", view.relations[number].id) for number in numbers)


def _rules(source: SpaceSnapshot, categories: Sequence[str], query: Query, request: RecallRequest) -> Iterator[Needed]:
    for category in sorted(RULES):
        if not any(within(each, category) for each in categories):
            continue
        for entry in _active(source, category, _RULES, request):
            if forbidden(entry.content, query.text, entry.category):
                yield Needed("entry", entry.id)


def _standing(source: SpaceSnapshot, needs: Sequence[Need], request: RecallRequest) -> Iterator[Needed]:
    topics = frozenset().union(*(need.topics for need in needs))
    if topics:
        for line in standing_facts(source.store, source.moment, request.now):
            if line.topic in topics:
                yield Needed(line.kind, line.ref)


def _in_categories(
    source: SpaceSnapshot, categories: Sequence[str], query: Query, request: RecallRequest
) -> Iterator[Needed]:
    """Entries of the categories that a message names ("my food preferences"), or that are about what it needs."""
    parts = frozenset().union(*(need.categories for need in query.needs))
    if not parts and len(query.terms) > _PATH_WORDS:
        return
    for category in categories:
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
    return source.store.categories.at_time(source.moment, to_millis(request.now))
