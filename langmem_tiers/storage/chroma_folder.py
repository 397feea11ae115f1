"""One open Chroma folder: ids and vectors in, nearest ids out. The only module that speaks to Chroma."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from langmem_tiers.errors import ProjectionDamaged
from langmem_tiers.storage.embedding_cache import ChunkVectors, Vectors

_COLLECTION = "drawers"
_BATCH = 1000
_STAMP = "left"


class ChromaFolder:
    """A folder opened with Chroma, made if it is new. Vectors are named drawer.ordinal.

    Methods raise `ProjectionDamaged` for whatever Chroma has to say against its own files.
    """

    def __init__(self, path: Path) -> None:
        import chromadb
        from chromadb.config import Settings

        self.path = path
        # Searches come from many threads, and none may meet a client that is being closed.
        self._lock = threading.RLock()
        path.mkdir(parents=True, exist_ok=True)
        configuration: Any = {"hnsw": {"space": "cosine", "ef_search": 200}}
        with _damage():
            self._client = chromadb.PersistentClient(str(path), settings=Settings(anonymized_telemetry=False))
            self._collection = self._client.get_or_create_collection(
                _COLLECTION, embedding_function=None, configuration=configuration
            )
        self._closed = False

    def upsert(self, vectors: ChunkVectors | None) -> None:
        """Put vectors in, over those of the same name."""
        if vectors is None:
            return
        names = [f"{drawer}.{ordinal}" for drawer, ordinal in zip(vectors.drawers, vectors.ordinals, strict=True)]
        with _damage():
            for start in range(0, len(names), _BATCH):
                stop = start + _BATCH
                self._collection.upsert(ids=names[start:stop], embeddings=vectors.matrix[start:stop])

    def delete(self, names: Sequence[str]) -> None:
        """Take vectors out; unknown names are no error."""
        if names:
            with _damage():
                self._collection.delete(ids=list(names))

    def search(self, query: Vectors, most: int) -> dict[int, float]:
        """The best drawers by cosine similarity of their best chunk, as the index finds them."""
        with self._lock, _damage():
            if self._closed:
                raise ProjectionDamaged(f"{self.path} was closed.")
            # A drawer may hold several of the nearest chunks: ask for more chunks, at all if need be.
            wide = most * 2
            nearest = self._nearest(query, wide)
            while len(best := _best_by_drawer(nearest)) < most and len(nearest) == wide:
                wide *= 4
                nearest = self._nearest(query, wide)
        return dict(list(best.items())[:most])

    def _nearest(self, query: Vectors, most: int) -> list[tuple[str, float]]:
        answer = self._collection.query(query_embeddings=query[np.newaxis, :], n_results=most, include=["distances"])
        return list(zip(answer["ids"][0], (answer["distances"] or [[]])[0], strict=True))

    def ids(self) -> set[str]:
        """The names of all vectors held."""
        with _damage():
            return set(self._collection.get(include=[])["ids"])

    def count(self) -> int:
        """How many vectors are held; Chroma takes about ten seconds to count a million."""
        with _damage():
            return int(self._collection.count())

    @property
    def stamp(self) -> str | None:
        """What it was stamped with last."""
        with _damage():
            return (self._collection.metadata or {}).get(_STAMP)

    def put_stamp(self, stamp: str) -> None:
        """Mark the folder, so that it is told from an older copy, and from one that Chroma began anew."""
        with _damage():
            self._collection.modify(metadata={_STAMP: stamp})

    def close(self) -> None:
        """Let go of files and threads."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._client.close()  # type: ignore[attr-defined]


def _best_by_drawer(nearest: Sequence[tuple[str, float]]) -> dict[int, float]:
    best: dict[int, float] = {}
    for name, distance in nearest:
        drawer = int(name.partition(".")[0])
        best[drawer] = max(best.get(drawer, -1.0), 1.0 - distance)
    return best


@contextmanager
def _damage() -> Iterator[None]:
    from chromadb.errors import ChromaError

    try:
        yield
    except ChromaError as error:
        raise ProjectionDamaged(f"Chroma failed: {error}.") from error
