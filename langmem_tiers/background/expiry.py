"""Expiry of entries, episodes, store items, and the changesets of old dreams."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection

from langmem_tiers.clock import to_millis
from langmem_tiers.context import SpaceContext
from langmem_tiers.knowledge import lifecycle
from langmem_tiers.knowledge.entries import EntryWriter
from langmem_tiers.storage import dreams, entries, episodes, items
from langmem_tiers.store import SpaceStore

_DAY = 86_400_000


@dataclass(frozen=True)
class _ExpiryJob:
    context: SpaceContext
    store: SpaceStore

    def due(self, connection: Connection) -> int | None:
        """When the next one expires, in UTC milliseconds, possibly in the past; None if none will."""
        raise NotImplementedError

    def step(self, stop: Callable[[], bool]) -> bool:
        """Expire what is due; False if nothing was."""
        return bool(self.expire())

    def expire(self) -> int:
        """Like `step`, but returns the number expired.

        Raises:
            StorageError: they are expired later; readers ignore them in any case.
        """
        now = to_millis(self.context.clock())
        with self.store.reading() as connection:
            due = self.due(connection)
        if due is None or due > now:
            return 0
        with self.store.writing() as connection:
            return self._expire(connection, now)

    def _expire(self, connection: Connection, now: int) -> int:
        raise NotImplementedError


class ExpireEntries(_ExpiryJob):
    """Retires entries whose expiry date has passed."""

    name = "expire entries"

    def due(self, connection: Connection) -> int | None:
        """When the next entry expires."""
        return entries.next_expiry(connection, self.store.key)

    def _expire(self, connection: Connection, now: int) -> int:
        return len(lifecycle.expire(EntryWriter(connection, self.store.key, now)))


class ExpireEpisodes(_ExpiryJob):
    """Deletes expired episodes."""

    name = "expire episodes"

    def due(self, connection: Connection) -> int | None:
        """When the next episode expires."""
        return episodes.next_expiry(connection, self.store.key)

    def _expire(self, connection: Connection, now: int) -> int:
        expired = episodes.expired(connection, self.store.key, now)
        episodes.remove(connection, self.store.key, expired, now)
        return len(expired)


class ExpireItems(_ExpiryJob):
    """Deletes expired store items."""

    name = "expire items"

    def due(self, connection: Connection) -> int | None:
        """When the next item expires."""
        return items.next_expiry(connection, self.store.key)

    def _expire(self, connection: Connection, now: int) -> int:
        return items.drop(connection, self.store.key, items.expired(connection, self.store.key, now), now)


class PruneDreams(_ExpiryJob):
    """Deletes the changesets of old dreams, which can then no longer be undone."""

    name = "prune dreams"

    def due(self, connection: Connection) -> int | None:
        """When the next dream becomes too old to be undone."""
        if self.context.settings.dream.undo_days is None:
            return None
        first = dreams.oldest_kept(connection, self.store.key)
        return None if first is None else first + self._kept_for() + 1

    def _expire(self, connection: Connection, now: int) -> int:
        return dreams.prune(connection, self.store.key, now - self._kept_for())

    def _kept_for(self) -> int:
        return round((self.context.settings.dream.undo_days or 0) * _DAY)
