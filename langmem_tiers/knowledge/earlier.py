"""The entries of a space as they were at an earlier moment.

An entry that was found in messages holds from when they were said; one that somebody saved, from then. One that was
corrected held until the correction was said; one that was otherwise put aside or reworded, until that was done.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import isnan
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from langmem_tiers.clock import from_millis, to_millis
from langmem_tiers.content import content_hash
from langmem_tiers.language.words import codes, searchable, stem, words
from langmem_tiers.matching import Held, coverage, matched
from langmem_tiers.records import FOUND, GAVE_WAY
from langmem_tiers.settings import RecallSettings
from langmem_tiers.storage import embedding_cache, entries
from langmem_tiers.storage.entries import Filters
from langmem_tiers.storage.note_index import NoteHit

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from langmem_tiers.records import Entry
    from langmem_tiers.storage.change_log import Moment
    from langmem_tiers.storage.embedding_cache import Vectors
    from langmem_tiers.store import SpaceStore

# Inactive entries that are looked through: those put aside last.
_MOST = 5_000
# Reasons of inactive entries that may be the former wording of an entry.
_REWORDED = frozenset({"updated", "enriched"})
# What a dream makes is trusted less than that.
_SAID_BY_PEOPLE = frozenset({"user", "import", "assistant"})


@dataclass(frozen=True)
class EarlierEntries:
    """The entries that held at an earlier moment, by id, as they were then."""

    held: Mapping[str, Entry]

    def within(self, category: str) -> list[Entry]:
        """Those in and below a category, latest first."""
        below = f"{category}/"
        return [each for each in self.held.values() if f"{each.category}/".startswith(below)]

    def search_put_aside(
        self,
        store: SpaceStore,
        connection: Connection,
        terms: Sequence[str],
        vector: Vectors | None,
        settings: RecallSettings,
    ) -> list[NoteHit]:
        """Those that no longer hold and match a query, by words and by meaning; no index has them."""
        aside = [each for each in self.held.values() if each.status == "inactive"]
        if not aside:
            return []
        keyword = _keyword(aside, terms)
        similar = _similar(aside, store, connection, vector)
        score = np.asarray(matched(keyword, similar, settings))
        fits = (np.nan_to_num(keyword) > 0) | (np.nan_to_num(similar) >= settings.min_similarity)
        channels = zip(map(_known, keyword.tolist()), map(_known, similar.tolist()), score.tolist(), strict=True)
        return [
            NoteHit(0, "entry", each.id, 0, each.content, *found)
            for each, found, fit in zip(aside, channels, fits, strict=True)
            if fit
        ]


def entries_then(connection: Connection, space: str, until: int) -> EarlierEntries:
    """The entries that held at a moment, in milliseconds, those said last first."""
    aside = entries.inactive(connection, space, _MOST)
    known = {each.id: each for each in (*aside, *entries.find(connection, space, Filters(status="active"), -1))}
    lives, at = _Lives(known), from_millis(until)
    held = [_as_then(each, lives.began(each), at) for each in known.values() if lives.held(each, at)]
    ordered = sorted(held, key=lambda each: (each.said_at, each.number), reverse=True)
    return EarlierEntries({each.id: each for each in ordered})


def active_entries(moment: Moment, space: str, now: datetime, wanted: Callable[[str, str], bool]) -> Collection[Entry]:
    """The entries that hold, or held at the moment, and are `wanted` by content and category."""
    if moment.until is None:
        return entries.active(moment.connection, space, to_millis(now), wanted)
    held = entries_then(moment.connection, space, moment.until).held.values()
    return [each for each in held if wanted(each.content, each.category)]


class _Lives:
    """Since when and until when each of these entries held, with the wording it has."""

    def __init__(self, known: Mapping[str, Entry]) -> None:
        self._known = known
        former: defaultdict[str, list[Entry]] = defaultdict(list)
        merged: dict[str, datetime] = {}
        for each in sorted(known.values(), key=lambda each: each.number):
            if each.successor is not None and _is_former(each):
                former[each.successor].append(each)
            elif each.successor is not None and _is_put_together(known.get(each.successor), each):
                merged[each.successor] = each.updated_at
        self._former, self._merged = former, merged

    def held(self, entry: Entry, at: datetime) -> bool:
        """Whether an entry held at a moment."""
        if not self.began(entry) <= at or (entry.expires_at is not None and entry.expires_at <= at):
            return False
        return entry.active or at < self._ended(entry)

    def began(self, entry: Entry) -> datetime:
        """Since when an entry has its wording."""
        named = self._known.get(entry.successor or "")
        if named is not None and _is_former(entry):
            line = self._former[named.id]
            place = line.index(entry)
            return line[place - 1].created_at if place else self._first_known(named, entry)
        former = self._former.get(entry.id)
        return former[-1].created_at if former else self._first_known(entry, entry)

    def _first_known(self, entry: Entry, worded: Entry) -> datetime:
        """When an entry was first known; `worded` is it, or its first wording."""
        if entry.id in self._merged:
            return self._merged[entry.id]
        own = _own_times(worded)
        return min(own) if own and worded.path in FOUND and worded.origin != "dream" else entry.created_at

    def _ended(self, entry: Entry) -> datetime:
        """When an inactive entry was put aside, or what took its place was said."""
        if _is_former(entry):
            return entry.created_at
        began = self.began(entry)
        if entry.reason in GAVE_WAY and entry.created_at == entry.updated_at:
            return began  # another wording of what was known: never an entry of its own
        instead = self._known.get(entry.successor or "")
        if instead is None or instead.path not in FOUND:
            return entry.updated_at
        return min([entry.updated_at, *(said for said in _own_times(instead) if said > began)])


def _is_former(entry: Entry) -> bool:
    """Whether an entry is the former wording of another one, kept when that was changed."""
    return not entry.active and entry.reason in _REWORDED and entry.version == 1


def _is_put_together(entry: Entry | None, source: Entry) -> bool:
    """Whether a dream made an entry out of others: it has the date of the oldest of them."""
    by_dream = source.reason == "consolidated" and entry is not None and entry.origin not in _SAID_BY_PEOPLE
    return by_dream and entry is not None and source.number < entry.number


def _own_times(entry: Entry) -> list[datetime]:
    """When the messages were said that are its own evidence, not lent by entries merged into it."""
    return [each.said_at for each in entry.evidence if each.via is None and each.said_at is not None]


def _as_then(entry: Entry, began: datetime, at: datetime) -> Entry:
    """An entry without what was said or changed later."""
    said = tuple(each for each in entry.evidence if each.said_at is None or each.said_at <= at)
    return replace(entry, evidence=said, updated_at=entry.updated_at if entry.updated_at <= at else began)


def _keyword(aside: Sequence[Entry], terms: Sequence[str]) -> NDArray[np.float64]:
    """The share of the words that each entry covers; NaN if none has any of them."""
    said = [{*map(stem, words(searchable(" ".join((each.content, *each.tags)))))} for each in aside]
    placed = [{*map(stem, words(searchable(each.category)))} for each in aside]
    covered = coverage([_holding(stem(term), said, placed) for term in terms], len(aside), codes(terms))
    numbers = np.arange(len(aside))
    return covered.of(numbers) if len(covered.numbers) else np.full(len(aside), np.nan)


def _holding(term: str, said: Sequence[set[str]], placed: Sequence[set[str]]) -> Held:
    in_text = [place for place, held in enumerate(said) if term in held]
    in_category = [place for place, held in enumerate(placed) if term in held and term not in said[place]]
    return np.asarray(in_text, np.int64), np.asarray(in_category, np.int64)


def _similar(
    aside: Sequence[Entry], store: SpaceStore, connection: Connection, vector: Vectors | None
) -> NDArray[np.float64]:
    """The similarity of each entry with the query; NaN where it has no vector."""
    if vector is None or store.model is None:
        return np.full(len(aside), np.nan)
    hashes = [content_hash(each.content) for each in aside]
    held = embedding_cache.of_texts(connection, store.key, store.model, hashes)
    return np.array([float(held[each] @ vector) if each in held else np.nan for each in hashes])


def _known(value: float) -> float | None:
    return None if isnan(value) else value
