"""The Chroma projection of a space: ids and vectors, no text. It can be rebuilt from the records at any time.

A space with few vectors may have none, if the settings say so. One process owns it at a time,
through an operating-system lock held while it is open: two writers on one Chroma folder silently lose vectors. On
close, the checksums of its files are noted; the note is deleted before the first write. Files that do not match the
note are never opened: a fresh folder is built beside them and swapped in.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import sqlite3
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from filelock import Timeout
from sqlalchemy import Connection

from langmem_tiers import private_files, replies
from langmem_tiers.errors import DatabaseLocked, ProjectionDamaged, StorageError
from langmem_tiers.storage import change_log, embedding_cache, facts, hnsw_files, purging
from langmem_tiers.storage.change_log import Change
from langmem_tiers.storage.database import Database
from langmem_tiers.storage.embedding_cache import ChunkVectors, Vectors
from langmem_tiers.storage.errors_border import translated
from langmem_tiers.storage.folder import CHROMA_LOCK
from langmem_tiers.telemetry.logs import say

log = logging.getLogger(__name__)

CURSOR = "chroma"
_FOLDER, _MODEL = "chroma.folder", "chroma.model"
# The state when last closed: number of vectors, and the files.
_COUNT, _FILES = "chroma.count", "chroma.files"
# The log position of the records that the folder was built from.
_BUILT = "chroma.built"
# Drawers read from the cache at a time while a folder is rebuilt.
_STRIDE = 2000
# Changes applied between two moves of the cursor.
_CHANGES = 16


class ChromaIndex:
    """The projection of one embedding model, if this process owns it; see `own`.

    A space has one from its first vector above `least` on, until half of these are left.
    Above `exact_below`, it is asked.
    """

    def __init__(self, folder: Path, database: Database, model: str, *, least: int, exact_below: int) -> None:
        self.folder = folder
        self.model = model
        self._least = min(least, exact_below)
        self._exact_below = exact_below
        self._database = database
        self._space = database.space
        # Acquired in the worker thread and released by whichever thread closes it, so it must not be tied to one.
        self._lock = private_files.lock(folder / CHROMA_LOCK, thread_local=False)
        self._open: ChromaFolder | None = None
        self._marked = False
        self._damaged: str | None = None
        self.failure: str | None = None
        """Why it could not be brought up to date, if that was so the last time."""
        self._taking = threading.Lock()  # the file lock does not exclude threads of this process

    @property
    def owned(self) -> bool:
        """Whether this process has the projection open."""
        return self._open is not None

    def needed(self) -> bool:
        """Whether the space has so many vectors that they are kept in Chroma."""
        with self._database.reading() as connection:
            least = self._least if self._fact(connection, _FOLDER) is None else self._least // 2
            return embedding_cache.more_chunks_than(connection, self._space, least)

    def behind_forgotten(self) -> bool:
        """Whether its files may still hold vectors of messages that were forgotten."""
        with self._database.reading() as connection:
            built = int(self._fact(connection, _BUILT) or 0)
            return purging.last_forgotten(connection, self._space) > built

    def lost(self) -> bool:
        """Whether its files were removed or replaced while this process has them open: it would write into nothing."""
        opened = self._open
        return opened is not None and not opened.is_there()

    def wanted(self) -> bool:
        """Whether the log has anything the projection lacks, or the projection cannot be trusted."""
        with self._database.reading() as connection:
            name = self._fact(connection, _FOLDER)
            lost = name is not None and (name == self._damaged or not self._left_clean(connection, name))
            return lost or bool(self._news(connection))

    def own(self) -> bool:
        """Take the projection, rebuilding it if it cannot be trusted; False while another process has it.

        Raises:
            ProjectionDamaged: not even a new folder could be used.
        """
        return self._take(self._built)

    def own_large(self) -> bool:
        """Take the projection if it is large enough to be asked, and usable as it is; False otherwise.

        This waits for Chroma to open its folder, but never for a rebuild.
        """
        with self._database.reading() as connection:
            name, count = self._fact(connection, _FOLDER), self._fact(connection, _COUNT)
            size = int(count) if name and count and self._left_clean(connection, name) else 0
        return size > self._exact_below and self._take(lambda: None)

    def reserve(self) -> bool:
        """Keep other processes from having the projection, and from deleting the space; False if one has it."""
        with self._taking:
            return self._locked()

    def _locked(self) -> bool:
        if not self._lock.is_locked:
            try:
                self._lock.acquire(timeout=0)
            except Timeout:
                return False
            except IsADirectoryError:
                raise _folder_in_its_place(self.folder / CHROMA_LOCK) from None
        return True

    def _take(self, otherwise: Callable[[], ChromaFolder | None]) -> bool:
        with self._taking:
            if self.owned:
                return True
            if not self._locked():
                return False
            try:
                self._open = self._trusted() or otherwise()
            finally:
                if self._open is None:
                    self._lock.release()
            return self.owned

    def few_since(self, least: int) -> int | None:
        """When the first of fewer than so many drawers came that it lacks, in UTC milliseconds.

        None if there are none, if there are more, or if something is to be deleted from it.
        """
        with self._database.reading() as connection:
            news = self._news(connection, most=least + 1)
            some = [each for each in news if each.kind == "drawers.embedded" and each.detail == self.model]
            if not some or len(some) < len(news) or sum(each.until - each.subject + 1 for each in some) >= least:
                return None
            return change_log.made_at(connection, self._space, some[0].position)

    def step(self) -> bool:
        """Apply the next changes from the log; False if there are none. The caller owns the projection.

        Raises:
            ProjectionDamaged: Chroma cannot continue; see `distrust`.
        """
        with self._database.reading() as connection:
            news = self._news(connection)
            if not news:
                return False
            embedded = (each for each in news if each.kind == "drawers.embedded" and each.detail == self.model)
            spans = [(each.subject, each.until) for each in embedded]
            vectors = embedding_cache.load(connection, self._space, self.model, spans)
        self._mark()
        # Deletions first: only current drawers are loaded, including those that were reinstated.
        gone = [change for change in news if change.kind in change_log.OUT_OF_INDEX]
        self._held().delete([f"{each.subject}.{ordinal}" for each in gone for ordinal in range(each.until)])
        self._held().upsert(vectors, between=replies.between)
        with self._database.writing() as connection:
            change_log.reset_cursor(connection, self._space, CURSOR, news[-1].position)
        return True

    def search(self, query: Vectors, most: int) -> dict[int, float]:
        """The best drawers by cosine similarity of their best chunk, as the index finds them.

        Raises:
            ProjectionDamaged: it cannot be queried; see `distrust`.
        """
        return self._held().search(query, most)

    def ids(self) -> set[str]:
        """The ids of all vectors held, as drawer.ordinal."""
        return self._held().ids()

    def rebuild(self) -> None:
        """Build a fresh folder from the embedding cache and swap it in. The caller owns the projection."""
        old, self._open = self._open, self._built()
        if old is not None:
            _closed(old)

    def discard(self) -> bool:
        """Delete its files, which still hold vectors of forgotten messages; False while another process has them open.

        The next step of the background builds them anew. Until then, searches go through the embedding cache.
        """
        with self._taking:
            if not self._locked():
                return False
            self._mark()
            try:
                self._let_go(release=False)
                _remove_all(self.folder / "chroma")
            finally:
                self._lock.release()
        return True

    def drop(self) -> bool:
        """Delete what a space that needs no projection still has of one; False if that is nothing."""
        with self._database.reading() as connection:
            if self._fact(connection, _FOLDER) is None:
                return False
        if not self.discard():
            return False
        with self._database.writing() as connection:
            facts.drop(connection, self._space, _FOLDER)
            facts.drop(connection, self._space, _COUNT)
        self._damaged = None
        return True

    def distrust(self) -> None:
        """Close the projection and mark it for a rebuild."""
        say(log, logging.WARNING, "chroma_distrusted", folder=self.folder)
        opened = self._open
        self._damaged = opened.path.name if opened is not None else self._damaged
        try:
            self._mark()
        except DatabaseLocked as error:
            # The caller still gets an answer. This process remembers, and the next one sees that the files differ.
            say(log, logging.INFO, "chroma_not_marked", folder=self.folder, error=error, reason=error)
        finally:
            self._let_go()

    def close(self) -> None:
        """Close the projection and note the state of its files; without that note it is rebuilt next time."""
        opened = self._open
        try:
            if opened is not None:
                count = opened.count() if self._marked else None
                opened.close()
                self._note_left(opened.path, count)
        except StorageError as error:
            if self._marked and not isinstance(error, ProjectionDamaged):
                raise
            say(log, logging.WARNING, "chroma_left_unclean", folder=self.folder, error=error, reason=error)
        finally:
            self._let_go()

    def _note_left(self, folder: Path, count: int | None) -> None:
        """Note which files a folder was left with, and the number of vectors if that may have changed.

        Chroma writes to its files whenever it is opened, so this is done even if nothing was added; losing the note
        only costs a rebuild.
        """
        left = json.dumps(checksums(folder))
        with self._database.writing(durable=count is not None) as connection:
            facts.put(connection, self._space, _FILES, left)
            if count is not None:
                facts.put(connection, self._space, _COUNT, str(count))

    def _let_go(self, *, release: bool = True) -> None:
        opened, self._open = self._open, None
        if opened is not None:
            _closed(opened)
        self._marked = False
        if release and self._lock.is_locked:
            self._lock.release()

    def _held(self) -> ChromaFolder:
        opened = self._open
        if opened is None:
            raise ProjectionDamaged("The Chroma projection is not open in this process.")
        return opened

    def _fact(self, connection: Connection, name: str) -> str | None:
        return facts.get(connection, self._space, name)

    def _news(self, connection: Connection, most: int = _CHANGES) -> list[Change]:
        kinds: set[change_log.Kind] = {"drawers.embedded", *change_log.OUT_OF_INDEX}
        return change_log.unread(connection, self._space, CURSOR, kinds=kinds, most=most)[1]

    def _left_clean(self, connection: Connection, name: str) -> bool:
        there = (self.folder / "chroma" / name / DATABASE).exists()
        return there and self._fact(connection, _FILES) is not None

    def _trusted(self) -> ChromaFolder | None:
        """The folder in use, opened, if its files are unchanged since the last close and belong to this model."""
        with self._database.reading() as connection:
            name, model = self._fact(connection, _FOLDER), self._fact(connection, _MODEL)
            left = self._fact(connection, _FILES)
        if name is None or left is None or name == self._damaged or model != self.model:
            return None
        folder = self.folder / "chroma" / name
        if not folder.is_dir():  # it may be deleted at any time, and is built anew without a word
            return None
        try:
            _require_as_left(folder, left)
            return ChromaFolder(folder)
        except ProjectionDamaged as error:
            self._damaged = name  # Chroma cannot be asked twice for a folder that it failed to open
            say(log, logging.WARNING, "chroma_rebuilt", folder=folder, error=error, reason=error)
            return None

    def _built(self) -> ChromaFolder:
        """Build a fresh folder with all vectors and switch to it; the older folders are deleted."""
        with self._database.reading() as connection:
            used = self._fact(connection, _FOLDER) or "0"
            # Changes logged after this position are applied again by `step`, which is harmless.
            position = change_log.head(connection, self._space)
        path = _fresh(self.folder / "chroma", used)
        fresh = ChromaFolder(path)
        try:
            self._fill(fresh)
            self._take_into_use(fresh, position)
        except BaseException:
            _closed(fresh)  # otherwise the next attempt would run into its files
            raise
        for other in path.parent.iterdir():
            if other != path:
                shutil.rmtree(other, ignore_errors=True)
        return fresh

    def _fill(self, fresh: ChromaFolder) -> None:
        with self._database.reading() as connection:
            last = embedding_cache.last_drawer(connection, self._space)
        for first in range(1, last + 1, _STRIDE):
            with self._database.reading() as connection:
                stride = [(first, first + _STRIDE - 1)]
                vectors = embedding_cache.load(connection, self._space, self.model, stride)
            fresh.upsert(vectors)

    def _take_into_use(self, fresh: ChromaFolder, position: int) -> None:
        space, count = self._space, fresh.count()
        with self._database.writing() as connection:
            facts.put(connection, space, _FOLDER, fresh.path.name)
            facts.put(connection, space, _MODEL, self.model)
            facts.put(connection, space, _COUNT, str(count))
            facts.put(connection, space, _BUILT, str(position))
            facts.drop(connection, space, _FILES)
            change_log.reset_cursor(connection, space, CURSOR, position)
        self._marked = True

    def _mark(self) -> None:
        """Delete the note on the folder's state before the first write: only a clean close writes another."""
        if not self._marked:
            with self._database.writing() as connection:
                facts.drop(connection, self._space, _FILES)
            self._marked = True


