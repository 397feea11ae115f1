"""The embedding cache: one vector per model and text, which chunks have theirs, and which texts a model refuses.

The dimension of a model is recorded with its first vector and never changes. A number of a vector takes two bytes
(docs/decisions.md); older vectors are float32, and read as such, until `halve` has converted them.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import BindParameter, Connection, Text, and_, bindparam, delete, func, select, type_coerce

from langmem_tiers.errors import InvalidVector
from langmem_tiers.storage import facts as values
from langmem_tiers.storage.change_log import ranges
from langmem_tiers.storage.database import Database
from langmem_tiers.storage.drawers import BESIDE_TEXT, as_drawer
from langmem_tiers.storage.schema import chunks, drawers, embeddings, facts, notes
from langmem_tiers.storage.sealed_text import is_intact
from langmem_tiers.storage.statements import (
    Prepared,
    among,
    batches,
    here,
    insert_new,
    listed,
    numbered,
    plausible,
    upsert,
)
from langmem_tiers.telemetry.logs import say
from langmem_tiers.types import Drawer

log = logging.getLogger(__name__)

Vectors = NDArray[np.float32]

# How vectors are stored: the numbers of a vector of length 1, times 32,767; and how they were before.
_SHORT, _SINGLE = np.dtype("<i2"), np.dtype("<f4")
_ONE = 32_767
# The longest that a vector of length 1 can be after rounding. Bytes that are none mostly are much longer.
_LONGEST = 1.1

_REFUSED = "refused:"
_HEX = 32  # characters of a text's hash
# Drawers whose vectors are read at a time.
_STRIDE = 10_000


def cosines(vectors: Vectors, query: Vectors) -> Vectors:
    """The cosine similarity of each of these vectors with a query; all are of length 1."""
    # A product of matrices would begin threads from about a thousand vectors on, which wait for each other: with 2,000
    # vectors 3 ms of processor time each on two cores, and 20 ms where these are busy, instead of 0.15.
    found: Vectors = np.einsum("ij,j->i", vectors, query)
    return found


@dataclass(frozen=True)
class ChunkVectors:
    """Vectors of chunks as rows: `drawers` and `ordinals` name the chunk of each row of `matrix`."""

    drawers: NDArray[np.int64]
    ordinals: NDArray[np.int64]
    matrix: Vectors


@dataclass(frozen=True, kw_only=True)
class ChunkText:
    """A chunk that still needs its vector."""

    drawer: int
    text_hash: bytes
    speaker: str | None
    text: str


_STANDING = and_(numbered(drawers, chunks.c.drawer), drawers.c.superseded_by.is_(None))
_STANDING_CHUNKS = chunks.join(drawers, _STANDING)
_VECTOR = and_(*here(embeddings, model=bindparam("model")), embeddings.c.text_hash == chunks.c.text_hash)
# The vectors of chunks, also of superseded drawers.
_OF_DRAWERS = (
    select(chunks.c.drawer, chunks.c.ordinal, embeddings.c.vector)
    .select_from(chunks.join(embeddings, _VECTOR))
    .where(*here(chunks), listed(chunks.c.drawer))
)
_VECTORS = Prepared(_OF_DRAWERS)
_LONG: BindParameter[int] = bindparam("long", expanding=True)
_WITH_PIECES = Prepared(
    BESIDE_TEXT.add_columns(chunks.c.start, chunks.c.stop, embeddings.c.vector)
    .outerjoin(chunks, and_(numbered(chunks, drawers.c.number, "drawer"), drawers.c.number.in_(_LONG)))
    .outerjoin(embeddings, _VECTOR)
    .where(listed(drawers.c.number))
)
_STANDING_VECTORS = (
    select(chunks.c.drawer, chunks.c.ordinal, embeddings.c.vector)
    .select_from(_STANDING_CHUNKS.join(embeddings, _VECTOR))
    .where(*here(chunks))
    .order_by(chunks.c.drawer, chunks.c.ordinal)
)


_OF_FIRST_TO_LAST = chunks.c.drawer.between(bindparam("first"), bindparam("last"))
_BETWEEN = Prepared(_STANDING_VECTORS.where(_OF_FIRST_TO_LAST))
_MISSING = (
    select(chunks.c.drawer, chunks.c.text_hash, chunks.c.start, chunks.c.stop)
    .select_from(_STANDING_CHUNKS.outerjoin(embeddings, _VECTOR))
    .where(*here(chunks), _OF_FIRST_TO_LAST, embeddings.c.text_hash.is_(None))
    .order_by(chunks.c.drawer, chunks.c.ordinal)
)
_SAID = select(drawers.c.number, drawers.c.speaker, type_coerce(drawers.c.content, Text).label("content")).where(
    *here(drawers), listed(drawers.c.number), is_intact(drawers.c.content)
)


def missing(connection: Connection, space: str, model: str, first: int, last: int) -> list[ChunkText]:
    """The chunks of current drawers `first` to `last` without a vector from this model, one per distinct text.

    Altered texts are left out: their vectors would be found for the texts as they were stored.
    """
    found = connection.execute(_MISSING, {"space": space, "model": model, "first": first, "last": last}).all()
    # Once for each drawer: a text is compared with its hash as a whole, also where it has thousands of chunks.
    said = {row.number: row for row in among(connection, _SAID, sorted({row.drawer for row in found}), space=space)}
    distinct: dict[bytes, ChunkText] = {}
    for drawer, text_hash, start, stop in found:
        if text_hash not in distinct and (whole := said.get(drawer)) is not None:
            text = whole.content[start:stop]
            distinct[text_hash] = ChunkText(drawer=drawer, text_hash=text_hash, speaker=whole.speaker, text=text)
    return list(distinct.values())


_WAITING = Prepared(
    select(func.count(chunks.c.drawer.distinct()))
    .select_from(_STANDING_CHUNKS.outerjoin(embeddings, _VECTOR))
    .where(*here(chunks), _OF_FIRST_TO_LAST, embeddings.c.text_hash.is_(None))
)


def waiting(connection: Connection, space: str, model: str, ranges: Iterable[tuple[int, int]]) -> int:
    """How many current drawers of these ranges have a chunk without a vector from this model."""
    given = {"space": space, "model": model}
    return sum(int(_WAITING.rows(connection, first=first, last=last, **given)[0][0]) for first, last in ranges)


def put(connection: Connection, space: str, model: str, hashes: Sequence[bytes], vectors: Vectors) -> None:
    """Store vectors; texts that already have one keep it."""
    rows = (
        {"model": model, "text_hash": text_hash, "vector": vector.tobytes()}
        for text_hash, vector in zip(hashes, _packed(vectors), strict=True)
    )
    insert_new(connection, embeddings, space, rows)


def load(
    connection: Connection, space: str, model: str, spans: Iterable[tuple[int, int]], dimension: int | None = None
) -> ChunkVectors | None:
    """The vectors of all chunks of current drawers in these ranges, None if there are none.

    Of this dimension, if it is known.
    """
    given = {"space": space, "model": model}
    rows = [row for first, last in ranges(spans) for row in _BETWEEN.rows(connection, first=first, last=last, **given)]
    return _chunk_vectors(rows, dimension or known_dimension(connection, space, model)) if rows else None


def strides(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The same drawers, each once, in ranges short enough to be loaded one by one."""
    for first, last in ranges(spans):
        for start in range(first, last + 1, _STRIDE):
            yield start, min(last, start + _STRIDE - 1)


