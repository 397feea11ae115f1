"""Nearest-neighbour search in memory over the embedding cache.

It serves small and medium spaces (faster than Chroma, and exact), rows newer than the Chroma projection, and every
process that does not own the projection. The signs of every vector are kept beside it as bits: among many vectors,
only those whose signs agree most with the query's are compared in full.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from langmem_tiers.errors import InvalidVector, ProjectionDamaged
from langmem_tiers.storage import change_log, embedding_cache
from langmem_tiers.storage.change_log import Change, Moment
from langmem_tiers.storage.chroma import CURSOR, ChromaIndex
from langmem_tiers.storage.embedding_cache import ChunkVectors, Vectors

_GONE = -1
# Up to this many vectors, all are compared; beyond, this many of those with the most signs in common. With MiniLM,
# these include 99.9 % of the 60 nearest (docs/decisions.md).
_COMPARED_IN_FULL = 20_000
_COMPARED = 2_000
# Of so many of the newest vectors, those near to another one are found.
_NEWEST = 2_000


@dataclass(frozen=True)
class _Rows:
    """A snapshot of the index: arrays may be longer than `count`. `codes` has 64 signs a row, a column per vector."""

    matrix: Vectors
    codes: NDArray[np.uint64]
    drawers: NDArray[np.int64]
    count: int
    newest: int = 0


class ExactIndex:
    """The vectors of one model after a log position, kept in sync with the log."""

    def __init__(self, space: str, model: str, *, position: int = 0) -> None:
        self.position = position
        self._space = space
        self._model = model
        self._rows: _Rows | None = None
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return self._rows.count if self._rows else 0

    @property
    def dimension(self) -> int | None:
        """Dimension of the vectors held, None while there are none."""
        return self._rows.matrix.shape[1] if self._rows else None

    def refresh(self, moment: Moment) -> None:
        """Apply what the log recorded since the last call."""
        with self._lock:
            if moment.head <= self.position:
                return
            kinds: set[change_log.Kind] = {"drawers.embedded", *change_log.OUT_OF_INDEX}
            self._take_in(moment, list(change_log.follow(moment, self._space, after=self.position, kinds=kinds)))
            self.position = moment.head

    def search(self, query: Vectors, most: int) -> dict[int, float]:
        """The best drawers for a query vector, with the cosine similarity of their best chunk."""
        rows = self._rows
        if rows is None:
            return {}
        # Several of the best chunks may belong to one drawer: look at more chunks than drawers wanted, all if needed.
        wide = min(rows.count, most * 4)
        while True:
            compared, similarities = _similar(rows, query, wide)
            best = np.argpartition(-similarities, wide - 1)[:wide]
            found = best_by_drawer(rows.drawers[compared[best]], similarities[best], most)
            if len(found) == most or wide == rows.count:
                return found
            wide = min(rows.count, wide * 4)

    def similarities(self, query: Vectors, drawers: Collection[int]) -> dict[int, float]:
        """The cosine similarity of the best chunk of each of these drawers that are in the index."""
        rows = self._rows
        if rows is None or not drawers:
            return {}
        # A lookup table instead of comparisons: its last place stays False, for removed rows (-1).
        wanted = np.zeros(rows.newest + 2, np.bool_)
        wanted[[drawer for drawer in drawers if 0 <= drawer < len(wanted) - 1]] = True
        held = np.flatnonzero(wanted[rows.drawers[: rows.count]])
        return best_by_drawer(rows.drawers[held], rows.matrix[held] @ query, len(held))

    def neighbours(self, drawer: int, most: int) -> dict[int, float]:
        """The drawers nearest to one, among the newest, best first; empty if it is not in the index."""
        rows = self._rows
        if rows is None:
            return {}
        own = rows.matrix[np.flatnonzero(rows.drawers[: rows.count] == drawer)]
        if not len(own):
            return {}
        first = max(0, rows.count - _NEWEST)
        drawers = np.where(rows.drawers[first : rows.count] == drawer, _GONE, rows.drawers[first : rows.count])
        similarities = (rows.matrix[first : rows.count] @ own.T).max(axis=1)
        return best_by_drawer(drawers, similarities, most)

    def _take_in(self, moment: Moment, news: Sequence[Change]) -> None:
        # Removals first: only current drawers are loaded, including those that were reinstated.
        self._remove({change.subject for change in news if change.kind in change_log.OUT_OF_INDEX})
        embedded = [each for each in news if each.kind == "drawers.embedded" and each.detail == self._model]
        ranges = [(change.subject, change.until) for change in embedded]
        for some in embedding_cache.strides(ranges):
            loaded = embedding_cache.load(moment.connection, self._space, self._model, [some])
            if loaded is not None and self._rows is not None and loaded.drawers.min() <= self._rows.newest:
                self._remove(set(loaded.drawers.tolist()))  # recomputed vectors replace the previous ones
            self._append(loaded)

    def _append(self, news: ChunkVectors | None) -> None:
        if news is None:
            return
        old = self._rows
        count = old.count if old else 0
        total = count + len(news.drawers)
        if old is None or total > len(old.drawers):
            old = _grown(old, total, news.matrix.shape[1])
        old.matrix[count:total] = news.matrix
        old.codes[:, count:total] = _signs(news.matrix).T
        old.drawers[count:total] = news.drawers
        self._rows = _Rows(old.matrix, old.codes, old.drawers, total, max(old.newest, int(news.drawers.max())))

    def _remove(self, drawers: Collection[int]) -> None:
        rows = self._rows
        if rows is not None and drawers:
            gone = np.isin(rows.drawers[: rows.count], list(drawers))
            rows.drawers[: rows.count][gone] = _GONE
            rows.matrix[: rows.count][gone] = 0.0


def _grown(old: _Rows | None, total: int, dimension: int) -> _Rows:
    capacity = max(1024, total + total // 2)
    newest = old.newest if old else 0
    matrix, codes = np.zeros((capacity, dimension), np.float32), np.zeros((-(-dimension // 64), capacity), np.uint64)
    rows = _Rows(matrix, codes, np.full(capacity, _GONE, np.int64), 0, newest)
    if old is not None:
        rows.matrix[: old.count] = old.matrix[: old.count]
        rows.codes[:, : old.count] = old.codes[:, : old.count]
        rows.drawers[: old.count] = old.drawers[: old.count]
    return rows


def _similar(rows: _Rows, query: Vectors, least: int) -> tuple[NDArray[np.int64], Vectors]:
    """At least this many rows compared with the query, and their similarities."""
    if rows.count <= _COMPARED_IN_FULL:
        # The threads of a linear algebra library cost more than they gain here.
        return np.arange(rows.count), np.einsum("ij,j->i", rows.matrix[: rows.count], query)
    unlike = np.zeros(rows.count, np.uint16)
    for codes, signs in zip(rows.codes, _signs(query[np.newaxis, :])[0], strict=True):
        unlike += np.bitwise_count(codes[: rows.count] ^ signs)
    wanted = min(rows.count, max(least, _COMPARED))
    enough = np.searchsorted(np.bincount(unlike).cumsum(), wanted)
    near = np.flatnonzero(unlike <= enough)
    return near, rows.matrix[near] @ query


def _signs(vectors: Vectors) -> NDArray[np.uint64]:
    """The signs of vectors as bits, 64 to a number; one row per vector."""
    bits = np.packbits(vectors > 0, axis=1)
    whole = np.zeros((len(vectors), -(-vectors.shape[1] // 64) * 8), np.uint8)
    whole[:, : bits.shape[1]] = bits
    return whole.view(np.uint64)


def best_by_drawer(drawers: NDArray[np.int64], similarities: Vectors, most: int) -> dict[int, float]:
    """The best drawers with the similarity of their best chunk, best first, at most this many."""
    best: dict[int, float] = {}
    order = np.argsort(-similarities, kind="stable")
    for drawer, similarity in zip(drawers[order].tolist(), similarities[order].tolist(), strict=True):
        if drawer != _GONE and drawer not in best:
            best[drawer] = similarity
            if len(best) == most:
                break
    return best


class VectorSearch:
    """Finds the drawers nearest to a query vector.

    `whole` holds every vector and serves small spaces, other processes and a damaged projection. Once the projection
    is owned, up to date and large, `whole` is dropped and `tail` holds what is newer than the projection.
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
            InvalidVector: the query's vector does not have the stored dimension.
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

    def neighbours(self, moment: Moment, drawer: int, most: int) -> dict[int, float]:
        """The drawers nearest to one, with their cosine similarity, best first: among the newest if in memory."""
        if not self._uses_chroma:
            return self._index.neighbours(drawer, most)
        own = embedding_cache.of_drawers(moment.connection, self._space, self._model, [drawer])
        near = {} if own is None else self.similar(moment, own.matrix[0], most + 1)
        return {number: similarity for number, similarity in near.items() if number != drawer}

    def nearest_pieces(self, moment: Moment, query: Vectors, drawers: Collection[int]) -> dict[int, tuple[int, int]]:
        """Start and stop of the chunk of each of these drawers that is nearest to the query."""
        return embedding_cache.nearest_pieces(moment.connection, self._space, self._model, query, drawers)

    def _choose(self, connection: Connection) -> None:
        """Switch between the two ways when the size, or losing the projection, requires it."""
        if self._uses_chroma and not self._chroma.owned:
            self._uses_chroma, self._index = False, ExactIndex(self._space, self._model)
        elif not self._uses_chroma and self._is_large():
            position = change_log.cursor(connection, self._space, CURSOR)
            self._index = ExactIndex(self._space, self._model, position=position)
            self._uses_chroma = True

    def _is_large(self) -> bool:
        """Whether there are many vectors and Chroma has them; asked on opening, before any are loaded."""
        if self._index.position:
            return len(self._index) > self._exact_below and self._chroma.owned
        return self._chroma.own_large()
