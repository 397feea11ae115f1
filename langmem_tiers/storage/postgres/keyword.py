"""The keyword index in PostgreSQL: the words of each row, and for each stem the rows that have it.

A search reads the posting lists of its stems, in one statement; it costs what its own space makes it cost.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import chain
from typing import Any, Literal, NamedTuple

import numpy as np
from sqlalchemy import Connection, Integer, any_, bindparam, delete, func, insert, select, text, update
from sqlalchemy.dialects.postgresql import ARRAY

from langmem_tiers.language.words import searchable
from langmem_tiers.matching import Held, Numbers
from langmem_tiers.storage.database import space_of
from langmem_tiers.storage.keyword import ALL, KeywordIndex, WordsRow, held
from langmem_tiers.storage.postgres import ddl
from langmem_tiers.storage.statements import Prepared

# In the text or the tags of a row, or in the names of its wing and closet.
_Where = Literal["said", "place"]
# Characters of a word that count; an index entry has room for about 2,700 bytes.
_LONGEST = 100
# Rows in a block of a posting list, as a power of two; a place in it takes two bytes.
_BLOCK = 10
_IN_BLOCK = np.dtype(">u2")
_NOTHING = np.zeros(0, np.int64)


class _Row(NamedTuple):
    """A row of the index."""

    number: int
    content: str
    tags: str
    category: str

    def words(self) -> Iterator[tuple[_Where, str]]:
        """Its words, and where they are."""
        yield from (("said", word) for said in (self.content, self.tags) for word in words_of(said))
        yield from (("place", word) for word in words_of(self.category))


class WordsTable(KeywordIndex):
    """One table of words with its posting lists; see `KeywordIndex`."""

    def __init__(self, table: str) -> None:
        super().__init__(table)
        self._rows = ddl.words[table]
        self._lists = ddl.postings[table]
        lists, columns = self._lists.name, self._rows.c
        self._here = columns.space == bindparam("here")
        among = any_(bindparam("among", type_=ARRAY(Integer)))
        these = (self._here, columns.number == among)
        self._known = select(columns.number, columns.content, columns.tags, columns.category).where(*these)
        self._delete = delete(self._rows).where(*these)
        self._post = text(
            f"INSERT INTO {lists} (space, stem, block, said, place) SELECT :here, * FROM"
            " unnest(CAST(:stems AS text[]), CAST(:blocks AS int[]), CAST(:said AS bytea[]), CAST(:place AS bytea[]))"
            " ON CONFLICT (space, stem, block) DO UPDATE"
            f" SET said = {lists}.said || excluded.said, place = {lists}.place || excluded.place"
        )
        self._take = text(
            f"DELETE FROM {lists} AS held"
            " USING unnest(CAST(:stems AS text[]), CAST(:blocks AS int[])) AS gone(stem, block)"
            " WHERE held.space = :here AND held.stem = gone.stem AND held.block = gone.block"
            " RETURNING held.stem, held.block, held.said, held.place"
        )
        # The stems come first: of what a function makes, nothing may be compared with rows that a rule may hide. Each
        # is looked up by itself: until the server has counted its rows, a join would read all lists of the space.
        find = text(
            "WITH asked AS MATERIALIZED (SELECT word, coalesce((ts_lexize('stems', word))[1], word) AS stem"
            " FROM unnest(CAST(:words AS text[])) AS word)"
            " SELECT asked.word, held.block, held.said, held.place FROM asked CROSS JOIN LATERAL"
            f" (SELECT block, said, place FROM {lists} WHERE space = :here AND stem = asked.stem"
            " AND block BETWEEN :first AND :last OFFSET 0) AS held ORDER BY held.block"
        )
        self._find = Prepared(find)

    def create(self, connection: Connection) -> None:
        """Nothing: the tables are there from the first step on."""

    def recreate(self, connection: Connection) -> None:
        """Empty the index."""
        for table in (self._rows, self._lists):
            connection.execute(delete(table).where(table.c.space == space_of(connection)))

    def add(self, connection: Connection, rows: Iterable[WordsRow]) -> None:
        """Add rows that are not in the index yet."""
        added = [_Row(row.number, *(each.replace("\x00", " ") for each in row.searched)) for row in rows]
        if added:
            space = space_of(connection)
            connection.execute(insert(self._rows), [{"space": space, **row._asdict()} for row in added])
            self._list(connection, _blocks(connection, added))

    def remove(self, connection: Connection, numbers: Iterable[int]) -> None:
        """Remove these numbers; unknown ones are ignored."""
        gone = self._held(connection, numbers)
        if gone:
            these = {"here": space_of(connection), "among": [row.number for row in gone]}
            connection.execute(self._delete, these)
            self._unlist(connection, _blocks(connection, gone))

    def categorise(self, connection: Connection, categories: Iterable[tuple[int, str]]) -> None:
        """Set the wing and closet names of these numbers."""
        new = {number: searchable(category) for number, category in categories}
        before = [row for row in self._held(connection, new) if row.category != new[row.number]]
        if not before:
            return
        renamed = update(self._rows).where(self._here, self._rows.c.number == bindparam("of"))
        space = space_of(connection)
        values = [{"here": space, "of": row.number, "new": new[row.number]} for row in before]
        connection.execute(renamed.values(category=bindparam("new")), values)
        places = [_Row(row.number, "", "", row.category) for row in before]
        self._unlist(connection, _blocks(connection, places))
        self._list(connection, _blocks(connection, [row._replace(category=new[row.number]) for row in places]))

    def purge(self, connection: Connection) -> None:
        """Nothing: removed rows are gone once the server has cleaned up."""

    def merge(self, connection: Connection, pages: int) -> bool:
        """Nothing: the index is always in its best form."""
        return False

    def holding(self, connection: Connection, wanted: Sequence[tuple[str, int, int]]) -> list[Held]:
        """For each term, first and last number, what matches in text or tags and what in the category only."""
        found = self._matching(connection, wanted)
        return [held(said, place) for said, place in found]

    def holding_between(
        self, connection: Connection, after: Mapping[str, int], *, upto: int, most: int
    ) -> dict[str, Held]:
        """Like `holding`, for each term after a number and up to another, with a limit for each kind."""
        found = self._matching(connection, [(term, start + 1, upto) for term, start in after.items()])
        return {term: held(said[:most], place[:most]) for term, (said, place) in zip(after, found, strict=True)}

    def _matching(self, connection: Connection, wanted: Sequence[tuple[str, int, int]]) -> list[Held]:
        """The numbers of the rows that have every word of a term in what they say, and in their place; ascending."""
        words = [words_of(term) for term, _, _ in wanted]
        asked = sorted({*chain.from_iterable(words)})
        if not asked:
            return [(_NOTHING, _NOTHING) for _ in wanted]
        blocks = {
            "first": min(first for _, first, _ in wanted) >> _BLOCK,
            "last": min(max(last for _, _, last in wanted), 2**31 - 1) >> _BLOCK,
        }
        rows = self._find.rows(connection, here=space_of(connection), words=asked, **blocks)
        found: defaultdict[str, list[Held]] = defaultdict(list)
        for word, block, said, place in rows:
            found[word].append((_unpacked(block, said), _unpacked(block, place)))
        lists = {word: _joined(found[word]) for word in asked}
        return [
            _between(reduce(_common, (lists[word] for word in each)) if each else (_NOTHING, _NOTHING), first, last)
            for each, (_, first, last) in zip(words, wanted, strict=True)
        ]

    def with_phrase(self, connection: Connection, phrase: str, *, most: int = -1) -> set[int]:
        """The numbers of the rows whose text has these words one after the other."""
        found = sorted(self._with_phrase(connection, phrase))
        return set(found if most < 0 else found[:most])

    def held_by_others(self, connection: Connection, phrase: str, gone: Collection[int]) -> bool:
        """Whether a row besides these has these words in its text, one after the other."""
        return not self._with_phrase(connection, phrase) <= set(gone)

    def _with_phrase(self, connection: Connection, phrase: str) -> set[int]:
        sought = words_of(searchable(phrase))
        [(said, _)] = self._matching(connection, [(" ".join(sought), *ALL)])
        texts = {row.number: words_of(row.content) for row in self._held(connection, said.tolist())}
        stems = _stems(connection, {*sought, *chain.from_iterable(texts.values())}) if texts else {}
        line = [stems[word] for word in sought] if texts else []
        return {number for number, words in texts.items() if _follows([stems[word] for word in words], line)}

    def count(self, connection: Connection) -> int:
        """How many rows are indexed."""
        counted = select(func.count()).where(self._rows.c.space == space_of(connection))
        return int(connection.execute(counted).scalar_one())

    def numbers(self, connection: Connection) -> set[int]:
        """The numbers of all indexed rows."""
        return set(
            connection.execute(select(self._rows.c.number).where(self._rows.c.space == space_of(connection))).scalars()
        )

    def every(self, connection: Connection) -> dict[int, tuple[str, str, str]]:
        """The content of the index, by number."""
        columns = self._rows.c
        wanted = select(columns.number, columns.content, columns.tags, columns.category)
        rows = connection.execute(wanted.where(columns.space == space_of(connection)))
        return {number: (content, tags, category) for number, content, tags, category in rows}

    def check(self, connection: Connection) -> None:
        """Nothing: the server checks its own pages."""

    def _held(self, connection: Connection, numbers: Iterable[int]) -> list[_Row]:
        """Those of these rows that are in the index."""
        these = list(numbers)
        if not these:
            return []
        rows = connection.execute(self._known, {"here": space_of(connection), "among": these})
        return [_Row(*row) for row in rows]

    def _list(self, connection: Connection, blocks: _Blocks) -> None:
        """Put rows that are not in them yet into the posting lists."""
        packed = [_packed(lists) for lists in blocks.values()]
        values = {"said": [said for said, _ in packed], "place": [place for _, place in packed]}
        if blocks:
            connection.execute(self._post, {"here": space_of(connection), **_keys(blocks), **values})

    def _unlist(self, connection: Connection, blocks: _Blocks) -> None:
        """Take rows out of the posting lists."""
        if not blocks:
            return
        left: _Blocks = {}
        for stem, block, said, place in connection.execute(self._take, {"here": space_of(connection), **_keys(blocks)}):
            gone = blocks[stem, block]
            lists: _Lists = {"said": _places(said) - gone["said"], "place": _places(place) - gone["place"]}
            if any(lists.values()):
                left[stem, block] = lists
        self._list(connection, left)


_Lists = dict[_Where, set[int]]
_Blocks = dict[tuple[str, int], _Lists]
"""By stem and block, which places in the block have it where."""


def _blocks(connection: Connection, rows: Collection[_Row]) -> _Blocks:
    stems = _stems(connection, {word for row in rows for _, word in row.words()})
    blocks: _Blocks = {}
    for row in rows:
        block, place = divmod(row.number, 1 << _BLOCK)
        for where, word in row.words():
            blocks.setdefault((stems[word], block), {"said": set(), "place": set()})[where].add(place)
    return dict(sorted(blocks.items()))


def _keys(blocks: _Blocks) -> dict[str, list[Any]]:
    return {"stems": [stem for stem, _ in blocks], "blocks": [block for _, block in blocks]}


def _packed(lists: _Lists) -> tuple[bytes, bytes]:
    said, place = (np.array(sorted(lists[where]), _IN_BLOCK).tobytes() for where in ("said", "place"))
    return said, place


def _places(packed: bytes) -> set[int]:
    return set(np.frombuffer(packed, _IN_BLOCK).tolist())


def _unpacked(block: int, packed: bytes) -> Numbers:
    return np.frombuffer(packed, _IN_BLOCK).astype(np.int64) + (block << _BLOCK)


def _joined(blocks: Sequence[Held]) -> Held:
    """The rows of all blocks; in each, they are in the order in which they came."""
    if not blocks:
        return _NOTHING, _NOTHING
    said, place = (np.sort(np.concatenate(each)) for each in zip(*blocks, strict=True))
    return said, place


def _common(one: Held, other: Held) -> Held:
    said, place = (np.intersect1d(*each, assume_unique=True) for each in zip(one, other, strict=True))
    return said, place


def _between(found: Held, first: int, last: int) -> Held:
    said, place = (each[np.searchsorted(each, first) : np.searchsorted(each, last, "right")] for each in found)
    return said, place


def words_of(said: str) -> list[str]:
    """The words of a searchable text as SQLite's `unicode61` has them: letters and digits, without case and accents."""
    if said.isascii():
        kept = "".join(each if each.isalnum() else " " for each in said.lower())
    else:
        plain = unicodedata.normalize("NFKD", said.casefold())
        kept = "".join(
            "" if unicodedata.category(each) == "Mn" else each if unicodedata.category(each)[0] in "LN" else " "
            for each in plain
        )
    return [each[:_LONGEST] for each in kept.split()]


def _stems(connection: Connection, words: Collection[str]) -> dict[str, str]:
    """The stem of each word."""
    statement = text(
        "SELECT word, coalesce((ts_lexize('stems', word))[1], word) FROM unnest(CAST(:words AS text[])) AS word"
    )
    return {word: stem for word, stem in connection.execute(statement, {"words": list(words)})}  # noqa: C416 - rows are no pairs to a type checker


def _follows(said: Sequence[str], line: Sequence[str]) -> bool:
    """Whether the words of a line follow each other in what was said."""
    return any(said[start : start + len(line)] == line for start in range(len(said) - len(line) + 1))