def _chunk_vectors(rows: Sequence[Any], dimension: int | None) -> ChunkVectors | None:
    """The usable vectors as a matrix; the doctor reports and repairs the others."""
    matrix, usable = _unpacked([row[2] for row in rows], dimension)
    if not usable.all():
        say(log, logging.WARNING, "unusable_vectors_skipped", count=len(rows) - int(usable.sum()))
    if not usable.any():
        return None
    numbers = np.array([row[:2] for row in rows], dtype=np.int64)[usable]
    return ChunkVectors(numbers[:, 0], numbers[:, 1], matrix if usable.all() else matrix[usable])


def _packed(vectors: Vectors) -> NDArray[np.int16]:
    """Vectors as they are stored, whose numbers are off by at most 1.5e-5."""
    return np.rint(np.clip(vectors, -1, 1) * _ONE).astype(_SHORT)


def _unpacked(stored: Sequence[bytes], dimension: int | None) -> tuple[Vectors, NDArray[np.bool_]]:
    """Stored vectors as rows, and which of them are usable: whole, finite and no longer than 1."""
    width = dimension or 0
    matrix = np.full((len(stored), width), np.nan, np.float32)
    lengths = np.fromiter(map(len, stored), np.int64, len(stored))
    for kind, scale in ((_SHORT, 1 / _ONE), (_SINGLE, 1.0)):
        held = np.flatnonzero(lengths == width * kind.itemsize)
        if width and len(held):
            whole = b"".join(stored if len(held) == len(stored) else [stored[place] for place in held.tolist()])
            matrix[held] = np.frombuffer(whole, kind).reshape(len(held), width).astype(np.float32) * np.float32(scale)
    with np.errstate(over="ignore", invalid="ignore"):
        length = np.sqrt(np.einsum("ij,ij->i", matrix, matrix))[:, np.newaxis]
        # Rounding made them a bit longer or shorter; Chroma compares directions only.
        np.divide(matrix, length, out=matrix, where=length > 0)
    return matrix, (length[:, 0] < _LONGEST) & (width > 0)


