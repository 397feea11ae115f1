"""Search for entries by words and meaning, within filters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from langmem_tiers.clock import to_millis
from langmem_tiers.knowledge import standing
from langmem_tiers.knowledge.earlier import entries_then
from langmem_tiers.knowledge.results import CategoryCount, EntryFound
from langmem_tiers.language.words import STOPWORDS, searchable, stem, words
from langmem_tiers.settings import RecallSettings
from langmem_tiers.storage import entries
from langmem_tiers.storage.change_log import moment
from langmem_tiers.storage.embedding_cache import Vectors
from langmem_tiers.storage.entries import Filters
from langmem_tiers.storage.note_index import NoteHit
from langmem_tiers.store import SpaceStore

MOST = 1000
"""How many notes are searched before filtering, so that filters leave some."""
DECIMALS = 4
"""Of the scores that are given out."""


def find(
    store: SpaceStore,
    query: str,
    vector: Vectors | None,
    filters: Filters,
    most: int,
    *,
    at: datetime,
    until: int | None = None,
) -> list[EntryFound]:
    """The entries that match a query, best first; without a query, the latest changed first.

    With a query, those of which something is over by now come after the others. With `until`, it is about the entries
    that held at that moment, as they were then.
    """
    if until is None:
        found = _found(store, query, vector, filters, most)
    else:
        found = _then(store, query, vector, filters, most, until)
    with store.reading() as connection:
        entries_found = {each.entry.id: each.entry for each in found}
        over = standing.in_entries(store, moment(connection, store.key, until), entries_found, at)
    marked = [replace(each, ended=over[each.entry.id]) for each in found]
    return sorted(marked, key=lambda each: bool(each.ended)) if query.strip() else marked


def best_first(found: EntryFound) -> tuple[bool, float]:
    """Sorts what a query found."""
    return bool(found.ended), -found.score


def newest_first(found: EntryFound) -> int:
    """Sorts what is found without a query."""
    return -to_millis(found.entry.updated_at)


def _found(store: SpaceStore, query: str, vector: Vectors | None, filters: Filters, most: int) -> list[EntryFound]:
    if not query.strip():
        with store.reading() as connection:
            return [EntryFound(entry=entry) for entry in entries.find(connection, store.key, filters, most)]
    if filters.status == "active":
        return _searched(store, query, vector, filters, most)
    return _read_through(store, query, filters, most)


def _then(
    store: SpaceStore, query: str, vector: Vectors | None, filters: Filters, most: int, until: int
) -> list[EntryFound]:
    """Search the entries of an earlier moment, of which the index has those that still hold."""
    asked = terms(query)
    with store.reading() as connection:
        seen, earlier = moment(connection, store.key, until), entries_then(connection, store.key, until)
        left = entries.ids(connection, store.key, filters)
        held = {ref: entry for ref, entry in earlier.held.items() if ref in left}
        if not query.strip():
            return [EntryFound(entry=entry) for entry in held.values()][:most]
        hits = store.search_notes(seen, asked, vector, MOST, kinds={"entry"})
        hits += earlier.search_put_aside(store, connection, asked, vector, RecallSettings())
    best = sorted((hit for hit in hits if hit.ref in held), key=lambda hit: -hit.score)[:most]
    return [EntryFound(entry=held[hit.ref], score=round(hit.score, DECIMALS), channels=channels(hit)) for hit in best]


def tree(counts: Mapping[str, int]) -> tuple[CategoryCount, ...]:
    """The tree of categories with their counts, sorted by name."""
    below: defaultdict[str, set[str]] = defaultdict(set)
    for path in counts:
        parts = path.split("/")
        for depth in range(len(parts)):
            below["/".join(parts[:depth])].add("/".join(parts[: depth + 1]))
    return _branches("", below, counts)


def terms(text: str) -> tuple[str, ...]:
    """The words of a text to search for, without function words if there are others."""
    found = dict.fromkeys(words(searchable(text)))
    telling = tuple(word for word in found if word not in STOPWORDS)
    return telling or tuple(found)


def _searched(store: SpaceStore, query: str, vector: Vectors | None, filters: Filters, most: int) -> list[EntryFound]:
    """Search active entries in the index."""
    with store.reading() as connection:
        now = moment(connection, store.key)
        hits = {hit.ref: hit for hit in store.search_notes(now, terms(query), vector, MOST, kinds={"entry"})}
        left = entries.ids(connection, store.key, replace(filters, ids=list(hits)))
        best = [hit for ref, hit in hits.items() if ref in left][:most]
        found = entries.by_ids(connection, store.key, [hit.ref for hit in best])
    return [EntryFound(entry=found[hit.ref], score=round(hit.score, DECIMALS), channels=channels(hit)) for hit in best]


def channels(hit: NoteHit) -> dict[str, float]:
    """What each channel gives a hit, rounded."""
    shares = {"keyword": hit.keyword, "vector": hit.vector}
    return {name: round(share, DECIMALS) for name, share in shares.items() if share is not None}


def _read_through(store: SpaceStore, query: str, filters: Filters, most: int) -> list[EntryFound]:
    """Search entries that may be inactive, which are not indexed, by the share of the query's words they contain."""
    wanted = {stem(term) for term in terms(query)}
    with store.reading() as connection:
        left = entries.find(connection, store.key, filters, -1)
    texts = (" ".join((entry.content, *entry.tags, entry.category)) for entry in left)
    said = [{stem(word) for word in words(text)} for text in texts] if wanted else []
    scored = [(entry, len(wanted & held) / len(wanted)) for entry, held in zip(left, said, strict=False)]
    best = sorted((each for each in scored if each[1]), key=lambda each: -each[1])[:most]
    return [
        EntryFound(entry=entry, score=round(share, DECIMALS), channels={"keyword": round(share, DECIMALS)})
        for entry, share in best
    ]


def _branches(path: str, below: Mapping[str, set[str]], counts: Mapping[str, int]) -> tuple[CategoryCount, ...]:
    made = []
    for child in sorted(below.get(path, ())):
        children = _branches(child, below, counts)
        own = counts.get(child, 0)
        total = own + sum(each.total for each in children)
        name = child.rpartition("/")[2]
        made.append(CategoryCount(path=child, name=name, entries=own, total=total, children=children))
    return tuple(made)
