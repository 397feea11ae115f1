"""The vectors of the names of entities, kept in the embedding cache of their space; never on the path of a recall."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from heapq import nlargest
from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy import Connection, delete, select

from langmem_tiers.background.text_vectors import TextVectors
from langmem_tiers.content import content_hash
from langmem_tiers.embeddings.guard import GuardedEmbedder
from langmem_tiers.errors import EmbeddingUnavailable, InvalidVector
from langmem_tiers.knowledge_graph.view import GraphView
from langmem_tiers.storage.schema import embeddings

if TYPE_CHECKING:
    from langmem_tiers.storage.database import Database
    from langmem_tiers.storage.embedding_cache import Vectors

# Names that are compared: those of the entities that were spoken of last.
_COMPARED = 5_000
# Names that get their vectors in one question; the others get theirs in the next ones.
_EMBEDDED = 256
_AT_ONCE = 10_000


def nearest(
    database: Database, embedder: GuardedEmbedder, view: GraphView, mention: str, *, least: float
) -> list[tuple[int, float]]:
    """Entities whose name means about the same as a mention, with the cosine similarity, the nearest first.

    Nothing is found while the embedder is away.
    """
    if embedder.resting or not embedder.inner.available() or not view.ids:
        return []
    standing = (row for row in view.entities.values() if row.merged_into is None)
    compared = nlargest(_COMPARED, standing, key=lambda row: (row.last_seen, row.number))
    hashes = [key(row.name) for row in compared]
    query, _ = embedder.query(mention)
    if query is None:
        return []
    known = _known(database, embedder.inner.name, hashes)
    missing = {each: row.name for each, row in zip(hashes, compared, strict=True) if each not in known}
    if missing:
        _embed(database, embedder, dict(list(missing.items())[:_EMBEDDED]))
        known = _known(database, embedder.inner.name, hashes)
    rows = [(row.number, known[each]) for each, row in zip(hashes, compared, strict=True) if each in known]
    return _best(query, [each for each in rows if len(each[1]) == len(query)], least)


def forget(connection: Connection, space: str, names: Iterable[str]) -> None:
    """Drop the vectors of names that no entity has any more."""
    hashes = list({key(name) for name in names})
    for start in range(0, len(hashes), _AT_ONCE):
        these = embeddings.c.text_hash.in_(hashes[start : start + _AT_ONCE])
        connection.execute(delete(embeddings).where(embeddings.c.space == space, these))


def key(name: str) -> bytes:
    """What the vector of a name is kept under: never the same as that of a text."""
    return content_hash(f"\0name\0{name}")


def _best(query: Vectors, rows: Sequence[tuple[int, Vectors]], least: float) -> list[tuple[int, float]]:
    if not rows:
        return []
    similar = np.stack([vector for _, vector in rows]) @ query
    found = [(number, float(share)) for (number, _), share in zip(rows, similar, strict=True) if share >= least]
    return sorted(found, key=lambda each: -each[1])


def _known(database: Database, model: str, hashes: Sequence[bytes]) -> dict[bytes, Vectors]:
    columns = select(embeddings.c.text_hash, embeddings.c.vector)
    of_model = (embeddings.c.space == database.space, embeddings.c.model == model)
    with database.reading() as connection:
        rows = connection.execute(columns.where(*of_model, embeddings.c.text_hash.in_(hashes))).all()
    vectors = {row.text_hash: np.frombuffer(row.vector, "<f4") for row in rows if len(row.vector) % 4 == 0}
    return {each: vector for each, vector in vectors.items() if np.isfinite(vector).all()}


def _embed(database: Database, embedder: GuardedEmbedder, texts: dict[bytes, str]) -> None:
    try:
        TextVectors(database, embedder.prompt, _all).embed(texts)
        embedder.works()
    except (EmbeddingUnavailable, InvalidVector) as error:
        embedder.failed(error)


def _all(_connection: Connection, hashes: Collection[bytes]) -> Collection[bytes]:
    return hashes