def each_unpacked(stored: Sequence[bytes | None], dimension: int | None) -> list[Vectors | None]:
    """Stored vectors of this dimension; None in the place of one that is missing or unusable."""
    matrix, usable = _unpacked([each or b"" for each in stored], dimension)
    return [vector if good else None for vector, good in zip(matrix, usable.tolist(), strict=True)]


def of_drawers(
    connection: Connection, space: str, model: str, numbers: Collection[int], dimension: int | None = None
) -> ChunkVectors | None:
    """The vectors of all chunks of these drawers, current or not; of this dimension, if it is known."""
    rows = _VECTORS.among(connection, sorted(numbers), space=space, model=model)
    return _chunk_vectors(rows, dimension or known_dimension(connection, space, model)) if rows else None


def with_nearest_pieces(
    connection: Connection, space: str, model: str, query: Vectors, said: Mapping[int, str], long: Collection[int]
) -> tuple[dict[int, Drawer], dict[int, tuple[int, int]]]:
    """Whole drawers by number, and of the `long` ones start and stop of the chunk nearest to a query vector.

    Their texts are read already.
    """
    rows = _WITH_PIECES.among(connection, sorted(said), space=space, model=model, long=list(long))
    beside: dict[int, Sequence[Any]] = {row[0]: row[:-3] for row in rows}
    pieces = [(row[0], row[-3:]) for row in rows if row[-1] is not None]
    vectors = each_unpacked([stored for _, (_, _, stored) in pieces], len(query))
    best: dict[int, tuple[float, tuple[int, int]]] = {}
    for (drawer, (start, stop, _)), vector in zip(pieces, vectors, strict=True):
        if vector is not None:
            similarity = float(vector @ query)
            if drawer not in best or similarity > best[drawer][0]:
                best[drawer] = similarity, (start, stop)
    whole = {drawer: as_drawer(row, said[drawer]) for drawer, row in beside.items()}
    return whole, {drawer: span for drawer, (_, span) in best.items()}


def named(connection: Connection, space: str, model: str) -> set[tuple[int, int]]:
    """Drawer and ordinal of the chunks of current drawers that have a vector, usable or not."""
    found = _STANDING_VECTORS.with_only_columns(chunks.c.drawer, chunks.c.ordinal)
    rows = connection.execute(found, {"space": space, "model": model})
    return {(drawer, ordinal) for drawer, ordinal in rows}


