"""The keyword index of one engine: SQLite's FTS5.

The rows hold searchable text, not verbatim text: the caller normalises both sides alike (palace/words.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, text

MOST_TERMS = 32
# Where a term is looked for: in what was said, or in the names of the place that it is filed in.
SAID, PLACE = "{content tags}", "{category}"

_CREATE = (
    "CREATE VIRTUAL TABLE keyword USING fts5(content, tags, category, tokenize='porter unicode61 remove_diacritics 2')"
)
_HOLDING = "SELECT rowid FROM keyword WHERE keyword MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid LIMIT ?"
_INSERT = text("INSERT INTO keyword (rowid, content, tags, category) VALUES (:drawer, :content, :tags, :category)")
_DELETE = text("DELETE FROM keyword WHERE rowid = :drawer")
_CATEGORISE = text("UPDATE keyword SET category = :category WHERE rowid = :drawer")


@dataclass(frozen=True, kw_only=True)
class KeywordRow:
    """The searchable text of one drawer."""

    drawer: int
    content: str
    tags: str
    category: str


def create(connection: Connection) -> None:
    """Make the empty index."""
    connection.exec_driver_sql(_CREATE)


def recreate(connection: Connection) -> None:
    """Throw the index away and make an empty one."""
    connection.exec_driver_sql("DROP TABLE IF EXISTS keyword")
    create(connection)


def add(connection: Connection, rows: Iterable[KeywordRow]) -> None:
    """Index drawers that are not in the index."""
    values = [vars(row) for row in rows]
    if values:
        connection.execute(_INSERT, values)


def remove(connection: Connection, drawers: Iterable[int]) -> None:
    """Take drawers out; unknown ones are no error."""
    values = [{"drawer": drawer} for drawer in drawers]
    if values:
        connection.execute(_DELETE, values)


def categorise(connection: Connection, categories: Iterable[tuple[int, str]]) -> None:
    """Set the category text of drawers."""
    values = [{"drawer": drawer, "category": category} for drawer, category in categories]
    if values:
        connection.execute(_CATEGORISE, values)


def holding(connection: Connection, term: str, *, after: int, upto: int, most: int, columns: str = SAID) -> list[int]:
    """The drawers behind one number and up to another that hold a term, ascending, at most so many."""
    rows = connection.exec_driver_sql(_HOLDING, (f"{columns} : {_quoted(term)}", after + 1, upto, most))
    return [row[0] for row in rows]


def count(connection: Connection) -> int:
    """How many drawers are indexed."""
    return int(connection.exec_driver_sql("SELECT count(*) FROM keyword_docsize").scalar_one())


def drawers(connection: Connection) -> set[int]:
    """The numbers of all drawers that are indexed."""
    return set(connection.exec_driver_sql("SELECT id FROM keyword_docsize").scalars())


def check(connection: Connection) -> None:
    """Let FTS5 compare its index with its rows; raises a database error when they disagree."""
    connection.exec_driver_sql("INSERT INTO keyword (keyword) VALUES ('integrity-check')")


def _quoted(term: str) -> str:
    return '"' + term.replace('"', '""') + '"'
