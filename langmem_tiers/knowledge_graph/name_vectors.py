"""Vectors of entity names, kept in the space's embedding cache; not used while answering a recall."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from heapq import nlargest
from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy import Connection

from langmem_tiers.content import content_hash
from langmem_tiers.errors import EmbeddingUnavailable, InvalidVector
from langmem_tiers.knowledge_graph.view import GraphView
from langmem_tiers.models.guarded_embedder import GuardedEmbedder
from langmem_tiers.models.text_vectors import TextVectors
from langmem_tiers.storage import embedding_cache

if TYPE_CHECKING:
    from langmem_tiers.storage.database import Database
    from langmem_tiers.storage.embedding_cache import Vectors

# How many names are compared: those of the most recently mentioned entities.
_COMPARED = 5_000
# How many names are embedded per query; the rest follow in later queries.
_EMBEDDED = 256


def nearest(
    database: Database, embedder: GuardedEmbedder, view: GraphView, mention: str, *, least: float
) -> list[tuple[int, float]]:
    """Entities whose name is semantically close to a mention, with the cosine similarity, closest first.

    Empty while the embedder is unavailable.
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
    embedding_cache.forget_refusals(connection, space, hashes)
    embedding_cache.drop(connection, space, hashes)


def key(name: str) -> bytes:
    """The cache key of a name's vector, distinct from that of any text."""
    return content_hash(f"\0name\0{name}")


def _best(query: Vectors, rows: Sequence[tuple[int, Vectors]], least: float) -> list[tuple[int, float]]:
    if not rows:
        return []
    similar = embedding_cache.cosines(np.stack([vector for _, vector in rows]), query)
    found = [(number, float(share)) for (number, _), share in zip(rows, similar, strict=True) if share >= least]
    return sorted(found, key=lambda each: -each[1])


def _known(database: Database, model: str, hashes: Sequence[bytes]) -> dict[bytes, Vectors]:
    with database.reading() as connection:
        return embedding_cache.of_texts(connection, database.space, model, hashes)


def _embed(database: Database, embedder: GuardedEmbedder, texts: dict[bytes, str]) -> None:
    try:
        TextVectors(database, embedder.prompt, _all).embed(texts)
        embedder.works()
    except (EmbeddingUnavailable, InvalidVector) as error:
        embedder.failed(error)


def _all(_connection: Connection, hashes: Collection[bytes]) -> Collection[bytes]:
    return hashes
