"""The keyword index in SQLite: one FTS5 table for drawers and one for notes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import orjson
from sqlalchemy import Connection, text

from langmem_tiers.language.words import searchable
from langmem_tiers.matching import Held
from langmem_tiers.storage.keyword import KeywordIndex, WordsRow, held
from langmem_tiers.storage.statements import Prepared, driver_rows

# Where to look for a term: in what was said, or in the names of its wing and closet.
_SAID, _PLACE = "{content tags}", "{category}"
# FTS5 keeps the levels of its index in one record (the file format is described at the head of SQLite's fts5_index.c):
# two bytes for an empty level, some more for each segment. After
# 60,000 messages that came one by one it has about a hundred.
_STRUCTURE = "SELECT length(block) FROM {table}_data WHERE id = 10"
_MOST_STRUCTURE = 800
_NO_LEVELS = bytes(7)  # a cookie, and three numbers that are zero
_COLUMNS = ("number", "content", "tags", "category")


class FtsTable(KeywordIndex):
    """One FTS5 table, whose rowids are the numbers of what it indexes; see `KeywordIndex`."""

    def __init__(self, table: str) -> None:
        self._table = table
        self._insert = Prepared(
            text(f"INSERT INTO {table} (rowid, content, tags, category) VALUES (:number, :content, :tags, :category)")
        )
        self._delete = Prepared(text(f"DELETE FROM {table} WHERE rowid = :number"))
        self._categorise = text(f"UPDATE {table} SET category = :category WHERE rowid = :number")
        # As one text of numbers: 50,000 rows for the driver to make take three times as long.
        self._range = (
            f"SELECT json_group_array(rowid) FROM (SELECT rowid FROM {table} "
            f"WHERE {table} MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid LIMIT ?)"
        )
        self._matches = f"SELECT json_group_array(rowid) FROM {table} WHERE {table} MATCH ? AND rowid BETWEEN ? AND ?"

    def create(self, connection: Connection) -> None:
        """Create the empty index if there is none."""
        connection.exec_driver_sql(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS {self._table} USING "
            "fts5(content, tags, category, tokenize='porter unicode61 remove_diacritics 2')"
        )

    def recreate(self, connection: Connection) -> None:
        """Drop the index, even a damaged one, and create it empty."""
        self.create(connection)
        # FTS5 opens an index before it drops it, and opens none whose levels it cannot read.
        connection.exec_driver_sql(f"REPLACE INTO {self._table}_data (id, block) VALUES (10, ?)", (_NO_LEVELS,))
        connection.exec_driver_sql(f"DROP TABLE {self._table}")
        self.create(connection)

    def add(self, connection: Connection, rows: Iterable[WordsRow]) -> None:
        """Add rows that are not in the index yet."""
        self._insert.insert(connection, [dict(zip(_COLUMNS, (row.number, *row.searched), strict=True)) for row in rows])

    def remove(self, connection: Connection, numbers: Iterable[int]) -> None:
        """Remove these numbers; unknown ones are ignored."""
        for number in numbers:
            self._delete.change(connection, number=number)

    def categorise(self, connection: Connection, categories: Iterable[tuple[int, str]]) -> None:
        """Set the wing and closet names of these numbers."""
        values = [{"number": number, "category": searchable(category)} for number, category in categories]
        if values:
            connection.execute(self._categorise, values)

    def purge(self, connection: Connection) -> None:
        """Erase the words of removed rows from the file: FTS5 only marks them as removed until segments are merged.

        Each "optimize" may leave empty levels behind, and an index with 2,000 of them is damaged to SQLite 3.40; a
        "rebuild" does the same work from the rows and leaves none.
        """
        structure = connection.exec_driver_sql(_STRUCTURE.format(table=self._table)).scalar()
        how = "rebuild" if structure is not None and structure > _MOST_STRUCTURE else "optimize"
        connection.exec_driver_sql(f"INSERT INTO {self._table} ({self._table}) VALUES ('{how}')")

    def merge(self, connection: Connection, pages: int) -> bool:
        """Merge segments of the index, writing about so many pages; -pages begins to merge all that there are now.

        Returns whether there was anything to do. A row that was changed stands three times in an index until then.
        """
        raw: Any = connection.connection.driver_connection
        before = raw.total_changes
        connection.exec_driver_sql(f"INSERT INTO {self._table} ({self._table}, rank) VALUES ('merge', ?)", (pages,))
        return bool(raw.total_changes - before > 1)  # the statement itself counts as one

    def holding(self, connection: Connection, wanted: Sequence[tuple[str, int, int]]) -> list[Held]:
        """For each term, first and last number, what matches in text or tags and what in the category only.

        Ascending; for at most two hundred of them.
        """
        if not wanted:
            return []
        asked = [
            value
            for term, first, last in wanted
            for column in (_SAID, _PLACE)
            for value in (_query(column, term), first, last)
        ]
        both = f"SELECT ({self._matches}), ({self._matches})"
        rows = driver_rows(connection, " UNION ALL ".join([both] * len(wanted)), asked)
        return [held(*(sorted(orjson.loads(each)) for each in row)) for row in rows]

    def with_phrase(self, connection: Connection, phrase: str, *, most: int = -1) -> set[int]:
        """The numbers of the rows whose text has these words one after the other."""
        quoted = searchable(phrase).replace('"', " ").strip()
        if not quoted:
            return set()
        wanted = f"SELECT rowid FROM {self._table} WHERE {self._table} MATCH ? LIMIT ?"
        return set(connection.exec_driver_sql(wanted, (f'{{content}} : "{quoted}"', most)).scalars())

    def held_by_others(self, connection: Connection, phrase: str, gone: Collection[int]) -> bool:
        """Whether a row besides these has these words in its text, one after the other."""
        quoted = searchable(phrase).replace('"', " ").strip()
        if not quoted:
            return False
        wanted = f"SELECT rowid FROM {self._table} WHERE {self._table} MATCH ?"
        found = connection.exec_driver_sql(wanted, (f'{{content}} : "{quoted}"',))
        try:
            return any(row[0] not in gone for row in found)
        finally:
            found.close()

    def holding_between(
        self, connection: Connection, after: Mapping[str, int], *, upto: int, most: int
    ) -> dict[str, Held]:
        """Like `holding`, for each term after a number and up to another, with a limit for each kind."""
        wanted = [
            (_query(column, term), start + 1, upto, most) for term, start in after.items() for column in (_SAID, _PLACE)
        ]
        if not wanted:
            return {}
        ranges = " UNION ALL ".join([self._range] * len(wanted))
        rows = connection.exec_driver_sql(ranges, tuple(chain.from_iterable(wanted))).scalars()
        found = [orjson.loads(each) for each in rows]
        return {term: held(*found[2 * at : 2 * at + 2]) for at, term in enumerate(after)}

    def count(self, connection: Connection) -> int:
        """How many rows are indexed."""
        return int(connection.exec_driver_sql(f"SELECT count(*) FROM {self._table}_docsize").scalar_one())

    def numbers(self, connection: Connection) -> set[int]:
        """The numbers of all indexed rows."""
        return set(connection.exec_driver_sql(f"SELECT id FROM {self._table}_docsize").scalars())

    def every(self, connection: Connection) -> dict[int, tuple[str, str, str]]:
        """The content of the index, by number."""
        found = connection.exec_driver_sql(f"SELECT rowid, content, tags, category FROM {self._table}")
        return {number: (content, tags, category) for number, content, tags, category in found}

    def check(self, connection: Connection) -> None:
        """Have FTS5 compare its index with its rows; needs a connection that can write.

        Raises:
            DatabaseDamaged: they disagree.
        """
        connection.exec_driver_sql(f"INSERT INTO {self._table} ({self._table}) VALUES ('integrity-check')")


def _query(columns: str, term: str) -> str:
    said = " OR ".join('"' + each.replace('"', '""') + '"' for each in _spellings(term))
    return f"{columns} : ({said})"


def _spellings(term: str) -> list[str]:
    """A term as the tokenizer may have it: `ß` stays there, which in the words of a query is `ss`."""
    sharp = [f"{term[:at]}ß{term[at + 2 :]}" for at in range(len(term) - 1) if term[at : at + 2] == "ss"]
    return [term, *sharp]
