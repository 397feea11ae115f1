"""The expiring pass: entries that were expected to hold until now are put aside."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from langmem_tiers.clock import Clock, to_millis
from langmem_tiers.knowledge import changing
from langmem_tiers.knowledge.ledger import Ledger
from langmem_tiers.storage import entries
from langmem_tiers.storage.store import SpaceStore


@dataclass(frozen=True)
class ExpiringPass:
    """Puts aside what has expired in one space."""

    store: SpaceStore
    clock: Clock

    def step(self) -> bool:
        """Put aside what is due; False when nothing was.

        Raises:
            StorageError: it is put aside later; recall and search leave it out all the same.
        """
        now = to_millis(self.clock())
        with self.store.reading() as connection:
            due = self.next_due(connection)
        if due is None or due > now:
            return False
        with self.store.writing() as connection:
            return bool(changing.expire(Ledger(connection, self.store.key, now)))

    def next_due(self, connection: Connection) -> int | None:
        """When the next entry expires, in UTC milliseconds, be it past; None if none will."""
        return entries.next_expiry(connection, self.store.key)
