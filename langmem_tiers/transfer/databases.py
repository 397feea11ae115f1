"""Reading SQLite and Chroma files that other programs wrote, without changing them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from time import monotonic
from urllib.parse import quote

from langmem_tiers.transfer.files import begins_with, unreadable

LARGEST_VALUE = 16 << 20
"""Longer values are not read: a query takes them as NULL, by `bounded`."""


_LARGEST_READ = 128 << 20
"""Bytes of the largest value that is looked at, even if only for its length; a file with a larger one is refused."""
_PATIENCE = 60.0
"""Seconds that one row may take: a million rows are sorted in a few."""
_STEPS = 100_000


def bounded(column: str) -> str:
    """The SQL for a column whose over-long values are NULL."""
    return f"CASE WHEN length({column}) <= {LARGEST_VALUE} THEN {column} END"


def is_sqlite(path: Path) -> bool:
    """Whether a file begins like a SQLite database."""
    return begins_with(path, b"SQLite format 3\0")


def tables(path: Path, expected: str) -> dict[str, frozenset[str]]:
    """The tables of a database with their columns; views and virtual tables are none: reading them runs something.

    Raises:
        UnreadableFile: it is no database, damaged, not permitted, or has columns that are computed.
    """
    named = "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0"
    with reading_database(path, expected) as database:
        names = [str(name) for (name,) in database.execute(named).fetchmany(1000)]
        computed = "SELECT 1 FROM pragma_table_xinfo(?) WHERE hidden > 1"
        if odd := next((name for name in names if database.execute(computed, (name,)).fetchone()), None):
            raise unreadable(path, expected, f"columns of {odd[:60]!a} are computed when they are read")
        columns = "SELECT name FROM pragma_table_info(?)"
        return {name: frozenset(row[0] for row in database.execute(columns, (name,))) for name in names}


def rows(path: Path, expected: str, sql: str, values: Sequence[object] = ()) -> Iterator[tuple[object, ...]]:
    """The rows of a query, one at a time.

    Raises:
        UnreadableFile: the database is damaged or of another shape.
    """
    with reading_database(path, expected) as database:
        for row in database.execute(sql, tuple(values)):
            yield row
            _bound(database)


@contextmanager
def reading_database(path: Path, expected: str) -> Iterator[sqlite3.Connection]:
    """A database for reading.

    Raises:
        UnreadableFile: it cannot be read.
    """
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro", uri=True)) as database:
            database.execute("PRAGMA query_only = ON")
            database.execute("PRAGMA trusted_schema = OFF")
            database.execute("PRAGMA cell_size_check = ON")
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LARGEST_READ)
            _bound(database)
            database.text_factory = lambda held: held.decode("utf-8", "replace")
            yield database
    # sqlite3 reads the text of an error that quotes a damaged schema as UTF-8, which it need not be.
    except (sqlite3.Error, UnicodeDecodeError, OSError) as error:
        raise unreadable(path, expected, str(error)) from error


def _bound(database: sqlite3.Connection) -> None:
    """Have it stopped if the next row takes too long: a damaged or hostile file can keep a query busy for ever."""
    until = monotonic() + _PATIENCE
    database.set_progress_handler(lambda: int(monotonic() > until), _STEPS)


DATABASE = "chroma.sqlite3"
_DOCUMENT = "chroma:document"
_TABLES = {"collections", "segments", "embeddings", "embedding_metadata"}
_ROWS = f"""
SELECT e.id, e.embedding_id, m.key, {bounded("m.string_value")}, m.int_value, m.float_value, m.bool_value
FROM embeddings e JOIN segments s ON s.id = e.segment_id AND s.scope = 'METADATA'
LEFT JOIN embedding_metadata m ON m.id = e.id
WHERE s.collection = (SELECT id FROM collections WHERE name = ?)
ORDER BY {{order}} e.id
"""
_VALUE = "(SELECT coalesce(string_value, int_value) FROM embedding_metadata o WHERE o.id = e.id AND o.key = '{key}')"


@dataclass(frozen=True, kw_only=True, slots=True)
class ChromaRow:
    """One vector's row without the vector: its id, its document and its metadata."""

    row_id: str
    document: str | None
    metadata: Mapping[str, object]


def collections(folder: Path, expected: str) -> tuple[str, ...]:
    """The names of the collections, none if the folder is no Chroma folder.

    Raises:
        UnreadableFile: its database is damaged.
    """
    database = folder / DATABASE
    if not database.is_file() or not tables(database, expected).keys() >= _TABLES:
        return ()
    return tuple(str(name) for (name,) in rows(database, expected, "SELECT name FROM collections ORDER BY name"))


def collection_rows(folder: Path, expected: str, collection: str, *, order: Sequence[str] = ()) -> Iterator[ChromaRow]:
    """The rows of a collection, ordered by some of their metadata; over-long values are left out.

    Raises:
        UnreadableFile: the database is damaged.
    """
    sql = _ROWS.format(order="".join(f"{_VALUE.format(key=key)}, " for key in order))
    held = rows(folder / DATABASE, expected, sql, (collection,))
    for _, parts in groupby(held, key=itemgetter(0)):
        told = [*parts]
        about = {str(key): _value(*given) for _, _, key, *given in told if key is not None}
        document = about.pop(_DOCUMENT, None)
        text = document if isinstance(document, str) else None
        yield ChromaRow(row_id=str(told[0][1]), document=text, metadata=about)


def _value(text: object, whole: object, number: object, flag: object) -> object:
    if flag is not None:
        return bool(flag)
    return next((each for each in (text, whole, number) if each is not None), None)
