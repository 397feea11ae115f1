"""The keyword index in PostgreSQL: the stems of each row in an array with a GIN index, in one table for each kind.

Each stem begins with a mark of its space, so a search costs what its own space makes it cost, whatever others hold.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import blake2b
from itertools import chain
from typing import Any, Literal

import numpy as np
from sqlalchemy import BindParameter, Connection, Text, bindparam, delete, func, insert, select, text, update
from sqlalchemy.dialects.postgresql import ARRAY

from langmem_tiers.language.words import searchable
from langmem_tiers.matching import Held, Numbers
from langmem_tiers.storage.database import space_of
from langmem_tiers.storage.keyword import KeywordIndex, WordsRow, held
from langmem_tiers.storage.postgres import ddl
from langmem_tiers.storage.statements import listed

# In the text or the tags of a row, or in the names of its wing and closet.
_Where = Literal["s", "p"]
# Characters of a word that count; an index entry has room for about 2,700 bytes.
_LONGEST = 100


class WordsTable(KeywordIndex):
    """One table of words; see `KeywordIndex`."""

    def __init__(self, table: str) -> None:
        super().__init__(table)
        self._rows = ddl.words[table]
        said, place = _terms("s", bindparam("said")), _terms("p", bindparam("place"))
        values: dict[str, Any] = {name: bindparam(name) for name in ("space", "number", "content", "tags", "category")}
        self._insert = insert(self._rows).values(**values, terms=said.op("||")(place))
        here = (self._rows.c.space == bindparam("of_space"), self._rows.c.number == bindparam("of_number"))
        of_said = _terms("s", bindparam("said"))
        self._categorise = (
            update(self._rows).where(*here).values(category=bindparam("new"), terms=of_said.op("||")(place))
        )

    def create(self, connection: Connection) -> None:
        """Nothing: the tables are there from the first step on."""

    def recreate(self, connection: Connection) -> None:
        """Empty the index."""
        connection.execute(delete(self._rows).where(self._rows.c.space == space_of(connection)))

    def add(self, connection: Connection, rows: Iterable[WordsRow]) -> None:
        """Add rows that are not in the index yet."""
        space = space_of(connection)
        values: list[dict[str, Any]] = []
        for row in rows:
            content, tags, category = (each.replace("\x00", " ") for each in row.searched)
            texts = {"content": content, "tags": tags, "category": category}
            terms = {"said": [*words_of(content), *words_of(tags)], "place": words_of(category)}
            values.append({"space": space, "number": row.number, **texts, **terms, **_marks(space)})
        if values:
            connection.execute(self._insert, values)

    def remove(self, connection: Connection, numbers: Iterable[int]) -> None:
        """Remove these numbers; unknown ones are ignored."""
        these = list(numbers)
        if these:
            rows = delete(self._rows).where(self._rows.c.space == space_of(connection), listed(self._rows.c.number))
            connection.execute(rows, {"among": these})

    def categorise(self, connection: Connection, categories: Iterable[tuple[int, str]]) -> None:
        """Set the wing and closet names of these numbers."""
        new = {number: searchable(category) for number, category in categories}
        if not new:
            return
        space, columns = space_of(connection), self._rows.c
        wanted = select(columns.number, columns.content, columns.tags).where(columns.space == space)
        known = connection.execute(wanted.where(listed(columns.number)), {"among": list(new)}).all()
        rows = [
            {
                "of_space": space,
                "of_number": number,
                "new": new[number],
                "said": [*words_of(content), *words_of(tags)],
                "place": words_of(new[number]),
                **_marks(space),
            }
            for number, content, tags in known
        ]
        if rows:
            connection.execute(self._categorise, rows)

    def purge(self, connection: Connection) -> None:
        """Nothing: removed rows are gone once the server has cleaned up."""

    def merge(self, connection: Connection, pages: int) -> bool:
        """Nothing: the index is always in its best form."""
        return False

    def holding(self, connection: Connection, wanted: Sequence[tuple[str, int, int]]) -> list[Held]:
        """For each term, first and last number, what matches in text or tags and what in the category only."""
        if not wanted:
            return []
        found = self._numbers(connection, wanted)
        return [held(*found[2 * place : 2 * place + 2]) for place in range(len(wanted))]

    def holding_between(
        self, connection: Connection, after: Mapping[str, int], *, upto: int, most: int
    ) -> dict[str, Held]:
        """Like `holding`, for each term after a number and up to another, with a limit for each kind."""
        wanted = [(term, start + 1, upto) for term, start in after.items()]
        found = [numbers[:most] for numbers in self._numbers(connection, wanted)] if wanted else []
        return {term: held(*found[2 * place : 2 * place + 2]) for place, term in enumerate(after)}

    def _numbers(self, connection: Connection, wanted: Sequence[tuple[str, int, int]]) -> list[Numbers]:
        """The numbers of the rows with each term, first those that have it in what they say, then in their place."""
        space = space_of(connection)
        given: dict[str, Any] = {"space": space}
        parts: list[str] = []
        for at, (term, first, last) in enumerate(wanted):
            for where in ("s", "p"):
                name = f"{where}{at}"
                given |= {f"m{name}": _mark(space, where), f"w{name}": words_of(term)}
                given |= {f"f{name}": first, f"l{name}": min(last, 2**31 - 1)}
                parts.append(
                    f"SELECT {len(parts)}, string_agg(int4send(number), ''::bytea ORDER BY number)"
                    f" FROM {self._rows.name} WHERE space = :space"
                    f" AND terms @> terms_of(:m{name}, CAST(:w{name} AS text[]))"
                    f" AND cardinality(CAST(:w{name} AS text[])) > 0"
                    f" AND number BETWEEN :f{name} AND :l{name}"
                )
        rows = connection.execute(text(" UNION ALL ".join(parts)), given).all()
        found: dict[int, bytes | None] = {place: numbers for place, numbers in rows}  # noqa: C416 - rows are no pairs to a type checker
        return [np.frombuffer(found[place] or b"", ">i4").astype(np.int64) for place in range(len(parts))]

    def with_phrase(self, connection: Connection, phrase: str, *, most: int = -1) -> set[int]:
        """The numbers of the rows whose text has these words one after the other."""
        found = sorted(self._with_phrase(connection, phrase))
        return set(found if most < 0 else found[:most])

    def held_by_others(self, connection: Connection, phrase: str, gone: Collection[int]) -> bool:
        """Whether a row besides these has these words in its text, one after the other."""
        return not self._with_phrase(connection, phrase) <= set(gone)

    def _with_phrase(self, connection: Connection, phrase: str) -> set[int]:
        sought = words_of(searchable(phrase))
        if not sought:
            return set()
        space, columns = space_of(connection), self._rows.c
        candidates = select(columns.number, columns.content).where(
            columns.space == space, columns.terms.contains(_terms("s", bindparam("said")))
        )
        rows = connection.execute(candidates, {"said": sought, **_marks(space)}).all()
        texts = {number: words_of(content) for number, content in rows}
        stems = _stems(connection, {*sought, *chain.from_iterable(texts.values())})
        line = [stems[word] for word in sought]
        return {number for number, said in texts.items() if _follows([stems[word] for word in said], line)}

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


def _terms(where: _Where, given: BindParameter[Any]) -> Any:
    given.type = ARRAY(Text)
    return func.terms_of(bindparam(f"mark_{where}", type_=Text), given, type_=ARRAY(Text))


def _marks(space: str) -> dict[str, str]:
    return {"mark_s": _mark(space, "s"), "mark_p": _mark(space, "p")}


def _mark(space: str, where: str) -> str:
    return f"{blake2b(space.encode(), digest_size=6).hexdigest()}{where}:"


def _stems(connection: Connection, words: Collection[str]) -> dict[str, str]:
    """The stem of each word."""
    statement = text(
        "SELECT word, coalesce((ts_lexize('stems', word))[1], word) FROM unnest(CAST(:words AS text[])) AS word"
    )
    return {word: stem for word, stem in connection.execute(statement, {"words": list(words)})}  # noqa: C416 - rows are no pairs to a type checker


def _follows(said: Sequence[str], line: Sequence[str]) -> bool:
    """Whether the words of a line follow each other in what was said."""
    return any(said[start : start + len(line)] == line for start in range(len(said) - len(line) + 1))
