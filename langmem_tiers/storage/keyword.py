"""The keyword index: SQLite's FTS5, in one table for drawers and one for notes.

The rows hold normalised searchable text, not the verbatim text; the words of queries are normalised the same way.
`Postings` caches between recalls which drawers contain a word: FTS5 rereads a common word's list for every query,
which takes most of a recall's time in a large space.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import orjson
from sqlalchemy import Connection, text

from langmem_tiers.language.words import searchable
from langmem_tiers.matching import Held, Numbers
from langmem_tiers.storage import change_log
from langmem_tiers.storage.change_log import Change, Moment

MOST_TERMS = 32
ALL = (1, 2**62)
"""The first and the last number that there can be."""
# Where to look for a term: in what was said, or in the names of its wing and closet.
_SAID, _PLACE = "{content tags}", "{category}"
# FTS5 keeps the levels of its index in one record (the file format is described at the head of SQLite's fts5_index.c):
# two bytes for an empty level, some more for each segment. After
# 60,000 messages that came one by one it has about a hundred.
_STRUCTURE = "SELECT length(block) FROM {table}_data WHERE id = 10"
_MOST_STRUCTURE = 800
_NO_LEVELS = bytes(7)  # a cookie, and three numbers that are zero
_COLUMNS = ("number", "content", "tags", "category")


@dataclass(frozen=True, kw_only=True, slots=True)
class WordsRow:
    """A drawer or note to be indexed, in its original words."""

    number: int
    text: str
    tags: str = ""
    category: str = ""

    @property
    def searched(self) -> tuple[str, str, str]:
        """Text, tags and category as the index stores them."""
        return searchable(self.text), searchable(self.tags), searchable(self.category)


class KeywordIndex:
    """One FTS5 table, whose rowids are the numbers of what it indexes."""

    def __init__(self, table: str) -> None:
        self._table = table
        self._insert = text(
            f"INSERT INTO {table} (rowid, content, tags, category) VALUES (:number, :content, :tags, :category)"
        )
        self._delete = text(f"DELETE FROM {table} WHERE rowid = :number")
        self._categorise = text(f"UPDATE {table} SET category = :category WHERE rowid = :number")
        self._range = (
            f"SELECT {{place}}, rowid FROM (SELECT rowid FROM {table} "
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
        values = [dict(zip(_COLUMNS, (row.number, *row.searched), strict=True)) for row in rows]
        if values:
            connection.execute(self._insert, values)

    def remove(self, connection: Connection, numbers: Iterable[int]) -> None:
        """Remove these numbers; unknown ones are ignored."""
        values = [{"number": number} for number in numbers]
        if values:
            connection.execute(self._delete, values)

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
        rows = connection.exec_driver_sql(" UNION ALL ".join([both] * len(wanted)), tuple(asked))
        return [_held(*(sorted(orjson.loads(each)) for each in row)) for row in rows]

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
        parts = [self._range.format(place=place) for place in range(len(wanted))]
        if not parts:
            return {}
        with closing(connection.exec_driver_sql(" UNION ALL ".join(parts), tuple(chain.from_iterable(wanted)))) as rows:
            assert rows.cursor is not None
            # As the driver gives them: SQLAlchemy's rows take three times as long, and a common word has thousands.
            pairs = np.fromiter(chain.from_iterable(rows.cursor.fetchall()), np.int64).reshape(-1, 2)
        places, numbers = pairs.T
        found = [numbers[places == place] for place in range(len(wanted))]
        return {term: _held(*found[2 * at : 2 * at + 2]) for at, term in enumerate(after)}

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


drawers = KeywordIndex("keyword")
"""What was said."""
notes = KeywordIndex("note_words")
"""Everything that is searched and is no drawer."""


def drawer_words(number: int, content: str, tags: Sequence[str], category: str = "") -> WordsRow:
    """A drawer as the index takes it: tags without their prefix, and the names of wing and closet as its category."""
    return WordsRow(
        number=number, text=content, tags=" ".join(tag.partition(" ")[2] for tag in tags), category=category
    )


def _query(columns: str, term: str) -> str:
    quoted = term.replace('"', '""')
    return f'{columns} : "{quoted}"'


def _held(said: Sequence[int] | Numbers, place: Sequence[int] | Numbers) -> Held:
    numbers, there = np.asarray(said, np.int64), np.asarray(place, np.int64)
    return numbers, np.setdiff1d(there, numbers, assume_unique=True) if len(there) else there


# A word in more drawers than this says little, and is left out if another one says more.
_COMMON = 50_000
# Numbers kept in memory, all words together; 8 bytes each.
_KEPT = 4_000_000
# Overhead of a list, counted in numbers.
_LIST = 40
_NOTHING: Held = (np.zeros(0, np.int64), np.zeros(0, np.int64))
_KINDS: set[change_log.Kind] = {"drawers.added", "drawers.filed", "room.refiled", "keyword.rebuilt"}


class Postings:
    """Answers which drawers contain a word; drawers superseded in the meantime may be among them.

    Lists are kept up to the last drawer that has been filed in a closet, when the index has its category words.
    A word in `common` drawers or more is left out if others say more; about `kept` numbers stay in memory.
    """

    def __init__(self, space: str, *, common: int = _COMMON, kept: int = _KEPT) -> None:
        self._space = space
        self._common = common
        self._kept = kept
        self._position = 0
        self._filed = 0
        self._newest = 0
        self._lists: OrderedDict[str, tuple[Held, int]] = OrderedDict()  # of each word, and up to which drawer
        self._size = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """How many words have their list in memory."""
        return len(self._lists)

    def holding(self, moment: Moment, terms: Sequence[str]) -> tuple[list[Held], int]:
        """For each of the first 32 terms, the drawers that contain it, ascending; and how many drawers there are.

        A word that very many drawers contain is left out if others say more.
        """
        with self._lock:
            known = self._refresh(moment)
            found = (self._held if known else self._looked_up)(moment.connection, terms[:MOST_TERMS])
            total = self._newest
        telling = [held for held in found if _length(held) < self._common]
        return (telling if any(map(_length, telling)) else found), total

    def _refresh(self, moment: Moment) -> bool:
        """Follow the log; False if this moment is older than the one already reached."""
        if not self._position:  # nothing is kept yet that a change could touch
            self._filed = change_log.reached(moment, self._space, "drawers.filed")
            self._newest = change_log.reached(moment, self._space, "drawers.added")
            self._position = moment.head
        if moment.head > self._position:
            for change in change_log.follow(moment, self._space, after=self._position, kinds=_KINDS):
                self._follow(change)
            self._position = moment.head
        return moment.head == self._position

    def _follow(self, change: Change) -> None:
        if change.kind == "drawers.filed":
            self._filed = max(self._filed, change.until)
        elif change.kind == "drawers.added" and change.subject > self._newest:
            self._newest = change.until
        else:  # an old drawer was reinstated, or got other words
            self._lists.clear()
            self._size = 0

    def _looked_up(self, connection: Connection, terms: Sequence[str]) -> list[Held]:
        """The lists of words, of which none is kept: a moment before the one reached."""
        found = self._after(connection, dict.fromkeys(terms, 0))
        return [found[term] for term in terms]

    def _held(self, connection: Connection, terms: Sequence[str]) -> list[Held]:
        """The lists of words: those of filed drawers are kept, and the few newer drawers are looked up each time."""
        rare = [term for term in terms if _length(self._kept_of(term)[0]) < self._common]
        after = {term: start for term in rare if (start := self._kept_of(term)[1]) < self._newest}
        new = self._after(connection, after)
        held = {term: self._with_new(term, new.get(term, _NOTHING)) for term in dict.fromkeys(terms)}
        return [held[term] for term in terms]

    def _with_new(self, term: str, new: Held) -> Held:
        """The list of a word with what was just looked up, of which that of filed drawers is kept from now on."""
        kept, _ = self._kept_of(term)
        filed, newer = zip(
            *(np.split(each, [np.searchsorted(each, self._filed, "right")]) for each in new), strict=True
        )
        self._size += _length(filed) + (0 if term in self._lists else _LIST)
        kept = _joined(kept, filed) if _length(filed) else kept
        self._lists[term] = kept, self._filed
        self._lists.move_to_end(term)
        while self._size > self._kept and len(self._lists) > 1:  # the least recently used go
            _, (gone, _) = self._lists.popitem(last=False)
            self._size -= _length(gone) + _LIST
        return _joined(kept, newer) if _length(newer) else kept

    def _kept_of(self, term: str) -> tuple[Held, int]:
        """The list of a word that is kept, and up to which drawer."""
        return self._lists.get(term, (_NOTHING, 0))

    def _after(self, connection: Connection, after: Mapping[str, int]) -> dict[str, Held]:
        return drawers.holding_between(connection, after, upto=self._newest, most=self._common)


def _length(held: Held) -> int:
    return len(held[0]) + len(held[1])


def _joined(kept: Held, new: Held) -> Held:
    return np.concatenate([kept[0], new[0]]), np.concatenate([kept[1], new[1]])
