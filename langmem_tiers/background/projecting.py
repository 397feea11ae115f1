"""Updates what is made of the records from the log: the Chroma projection, if this process owns it; index file."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from sqlalchemy import Connection

from langmem_tiers.clock import Clock, to_millis
from langmem_tiers.errors import ProjectionDamaged, ServerUnreachable, StorageError
from langmem_tiers.storage.chroma import ChromaIndex
from langmem_tiers.storage.chroma_server import Shelf
from langmem_tiers.storage.index_file import UnusableIndexFile, WritingStopped
from langmem_tiers.store import FolderStore
from langmem_tiers.telemetry.logs import say

log = logging.getLogger(__name__)

# Milliseconds for which a few drawers wait for others.
_PATIENCE = 60_000


class VectorServerAway(Exception):
    """The server of the vectors does not answer; they are sent later."""


@dataclass
class ProjectJob:
    """Keeps the vectors of a space in Chroma, following the log.

    Chroma keeps Python's lock for about as long for a few drawers as for many, and no search needs them there at once.

    Attributes:
        least: Drawers that are waited for, for a minute.
        waited: Whether there were some, but fewer, the last time.
    """

    chroma: ChromaIndex
    clock: Clock
    least: int = 0
    name: str = "project"
    waited: bool = field(default=False, init=False)
    _failure: ProjectionDamaged | None = field(default=None, init=False)

    def due(self, connection: Connection) -> int | None:
        """When so few drawers are no longer waited with, in UTC milliseconds; None if none are."""
        since = self.chroma.few_since(self.least) if self.least and self.chroma.needed() else None
        due = None if since is None else since + _PATIENCE
        # What is left behind by then, another process has.
        return due if due is not None and due > to_millis(self.clock()) else None

    def step(self, stop: Callable[[], bool]) -> bool:
        """Apply new changes in the log; False if there are few or none, or another process owns the projection.

        One that searches are to ask is opened in any case.

        Raises:
            ProjectionDamaged: even a rebuilt projection could not be used. This job does not try again.
        """
        if self._failure is not None:  # there may be many rounds, and building it may take long
            raise self._failure
        try:
            worked = self._followed(stop)
        except ProjectionDamaged as error:
            self._failure, self.chroma.failure = error, str(error)
            say(log, logging.WARNING, "chroma_failed", folder=self.chroma.folder, error=error, reason=error)
            raise
        if not self.waited:  # else nothing was tried
            self.chroma.failure = None
        return worked

    def _followed(self, stop: Callable[[], bool]) -> bool:
        if not self.chroma.needed():
            return self.chroma.reserve() and self.chroma.drop()
        if self.chroma.lost():
            self.chroma.distrust()
        if self._waits():
            return False
        if not (self.chroma.owned or self.chroma.own_large() or self.chroma.wanted()):
            return False
        try:
            return self._catch_up(stop)
        except ProjectionDamaged:
            # A damaged index is rebuilt once; if that fails as well, it is retried later.
            self.chroma.distrust()
            return self._catch_up(stop)

    def _catch_up(self, stop: Callable[[], bool]) -> bool:
        worked = False
        if self.chroma.own():
            while not self._waits() and self.chroma.step():
                worked = True
                if stop():
                    break
        return worked

    def _waits(self) -> bool:
        if self.least:
            since = self.chroma.few_since(self.least)
            self.waited = since is not None and 0 <= to_millis(self.clock()) - since < _PATIENCE
        return self.waited


@dataclass(frozen=True)
class ServerProjectJob:
    """Keeps the vectors of a space on the Chroma server, following the log."""

    vectors: Shelf
    space: str
    name: str = "project"

    def due(self, connection: Connection) -> None:
        """Never due by the clock."""

    def step(self, stop: Callable[[], bool]) -> bool:
        """Send new changes to the server; True if it was stopped before the last of them.

        Raises:
            VectorServerAway: it does not answer.
        """
        more = True
        try:
            while more and not stop():
                more = self.vectors.step()
        except ServerUnreachable as error:
            level = self.vectors.level_of(error)
            say(log, level, "vectors_wait", space=self.space, error=error, reason=error)
            raise VectorServerAway from error
        return more


@dataclass(frozen=True)
class IndexFileJob:
    """Writes the file that the in-memory index of a space is mapped from, whenever enough has changed."""

    store: FolderStore
    name: str = "index"

    def due(self, connection: Connection) -> None:
        """Never due by the clock."""

    def step(self, stop: Callable[[], bool]) -> bool:
        """Write the file anew if it lacks much; True if it has to be tried again, from the records.

        What comes while it is written is left for the next time.
        """
        with self.store.reading() as connection:
            if not self.store.index_file.is_behind(connection):
                return False
        try:
            self.store.write_index_file(stop)
        except UnusableIndexFile as error:
            self.store.index_file.refuse(str(error))
            self.store.reset_index()
            return True
        except WritingStopped:
            pass
        except StorageError as error:
            # Recall reads the records instead; the jobs after this one do not wait for the disk.
            say(log, logging.WARNING, "index_file_not_written", space=self.store.name, error=error, reason=error)
        return False
