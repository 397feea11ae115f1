"""Traces in other spaces: the receipts of recalls that showed something of this one as a fallback."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from langmem_tiers.storage import facts, forgetting, purging
from langmem_tiers.storage.database import Database
from langmem_tiers.storage.folder import DATABASE, space_folder, space_names

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from langmem_tiers.settings import StorageSettings
    from langmem_tiers.store import SpaceStore

_LEFT = "forgetting:traces"


class Traces(NamedTuple):
    """What other spaces may show of a space: drawers by number, and entries, episodes and documents by name."""

    numbers: Sequence[int]
    refs: Sequence[str] = ()


def note(connection: Connection, space: str, traces: Traces) -> None:
    """Note, in the transaction that deletes something, that its traces in other spaces are to go."""
    held = left(connection, space)
    both = Traces(sorted({*held.numbers, *traces.numbers}), sorted({*held.refs, *traces.refs}))
    facts.put(connection, space, _LEFT, json.dumps(both))


def left(connection: Connection, space: str) -> Traces:
    """The traces that are still to go."""
    stored = facts.get(connection, space, _LEFT)
    return Traces(()) if stored is None else Traces(*json.loads(stored))


def clear(store: SpaceStore, memory: Path, settings: StorageSettings, now: int) -> int:
    """Delete the receipts of other spaces that show what was deleted here; returns how many there were.

    Raises:
        StorageError: the rest is deleted later.
    """
    with store.reading() as connection:
        traces = left(connection, store.key)
    if not (traces.numbers or traces.refs):
        return 0
    gone = clear_others(memory, store.name, traces, settings, now)
    with store.writing() as connection:
        if left(connection, store.key) == traces:
            facts.drop(connection, store.key, _LEFT)
    return gone


def clear_others(memory: Path, name: str, traces: Traces | None, settings: StorageSettings, now: int) -> int:
    """Delete the receipts of all other spaces that show these things of a space, or with None anything of it."""
    return sum(_clear_one(database, name, traces, now) for database in _showing(memory, name, settings))


def count(memory: Path, name: str, settings: StorageSettings) -> int:
    """How many receipts of other spaces show something of a space."""
    found = 0
    for database in _showing(memory, name, settings):
        with database.reading() as connection:
            found += len(forgetting.receipts_of_space(connection, database.space, name))
        database.close()
    return found


def _showing(memory: Path, name: str, settings: StorageSettings) -> Iterator[Database]:
    """The databases of other spaces with receipts that name a space."""
    for other in space_names(memory):
        path = space_folder(memory, other) / DATABASE
        if other != name and forgetting.file_names_space(path, name):
            yield Database(path, settings)


def _clear_one(database: Database, name: str, traces: Traces | None, now: int) -> int:
    try:
        space = database.space
        with database.writing() as connection:
            was_clean = not purging.is_pending(connection, space)
            every = forgetting.receipts_of_space(connection, space, name)
            found = every if traces is None else _of(every, traces)
            forgetting.drop_receipts(connection, space, list(found))
            if found:
                purging.request(connection, space, at=now, now=True)
        if found and was_clean and database.rewrite():
            with database.writing() as connection:
                purging.note_all(connection, space, purging.wanted(connection, space))
            database.empty_log()
        return len(found)
    finally:
        database.close()


def _of(found: Mapping[int, list[int | str]], traces: Traces) -> dict[int, list[int | str]]:
    """Of receipts with what they name, those that name one of these."""
    numbers, refs = set(traces.numbers), traces.refs
    return {
        receipt: named
        for receipt, named in found.items()
        if any(each in numbers if isinstance(each, int) else any(ref in each for ref in refs) for each in named)
    }
