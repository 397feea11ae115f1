"""The keyword index over notes: everything that is searched and is no drawer; SQLite's FTS5."""

from __future__ import annotations

from sqlalchemy import Connection

_CREATE = (
    "CREATE VIRTUAL TABLE IF NOT EXISTS note_words USING "
    "fts5(content, tags, category, tokenize='porter unicode61 remove_diacritics 2')"
)


def create(connection: Connection) -> None:
    """Make the empty index."""
    connection.exec_driver_sql(_CREATE)
