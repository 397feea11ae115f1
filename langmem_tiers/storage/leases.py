"""Leases: exclusive tasks in a space, with a fencing number that exposes a holder that lost its lease."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, func, select, update

from langmem_tiers.clock import to_millis, utc_now
from langmem_tiers.errors import LeaseLost
from langmem_tiers.storage.database import Database
from langmem_tiers.storage.schema import leases
from langmem_tiers.storage.statements import here, put_row

DREAM = "dream"
"""The name of the lease under which a space dreams."""

# The end of a lease that was released.
_OVER = 0


class LeaseRow(NamedTuple):
    """A lease: its current or last holder, how many have held it, and until when, in milliseconds."""

    holder: str
    fence: int
    until: int

    def held(self, at: int, longest: int) -> bool:
        """Whether it is held at a moment. Since clocks may jump back, nobody holds it for longer than its duration."""
        return at < self.until <= at + longest


def read(connection: Connection, space: str, name: str) -> LeaseRow | None:
    """The lease of a name, None if nobody ever held it."""
    columns = (leases.c.holder, leases.c.fence, leases.c.until)
    row = connection.execute(select(*columns).where(*here(leases, space, name=name))).first()
    return None if row is None else LeaseRow(*row)


def require(connection: Connection, space: str, fence: int, name: str = DREAM) -> None:
    """Check that this fence is still the latest; 0 stands for a lease that was never taken.

    Raises:
        LeaseLost: someone else has taken it over.
    """
    row = read(connection, space, name)
    if fence != (0 if row is None else row.fence):
        raise _lost(name)


@dataclass(frozen=True)
class Lease:
    """An exclusive right in a space that lapses after some seconds unless it is renewed.

    `acquire` returns a number, the fence, that is higher each time. A holder that wakes up late commits nothing: the
    commit checks that its fence is still the latest (`require`). That also makes it safe to take over the lease of
    a holder that only seems dead, so a lease that ends further away than `seconds` from now counts as expired: the
    clock has jumped. Time goes by the clock of the database, on which all machines agree, unless another one was given.
    """

    database: Database
    name: str
    holder: str
    seconds: float
    clock: Callable[[], datetime] = utc_now

    def acquire(self) -> int | None:
        """Take the lease and return its fence; None while someone else holds it.

        Raises:
            StorageError: it could not be taken.
        """
        space, longest = self.database.space, self._longest
        with self.database.writing() as connection:
            at = self._now(connection)
            before = read(connection, space, self.name)
            if before is not None and before.held(at, longest):
                return None
            fence = 1 if before is None else before.fence + 1
            values = {"holder": self.holder, "fence": fence, "until": at + longest}
            put_row(connection, leases, space, {"name": self.name}, values)
        return fence

    def renew(self, fence: int) -> None:
        """Extend the lease by its full duration.

        Raises:
            LeaseLost: someone else has taken it over.
        """
        with self.database.writing() as connection:
            if not self._end_at(connection, fence, self._now(connection) + self._longest):
                raise _lost(self.name)

    def release(self, fence: int) -> None:
        """Release the lease, unless someone else has taken it over."""
        with self.database.writing() as connection:
            self._end_at(connection, fence, _OVER)

    @property
    def _longest(self) -> int:
        return round(self.seconds * 1000)

    def _now(self, connection: Connection) -> int:
        if self.clock is utc_now:
            return int(connection.execute(select(func.now_millis())).scalar_one())
        return to_millis(self.clock())

    def _end_at(self, connection: Connection, fence: int, until: int) -> bool:
        """Set the end of the lease, if it still has this fence."""
        this = here(leases, self.database.space, name=self.name, fence=fence)
        return connection.execute(update(leases).where(*this).values(until=until)).rowcount == 1


def _lost(name: str) -> LeaseLost:
    return LeaseLost(f"Another {name} has begun meanwhile.")
