"""The pruning pass: what dreams of long ago changed is dropped, and they can not be undone any more."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from langmem_tiers.clock import Clock, to_millis
from langmem_tiers.settings import DreamSettings
from langmem_tiers.storage import dreams
from langmem_tiers.storage.store import SpaceStore

_DAY = 86_400_000


@dataclass(frozen=True, kw_only=True)
class PruningPass:
    """Drops the changes of old dreams in one space."""

    store: SpaceStore
    settings: DreamSettings
    clock: Clock

    def step(self) -> bool:
        """Drop what is due; False when nothing was.

        Raises:
            StorageError: it is dropped later.
        """
        now = to_millis(self.clock())
        with self.store.reading() as connection:
            due = self.next_due(connection)
        if due is None or due > now:
            return False
        with self.store.writing() as connection:
            return bool(dreams.prune(connection, self.store.key, now - self._kept_for()))

    def next_due(self, connection: Connection) -> int | None:
        """When the next dream can not be undone any more, in UTC milliseconds, be it past; None if never."""
        if self.settings.undo_days is None:
            return None
        first = dreams.oldest_kept(connection, self.store.key)
        return None if first is None else first + self._kept_for() + 1

    def _kept_for(self) -> int:
        return round((self.settings.undo_days or 0) * _DAY)
