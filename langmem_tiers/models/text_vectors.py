"""Embedding texts: one that the embedder rejects must not block the others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from sqlalchemy import Connection

from langmem_tiers.errors import EmbeddingUnavailable, InvalidVector
from langmem_tiers.storage import embedding_cache
from langmem_tiers.storage.database import Database
from langmem_tiers.storage.embedding_cache import Vectors

# A text that every embedder accepts.
_PLAIN = "memory"
# After this many failures in a row, the embedder is tested with the plain text: it may have become unavailable.
_IN_A_ROW = 8

Wanted = Callable[[Connection, Collection[bytes]], Collection[bytes]]
"""Those of some texts, by hash, that are still there when their vectors are."""


class EmbedsDocuments(Protocol):
    """The part of an embedder that is for texts to be stored."""

    @property
    def name(self) -> str:
        """The name of the model."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """As in `Embedder`."""


@dataclass(frozen=True)
class TextVectors:
    """Puts the vectors of texts into the embedding cache of a space.

    `wanted` is checked in the transaction that stores them: what was deleted while the embedder worked gets none.
    """

    database: Database
    embedder: EmbedsDocuments
    wanted: Wanted

    def embed(self, texts: Mapping[bytes, str]) -> dict[bytes, str]:
        """Embed texts, by hash. Rejected ones are set aside and returned, each with the reason.

        Raises:
            EmbeddingUnavailable: the model cannot be reached.
            InvalidVector: no text gets a usable vector.
        """
        waiting = self.waiting(texts)
        return self.store(waiting, partial(self._vectors, waiting)) if waiting else {}

    def waiting(self, texts: Mapping[bytes, str]) -> dict[bytes, str]:
        """Those of some texts that are not set aside."""
        with self.database.reading() as connection:
            aside = embedding_cache.refused_among(connection, self.database.space, self.embedder.name, texts)
        return {text_hash: text for text_hash, text in texts.items() if text_hash not in aside}

    def store(self, texts: Mapping[bytes, str], vectors: Callable[[], Vectors]) -> dict[bytes, str]:
        """Like `embed`, for texts whose vectors were asked for before: `vectors` gives them, or raises."""
        try:
            self._put(texts, vectors())
        except (EmbeddingUnavailable, InvalidVector) as error:
            return self._embed_parts(texts, error)
        return {}

    def _vectors(self, texts: Mapping[bytes, str]) -> Vectors:
        return self.embedder.embed_documents(list(texts.values()))

    def _put(self, texts: Mapping[bytes, str], vectors: Vectors) -> None:
        with self.database.writing() as connection:
            self._require_dimension(connection, vectors.shape[1])
            wanted = self.wanted(connection, texts.keys())
            kept = [(text_hash, place) for place, text_hash in enumerate(texts) if text_hash in wanted]
            hashes, rows = [text_hash for text_hash, _ in kept], vectors[[place for _, place in kept]]
            embedding_cache.put(connection, self.database.space, self.embedder.name, hashes, rows)

    def _embed_parts(self, texts: Mapping[bytes, str], error: EmbeddingUnavailable | InvalidVector) -> dict[bytes, str]:
        """Halve a failed batch until the offending texts are found, unless the embedder itself is unavailable."""
        _raise_if_away(error)
        self._require_vector_of_something()
        search = _Search(self)
        search.halve(list(texts.items()), error)
        if search.reasons:
            self._require_vector_of_something()
        with self.database.writing() as connection:
            there = self.wanted(connection, search.reasons.keys())
            kept = {text_hash: reason for text_hash, reason in search.reasons.items() if text_hash in there}
            embedding_cache.refuse(connection, self.database.space, self.embedder.name, kept)
        return search.reasons

    def _require_vector_of_something(self) -> None:
        """Check that the texts are at fault, and not the embedder."""
        try:
            vectors = self.embedder.embed_documents([_PLAIN])
        except EmbeddingUnavailable as error:
            error.away = True
            raise
        with self.database.writing() as connection:
            self._require_dimension(connection, vectors.shape[1])

    def _require_dimension(self, connection: Connection, dimension: int) -> None:
        embedding_cache.require_dimension(connection, self.database.space, self.embedder.name, dimension)


@dataclass
class _Search:
    """The rejected texts of a batch, with the reasons; the others get their vectors on the way."""

    vectors: TextVectors
    reasons: dict[bytes, str] = field(default_factory=dict)
    failures: int = 0

    def halve(self, texts: list[tuple[bytes, str]], error: EmbeddingUnavailable | InvalidVector) -> None:
        """Embed both halves of texts that failed together."""
        if len(texts) == 1:
            # Without quoting the text: it may be deleted one day.
            told = error.loggable if isinstance(error, EmbeddingUnavailable) else ""
            self.reasons[texts[0][0]] = told or error.message
            return
        middle = len(texts) // 2
        for part in (texts[:middle], texts[middle:]):
            try:
                self.vectors._put(dict(part), self.vectors._vectors(dict(part)))
                self.failures = 0
            except (EmbeddingUnavailable, InvalidVector) as fault:
                _raise_if_away(fault)
                self.failures += 1
                if self.failures == _IN_A_ROW:
                    self.vectors._require_vector_of_something()
                    self.failures = 0
                self.halve(part, fault)


def _raise_if_away(error: EmbeddingUnavailable | InvalidVector) -> None:
    if isinstance(error, EmbeddingUnavailable) and error.away:
        raise error
