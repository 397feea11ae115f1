"""The lease of a dream: one at a time in a space, whatever process it runs in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from langmem_tiers.clock import to_millis, utc_now
from langmem_tiers.errors import LeaseLost
from langmem_tiers.storage import leases
from langmem_tiers.storage.store import SpaceStore

DREAM = "dream"
"""The name of the lease under which dreams are dreamt."""


@dataclass(frozen=True)
class Lease:
    """What only one may do at a time in a space, for so many seconds if nothing is heard of it.

    `acquire` gives a number, the fence, that is higher each time. Whoever wakes up late commits nothing: the commit
    asks whether its fence is still the last one. That also makes it safe to take over a lease of somebody who only
    seems dead, which is why a lease that ends further away than `seconds` from now counts as ended: a clock jumped.
    """

    store: SpaceStore
    name: str
    holder: str
    seconds: float
    clock: Callable[[], datetime] = utc_now

    def acquire(self) -> int | None:
        """The fence under which it is the holder's now, None where somebody else has it.

        Raises:
            StorageError: nobody got it.
        """
        with self.store.writing() as connection:
            return leases.take(
                connection, self.store.key, self.name, self.holder, at=self._now(), longest=self._longest()
            )

    def renew(self, fence: int) -> None:
        """Have it for as long again.

        Raises:
            LeaseLost: somebody else has taken it over.
        """
        until = self._now() + self._longest()
        with self.store.writing() as connection:
            if not leases.extend(connection, self.store.key, self.name, fence, until):
                raise _lost(self.name)

    def release(self, fence: int) -> None:
        """Give it back; where somebody else has taken it over, it stays theirs."""
        with self.store.writing() as connection:
            leases.end(connection, self.store.key, self.name, fence)

    def _now(self) -> int:
        return to_millis(self.clock())

    def _longest(self) -> int:
        return round(self.seconds * 1000)


def require(connection: Connection, space: str, fence: int, name: str = DREAM) -> None:
    """Nothing, where this fence is still the last one.

    Raises:
        LeaseLost: somebody else has taken it over.
    """
    if leases.fence(connection, space, name) != fence:
        raise _lost(name)


def _lost(name: str) -> LeaseLost:
    return LeaseLost(f"Another {name} has begun meanwhile.")
