"""Nearest-neighbour search in memory over the embedding cache.

It serves small and medium spaces (faster than Chroma, and exact), rows newer than the Chroma projection, and every
process that does not own the projection. The signs of every vector are kept beside it as bits: among many vectors,
only those whose signs agree most with the query's are compared in full.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from langmem_tiers.errors import InvalidVector, ProjectionDamaged
from langmem_tiers.storage import change_log, embedding_cache
from langmem_tiers.storage.change_log import Change, Moment
from langmem_tiers.storage.chroma import CURSOR, ChromaIndex
from langmem_tiers.storage.embedding_cache import ChunkVectors, Vectors, cosines
from langmem_tiers.storage.index_file import IndexFile, IndexWriter, MappedIndex, UnusableIndexFile, sums_of

T = TypeVar("T")
_GONE = -1
_NONE = np.zeros(0, np.int64)
# Up to this many vectors, all are compared; beyond, this many of those with the most signs in common. With MiniLM,
# these include 99.9 % of the 60 nearest (docs/decisions.md).
_COMPARED_IN_FULL = 20_000
_COMPARED = 2_000
# Several of the best chunks may belong to one drawer: so many are looked at for each drawer wanted, all if needed.
_CHUNKS = 4
# Of so many of the newest vectors, those near to another one are found.
_NEWEST = 2_000
# So many of the first chunks of a drawer are what others are compared with to be near to it.
_PIECES = 32
# What stands for 1 in a file.
_ONE = 32_767
# Vectors written to a file at a time.
_WRITTEN = 4_096


@dataclass(frozen=True)
class _Rows:
    """A snapshot of vectors: arrays may be longer than `count`. `codes` has 64 signs a row, a column per vector.

    `matrix` has float32, or int16 as it is in a file. `unchecked` says which of these were not compared with their
    `sums` yet.
    """

    matrix: NDArray[Any]
    codes: NDArray[np.uint64]
    drawers: NDArray[np.int64]
    count: int
    newest: int = 0
    sums: NDArray[np.uint64] | None = None
    unchecked: NDArray[np.bool_] | None = None

    def removed(self) -> NDArray[np.bool_]:
        """Of which places the vectors were removed."""
        gone: NDArray[np.bool_] = self.drawers[: self.count] == _GONE
        return gone

    def newest_places(self, most: int) -> tuple[NDArray[np.int64] | slice, int]:
        """The places of the newest vectors but those that were removed, and how many these are."""
        last = slice(max(0, self.count - most), self.count)
        if not (self.drawers[last] == _GONE).any():
            return last, last.stop - last.start
        held = np.flatnonzero(~self.removed())
        held = held[max(0, len(held) - most) :]
        return held, len(held)

    def vectors(self, places: NDArray[np.int64] | slice) -> Vectors:
        """Some of the vectors.

        Raises:
            UnusableIndexFile: one is not as it was written.
        """
        found = self._checked(places)
        return found if found.dtype == np.float32 else found * np.float32(1 / _ONE)

    def similarities(self, places: NDArray[np.int64] | slice, query: Vectors) -> Vectors:
        """Those of some of the vectors with a query.

        Raises:
            UnusableIndexFile: a vector is not as it was written.
        """
        found = self._checked(places)
        if found.dtype == np.float32:
            return cosines(found, query)
        return cosines(found.astype(np.float32), query) * np.float32(1 / _ONE)

    def _checked(self, places: NDArray[np.int64] | slice) -> NDArray[Any]:
        found = self.matrix[places]
        if self.sums is not None and self.unchecked is not None:
            new = self.unchecked[places]
            if new.any():
                if (sums_of(found[new]) != self.sums[places][new]).any():
                    raise UnusableIndexFile("its vectors are damaged")
                self.unchecked[places] = False
        return found


class ExactIndex:
    """The vectors of one model after a log position, kept in sync with the log.

    Those of the file of the space are mapped, if there is one; newer ones follow in memory. Methods that look at
    vectors raise `UnusableIndexFile` if the file is damaged; see `VectorSearch`.
    """

    def __init__(self, space: str, model: str, *, file: IndexFile | None = None, position: int = 0) -> None:
        self.position = position
        self._space = space
        self._model = model
        self._file = file
        self._mapped: _Rows | None = None
        self._added: _Rows | None = None
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return sum(part.count for part in self._parts())

    def _parts(self) -> list[_Rows]:
        return [part for part in (self._mapped, self._added) if part is not None]

    @property
    def dimension(self) -> int | None:
        """Dimension of the vectors held, None while there are none."""
        return next((part.matrix.shape[1] for part in self._parts()), None)

    def bytes_held(self) -> int:
        """How much memory it takes, with what is mapped."""
        return sum(each.nbytes for part in self._parts() for each in (part.matrix, part.codes, part.drawers))

    def map(self, moment: Moment) -> None:
        """Begin with the vectors of the file, if it is there and nothing is held yet."""
        with self._lock:
            if self.position or self._file is None:
                return
            found = self._file.mapped(moment)
            if found is None or not found.has("codes"):
                return
            try:
                self._mapped = _mapped(found)
            except UnusableIndexFile as error:
                self._file.refuse(str(error))
                return
            self.position = found.position

    def refresh(self, moment: Moment) -> None:
        """Apply what the log recorded since the last call."""
        self.map(moment)
        with self._lock:
            if moment.head <= self.position:
                return
            kinds: set[change_log.Kind] = {"drawers.embedded", *change_log.OUT_OF_INDEX}
            self._take_in(moment, list(change_log.follow(moment, self._space, after=self.position, kinds=kinds)))
            self.position = moment.head

    def write(self, moment: Moment, writer: IndexWriter) -> None:
        """Write the vectors of this moment to a file, two bytes a number; nothing if there are none."""
        self.map(moment)
        if self.position:
            self.refresh(moment)
        source = self._held() if self.position else self._stored(moment.connection)
        drawers, codes, sums = [_NONE], [], []

        def written() -> Iterator[NDArray[Any]]:
            for numbers, vectors in source:
                short = np.rint(vectors * _ONE).astype(np.int16)
                drawers.append(numbers)
                codes.append(_signs(vectors).T)
                sums.append(sums_of(short))
                yield short

        writer.put("matrix", written(), checked=False)
        writer.put("drawers", np.concatenate(drawers))
        if codes:
            writer.put("codes", np.concatenate(codes, axis=1))
            writer.put("sums", np.concatenate(sums))

    def _held(self) -> Iterator[tuple[NDArray[np.int64], Vectors]]:
        """The drawers and vectors in memory, without those that were removed."""
        with self._lock:
            kept = [(part, np.flatnonzero(part.drawers[: part.count] != _GONE)) for part in self._parts()]
            drawers = [part.drawers[places] for part, places in kept]
        for numbers, (part, places) in zip(drawers, kept, strict=True):
            for start in range(0, len(places), _WRITTEN):
                some = slice(start, start + _WRITTEN)
                yield numbers[some], part.vectors(places[some])

    def _stored(self, connection: Connection) -> Iterator[tuple[NDArray[np.int64], Vectors]]:
        """The same from the records."""
        for some in embedding_cache.strides([(1, embedding_cache.last_drawer(connection, self._space))]):
            loaded = embedding_cache.load(connection, self._space, self._model, [some])
            if loaded is not None:
                yield loaded.drawers, loaded.matrix

    def search(self, query: Vectors, most: int) -> dict[int, float]:
        """The best drawers for a query vector, with the cosine similarity of their best chunk."""
        parts = self._parts()
        wide = most * _CHUNKS
        while True:
            near = [(_NONE, query[:0]), *(_nearest(part, query, min(part.count, wide)) for part in parts)]
            drawers, similarities = (np.concatenate(columns) for columns in zip(*near, strict=True))
            found = best_by_drawer(drawers, similarities, most)
            if len(found) == most or all(part.count <= wide for part in parts):
                return found
            wide *= 4

    def similarities(self, query: Vectors, drawers: Collection[int]) -> dict[int, float]:
        """The cosine similarity of the best chunk of each of these drawers that are in the index."""
        found: dict[int, float] = {}
        asked = np.fromiter(drawers, np.int64, len(drawers))
        for rows in self._parts() if drawers else ():
            # A lookup table instead of comparisons: its last place stays False, for removed rows (-1).
            wanted = np.zeros(rows.newest + 2, np.bool_)
            wanted[asked[(asked >= 0) & (asked <= rows.newest)]] = True
            held = np.flatnonzero(wanted[rows.drawers[: rows.count]])
            found |= best_by_drawer(rows.drawers[held], rows.similarities(held, query), len(held))
        return found

    def neighbours(self, drawer: int, most: int) -> dict[int, float]:
        """The drawers nearest to one, among the newest, best first; empty if it is not in the index."""
        parts = self._parts()
        own = [part.vectors(np.flatnonzero(part.drawers[: part.count] == drawer)) for part in parts]
        if not sum(map(len, own)):
            return {}
        queries, near, places = np.concatenate(own)[:_PIECES], [], _NEWEST
        for part in reversed(parts):
            some, held = part.newest_places(places)
            near.append((part.drawers[some], np.max([part.similarities(some, each) for each in queries], axis=0)))
            places -= held
        drawers, similarities = (np.concatenate(columns) for columns in zip(*near, strict=True))
        return best_by_drawer(np.where(drawers == drawer, _GONE, drawers), similarities, most)

    def _take_in(self, moment: Moment, news: Sequence[Change]) -> None:
        # Removals first: only current drawers are loaded, including those that were reinstated.
        self._remove({change.subject for change in news if change.kind in change_log.OUT_OF_INDEX})
        embedded = [each for each in news if each.kind == "drawers.embedded" and each.detail == self._model]
        ranges = [(change.subject, change.until) for change in embedded]
        for some in embedding_cache.strides(ranges):
            loaded = embedding_cache.load(moment.connection, self._space, self._model, [some])
            if loaded is not None and loaded.drawers.min() <= max((part.newest for part in self._parts()), default=0):
                self._remove(set(loaded.drawers.tolist()))  # recomputed vectors replace the previous ones
            self._append(loaded)

    def _append(self, news: ChunkVectors | None) -> None:
        if news is None:
            return
        old = self._added
        count = old.count if old else 0
        total = count + len(news.drawers)
        if old is None or total > len(old.drawers):
            old = _grown(old, total, news.matrix.shape[1])
        old.matrix[count:total] = news.matrix
        old.codes[:, count:total] = _signs(news.matrix).T
        old.drawers[count:total] = news.drawers
        self._added = _Rows(old.matrix, old.codes, old.drawers, total, max(old.newest, int(news.drawers.max())))

    def _remove(self, drawers: Collection[int]) -> None:
        for rows in self._parts() if drawers else ():
            gone = np.isin(rows.drawers[: rows.count], list(drawers))
            rows.drawers[: rows.count][gone] = _GONE
            rows.matrix[: rows.count][gone] = 0.0
            if rows.unchecked is not None:
                rows.unchecked[gone] = False


def _mapped(found: MappedIndex) -> _Rows:
    """The vectors of a file; if they are few, as they are compared."""
    matrix, sums, drawers = found.array("matrix"), found.array("sums", np.uint64), found.array("drawers", np.int64)
    newest = int(drawers.max())
    rows = _Rows(
        matrix, found.array("codes", np.uint64), drawers, len(drawers), newest, sums, np.ones(len(drawers), np.bool_)
    )
    if rows.count > _COMPARED_IN_FULL:
        return rows
    return replace(rows, matrix=rows.vectors(slice(rows.count)), sums=None, unchecked=None)


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


def _nearest(rows: _Rows, query: Vectors, wide: int) -> tuple[NDArray[np.int64], Vectors]:
    """The drawers of so many rows that are the most similar, and their similarities."""
    compared, similarities = _similar(rows, query, wide)
    best = np.argpartition(-similarities, wide - 1)[:wide]
    return rows.drawers[compared[best]], similarities[best]


def _similar(rows: _Rows, query: Vectors, least: int) -> tuple[NDArray[np.int64], Vectors]:
    """At least this many rows compared with the query, and their similarities."""
    if rows.count <= _COMPARED_IN_FULL:
        return np.arange(rows.count), rows.similarities(slice(rows.count), query)
    unlike = np.zeros(rows.count, np.uint16)
    for codes, signs in zip(rows.codes, _signs(query[np.newaxis, :])[0], strict=True):
        unlike += np.bitwise_count(codes[: rows.count] ^ signs)
    unlike[rows.removed()] = len(rows.codes) * 64 + 1  # they take nobody's place, however near they were
    wanted = min(rows.count, max(least, _COMPARED))
    enough = np.searchsorted(np.bincount(unlike).cumsum(), wanted)
    near = np.flatnonzero(unlike <= enough)
    return near, rows.similarities(near, query)


def _signs(vectors: Vectors) -> NDArray[np.uint64]:
    """The signs of vectors as bits, 64 to a number; one row per vector."""
    bits = np.packbits(vectors > 0, axis=1)
    whole = np.zeros((len(vectors), -(-vectors.shape[1] // 64) * 8), np.uint8)
    whole[:, : bits.shape[1]] = bits
    return whole.view(np.uint64)


def best_by_drawer(drawers: NDArray[np.int64], similarities: Vectors, most: int) -> dict[int, float]:
    """The best drawers with the similarity of their best chunk, best first, at most this many."""
    wide = most * _CHUNKS
    if len(similarities) > wide > 0:  # sorting all would take most of the time
        near = np.flatnonzero(similarities >= np.partition(similarities, -wide)[-wide])
        if len(found := _best_first(drawers[near], similarities[near], most)) == most:
            return found
    return _best_first(drawers, similarities, most)


def first_pieces(own: ChunkVectors) -> dict[int, Vectors]:
    """By drawer, the vectors of its first chunks; of equal ones, as where a message repeats itself, only one."""
    found: dict[int, Vectors] = {}
    for drawer in np.unique(own.drawers).tolist():
        held = np.flatnonzero(own.drawers == drawer)
        first = own.matrix[held[np.argsort(own.ordinals[held])[:_PIECES]]]
        found[drawer] = np.stack([*{each.tobytes(): each for each in first}.values()])
    return found


def best_beside(drawer: int, found: Iterable[Mapping[int, float]], most: int) -> dict[int, float]:
    """The best drawers but this one, of what was found for each of its chunks, best first, at most this many."""
    best: dict[int, float] = {}
    for each in found:
        for number, similarity in each.items():
            best[number] = max(similarity, best.get(number, -1.0))
    best.pop(drawer, None)
    return dict(sorted(best.items(), key=lambda item: -item[1])[:most])


def _best_first(drawers: NDArray[np.int64], similarities: Vectors, most: int) -> dict[int, float]:
    order, found = np.argsort(-similarities, kind="stable"), dict[int, float]()
    for drawer, similarity in zip(drawers[order].tolist(), similarities[order].tolist(), strict=True):
        if len(found) == most:
            break
        if drawer != _GONE:
            found.setdefault(drawer, similarity)
    return found


class VectorIndex(Protocol):
    """Finds the drawers of a space nearest to a query vector; what it finds may be superseded since."""

    def similar(self, moment: Moment, query: Vectors, most: int) -> dict[int, float]:
        """The best drawers at a moment with the cosine similarity of their best chunk, best first.

        Raises:
            InvalidVector: the query's vector does not have the stored dimension.
            ServerUnreachable: they are on a server, which does not answer.
        """

    def similarities(self, moment: Moment, query: Vectors, drawers: Collection[int]) -> dict[int, float]:
        """The cosine similarity of each of these drawers that has a vector."""

    def neighbours(self, moment: Moment, drawers: Sequence[int], most: int) -> dict[int, dict[int, float]]:
        """By drawer, those nearest to it, with their cosine similarity, best first; without those that have none."""


class VectorSearch:
    """Finds the drawers nearest to a query vector.

    `whole` holds every vector and serves small spaces, other processes and a damaged projection. Once the projection
    is owned, up to date and large, `whole` is dropped and `tail` holds what is newer than the projection.
    """

    def __init__(self, space: str, model: str, chroma: ChromaIndex, file: IndexFile, *, exact_below: int) -> None:
        self._space = space
        self._model = model
        self._chroma = chroma
        self._file = file
        self._exact_below = exact_below
        self._index = self._whole()
        self._uses_chroma = False
        self._lock = threading.Lock()

    def similar(self, moment: Moment, query: Vectors, most: int) -> dict[int, float]:
        """The nearest drawers with their cosine similarity, best first; superseded ones may be among them.

        Raises:
            InvalidVector: the query's vector does not have the stored dimension.
        """
        with self._lock:
            self._choose(moment)
            uses_chroma = self._uses_chroma
        found = self._ask(moment, lambda index: self._searched(index, query, most))
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
            return self._ask(moment, lambda index: index.similarities(query, drawers))
        vectors = embedding_cache.of_drawers(moment.connection, self._space, self._model, drawers)
        if vectors is None:
            return {}
        return best_by_drawer(vectors.drawers, cosines(vectors.matrix, query), len(vectors.drawers))

    def neighbours(self, moment: Moment, drawers: Sequence[int], most: int) -> dict[int, dict[int, float]]:
        """By drawer, those nearest to it, with their cosine similarity, best first: among the newest if in memory."""
        if not self._uses_chroma:
            return self._ask(moment, lambda index: {each: index.neighbours(each, most) for each in drawers})
        own = embedding_cache.of_drawers(moment.connection, self._space, self._model, drawers)
        return {
            drawer: best_beside(drawer, [self.similar(moment, each, most + 1) for each in pieces], most)
            for drawer, pieces in (first_pieces(own) if own is not None else {}).items()
        }

    def bytes_held(self) -> int:
        """How much memory the vectors take, with what is mapped."""
        return self._index.bytes_held()

    def write(self, moment: Moment, writer: IndexWriter) -> None:
        """Write all vectors of this moment to a file.

        Raises:
            UnusableIndexFile: the old file, which they were mapped from, is damaged.
        """
        (self._whole() if self._uses_chroma else self._index).write(moment, writer)

    def reopen(self, moment: Moment) -> None:
        """Map the file that was just written, in the place of what is in memory, if that is in use."""
        if self._index.position and not self._uses_chroma:
            fresh = self._whole()
            fresh.refresh(moment)
            with self._lock:
                if not self._uses_chroma:
                    self._index = fresh

    def reset(self) -> None:
        """Forget what is in memory: it is read again."""
        with self._lock:
            self._uses_chroma, self._index = False, self._whole()

    def _whole(self) -> ExactIndex:
        return ExactIndex(self._space, self._model, file=self._file)

    def _searched(self, index: ExactIndex, query: Vectors, most: int) -> dict[int, float]:
        if index.dimension not in {None, len(query)}:
            raise InvalidVector(
                f"The query's vector has length {len(query)}, the vectors stored by {self._model!r} {index.dimension}."
            )
        return index.search(query, most)

    def _ask(self, moment: Moment, question: Callable[[ExactIndex], T]) -> T:
        """The answer of the index in memory; if its file turns out to be damaged, it is read from the records."""
        index = self._index
        index.refresh(moment)
        try:
            return question(index)
        except UnusableIndexFile as error:
            self._file.refuse(str(error))
            with self._lock:
                if self._index is index:
                    self._index = self._whole()
            return self._ask(moment, question)

    def _choose(self, moment: Moment) -> None:
        """Switch between the two ways when the size, or losing the projection, requires it."""
        if not self._uses_chroma:
            self._index.map(moment)
        if self._uses_chroma and not self._chroma.owned:
            self._uses_chroma, self._index = False, self._whole()
        elif not self._uses_chroma and self._is_large():
            position = change_log.cursor(moment.connection, self._space, CURSOR)
            self._index = ExactIndex(self._space, self._model, position=position)
            self._uses_chroma = True

    def _is_large(self) -> bool:
        """Whether there are many vectors and Chroma has them; asked on opening, before any are loaded."""
        if self._index.position:
            return len(self._index) > self._exact_below and self._chroma.owned
        return self._chroma.own_large()
