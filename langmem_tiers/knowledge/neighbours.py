"""Finds entries that may say the same as a new one, before a write transaction begins."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

import numpy as np

from langmem_tiers.errors import EmbeddingUnavailable, InvalidVector
from langmem_tiers.knowledge.search import terms
from langmem_tiers.language.paraphrase import says_the_same
from langmem_tiers.language.wordings import wording
from langmem_tiers.models.guarded_embedder import GuardedEmbedder, NoEmbedder
from langmem_tiers.records import Entry
from langmem_tiers.storage.change_log import moment
from langmem_tiers.storage.embedding_cache import Vectors
from langmem_tiers.store import SpaceStore

Embed = Callable[[list[str]], "Vectors | None"]
"""Gives unit vectors of texts in rows, or None while there is no embedder to ask."""

# Entries looked at for each new one.
_MOST = 20
# Beyond every position of the log.
_NONE_BEHIND = 2**62


@dataclass(frozen=True, kw_only=True)
class Neighbours:
    """The entries found near some texts. Those changed behind `position` in the log are read when writing."""

    position: int = _NONE_BEHIND
    found: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    vectors: Mapping[str, Vectors] = field(default_factory=dict)

    def ids(self, content: str) -> frozenset[str]:
        """The entries that were found near a text."""
        return frozenset(self.found.get(content, ()))

    def ranked(self, content: str, held: Iterable[Entry]) -> tuple[tuple[Entry, float | None], ...]:
        """Entries with their similarity to a text, where it is known, the most similar first."""
        found, here = self.found.get(content, {}), self.vectors.get(content)
        ranked: list[tuple[float, Entry, float | None]] = []
        for entry in held:
            similarity, there = found.get(entry.id), self.vectors.get(entry.content)
            if similarity is None and here is not None and there is not None:
                similarity = float(np.dot(here, there))
            ranked.append((-(similarity or 0), entry, similarity))
        ranked.sort(key=itemgetter(0))
        return tuple((entry, similarity) for _, entry, similarity in ranked)


def by_words(_texts: list[str]) -> None:
    """No vectors: a save on the reply path waits for no model, and the words decide in any case."""


def embed_with(embedder: GuardedEmbedder | NoEmbedder | None) -> Embed:
    """An `Embed` for this embedder that gives None while it is unavailable."""

    def embed(texts: list[str]) -> Vectors | None:
        if not isinstance(embedder, GuardedEmbedder) or embedder.resting or not embedder.inner.available():
            return None
        try:
            return embedder.prompt.embed_documents(texts)
        except (EmbeddingUnavailable, InvalidVector) as error:
            embedder.failed(error)
            return None

    return embed


def find_neighbours(store: SpaceStore, texts: Sequence[str], embed: Embed = by_words) -> Neighbours:
    """The entries near each of some texts; `embed` is called once, with no transaction open."""
    distinct = list(dict.fromkeys(texts))
    rows = embed(distinct) if distinct else None
    vectors = {} if rows is None else dict(zip(distinct, rows, strict=True))
    with store.reading() as connection:
        now = moment(connection, store.key)
        found = {}
        for text in distinct:
            hits = store.search_notes(now, terms(text), vectors.get(text), _MOST, kinds={"entry"})
            found[text] = {hit.ref: hit.vector for hit in hits}
        return Neighbours(position=now.head, found=found, vectors=vectors)


class Sentences:
    """Sentences by a name, to find those that say the same as another one."""

    def __init__(self, *, least: float) -> None:
        self._least = least
        self._by_word: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        self._by_length: defaultdict[int, list[tuple[str, str]]] = defaultdict(list)

    def add(self, name: str, text: str) -> None:
        """Add a sentence."""
        told = wording(text)
        self._by_length[len(told.words)].append((name, text))
        for word in told.texts:
            self._by_word[word].append((name, text))

    def saying(self, text: str) -> list[str]:
        """The names of those that say the same, in the order in which they were added."""
        told = wording(text)
        # Another one that says the same has these words, too: the rarest of them is enough to look at.
        having = (self._by_word.get(word, []) for word in told.fixed)
        likely = min(having, key=len, default=self._by_length[len(told.words)])
        return [name for name, other in likely if says_the_same(text, other, least=self._least)]