def of_texts(connection: Connection, space: str, model: str, hashes: Sequence[bytes]) -> dict[bytes, Vectors]:
    """The usable vectors of texts, by hash."""
    these = (*here(embeddings, space, model=model), listed(embeddings.c.text_hash))
    rows = among(connection, select(embeddings.c.text_hash, embeddings.c.vector).where(*these), hashes)
    if not rows:
        return {}
    found = each_unpacked([row.vector for row in rows], known_dimension(connection, space, model))
    return {row.text_hash: vector for row, vector in zip(rows, found, strict=True) if vector is not None}


def unusable(connection: Connection, space: str, model: str) -> list[bytes]:
    """The text hashes of vectors that are cut off, not finite, or of another dimension than the model's."""
    wanted = select(embeddings.c.text_hash, embeddings.c.vector).where(*here(embeddings, space, model=model))
    rows = connection.execute(wanted).all()
    found = each_unpacked([row.vector for row in rows], known_dimension(connection, space, model))
    return [row.text_hash for row, vector in zip(rows, found, strict=True) if vector is None]


def drop(connection: Connection, space: str, hashes: Sequence[bytes], model: str | None = None) -> None:
    """Delete the vectors of texts, those of one model or of all."""
    of_model = {} if model is None else {"model": model}
    for some in batches(hashes):
        these = (*here(embeddings, space, **of_model), embeddings.c.text_hash.in_(some))
        connection.execute(delete(embeddings).where(*these))


def counts(connection: Connection, space: str, model: str | None) -> tuple[int, int]:
    """How many chunks current drawers have, and how many of these have a vector from the model."""
    tables = _STANDING_CHUNKS.outerjoin(embeddings, _VECTOR)
    counted = select(func.count(), func.count(embeddings.c.text_hash)).select_from(tables).where(*here(chunks))
    total, embedded = connection.execute(counted, {"space": space, "model": model}).one()
    return total, embedded


def held(connection: Connection, space: str, hashes: Collection[bytes]) -> set[bytes]:
    """Those of these texts that some chunk has: a drawer may be forgotten while its text is embedded."""
    wanted = select(chunks.c.text_hash).distinct().where(*here(chunks, space), listed(chunks.c.text_hash))
    return {row.text_hash for row in among(connection, wanted, hashes)}


def chunks_of(connection: Connection, space: str, numbers: Collection[int]) -> int:
    """How many chunks these drawers have."""
    counted = select(func.count()).where(*here(chunks, space), listed(chunks.c.drawer))
    return sum(count for (count,) in among(connection, counted, numbers))


_ONE_MORE = Prepared(select(chunks.c.drawer).where(*here(chunks)).offset(bindparam("least")).limit(1))


def more_chunks_than(connection: Connection, space: str, least: int) -> bool:
    """Whether drawers have more chunks than that; at 200,000, this takes a few milliseconds."""
    return bool(_ONE_MORE.rows(connection, space=space, least=least))


def last_drawer(connection: Connection, space: str) -> int:
    """The highest number of a drawer with chunks, 0 if there is none."""
    return plausible(connection.execute(select(func.max(chunks.c.drawer)).where(*here(chunks, space))).scalar() or 0)


def known_dimension(connection: Connection, space: str, model: str) -> int | None:
    """The dimension of a model's vectors, None before the first one."""
    found = values.get(connection, space, dimension_of(model))
    return None if found is None else int(found)


def halve(connection: Connection, after: int, most: int) -> int:
    """Store vectors that are still float32 in half the room: of so many in the order of storing, after one of them.

    Returns the last one looked at, 0 if there are no more. Unusable vectors are left as they are.
    """
    wanted = f"SELECT rowid, space, model, vector FROM {embeddings.name} WHERE rowid > ? ORDER BY rowid LIMIT ?"
    rows = connection.exec_driver_sql(wanted, (after, most)).all()
    changed: list[tuple[bytes, int]] = []
    for space, model in {(row.space, row.model) for row in rows}:
        dimension = known_dimension(connection, space, model) or 0
        of_model = (row for row in rows if (row.space, row.model) == (space, model))
        single = [row for row in of_model if len(row.vector) == dimension * _SINGLE.itemsize]
        vectors = each_unpacked([row.vector for row in single], dimension)
        changed += [
            (_packed(vector).tobytes(), row.rowid)
            for row, vector in zip(single, vectors, strict=True)
            if vector is not None
        ]
    if changed:
        connection.exec_driver_sql(f"UPDATE {embeddings.name} SET vector = ? WHERE rowid = ?", changed)
    return rows[-1].rowid if rows else 0


