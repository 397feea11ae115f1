"""Reading the SQLite files of other programs: never written to, never trusted, row by row."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from langmem_tiers.transfer.files import unreadable

SQLITE_MAGIC = b"SQLite format 3\0"
LARGEST_VALUE = 16 << 20
"""Longer values are not read: a query takes them as NULL, by `bounded`."""


def bounded(column: str) -> str:
    """The SQL for a column whose over-long values are NULL."""
    return f"CASE WHEN length({column}) <= {LARGEST_VALUE} THEN {column} END"


def is_sqlite(path: Path) -> bool:
    """Whether a file begins like a SQLite database."""
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return stream.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC


def tables(path: Path, expected: str) -> dict[str, frozenset[str]]:
    """The tables of a database with their columns; views are none.

    Raises:
        UnreadableFile: it is no database, damaged, or not permitted.
    """
    named = "SELECT name FROM sqlite_master WHERE type = 'table'"
    with reading_database(path, expected) as database:
        names = [str(name) for (name,) in database.execute(named).fetchmany(1000)]
        columns = "SELECT name FROM pragma_table_info(?)"
        return {name: frozenset(row[0] for row in database.execute(columns, (name,))) for name in names}


def rows(path: Path, expected: str, sql: str, values: Sequence[object] = ()) -> Iterator[tuple[object, ...]]:
    """The rows of a query, one at a time.

    Raises:
        UnreadableFile: the database is damaged or of another shape.
    """
    with reading_database(path, expected) as database:
        yield from database.execute(sql, tuple(values))


@contextmanager
def reading_database(path: Path, expected: str) -> Iterator[sqlite3.Connection]:
    """A database for reading.

    Raises:
        UnreadableFile: it can not be read.
    """
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro", uri=True)) as database:
            database.execute("PRAGMA query_only = ON")
            database.execute("PRAGMA trusted_schema = OFF")
            database.text_factory = lambda held: held.decode("utf-8", "replace")
            yield database
    except (sqlite3.Error, OSError) as error:
        raise unreadable(path, expected, str(error)) from error
