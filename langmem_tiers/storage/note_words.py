"""The keyword index over notes: everything that is searched and is no drawer; SQLite's FTS5.

The rows hold searchable text, not verbatim text; queries are to be normalised alike (palace/words.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection, text

from langmem_tiers.matching import Held
from langmem_tiers.palace.words import searchable
from langmem_tiers.storage.keyword import PLACE, SAID

_CREATE = (
    "CREATE VIRTUAL TABLE IF NOT EXISTS note_words USING "
    "fts5(content, tags, category, tokenize='porter unicode61 remove_diacritics 2')"
)
_COLUMNS = ("number", "content", "tags", "category")
_INSERT = text("INSERT INTO note_words (rowid, content, tags, category) VALUES (:number, :content, :tags, :category)")
_DELETE = text("DELETE FROM note_words WHERE rowid = :number")
_HOLDING = "SELECT {place}, rowid FROM note_words WHERE note_words MATCH ?"


@dataclass(frozen=True, kw_only=True, slots=True)
class WordsRow:
    """A note on its way into the index, in the words that it was written with."""

    number: int
    text: str
    tags: str
    category: str


def create(connection: Connection) -> None:
    """Make the empty index."""
    connection.exec_driver_sql(_CREATE)


def recreate(connection: Connection) -> None:
    """Throw the index away, even a damaged one, and make it anew and empty."""
    connection.exec_driver_sql("DROP TABLE IF EXISTS note_words")
    create(connection)


def add(connection: Connection, rows: Iterable[WordsRow]) -> None:
    """Index notes."""
    values = [dict(zip(_COLUMNS, (row.number, *searched(row)), strict=True)) for row in rows]
    if values:
        connection.execute(_INSERT, values)


def searched(row: WordsRow) -> tuple[str, str, str]:
    """Text, tags and category of a note as the index holds them."""
    return searchable(row.text), searchable(row.tags), searchable(row.category)


def remove(connection: Connection, numbers: Iterable[int]) -> None:
    """Take notes out."""
    values = [{"number": number} for number in numbers]
    if values:
        connection.execute(_DELETE, values)


def purge(connection: Connection) -> None:
    """Take the words of removed notes out of the file: FTS5 only marks them as removed until it merges its parts."""
    connection.exec_driver_sql("INSERT INTO note_words (note_words) VALUES ('optimize')")


def holding(connection: Connection, terms: Sequence[str]) -> list[Held]:
    """For each term the notes that hold it in text or tags, and those that hold it in their category only."""
    columns = (SAID, PLACE) * len(terms)
    parts = [_HOLDING.format(place=place) for place in range(len(columns))]
    queries = tuple(f"{column} : {_quoted(terms[place // 2])}" for place, column in enumerate(columns))
    found: list[list[int]] = [[] for _ in columns]
    if parts:
        for place, number in connection.exec_driver_sql(" UNION ALL ".join(parts), queries):
            found[place].append(number)
    return [_held(said, place) for said, place in zip(found[::2], found[1::2], strict=True)]


def _held(said: Sequence[int], place: Sequence[int]) -> Held:
    return np.array(sorted(said), np.int64), np.array(sorted(set(place).difference(said)), np.int64)


def check(connection: Connection) -> None:
    """Have FTS5 check its own structure; the connection must be one that writes.

    Raises:
        DatabaseDamaged: it is damaged.
    """
    connection.exec_driver_sql("INSERT INTO note_words (note_words) VALUES ('integrity-check')")


def every(connection: Connection) -> dict[int, tuple[str, str, str]]:
    """What the index holds of each note, by number."""
    found = connection.exec_driver_sql("SELECT rowid, content, tags, category FROM note_words")
    return {number: (content, tags, category) for number, content, tags, category in found}


def _quoted(term: str) -> str:
    return '"' + term.replace('"', '""') + '"'
