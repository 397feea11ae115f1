"""The Chroma projection of a space: ids and vectors, no text; it can be rebuilt from the records at any time.

One process owns it at a time, by an operating-system lock held while it is open: two writers on one Chroma folder
silently lose vectors. An index that was being written when its process died is not trusted again: a fresh folder is
built beside it and then taken into use.
"""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from filelock import FileLock, Timeout
from sqlalchemy import Connection

from langmem_tiers.errors import ProjectionDamaged
from langmem_tiers.storage import change_log, embedding_cache, facts
from langmem_tiers.storage.change_log import Change
from langmem_tiers.storage.chroma_folder import ChromaFolder
from langmem_tiers.storage.database import Database
from langmem_tiers.storage.embedding_cache import Vectors
from langmem_tiers.telemetry.logs import say

log = logging.getLogger(__name__)

CURSOR = "chroma"
_FOLDER, _MODEL, _UNCLEAN = "chroma.folder", "chroma.model", "chroma.unclean"
# How many vectors it was left with, and what its folder was stamped with then.
_COUNT, _STAMP = "chroma.count", "chroma.stamp"
# Drawers read from the cache at a time while a folder is built anew.
_STRIDE = 2000
# Changes carried out between two moves of the cursor.
_CHANGES = 16


class ChromaIndex:
    """The projection of one embedding model, if this process owns it; see `own`."""

    def __init__(self, folder: Path, database: Database, model: str) -> None:
        self.folder = folder
        self.model = model
        self._database = database
        # Taken by the worker's thread and given back by the one that closes: it must not belong to a thread.
        self._lock = FileLock(folder / "chroma.lock", thread_local=False)
        self._open: ChromaFolder | None = None
        self._marked = False
        self._counted = False
        self._damaged: str | None = None
        self._taking = threading.Lock()  # the file lock lets every thread of this process in

    @property
    def owned(self) -> bool:
        """Does this process hold the projection open?"""
        return self._open is not None

    def exists(self) -> bool:
        """Has it ever been built?"""
        with self._database.reading() as connection:
            return facts.get(connection, self._database.space, _FOLDER) is not None

    def wanted(self) -> bool:
        """Is there anything in the log that the projection does not hold, or is it not to be trusted?"""
        with self._database.reading() as connection:
            name = facts.get(connection, self._database.space, _FOLDER)
            gone = name is not None and not self._is_whole(name)
            return gone or bool(self._news(connection)) or self._left_unclean(connection)

    def own(self) -> bool:
        """Take the projection, building it anew if it can not be trusted; False while another process has it.

        Raises:
            ProjectionDamaged: not even a new folder could be used.
        """
        if not self._take(self._built):
            return False
        if self._holds_what_it_was_left_with():
            return True
        self.distrust()
        return self._take(self._built)

    def own_large(self, least: int) -> bool:
        """Take the projection if it holds more than `least` vectors and can be used as it lies; False otherwise.

        This waits for Chroma to open its folder, and never for one to be built, nor for its vectors to be counted.
        """
        return self._size() > least and self._take(lambda: None)

    def _take(self, otherwise: Callable[[], ChromaFolder | None]) -> bool:
        with self._taking:
            if self.owned:
                return True
            try:
                self._lock.acquire(timeout=0)
            except Timeout:
                return False
            try:
                self._open = self._trusted() or otherwise()
            finally:
                if self._open is None:
                    self._lock.release()
            return self.owned

    def _holds_what_it_was_left_with(self) -> bool:
        """Count the vectors, once after opening: a stamp does not tell what somebody else did to the folder."""
        if not (self._counted or self._marked):
            self._counted = self._held().count() == self._size()
            return self._counted
        return True

    def _size(self) -> int:
        """How many vectors it held when it was last left clean."""
        with self._database.reading() as connection:
            count = facts.get(connection, self._database.space, _COUNT)
            return 0 if count is None or self._left_unclean(connection) else int(count)

    def step(self) -> bool:
        """Carry out the next changes of the log; False when there are none. The caller owns the projection.

        Raises:
            ProjectionDamaged: Chroma can not go on; see `distrust`.
        """
        with self._database.reading() as connection:
            news = self._news(connection)
            vectors = embedding_cache.load(connection, self._database.space, self.model, self._ranges(news))
        if not news:
            return False
        self._mark()
        # Deletion first: only drawers that stand are loaded, also those that stand again.
        self._held().delete(_superseded(news))
        self._held().upsert(vectors)
        with self._database.writing() as connection:
            change_log.reset_cursor(connection, self._database.space, CURSOR, news[-1].position)
        return True

    def search(self, query: Vectors, most: int) -> dict[int, float]:
        """The best drawers by cosine similarity of their best chunk, as the index finds them.

        Raises:
            ProjectionDamaged: it can not be asked; see `distrust`.
        """
        return self._held().search(query, most)

    def ids(self) -> set[str]:
        """The ids of all vectors held, as drawer.ordinal."""
        return self._held().ids()

    def rebuild(self) -> None:
        """Build a fresh folder from the embedding cache and take it into use. The caller owns the projection."""
        old, self._open = self._open, self._built()
        if old is not None:
            old.close()

    def distrust(self) -> None:
        """Let go of the projection, noting that it is to be built anew."""
        say(log, logging.WARNING, "chroma_distrusted", folder=self.folder)
        self._mark()
        self._let_go()

    def close(self) -> None:
        """Let go of the projection, noting that it was left clean; without that note it is built anew next time."""
        try:
            if self._open is not None and self._marked:
                left = _stamped(self._open)
                self._shut()
                with self._database.writing() as connection:
                    self._note_left(connection, left)
        except ProjectionDamaged as error:
            say(log, logging.WARNING, "chroma_left_unclean", folder=self.folder, error=error, reason=error)
        finally:
            self._let_go()

    def _let_go(self) -> None:
        self._shut()
        self._marked = self._counted = False
        if self._lock.is_locked:
            self._lock.release()

    def _shut(self) -> None:
        opened, self._open = self._open, None
        if opened is not None:
            opened.close()

    def _held(self) -> ChromaFolder:
        opened = self._open
        if opened is None:
            raise ProjectionDamaged("The Chroma projection is not open in this process.")
        return opened

    def _news(self, connection: Connection) -> list[Change]:
        old = change_log.cursor(connection, self._database.space, CURSOR)
        kinds: set[change_log.Kind] = {"drawers.embedded", "drawer.superseded"}
        return change_log.read(connection, self._database.space, after=old, kinds=kinds, most=_CHANGES)

    def _left_unclean(self, connection: Connection) -> bool:
        return facts.get(connection, self._database.space, _UNCLEAN) is not None

    def _ranges(self, news: Iterable[Change]) -> list[tuple[int, int]]:
        return [(c.subject, c.until) for c in news if c.kind == "drawers.embedded" and c.detail == self.model]

    def _trusted(self) -> ChromaFolder | None:
        """The folder in use, opened, if it was left clean, whole, and of this model."""
        with self._database.reading() as connection:
            space = self._database.space
            name, model = facts.get(connection, space, _FOLDER), facts.get(connection, space, _MODEL)
            stamp, unclean = facts.get(connection, space, _STAMP), self._left_unclean(connection)
        if name in {None, self._damaged} or model != self.model or unclean or not self._is_whole(str(name)):
            return None
        folder = self.folder / "chroma" / str(name)
        try:
            return _opened(folder, stamp)
        except ProjectionDamaged as error:
            self._damaged = name  # Chroma can not be asked twice for a folder that it failed to open
            say(log, logging.WARNING, "chroma_rebuilt", folder=folder, error=error, reason=error)
            return None

    def _is_whole(self, name: str) -> bool:
        return (self.folder / "chroma" / name / "chroma.sqlite3").exists()

    def _built(self) -> ChromaFolder:
        """A fresh folder with all vectors, in use from now on; the folders before it are deleted."""
        space = self._database.space
        with self._database.reading() as connection:
            used = facts.get(connection, space, _FOLDER) or "0"
            # What is logged after this position is carried out again by `step`, which does no harm.
            position = change_log.head(connection, space)
        path = self.folder / "chroma" / str(int(used) + 1)
        shutil.rmtree(path, ignore_errors=True)
        fresh = ChromaFolder(path)
        try:
            self._fill(fresh)
            self._take_into_use(fresh, position)
        except BaseException:
            fresh.close()  # or the next attempt would meet its files
            raise
        for other in (self.folder / "chroma").iterdir():
            if other != path:
                shutil.rmtree(other, ignore_errors=True)
        return fresh

    def _fill(self, fresh: ChromaFolder) -> None:
        space = self._database.space
        with self._database.reading() as connection:
            last = embedding_cache.last_drawer(connection, space)
        for first in range(1, last + 1, _STRIDE):
            with self._database.reading() as connection:
                stride = [(first, first + _STRIDE - 1)]
                vectors = embedding_cache.load(connection, space, self.model, stride)
            fresh.upsert(vectors)

    def _take_into_use(self, fresh: ChromaFolder, position: int) -> None:
        space, left = self._database.space, _stamped(fresh)
        with self._database.writing() as connection:
            facts.put(connection, space, _FOLDER, fresh.path.name)
            facts.put(connection, space, _MODEL, self.model)
            self._note_left(connection, left)
            change_log.reset_cursor(connection, space, CURSOR, position)
        self._marked, self._counted = False, True

    def _note_left(self, connection: Connection, left: _Left) -> None:
        """Note that the folder is whole with so many vectors and this stamp."""
        space = self._database.space
        facts.put(connection, space, _COUNT, str(left.count))
        facts.put(connection, space, _STAMP, left.stamp)
        facts.drop(connection, space, _UNCLEAN)

    def _mark(self) -> None:
        """Note, before the first write, that the folder is in use: only a clean close takes the note away."""
        if not self._marked:
            with self._database.writing() as connection:
                facts.put(connection, self._database.space, _UNCLEAN, "1")
            self._marked = True


@dataclass(frozen=True, slots=True)
class _Left:
    """What a folder was left with."""

    count: int
    stamp: str


def _stamped(folder: ChromaFolder) -> _Left:
    left = _Left(folder.count(), uuid4().hex)
    folder.put_stamp(left.stamp)
    return left


def _opened(folder: Path, stamp: str | None) -> ChromaFolder:
    """The folder, if it is the one that was left: Chroma takes an emptied file for a new one."""
    opened = ChromaFolder(folder)
    try:
        _require_stamp(opened, stamp)
    except ProjectionDamaged:
        opened.close()
        raise
    return opened


def _require_stamp(opened: ChromaFolder, stamp: str | None) -> None:
    if stamp is None or opened.stamp != stamp:
        raise ProjectionDamaged(f"{opened.path} is not as it was left: it was emptied, or is another copy.")


def _superseded(news: Iterable[Change]) -> list[str]:
    superseded = [change for change in news if change.kind == "drawer.superseded"]
    return [f"{change.subject}.{ordinal}" for change in superseded for ordinal in range(change.until)]
