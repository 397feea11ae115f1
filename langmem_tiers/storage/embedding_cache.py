"""The embedding cache: one vector a model and text, and which chunks have theirs."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import BindParameter, ColumnElement, Connection, Select, and_, bindparam, func, select
from sqlalchemy.dialects.sqlite import insert as insert_or

from langmem_tiers.storage.schema import chunks, drawers, embeddings
from langmem_tiers.telemetry.logs import say

log = logging.getLogger(__name__)

Vectors = NDArray[np.float32]
# Drawers whose vectors are read at a time.
_STRIDE = 10_000


@dataclass(frozen=True)
class ChunkVectors:
    """Vectors of chunks in rows: `drawers` and `ordinals` name the chunk of each row of `matrix`."""

    drawers: NDArray[np.int64]
    ordinals: NDArray[np.int64]
    matrix: Vectors


@dataclass(frozen=True, kw_only=True)
class ChunkText:
    """A chunk that waits for its vector."""

    drawer: int
    text_hash: bytes
    speaker: str | None
    text: str


def missing(connection: Connection, space: str, model: str, first: int, last: int) -> list[ChunkText]:
    """The chunks of standing drawers `first` to `last` that have no vector of this model, one a distinct text."""
    length = chunks.c.stop - chunks.c.start
    piece = func.substr(drawers.c.content, chunks.c.start + 1, length).label("text")
    found = (
        select(chunks.c.drawer, chunks.c.text_hash, drawers.c.speaker, piece)
        .select_from(chunks.join(drawers, _same_drawer()).outerjoin(embeddings, _same_text(model)))
        .where(chunks.c.space == space, chunks.c.drawer.between(first, last))
        .where(embeddings.c.text_hash.is_(None), drawers.c.superseded_by.is_(None))
        .order_by(chunks.c.drawer, chunks.c.ordinal)
    )
    distinct: dict[bytes, ChunkText] = {}
    for row in connection.execute(found):
        distinct.setdefault(row.text_hash, ChunkText(**row._mapping))
    return list(distinct.values())


def put(connection: Connection, space: str, model: str, hashes: Sequence[bytes], vectors: Vectors) -> None:
    """Keep vectors; texts that have one already keep theirs."""
    rows = [
        {"space": space, "model": model, "text_hash": text_hash, "vector": vector.astype("<f4").tobytes()}
        for text_hash, vector in zip(hashes, vectors, strict=True)
    ]
    if rows:
        connection.execute(insert_or(embeddings).on_conflict_do_nothing(), rows)


def load(connection: Connection, space: str, model: str, ranges: Iterable[tuple[int, int]]) -> ChunkVectors | None:
    """The vectors of all chunks of standing drawers in these ranges, None when there are none."""
    rows: list[tuple[int, int, bytes]] = []
    for first, last in _merged(ranges):
        rows.extend(_rows(connection, space, model, first, last))
    return _usable(rows) if rows else None


def strides(ranges: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The same drawers, each once, in ranges that are short enough to be loaded one by one."""
    for first, last in _merged(ranges):
        for start in range(first, last + 1, _STRIDE):
            yield start, min(last, start + _STRIDE - 1)


