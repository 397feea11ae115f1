"""Which entries may say the same as a new one: looked up, and compared by their vectors, before anything is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from langmem_tiers.knowledge.ledger import Ledger
from langmem_tiers.knowledge.types import Entry
from langmem_tiers.palace.words import STOPWORDS, searchable, words
from langmem_tiers.storage import entries
from langmem_tiers.storage.change_log import moment
from langmem_tiers.storage.embedding_cache import Vectors
from langmem_tiers.storage.store import SpaceStore

Embed = Callable[[list[str]], "Vectors | None"]
"""Vectors of length 1 of some texts in rows, None where there are none now."""

# Entries looked at for each new one.
_MOST = 20


@dataclass(frozen=True, kw_only=True)
class Near:
    """An entry that may say the same, and how similar its vector is, where that is known."""

    entry: Entry
    similarity: float | None


@dataclass(frozen=True, kw_only=True)
class Nearby:
    """What was found near some texts, up to the entry `upto`; those behind it are looked at when writing."""

    upto: int
    found: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    vectors: Mapping[str, Vectors] = field(default_factory=dict)

    def of(self, ledger: Ledger, content: str) -> list[Near]:
        """The active entries that may say the same as a text, as they are in a transaction; the likeliest first."""
        found = self.found.get(content, {})
        known = entries.by_ids(ledger.connection, ledger.space, found.keys()).values()
        late = entries.active_behind(ledger.connection, ledger.space, self.upto)
        held = {entry.id: entry for entry in (*known, *late) if entry.active}
        near = [Near(entry=each, similarity=self._similarity(content, each)) for each in held.values()]
        return sorted(near, key=lambda each: -(each.similarity or 0))

    def _similarity(self, content: str, entry: Entry) -> float | None:
        known = self.found.get(content, {}).get(entry.id)
        if known is not None:
            return known
        here, there = self.vectors.get(content), self.vectors.get(entry.content)
        return None if here is None or there is None else float(np.dot(here, there))


def by_words(_texts: list[str]) -> None:
    """No vectors: who waits for a save waits for no model, and the words of two wordings have to agree in any case."""


def look(store: SpaceStore, texts: Sequence[str], embed: Embed) -> Nearby:
    """The entries near each of some texts; `embed` is called once, with no transaction open."""
    distinct = list(dict.fromkeys(texts))
    rows = embed(distinct) if distinct else None
    vectors = {} if rows is None else dict(zip(distinct, rows, strict=True))
    with store.reading() as connection:
        now = moment(connection, store.key)
        found = {
            text: {
                hit.ref: hit.vector
                for hit in store.notes.search(now, terms(text), vectors.get(text), _MOST, kinds={"entry"})
            }
            for text in distinct
        }
        return Nearby(upto=entries.newest(connection, store.key), found=found, vectors=vectors)


def terms(text: str) -> tuple[str, ...]:
    """The words of a text to search by, without function words where there are others."""
    found = dict.fromkeys(words(searchable(text)))
    telling = tuple(word for word in found if word not in STOPWORDS)
    return telling or tuple(found)
