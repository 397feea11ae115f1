"""Giving texts their vectors: one that gets none must not keep the others from theirs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection

from langmem_tiers.embeddings.base import Embedder
from langmem_tiers.errors import InvalidVector
from langmem_tiers.storage import dimensions, embedding_cache
from langmem_tiers.storage.database import Database

# A text that every embedder has a vector for.
_PLAIN = "memory"

Wanted = Callable[[Connection, Collection[bytes]], Collection[bytes]]
"""Those of some texts, by hash, that are still there when their vectors are."""


@dataclass(frozen=True)
class TextVectors:
    """Puts the vectors of texts into the embedding cache of a space.

    `wanted` is asked in the transaction that keeps them: what was deleted while the embedder worked gets none.
    """

    database: Database
    embedder: Embedder
    wanted: Wanted

    def embed(self, texts: Mapping[bytes, str]) -> dict[bytes, InvalidVector]:
        """Embed texts, by hash; those that got no usable vector, with the reason.

        Raises:
            EmbeddingUnavailable: the model can not be reached.
            InvalidVector: no text gets a usable vector.
        """
        try:
            self._put(texts)
        except InvalidVector:
            return self._embed_singly(texts)
        return {}

    def _put(self, texts: Mapping[bytes, str]) -> None:
        vectors = self.embedder.embed_documents(list(texts.values()))
        with self.database.writing() as connection:
            self._require_dimension(connection, vectors.shape[1])
            wanted = self.wanted(connection, texts.keys())
            kept = [(text_hash, place) for place, text_hash in enumerate(texts) if text_hash in wanted]
            hashes, rows = [text_hash for text_hash, _ in kept], vectors[[place for _, place in kept]]
            embedding_cache.put(connection, self.database.space, self.embedder.name, hashes, rows)

    def _embed_singly(self, texts: Mapping[bytes, str]) -> dict[bytes, InvalidVector]:
        faults: dict[bytes, InvalidVector] = {}
        for text_hash, text in texts.items():
            try:
                self._put({text_hash: text})
            except InvalidVector as fault:
                faults[text_hash] = fault
        if len(faults) == len(texts):
            self._require_vector_of_something()
        return faults

    def _require_vector_of_something(self) -> None:
        """Nothing, if it is the texts that can not be embedded, and not the embedder that is at fault."""
        vectors = self.embedder.embed_documents([_PLAIN])
        with self.database.writing() as connection:
            self._require_dimension(connection, vectors.shape[1])

    def _require_dimension(self, connection: Connection, dimension: int) -> None:
        dimensions.require(connection, self.database.space, self.embedder.name, dimension)
