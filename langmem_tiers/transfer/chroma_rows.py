"""The rows of a Chroma folder, read from its SQLite file alone: no index is opened, and nothing in it changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from langmem_tiers.transfer.sqlite_files import bounded, rows, tables

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
_VALUE = "(SELECT string_value FROM embedding_metadata o WHERE o.id = e.id AND o.key = '{key}')"
_NUMBER = "(SELECT int_value FROM embedding_metadata o WHERE o.id = e.id AND o.key = '{key}')"


@dataclass(frozen=True, kw_only=True, slots=True)
class ChromaRow:
    """One vector's row without the vector: its id, its document and its metadata."""

    row_id: str
    document: str | None
    metadata: Mapping[str, object]


def collections(folder: Path, expected: str) -> tuple[str, ...]:
    """The names of the collections, none where the folder is no Chroma folder.

    Raises:
        UnreadableFile: its database is damaged.
    """
    database = folder / DATABASE
    if not database.is_file() or not tables(database, expected).keys() >= _TABLES:
        return ()
    return tuple(str(name) for (name,) in rows(database, expected, "SELECT name FROM collections ORDER BY name"))


def collection_rows(
    folder: Path, expected: str, collection: str, *, by_text: tuple[str, ...] = (), by_number: str | None = None
) -> Iterator[ChromaRow]:
    """The rows of a collection, in the order of some metadata; over-long values are left out.

    Raises:
        UnreadableFile: the database is damaged.
    """
    order = [_VALUE.format(key=key) for key in by_text]
    order += [] if by_number is None else [_NUMBER.format(key=by_number)]
    sql = _ROWS.format(order="".join(f"{each}, " for each in order))
    held = rows(folder / DATABASE, expected, sql, (collection,))
    for _, parts in groupby(held, key=itemgetter(0)):
        yield _row([*parts])


def _row(parts: list[tuple[object, ...]]) -> ChromaRow:
    held = {str(key): _value(*values) for _, _, key, *values in parts if key is not None}
    document = held.pop(_DOCUMENT, None)
    return ChromaRow(row_id=str(parts[0][1]), document=document if isinstance(document, str) else None, metadata=held)


def _value(text: object, whole: object, number: object, flag: object) -> object:
    if flag is not None:
        return bool(flag)
    return next((each for each in (text, whole, number) if each is not None), None)