def halve_all(database: Database) -> None:
    """Store all vectors that are still float32 in half the room, some at a time, so that others can write."""
    last, more = 0, True
    while more:
        with database.writing() as connection:
            last = halve(connection, last, _STRIDE)
            more = last > 0


def require_dimension(connection: Connection, space: str, model: str, dimension: int) -> None:
    """Check that a model's vectors always had this dimension.

    Raises:
        InvalidVector: they had a different one.
    """
    before = known_dimension(connection, space, model)
    if before is None:
        values.put(connection, space, dimension_of(model), str(dimension))
    elif before != dimension:
        raise InvalidVector(
            f"The model {model!r} gave vectors of length {before} before and {dimension} now.",
            way_out="Give the embedder another name if it is another model: its texts are then embedded anew.",
        )


def dimension_of(model: str) -> str:
    """The name under which the facts hold the dimension of a model's vectors."""
    return f"dimension:{model}"


def refuse(connection: Connection, space: str, model: str, reasons: Mapping[bytes, str]) -> None:
    """Set texts aside, by hash, for as long as the space uses this model."""
    rows = [{"space": space, "name": _refusal(model, each), "value": reason} for each, reason in reasons.items()]
    if rows:
        row = upsert(facts)
        connection.execute(
            row.on_conflict_do_update(index_elements=["space", "name"], set_={"value": row.excluded.value}), rows
        )


def refused_among(connection: Connection, space: str, model: str, hashes: Collection[bytes]) -> set[bytes]:
    """Those of these texts that are set aside."""
    wanted = select(facts.c.name).where(*here(facts, space), listed(facts.c.name))
    rows = among(connection, wanted, [_refusal(model, each) for each in hashes])
    return {bytes.fromhex(row.name[-_HEX:]) for row in rows}


def refusals(connection: Connection, space: str, model: str) -> dict[bytes, str]:
    """Every text that is set aside, by hash, with the reason."""
    these = (*here(facts, space), facts.c.name.startswith(_refusal(model, b""), autoescape=True))
    rows = connection.execute(select(facts.c.name, facts.c.value).where(*these).order_by(facts.c.name))
    return {bytes.fromhex(name[-_HEX:]): reason for name, reason in rows}


def refused_chunks(connection: Connection, space: str, hashes: Collection[bytes]) -> int:
    """How many chunks of current drawers have one of these texts."""
    found = select(func.count()).select_from(_STANDING_CHUNKS).where(*here(chunks, space), listed(chunks.c.text_hash))
    return sum(count for (count,) in among(connection, found, hashes))


def refused_notes(connection: Connection, space: str, hashes: Collection[bytes]) -> int:
    """How many notes have one of these texts."""
    found = select(func.count()).where(*here(notes, space), listed(notes.c.text_hash))
    return sum(count for (count,) in among(connection, found, hashes))


_FORGET_REFUSALS = Prepared(
    delete(facts).where(*here(facts), facts.c.name.startswith(_REFUSED), listed(func.ending(facts.c.name, _HEX)))
)


def forget_refusals(connection: Connection, space: str, hashes: Collection[bytes]) -> None:
    """Forget the refusals of texts that are deleted."""
    for some in batches([each.hex() for each in hashes]):
        _FORGET_REFUSALS.change(connection, space=space, among=some)


def retry_refused(connection: Connection, space: str, model: str) -> None:
    """Forget every refusal of a model, so that it is asked again."""
    these = facts.c.name.startswith(_refusal(model, b""), autoescape=True)
    connection.execute(delete(facts).where(*here(facts, space), these))


def _refusal(model: str, text_hash: bytes) -> str:
    return f"{_REFUSED}{model}:{text_hash.hex()}"
