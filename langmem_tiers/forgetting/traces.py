"""Traces in other spaces: the receipts of recalls that showed something of this one as a fallback."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from langmem_tiers.errors import StorageError
from langmem_tiers.storage import facts, forgetting, purging
from langmem_tiers.storage.database import engine_of
from langmem_tiers.telemetry.logs import say

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from langmem_tiers.backends import Backend
    from langmem_tiers.storage.database import Database
    from langmem_tiers.store import SpaceStore

log = logging.getLogger(__name__)

_LEFT = "forgetting:traces"
_NOT_REACHED = (
    "the space {name!a} could not be read, and may have receipts that show it: repair it (`langmem-tiers doctor`); "
    "{then}"
)


class Traces(NamedTuple):
    """What other spaces may show of a space: drawers by number, and entries, episodes and documents by name."""

    numbers: Sequence[int]
    refs: Sequence[str] = ()


class Others(NamedTuple):
    """How many receipts of other spaces there were, and the spaces that could not be read or written."""

    receipts: int = 0
    unreached: tuple[str, ...] = ()

    def named(self, then: str) -> tuple[str, ...]:
        """The spaces that were not reached, each with what to do and what happens `then`."""
        return tuple(_NOT_REACHED.format(name=name, then=then) for name in self.unreached)


def note(connection: Connection, space: str, traces: Traces) -> None:
    """Note, in the transaction that deletes something, that its traces in other spaces are to go."""
    held = left(connection, space)
    both = Traces(sorted({*held.numbers, *traces.numbers}), sorted({*held.refs, *traces.refs}))
    facts.put(connection, space, _LEFT, json.dumps(both))


def left(connection: Connection, space: str) -> Traces:
    """The traces that are still to go."""
    stored = facts.get(connection, space, _LEFT)
    return Traces(()) if stored is None else Traces(*json.loads(stored))


def is_left(connection: Connection, space: str) -> bool:
    """Whether there are any."""
    return facts.get(connection, space, _LEFT) is not None


def clear(store: SpaceStore, memory: Backend, now: int) -> Others:
    """Delete the receipts of other spaces that show what was deleted here.

    While spaces are not reached, what is to go stays noted.

    Raises:
        StorageError: the rest is deleted later.
    """
    with store.reading() as connection:
        traces, noted = left(connection, store.key), is_left(connection, store.key)
    if not noted:
        return Others()
    # Nothing is looked for where only a name or the identity was forgotten; the note has to go all the same.
    others = clear_others(memory, store.name, traces, now) if traces.numbers or traces.refs else Others()
    if not others.unreached:
        with store.writing() as connection:
            if left(connection, store.key) == traces:
                facts.drop(connection, store.key, _LEFT)
                if not purging.is_pending(connection, store.key):
                    purging.request(connection, store.key, at=now, now=True)
    return others


def clear_others(memory: Backend, name: str, traces: Traces | None, now: int) -> Others:
    """Delete the receipts of all other spaces that show these things of a space, or with None anything of it."""
    return _in_others(memory, name, lambda database: _clear_one(database, name, traces, now))


def count(memory: Backend, name: str) -> int:
    """How many receipts of other spaces show something of a space."""

    def counted(database: Database) -> int:
        with database.reading() as connection:
            return len(forgetting.receipts_of_space(connection, database.space, name))

    return _in_others(memory, name, counted).receipts


def _in_others(memory: Backend, name: str, act: Callable[[Database], int]) -> Others:
    """Do something with the records of each other space that has receipts that name a space; what it returns, added."""
    found, unreached = 0, []
    for other in memory.onlookers(name):
        try:
            if memory.may_show(other, name):
                with memory.records(other) as database:
                    found += act(database)
        except StorageError as error:
            say(log, logging.WARNING, "traces_wait", space=other, error=error, reason=error)
            unreached.append(other)
    return Others(found, tuple(unreached))


def _clear_one(database: Database, name: str, traces: Traces | None, now: int) -> int:
    space = database.space
    with database.writing() as connection:
        was_clean = not purging.is_pending(connection, space)
        every = forgetting.receipts_of_space(connection, space, name)
        found = every if traces is None else _of(every, traces)
        forgetting.drop_receipts(connection, space, list(found))
        if len(found) == len(every):
            engine_of(connection).drop_shown(connection, name)
        if found:
            purging.request(connection, space, at=now, now=True)
        upto = purging.wanted(connection, space)
    if found and was_clean and database.rewrite():
        with database.writing() as connection:
            purging.note_all(connection, space, upto)
        database.empty_log()
    return len(found)


def _of(found: Mapping[int, list[int | str]], traces: Traces) -> dict[int, list[int | str]]:
    """Of receipts with what they name, those that name one of these."""
    numbers, refs = set(traces.numbers), set(traces.refs)
    return {
        receipt: named
        for receipt, named in found.items()
        if any(each in numbers if isinstance(each, int) else not refs.isdisjoint(_refs(each)) for each in named)
    }


def _refs(name: str) -> tuple[str, str]:
    """What a name in a receipt may stand for: it is an id or path, or one between the kind and the number of a part."""
    return name, name.partition(":")[2].rpartition("#")[0]
