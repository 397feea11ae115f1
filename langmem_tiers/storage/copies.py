"""Copies of a space's database: the canary row that proves them complete, what is in a copy, and its tombstones."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from sqlalchemy import delete

from langmem_tiers.errors import DatabaseLocked
from langmem_tiers.storage import facts, schema
from langmem_tiers.storage.database import Database
from langmem_tiers.storage.errors_border import translated
from langmem_tiers.storage.sqlite_file import APPLICATION_ID
from langmem_tiers.storage.statements import here

_CANARY = "canary:"
# The only virtual tables of a memory: its keyword indexes.
_OWN_INDEX = re.compile(r"\bUSING\s+fts5\s*\(\s*content\b", re.IGNORECASE)
# A canary this old was left by a backup that was killed.
_ABANDONED = 24 * 60 * 60 * 1000


@contextmanager
def canary(database: Database, at: int) -> Iterator[str]:
    """A row with a random id among the records, for the time of the block: a good copy has it, too."""
    name = f"{_CANARY}{uuid4().hex}"
    with database.writing() as connection:
        old = schema.facts.c.name.startswith(_CANARY), schema.facts.c.value < str(at - _ABANDONED).zfill(15)
        connection.execute(delete(schema.facts).where(*here(schema.facts, database.space), *old))
        facts.put(connection, database.space, name, str(at).zfill(15))
    try:
        yield name.removeprefix(_CANARY)
    finally:
        with database.writing() as connection:
            facts.drop(connection, database.space, name)


class Examined(NamedTuple):
    """What a database file holds; `fault` says what is wrong with it, and is empty if nothing is."""

    fault: str = ""
    schema: int = 0
    rows: Mapping[str, int] = {}
    canaries: frozenset[str] = frozenset()


def examine(file: Path) -> Examined:
    """Open a copy that nobody else uses, check it, and count the rows of each table; nothing in it is changed."""
    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as copy:
            return _examined(copy)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        return Examined(fault=f"it cannot be read as a database ({error})")


def _examined(copy: sqlite3.Connection) -> Examined:
    if copy.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        return Examined(fault="it is a database of another program")
    faults = [str(row[0]) for row in copy.execute("PRAGMA quick_check(1)")]
    if faults != ["ok"]:
        return Examined(fault=f"the database is damaged ({faults[0]})")
    if foreign := _foreign_parts(copy):
        return Examined(fault=f"it holds {foreign}, which no memory has")
    there = {row[0] for row in copy.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    names = sorted(there & set(schema.metadata.tables))
    # Only names of the package's own tables get into the statement.
    rows = {name: int(copy.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]) for name in names}
    held = copy.execute("SELECT name FROM facts WHERE name LIKE ?", (f"{_CANARY}%",)) if "facts" in there else ()
    return Examined(
        schema=int(copy.execute("PRAGMA user_version").fetchone()[0]),
        rows=rows,
        canaries=frozenset(name.removeprefix(_CANARY) for (name,) in held),
    )


def _foreign_parts(copy: sqlite3.Connection) -> str:
    """What would run when records are read or written, and is not the package's own; empty if there is nothing."""
    for kind, name, root, sql in copy.execute("SELECT type, name, rootpage, sql FROM sqlite_schema"):
        if kind in ("trigger", "view"):
            return f"the {kind} {str(name)[:60]!a}"
        if kind == "table" and not root and not _OWN_INDEX.search(str(sql)):
            return f"the virtual table {str(name)[:60]!a}"
        if kind == "table" and copy.execute("SELECT 1 FROM pragma_table_xinfo(?) WHERE hidden > 1", (name,)).fetchone():
            return f"computed columns in {str(name)[:60]!a}"
    return ""


def remove_canaries(file: Path) -> None:
    """Take the canary out of a copy that is to be used."""
    with translated(file), closing(sqlite3.connect(file)) as copy:
        copy.execute("DELETE FROM facts WHERE name LIKE ?", (f"{_CANARY}%",))
        copy.commit()


def require_unused(file: Path) -> None:
    """Check that nobody has a database open, in this process or another.

    Raises:
        DatabaseLocked: somebody has.
    """
    with translated(file), closing(sqlite3.connect(file, timeout=0, isolation_level=None)) as held:
        # Leaving the write-ahead log needs the file for oneself; the next to open it enters it again.
        try:
            mode = held.execute("PRAGMA journal_mode=DELETE").fetchone()[0]
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            mode = "wal"
    if mode != "delete":
        raise DatabaseLocked(
            f"{file} is in use.", way_out="Close the memory, and the programs that have it open, and repeat the call."
        )
