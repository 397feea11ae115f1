"""How far the entries that were saved have been enriched, and which one waits for the model."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, bindparam, select

from langmem_tiers.knowledge.types import Entry
from langmem_tiers.storage import entries as records
from langmem_tiers.storage import facts
from langmem_tiers.storage.schema import entries

# The number of the last entry that was looked at; of the one that waits, how often it was asked about, and when.
_UPTO, _WAITS = "enriched_upto", "enriching_waits"


class Waits(NamedTuple):
    """How often the model was asked about an entry in vain, and when last, in milliseconds."""

    entry: int
    tries: int
    at: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """An entry to look at, the first of those behind number `after`."""

    after: int
    entry: Entry
    waits: Waits


def upto(connection: Connection, space: str) -> int:
    """The number of the last entry that was looked at."""
    return int(facts.get(connection, space, _UPTO) or 0)


def next_task(connection: Connection, space: str, *, paths: Collection[str]) -> Task | None:
    """The first entry made in one of these ways that was not looked at and not changed since, if there is one."""
    after = upto(connection, space)
    number = connection.execute(_next(), {"space": space, "after": after, "paths": sorted(paths)}).scalar()
    if number is None:
        return None
    entry = records.by_numbers(connection, space, [number])[number]
    return Task(after=after, entry=entry, waits=_waits(connection, space, number))


def untouched(entry: Entry) -> bool:
    """Whether an entry is as it was saved, holds, is not protected, and does not read like an instruction."""
    return entry.active and entry.version == 1 and not entry.pinned and not entry.flags


def note(connection: Connection, space: str, number: int, *, after: int) -> bool:
    """Note that all up to an entry have been looked at; False where somebody else was faster."""
    if upto(connection, space) != after:
        return False
    facts.put(connection, space, _UPTO, str(number))
    return True


def put_off(connection: Connection, space: str, waits: Waits) -> None:
    """Note that the model could not be asked about an entry now."""
    facts.put(connection, space, _WAITS, ":".join(map(str, waits)))


def _waits(connection: Connection, space: str, number: int) -> Waits:
    noted = (facts.get(connection, space, _WAITS) or "").split(":")
    return Waits(*map(int, noted)) if noted[0] == str(number) else Waits(number, 0, 0)


@cache
def _next() -> Select[Any]:
    untouched = (entries.c.status == "active", entries.c.version == 1, entries.c.pinned == 0, entries.c.flags == "")
    behind = (entries.c.space == bindparam("space"), entries.c.number > bindparam("after"))
    made = entries.c.path.in_(bindparam("paths", expanding=True))
    return select(entries.c.number).where(*behind, *untouched, made).order_by(entries.c.number).limit(1)