def has_files(space: Path) -> bool:
    """Whether there is anything in the Chroma folder of a space, whoever made it."""
    folder = space / "chroma"
    return folder.is_dir() and any(folder.iterdir())


def discard_files(space: Path) -> bool:
    """Delete what is in the Chroma folder of a space; False while another process has it open."""
    lock = private_files.lock(space / CHROMA_LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return False
    except IsADirectoryError:
        raise _folder_in_its_place(space / CHROMA_LOCK) from None
    try:
        _remove_all(space / "chroma")
    finally:
        lock.release()
    return True


def _folder_in_its_place(lock: Path) -> StorageError:
    told = f"A folder is in the place of the lock of Chroma: {lock}."
    return StorageError(told, way_out="Remove that folder: nothing of the memory is in it.")


def _remove_all(folder: Path) -> None:
    with translated(folder):
        for each in list(folder.iterdir()) if folder.is_dir() else ():
            shutil.rmtree(each)


def _fresh(folder: Path, used: str) -> Path:
    """A new folder beside the one in use; what was begun before and not taken into use is deleted.

    No number comes again: within a process, Chroma cannot open what it once failed to open.
    """
    with translated(folder):
        _make_way(folder)
        private_files.make_folder(folder)
        left = [each for each in folder.iterdir() if each.name != used]
        path = folder / str(max([int(used), *(int(each.name) for each in left if each.name.isdecimal())]) + 1)
        for each in left:
            shutil.rmtree(each, ignore_errors=True)
        private_files.make_folder(path)
        private_files.create_empty(path / DATABASE)
    return path


def _make_way(folder: Path) -> None:
    """Move aside what stands in the place of the folder and is none."""
    if folder.is_dir() or not os.path.lexists(folder):
        return
    aside = folder.with_name(f"{folder.name}.{uuid4().hex[:8]}.aside")
    folder.rename(aside)
    say(log, logging.WARNING, "chroma_moved_aside", file=aside)


def _closed(folder: ChromaFolder) -> None:
    try:
        folder.close()
    except ProjectionDamaged as error:
        say(log, logging.WARNING, "chroma_not_closed", folder=folder.path, error=error, reason=error)


DATABASE = "chroma.sqlite3"
_COLLECTION = "drawers"
# Vectors that Chroma gets at once, for which it keeps Python's lock: of 3,000, the longest that other threads wait is
# 0.36 s with 1,000 at once, 0.13 with 200, 0.09 with 100; the processor time is 0.87, 1.0 and 1.15 s.
_BATCH = 200
_PAGE = 10_000
_PART = 1 << 20
# Free pages that are left as they are: 1 MB.
_FREE = 256
_OURS = (KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError, ProjectionDamaged)


class ChromaFolder:
    """A folder opened with Chroma. Vectors are named drawer.ordinal.

    Methods raise `ProjectionDamaged` for any error that Chroma raises about its own files.
    """

    def __init__(self, path: Path) -> None:
        import chromadb
        from chromadb.config import Settings

        self.path = path
        # Searches come from many threads, and none may use a client that is being closed.
        self._lock = threading.RLock()
        # It is asked from 200,000 vectors on: there 200 finds 99.5 % of the ten nearest, 400 99.7 (docs/decisions.md).
        configuration: Any = {"hnsw": {"space": "cosine", "ef_search": 400}}
        with _damage():
            self._client = chromadb.PersistentClient(str(path), settings=Settings(anonymized_telemetry=False))
            self._collection = self._client.get_or_create_collection(
                _COLLECTION, embedding_function=None, configuration=configuration
            )
        self._closed = False
        self._sizes: tuple[int, ...] = ()
        self._file = self._identity()
        self._blank_if_grown()

    def is_there(self) -> bool:
        """Whether its database is still the file that was opened."""
        return self._file is not None and self._identity() == self._file

    def _identity(self) -> tuple[int, int] | None:
        try:
            found = (self.path / DATABASE).stat()
        except OSError:  # removed, or something else stands in the place of a folder
            return None
        return found.st_dev, found.st_ino

    def upsert(self, vectors: ChunkVectors | None, *, between: Callable[[Iterable[int]], Iterable[int]] = iter) -> None:
        """Add vectors, replacing those of the same name; `between` may give way to others before each batch."""
        if vectors is None:
            return
        names = [f"{drawer}.{ordinal}" for drawer, ordinal in zip(vectors.drawers, vectors.ordinals, strict=True)]
        with _damage():
            for start in between(range(0, len(names), _BATCH)):
                stop = start + _BATCH
                self._collection.upsert(ids=names[start:stop], embeddings=vectors.matrix[start:stop])
        self._blank_if_grown()

    def delete(self, names: Sequence[str]) -> None:
        """Remove vectors; unknown names are ignored."""
        if names:
            with _damage():
                # It refuses one that is named twice, such as that of a message that was edited to and fro.
                self._collection.delete(ids=[*dict.fromkeys(names)])

    def search(self, query: Vectors, most: int) -> dict[int, float]:
        """The best drawers by cosine similarity of their best chunk, as the index finds them."""
        with self._lock, _damage():
            if self._closed:
                raise ProjectionDamaged(f"{self.path} was closed.")
            # Several of the nearest chunks may belong to one drawer: ask for more chunks, for all of them if necessary.
            wide = most * 2
            nearest = self._nearest(query, wide)
            while len(best := _best_by_drawer(nearest)) < most and len(nearest) == wide:
                wide *= 4
                nearest = self._nearest(query, wide)
            if len(best) < most and len(nearest) < self._collection.count():
                # Many equal vectors, as of a message that repeats itself, cut HNSW's graph in parts, and a search
                # reaches only the part that it starts in.
                best = self._compared_with_all(query)
        return dict(list(best.items())[:most])

    def _compared_with_all(self, query: Vectors) -> dict[int, float]:
        """The cosine similarity of every drawer, best first."""
        found: list[tuple[str, float]] = []
        while True:
            page = self._collection.get(include=["embeddings"], limit=_PAGE, offset=len(found))
            if not page["ids"]:
                return _best_by_drawer(sorted(found, key=lambda item: item[1]))
            vectors = np.asarray(page["embeddings"], dtype=np.float32)
            lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(query)
            found += zip(page["ids"], (1.0 - embedding_cache.cosines(vectors, query) / lengths).tolist(), strict=True)

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

    def close(self) -> None:
        """Release files and threads."""
        with self._lock, _damage():
            if not self._closed:
                self._closed = True
                self._client.close()  # type: ignore[attr-defined]
                _give_back_room(self.path / DATABASE)
                hnsw_files.blank_unused(self.path)
                private_files.tighten(self.path)

    def _blank_if_grown(self) -> None:
        """Overwrite unused room in its files whenever that was made: it holds what was in memory before."""
        sizes = hnsw_files.sizes(self.path)
        if sizes != self._sizes:
            private_files.tighten(self.path)
            hnsw_files.blank_unused(self.path)
            self._sizes = sizes


def _give_back_room(file: Path) -> None:
    """Write Chroma's database anew where much of it is free: what it queued for its index stays as free pages."""
    if not file.exists():
        return
    # No room to do it, or somebody reads it, or removed it meanwhile: it is as good as before.
    with closing(sqlite3.connect(file)) as connection, suppress(sqlite3.OperationalError):
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        (free,) = connection.execute("PRAGMA freelist_count").fetchone()
        if free > max(_FREE, pages // 4):
            connection.execute("VACUUM")


def _require_as_left(folder: Path, left: str) -> None:
    if checksums(folder) != json.loads(left):
        raise ProjectionDamaged(f"{folder} is not as it was left: its files are damaged, or another copy's.")


def checksums(path: Path) -> dict[str, str]:
    """Size and CRC-32 of each file in a closed folder: 10 ms for 10,000 vectors.

    Native code that reads damaged files can kill the process, so they are compared before it opens them.
    """
    files = sorted(file for file in path.rglob("*") if file.is_file())
    return {file.relative_to(path).as_posix(): _checksum(file) for file in files}


def _checksum(file: Path) -> str:
    size = checked = 0
    with file.open("rb") as opened:
        while part := opened.read(_PART):
            size, checked = size + len(part), zlib.crc32(part, checked)
    return f"{size}:{checked:08x}"


def _best_by_drawer(nearest: Sequence[tuple[str, float]]) -> dict[int, float]:
    best: dict[int, float] = {}
    for name, distance in nearest:
        drawer = int(name.partition(".")[0])
        best[drawer] = max(best.get(drawer, -1.0), 1.0 - distance)
    return best


@contextmanager
def _damage() -> Iterator[None]:
    """Raise `ProjectionDamaged` for whatever Chroma raises: its own errors, SQLite's, and panics in native code."""
    try:
        yield
    except _OURS:
        raise
    except BaseException as error:
        raise ProjectionDamaged(f"Chroma failed: {type(error).__name__}: {error}.") from error
