"""The Chroma projection of a space: ids and vectors, no text; it can be rebuilt from the records at any time.

One process owns it at a time, by an operating-system lock held while it is open: two writers on one Chroma folder
silently lose vectors. An index that was being written when its process died is not trusted again: a fresh folder is
built beside it and then taken into use.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from filelock import FileLock, Timeout
from sqlalchemy import Connection

from langmem_tiers.storage import change_log, embedding_cache, facts
from langmem_tiers.storage.change_log import Change
from langmem_tiers.storage.database import Database
from langmem_tiers.storage.embedding_cache import ChunkVectors, Vectors

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.models.Collection import Collection

CURSOR = "chroma"
_FOLDER, _MODEL, _UNCLEAN = "chroma.folder", "chroma.model", "chroma.unclean"
_COLLECTION = "drawers"
_BATCH = 1000
# Drawers read from the cache at a time while a folder is built anew.
_STRIDE = 2000
# Changes carried out between two moves of the cursor.
_CHANGES = 16


class ChromaIndex:
    """The projection of one embedding model, if this process owns it; see `own`."""

    def __init__(self, folder: Path, database: Database, model: str) -> None:
        self.folder = folder
        self._database = database
        self.model = model
        self._lock = FileLock(folder / "chroma.lock")
        self._client: ClientAPI | None = None
        self._collection: Collection | None = None
        self._marked = False

    @property
    def owned(self) -> bool:
        """Does this process hold the projection open?"""
        return self._collection is not None

    def exists(self) -> bool:
        """Has it ever been built?"""
        with self._database.reading() as connection:
            return facts.get(connection, self._database.space, _FOLDER) is not None

    def wanted(self) -> bool:
        """Is there anything in the log that the projection does not hold yet?"""
        with self._database.reading() as connection:
            return bool(self._news(connection)) or self._left_unclean(connection)

    def own(self) -> bool:
        """Take the projection, building it anew if it can not be trusted; False while another process has it."""
        if self.owned:
            return True
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            return False
        try:
            self._connect(self._trusted() or self._build())
        except BaseException:
            self._lock.release()
            raise
        return True

    def step(self) -> bool:
        """Carry out the next changes of the log; False when there are none. The caller owns the projection."""
        with self._database.reading() as connection:
            news = self._news(connection)
            vectors = embedding_cache.load(connection, self._database.space, self.model, self._ranges(news))
        if not news:
            return False
        self._mark()
        # Deletion first: only drawers that stand are loaded, also those that stand again.
        _delete(self._held(), news)
        _upsert(self._held(), vectors)
        with self._database.writing() as connection:
            change_log.reset_cursor(connection, self._database.space, CURSOR, news[-1].position)
        return True

    def search(self, query: Vectors, most: int) -> dict[int, float]:
        """The best drawers by cosine similarity of their best chunk, as Chroma's index finds them."""
        answer = self._held().query(query_embeddings=query[np.newaxis, :], n_results=most * 2, include=["distances"])
        distances = (answer["distances"] or [[]])[0]
        best: dict[int, float] = {}
        for name, distance in zip(answer["ids"][0], distances, strict=True):
            drawer = int(name.partition(".")[0])
            best[drawer] = max(best.get(drawer, -1.0), 1.0 - distance)
        return dict(list(best.items())[:most])

    def ids(self) -> set[str]:
        """The ids of all vectors held, as drawer.ordinal."""
        return set(self._held().get(include=[])["ids"])

    def count(self) -> int:
        """How many vectors are held."""
        return int(self._held().count())

    def rebuild(self) -> None:
        """Build a fresh folder from the embedding cache and take it into use. The caller owns the projection."""
        self._shut()
        self._connect(self._build())

    def close(self) -> None:
        """Let go of the projection, noting that it was left clean."""
        if not self.owned:
            return
        self._shut()
        if self._marked:
            with self._database.writing() as connection:
                facts.drop(connection, self._database.space, _UNCLEAN)
            self._marked = False
        self._lock.release()

    def _held(self) -> Collection:
        if self._collection is None:
            raise RuntimeError("the Chroma projection is not open in this process")
        return self._collection

    def _news(self, connection: Connection) -> list[Change]:
        old = change_log.cursor(connection, self._database.space, CURSOR)
        kinds: set[change_log.Kind] = {"drawers.embedded", "drawer.superseded"}
        return change_log.read(connection, self._database.space, after=old, kinds=kinds, most=_CHANGES)

    def _left_unclean(self, connection: Connection) -> bool:
        return facts.get(connection, self._database.space, _UNCLEAN) is not None

    def _ranges(self, news: Iterable[Change]) -> list[tuple[int, int]]:
        return [(c.subject, c.until) for c in news if c.kind == "drawers.embedded" and c.detail == self.model]

    def _trusted(self) -> Path | None:
        with self._database.reading() as connection:
            space = self._database.space
            name, model = facts.get(connection, space, _FOLDER), facts.get(connection, space, _MODEL)
            unclean = self._left_unclean(connection)
        folder = self.folder / "chroma" / name if name else None
        whole = folder is not None and (folder / "chroma.sqlite3").exists()
        return folder if whole and model == self.model and not unclean else None

    def _build(self) -> Path:
        space = self._database.space
        with self._database.reading() as connection:
            used = facts.get(connection, space, _FOLDER) or "0"
        fresh = self.folder / "chroma" / str(int(used) + 1)
        shutil.rmtree(fresh, ignore_errors=True)
        self._fill(fresh)
        with self._database.writing() as connection:
            facts.put(connection, space, _FOLDER, fresh.name)
            facts.put(connection, space, _MODEL, self.model)
            facts.drop(connection, space, _UNCLEAN)
        for other in (self.folder / "chroma").iterdir():
            if other != fresh:
                shutil.rmtree(other, ignore_errors=True)
        return fresh

    def _fill(self, fresh: Path) -> None:
        self._connect(fresh)
        space = self._database.space
        with self._database.reading() as connection:
            # What is logged after this position is carried out again by `step`, which does no harm.
            position = change_log.head(connection, space)
            last = embedding_cache.last_drawer(connection, space)
        for first in range(1, last + 1, _STRIDE):
            with self._database.reading() as connection:
                stride = [(first, first + _STRIDE - 1)]
                vectors = embedding_cache.load(connection, space, self.model, stride)
            _upsert(self._held(), vectors)
        with self._database.writing() as connection:
            change_log.reset_cursor(connection, space, CURSOR, position)
        self._shut()

    def _connect(self, folder: Path) -> None:
        import chromadb
        from chromadb.config import Settings

        folder.mkdir(parents=True, exist_ok=True)
        self._client = chromadb.PersistentClient(str(folder), settings=Settings(anonymized_telemetry=False))
        configuration: Any = {"hnsw": {"space": "cosine", "ef_search": 200}}
        self._collection = self._client.get_or_create_collection(
            _COLLECTION, embedding_function=None, configuration=configuration
        )

    def _shut(self) -> None:
        self._collection = None
        if self._client is not None:
            self._client.close()  # type: ignore[attr-defined]
            self._client = None

    def _mark(self) -> None:
        """Note, before the first write, that the folder is in use: only a clean close takes the note away."""
        if not self._marked:
            with self._database.writing() as connection:
                facts.put(connection, self._database.space, _UNCLEAN, "1")
            self._marked = True


def _upsert(collection: Collection, vectors: ChunkVectors | None) -> None:
    if vectors is None:
        return
    names = [f"{drawer}.{ordinal}" for drawer, ordinal in zip(vectors.drawers, vectors.ordinals, strict=True)]
    for start in range(0, len(names), _BATCH):
        stop = start + _BATCH
        collection.upsert(ids=names[start:stop], embeddings=vectors.matrix[start:stop])


def _delete(collection: Collection, news: Iterable[Change]) -> None:
    superseded = [change for change in news if change.kind == "drawer.superseded"]
    names = [f"{change.subject}.{ordinal}" for change in superseded for ordinal in range(change.until)]
    if names:
        collection.delete(ids=names)
