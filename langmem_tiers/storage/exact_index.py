"""Nearest-neighbour search in memory over the embedding cache.

It answers for small and middling spaces (faster than Chroma, and complete), for the rows newer than the Chroma
projection, and for every process that does not own the projection. Every vector's signs are kept beside it as bits:
among many vectors, only those whose signs agree most with the query's are compared in full.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from langmem_tiers.storage import change_log, embedding_cache
from langmem_tiers.storage.change_log import Change, Moment
from langmem_tiers.storage.embedding_cache import ChunkVectors, Vectors

_GONE = -1
# Up to so many vectors all are compared; beyond, so many of those with the most signs in common. With MiniLM these hold
# 99.9 % of the 60 nearest (docs/decisions.md).
_COMPARED_IN_FULL = 20_000
_COMPARED = 2_000


@dataclass(frozen=True)
class _Rows:
    """A moment of the index: the arrays may be longer than `count`. `codes` has 64 signs a row, a column a vector."""

    matrix: Vectors
    codes: NDArray[np.uint64]
    drawers: NDArray[np.int64]
    count: int
    newest: int = 0


class ExactIndex:
    """The vectors of one model that came after a log position, kept in step with the log."""

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
        """Length of the vectors held, None while there are none."""
        return self._rows.matrix.shape[1] if self._rows else None

    def refresh(self, moment: Moment) -> None:
        """Take in what the log says happened since the last call."""
        with self._lock:
            if moment.head <= self.position:
                return
            kinds: set[change_log.Kind] = {"drawers.embedded", "drawer.superseded"}
            self._take_in(moment, list(change_log.follow(moment, self._space, after=self.position, kinds=kinds)))
            self.position = moment.head

    def search(self, query: Vectors, most: int) -> dict[int, float]:
        """The best drawers for a query vector, with the cosine similarity of their best chunk."""
        rows = self._rows
        if rows is None:
            return {}
        # A drawer may hold several of the best chunks: look at more chunks than drawers are wanted, at all if need be.
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
        # By place in a table instead of by comparing: the last place stays False, for rows that are gone (-1).
        wanted = np.zeros(rows.newest + 2, np.bool_)
        wanted[[drawer for drawer in drawers if 0 <= drawer < len(wanted) - 1]] = True
        held = np.flatnonzero(wanted[rows.drawers[: rows.count]])
        return best_by_drawer(rows.drawers[held], rows.matrix[held] @ query, len(held))

    def _take_in(self, moment: Moment, news: Sequence[Change]) -> None:
        # Removal first: only drawers that stand are loaded, also those that stand again.
        self._remove({change.subject for change in news if change.kind == "drawer.superseded"})
        embedded = [each for each in news if each.kind == "drawers.embedded" and each.detail == self._model]
        ranges = [(change.subject, change.until) for change in embedded]
        for some in embedding_cache.strides(ranges):
            loaded = embedding_cache.load(moment.connection, self._space, self._model, [some])
            if loaded is not None and self._rows is not None and loaded.drawers.min() <= self._rows.newest:
                self._remove(set(loaded.drawers.tolist()))  # vectors made anew take the place of those before
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
    """Rows that were compared with the query, at least so many, and their similarities."""
    if rows.count <= _COMPARED_IN_FULL:
        # Threads of a linear algebra library lose more than they win.
        return np.arange(rows.count), np.einsum("ij,j->i", rows.matrix[: rows.count], query)
    unlike = np.zeros(rows.count, np.uint16)
    for codes, signs in zip(rows.codes, _signs(query[np.newaxis, :])[0], strict=True):
        unlike += np.bitwise_count(codes[: rows.count] ^ signs)
    wanted = min(rows.count, max(least, _COMPARED))
    enough = np.searchsorted(np.bincount(unlike).cumsum(), wanted)
    near = np.flatnonzero(unlike <= enough)
    return near, rows.matrix[near] @ query


def _signs(vectors: Vectors) -> NDArray[np.uint64]:
    """The signs of vectors as bits, 64 to a number; a row a vector."""
    bits = np.packbits(vectors > 0, axis=1)
    whole = np.zeros((len(vectors), -(-vectors.shape[1] // 64) * 8), np.uint8)
    whole[:, : bits.shape[1]] = bits
    return whole.view(np.uint64)


def best_by_drawer(drawers: NDArray[np.int64], similarities: Vectors, most: int) -> dict[int, float]:
    """Each drawer with the similarity of its best chunk, best first, at most so many."""
    best: dict[int, float] = {}
    order = np.argsort(-similarities, kind="stable")
    for drawer, similarity in zip(drawers[order].tolist(), similarities[order].tolist(), strict=True):
        if drawer != _GONE and drawer not in best:
            best[drawer] = similarity
            if len(best) == most:
                break
    return best
