"""The archiving pass: sessions that ended become episodes, and episodes that expired go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection

from langmem_tiers.clock import to_millis
from langmem_tiers.episodes.archivist import Archivist
from langmem_tiers.storage import episodes
from langmem_tiers.storage.episodes import Ended

_MINUTE = 60_000


@dataclass(frozen=True)
class ArchivingPass:
    """Archives one space, a session between two commits."""

    archivist: Archivist

    def step(self, stop: Callable[[], bool]) -> bool:
        """Archive what has ended; False when nothing had. After each session `stop` is asked.

        Raises:
            StorageError: what is not archived yet is archived later.
        """
        store, now = self.archivist.store, to_millis(self.archivist.clock())
        self._prune(now)
        with store.reading() as connection:
            ended = [room for room in self._waiting(connection) if self._moment(room) <= now]
        for room in ended:
            self.archivist.archive(room)
            if stop():
                break
        return bool(ended)

    def next_due(self, connection: Connection) -> int | None:
        """When a session ends or an episode expires, in UTC milliseconds, be it past; None if never as things are."""
        moments = [self._moment(room) for room in self._waiting(connection)]
        expiry = episodes.next_expiry(connection, self.archivist.store.key)
        return min(moments if expiry is None else [*moments, expiry], default=None)

    def _waiting(self, connection: Connection) -> list[Ended]:
        enabled = self.archivist.settings.mining.enabled
        return episodes.unarchived(connection, self.archivist.store.key) if enabled else []

    def _moment(self, room: Ended) -> int:
        idle = round(self.archivist.settings.sessions.idle_minutes * _MINUTE)
        return room.touched_at + idle if room.ended_at is None else room.ended_at

    def _prune(self, now: int) -> None:
        store = self.archivist.store
        with store.reading() as connection:
            if not episodes.expired(connection, store.key, now):
                return
        with store.writing() as connection:
            episodes.remove(connection, store.key, episodes.expired(connection, store.key, now), now)
