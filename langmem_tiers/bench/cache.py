"""An embedder that remembers what it embedded, in one file shared by spaces, runs and processes."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from langmem_tiers.embeddings.base import Embedder

_SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors (
    model  TEXT NOT NULL,
    hash   BLOB NOT NULL,  -- SHA-256 of the text
    vector BLOB NOT NULL,  -- float32, as it came from the model
    PRIMARY KEY (model, hash)
)
"""
_BUSY_SECONDS = 60
_VARIABLES = 500  # of one statement


class CachedEmbedder:
    """`inner`, with the vectors of documents kept in the SQLite file `path`.

    Queries always go to the model, so that their time is the real one. Several processes may share the file: at
    worst, one text is embedded twice.
    """

    def __init__(self, inner: Embedder, path: Path) -> None:
        self._inner = inner
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        with self._connected() as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(_SCHEMA)

    @property
    def name(self) -> str:
        """The name of the model below."""
        return self._inner.name

    def available(self) -> bool:
        """Whether the model below can be used now."""
        return self._inner.available()

    def prepare(self) -> None:
        """Load the model below."""
        self._inner.prepare()

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of a query, from the model."""
        return self._inner.embed_query(text)

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of the texts: those known from the file, the others from the model."""
        if not texts:
            return self._inner.embed_documents(texts)
        hashes = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        vectors = self._known(hashes)
        missing = {digest: text for digest, text in zip(hashes, texts, strict=True) if digest not in vectors}
        if missing:
            made = dict(zip(missing, self._inner.embed_documents(list(missing.values())), strict=True))
            self._keep(made)
            vectors.update(made)
        return np.stack([vectors[digest] for digest in hashes])

    def _known(self, hashes: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        found: dict[bytes, NDArray[np.float32]] = {}
        with self._connected() as connection:
            for start in range(0, len(hashes), _VARIABLES):
                some = hashes[start : start + _VARIABLES]
                marks = ",".join("?" * len(some))
                query = f"SELECT hash, vector FROM vectors WHERE model = ? AND hash IN ({marks})"
                rows = connection.execute(query, (self.name, *some))
                found.update((digest, np.frombuffer(vector, dtype=np.float32)) for digest, vector in rows)
        return found

    def _keep(self, vectors: Mapping[bytes, NDArray[np.float32]]) -> None:
        rows = [(self.name, digest, vector.astype(np.float32).tobytes()) for digest, vector in vectors.items()]
        with self._connected() as connection, connection:
            connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        # A connection of its own for every call: embedders are called from any thread.
        with closing(sqlite3.connect(self._path, timeout=_BUSY_SECONDS)) as connection:
            yield connection
