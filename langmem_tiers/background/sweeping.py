"""The sweeping pass: store items whose time is over are deleted."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from langmem_tiers.clock import Clock, to_millis
from langmem_tiers.storage import items
from langmem_tiers.storage.store import SpaceStore


@dataclass(frozen=True)
class SweepingPass:
    """Deletes the expired store items of one space."""

    store: SpaceStore
    clock: Clock

    def step(self) -> bool:
        """Delete what has expired; False when nothing had.

        Raises:
            StorageError: it is deleted later.
        """
        return bool(self.sweep())

    def sweep(self) -> int:
        """`step`, and how many were deleted."""
        now = to_millis(self.clock())
        with self.store.reading() as connection:
            due = self.next_due(connection)
        if due is None or due > now:
            return 0
        with self.store.writing() as connection:
            return items.drop(connection, self.store.key, items.expired(connection, self.store.key, now), now)

    def next_due(self, connection: Connection) -> int | None:
        """When the next item expires, in UTC milliseconds, be it past; None if none will."""
        return items.next_expiry(connection, self.store.key)
