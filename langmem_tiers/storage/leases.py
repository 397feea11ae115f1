"""Leases: who may do what only one may do at a time, with a number that tells the one who came late."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Connection, select, update
from sqlalchemy.dialects.sqlite import insert as insert_or

from langmem_tiers.storage.schema import leases

# The end of a lease that was given back.
_OVER = 0


class LeaseRow(NamedTuple):
    """A lease: who has it or had it last, how many have had it by then, and until when, in milliseconds."""

    holder: str
    fence: int
    until: int

    def held(self, at: int, longest: int) -> bool:
        """Whether somebody has it at a moment. A clock may have jumped back: nobody has it for longer than this."""
        return at < self.until <= at + longest


def read(connection: Connection, space: str, name: str) -> LeaseRow | None:
    """The lease of a name, None where nobody ever had it."""
    columns = (leases.c.holder, leases.c.fence, leases.c.until)
    row = connection.execute(select(*columns).where(leases.c.space == space, leases.c.name == name)).first()
    return None if row is None else LeaseRow(*row)


def fence(connection: Connection, space: str, name: str) -> int:
    """How many have had a lease, which is the number of the last one; 0 where nobody ever had it."""
    row = read(connection, space, name)
    return 0 if row is None else row.fence


def take(connection: Connection, space: str, name: str, holder: str, *, at: int, longest: int) -> int | None:
    """The number under which a lease is now the holder's, None where somebody else has it."""
    before = read(connection, space, name)
    if before is not None and before.held(at, longest):
        return None
    number = 1 if before is None else before.fence + 1
    values = {"holder": holder, "fence": number, "until": at + longest}
    row = insert_or(leases).values(space=space, name=name, **values)
    connection.execute(row.on_conflict_do_update(index_elements=["space", "name"], set_=values))
    return number


def extend(connection: Connection, space: str, name: str, number: int, until: int) -> bool:
    """Let a lease end then, if it is still under this number; False where somebody else took it over."""
    this = (leases.c.space == space, leases.c.name == name, leases.c.fence == number)
    return connection.execute(update(leases).where(*this).values(until=until)).rowcount == 1


def end(connection: Connection, space: str, name: str, number: int) -> None:
    """Give a lease back; one that somebody else took over stays theirs."""
    extend(connection, space, name, number, _OVER)
