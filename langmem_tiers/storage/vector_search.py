"""Similarity search of one space: exact while it is small, Chroma plus an exact tail when it has grown."""

from __future__ import annotations

import threading
from collections.abc import Collection

from sqlalchemy import Connection

from langmem_tiers.errors import InvalidVector, ProjectionDamaged
from langmem_tiers.storage import change_log, embedding_cache
from langmem_tiers.storage.change_log import Moment
from langmem_tiers.storage.chroma_index import CURSOR, ChromaIndex
from langmem_tiers.storage.embedding_cache import Vectors
from langmem_tiers.storage.exact_index import ExactIndex, best_by_drawer


class VectorSearch:
    """Finds the drawers nearest to a query vector.

    `whole` holds every vector and is what small spaces, other processes and a damaged projection use. Once the
    projection is owned, in step and large, `whole` is given up and `tail` holds what is newer than the projection.
    """

    def __init__(self, space: str, model: str, chroma: ChromaIndex, *, exact_below: int) -> None:
        self._space = space
        self._model = model
        self._chroma = chroma
        self._exact_below = exact_below
        self._index = ExactIndex(space, model)
        self._uses_chroma = False
        self._lock = threading.Lock()

    def similar(self, moment: Moment, query: Vectors, most: int) -> dict[int, float]:
        """The nearest drawers with their cosine similarity, best first; superseded ones may be among them.

        Raises:
            InvalidVector: the query's vector is of another length than those stored.
        """
        with self._lock:
            self._choose(moment.connection)
            index, uses_chroma = self._index, self._uses_chroma
        index.refresh(moment)
        if index.dimension not in {None, len(query)}:
            raise InvalidVector(
                f"The query's vector has length {len(query)}, the vectors stored by {self._model!r} {index.dimension}."
            )
        found = index.search(query, most)
        if not uses_chroma:
            return found
        try:
            indexed = self._chroma.search(query, most)
        except ProjectionDamaged:
            # The vectors are all in the cache: this query and the next are answered from there.
            self._chroma.distrust()
            return self.similar(moment, query, most)
        for drawer, similarity in indexed.items():
            found[drawer] = max(similarity, found.get(drawer, -1.0))
        best = sorted(found.items(), key=lambda item: -item[1])[:most]
        return dict(best)

    def similarities(self, moment: Moment, query: Vectors, drawers: Collection[int]) -> dict[int, float]:
        """The cosine similarity of each of these drawers that has a vector."""
        if not self._uses_chroma:
            return self._index.similarities(query, drawers)
        vectors = embedding_cache.of_drawers(moment.connection, self._space, self._model, drawers)
        if vectors is None:
            return {}
        return best_by_drawer(vectors.drawers, vectors.matrix @ query, len(vectors.drawers))

    def nearest_pieces(self, moment: Moment, query: Vectors, drawers: Collection[int]) -> dict[int, tuple[int, int]]:
        """Start and stop of the piece of each of these drawers that is nearest to the query."""
        return embedding_cache.nearest_pieces(moment.connection, self._space, self._model, query, drawers)

    def _choose(self, connection: Connection) -> None:
        """Switch between the two ways where the size, or the loss of the projection, asks for it."""
        if self._uses_chroma and not self._chroma.owned:
            self._uses_chroma, self._index = False, ExactIndex(self._space, self._model)
        elif not self._uses_chroma and self._is_large():
            position = change_log.cursor(connection, self._space, CURSOR)
            self._index = ExactIndex(self._space, self._model, position=position)
            self._uses_chroma = True

    def _is_large(self) -> bool:
        """Whether there are many vectors and Chroma holds them: on opening, that is asked before any are loaded."""
        if self._index.position:
            return len(self._index) > self._exact_below and self._chroma.owned
        return self._chroma.own_large(self._exact_below)