def _merged(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same drawers in as few ranges as possible, each drawer once."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return merged


def _usable(rows: Sequence[tuple[int, int, bytes]]) -> ChunkVectors | None:
    """The vectors as a matrix, without those that were cut off or are not finite: the doctor names and mends them."""
    sizes = Counter(len(vector) for _, _, vector in rows)
    usual = max(sizes, key=lambda size: (size % 4 == 0, sizes[size]), default=0)
    whole = [row for row in rows if len(row[2]) == usual]
    matrix = np.frombuffer(b"".join(row[2] for row in whole), dtype="<f4").reshape(len(whole), -1)
    finite = np.isfinite(matrix).all(axis=1)
    if len(whole) < len(rows) or not finite.all():
        say(log, logging.WARNING, "unusable_vectors_skipped", count=len(rows) - int(finite.sum()))
    if not finite.any():
        return None
    numbers = np.array([row[:2] for row in whole], dtype=np.int64)[finite]
    return ChunkVectors(numbers[:, 0], numbers[:, 1], matrix[finite].astype(np.float32, copy=False))


def of_drawers(connection: Connection, space: str, model: str, numbers: Collection[int]) -> ChunkVectors | None:
    """The vectors of all chunks of these drawers, whether they stand or not."""
    values = {"space": space, "model": model, "numbers": sorted(numbers)}
    rows = [(row.drawer, row.ordinal, row.vector) for row in connection.execute(_of_these(), values)]
    return _usable(rows) if rows else None


@cache
def _of_these() -> Select[Any]:
    """Built once: it is asked on every recall from a large space."""
    wanted = select(chunks.c.drawer, chunks.c.ordinal, embeddings.c.vector)
    return wanted.select_from(chunks.join(embeddings, _same_text(bindparam("model")))).where(
        chunks.c.space == bindparam("space"), chunks.c.drawer.in_(bindparam("numbers", expanding=True))
    )


def nearest_pieces(
    connection: Connection, space: str, model: str, query: Vectors, numbers: Collection[int]
) -> dict[int, tuple[int, int]]:
    """Start and stop of the chunk of each of these drawers that is nearest to a query vector."""
    found = (
        select(chunks.c.drawer, chunks.c.start, chunks.c.stop, embeddings.c.vector)
        .select_from(chunks.join(embeddings, _same_text(model)))
        .where(chunks.c.space == space, chunks.c.drawer.in_(sorted(numbers)))
    )
    best: dict[int, tuple[float, tuple[int, int]]] = {}
    for row in connection.execute(found):
        if len(row.vector) == query.nbytes:
            similarity = float(np.frombuffer(row.vector, dtype="<f4") @ query)
            if row.drawer not in best or similarity > best[row.drawer][0]:
                best[row.drawer] = similarity, (row.start, row.stop)
    return {drawer: span for drawer, (_, span) in best.items()}


def named(connection: Connection, space: str, model: str) -> set[tuple[int, int]]:
    """Drawer and ordinal of the chunks of standing drawers that have a vector, be it usable or not."""
    tables = chunks.join(drawers, _same_drawer()).join(embeddings, _same_text(model))
    found = select(chunks.c.drawer, chunks.c.ordinal).select_from(tables)
    rows = connection.execute(found.where(chunks.c.space == space, drawers.c.superseded_by.is_(None)))
    return {(row.drawer, row.ordinal) for row in rows}


def counts(connection: Connection, space: str, model: str | None) -> tuple[int, int]:
    """How many chunks standing drawers have, and how many of these have a vector of the model."""
    standing = chunks.join(drawers, _same_drawer())
    where = (chunks.c.space == space, drawers.c.superseded_by.is_(None))
    total = connection.execute(select(func.count()).select_from(standing).where(*where)).scalar_one()
    if model is None:
        return total, 0
    with_vector = standing.join(embeddings, _same_text(model))
    return total, connection.execute(select(func.count()).select_from(with_vector).where(*where)).scalar_one()


def last_drawer(connection: Connection, space: str) -> int:
    """The highest number of a drawer that has chunks, 0 when there is none."""
    return connection.execute(select(func.max(chunks.c.drawer)).where(chunks.c.space == space)).scalar() or 0


def _rows(connection: Connection, space: str, model: str, first: int, last: int) -> list[tuple[int, int, bytes]]:
    found = (
        select(chunks.c.drawer, chunks.c.ordinal, embeddings.c.vector)
        .select_from(chunks.join(drawers, _same_drawer()).join(embeddings, _same_text(model)))
        .where(chunks.c.space == space, chunks.c.drawer.between(first, last), drawers.c.superseded_by.is_(None))
        .order_by(chunks.c.drawer, chunks.c.ordinal)
    )
    return [(row.drawer, row.ordinal, row.vector) for row in connection.execute(found)]


def _same_drawer() -> ColumnElement[bool]:
    return and_(drawers.c.space == chunks.c.space, drawers.c.number == chunks.c.drawer)


def _same_text(model: str | BindParameter[str]) -> ColumnElement[bool]:
    return and_(
        embeddings.c.space == chunks.c.space,
        embeddings.c.model == model,
        embeddings.c.text_hash == chunks.c.text_hash,
    )
