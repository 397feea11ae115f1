"""Stored words and the hashes that they were stored with: an altered text is never read, `WITHHELD` is in its place.

Messages, entries and notes have a hash in a column of their own. The other texts have one in the table `seals`, which
temporary triggers of each writing connection keep: whoever writes through `Database` need not think of it, and what
another program, or a failing disk, writes into the file is told apart.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import Connection, Table, Text, cast, not_, select

from langmem_tiers.storage import schema
from langmem_tiers.storage.schema import metadata
from langmem_tiers.storage.sealed_text import CheckedText, SealedText, is_intact
from langmem_tiers.storage.statements import numbered

_SEALS = "seals"
EVERYTHING = tuple(metadata.sorted_tables)
NOTES = (schema.receipts,)
"""What has words of the memory among that which is written about it: see `Database.writing`."""


def _has_digest(text: bytes | None, digest: bytes | None) -> int:
    """Whether the bytes have this hash; where there is no text, or no hash, nothing can be said against it."""
    if text is None or digest is None:
        return 1
    return hashlib.blake2b(text, digest_size=16).digest() == digest


def _digest(text: bytes | None) -> bytes | None:
    return None if text is None else hashlib.blake2b(text, digest_size=16).digest()


def register(connection: sqlite3.Connection) -> None:
    """Give a connection the functions that read and write hashes."""
    connection.create_function("has_digest", 2, _has_digest, deterministic=True)
    connection.create_function("digest_of", 1, _digest, deterministic=True)


class _Sealed(NamedTuple):
    """A column with seals."""

    table: str
    column: str
    kind: str
    keys: tuple[str, ...]

    def ref(self, row: str) -> str:
        """The key of a row in SQL, as `SealedText.seal` has it."""
        return " || char(10) || ".join(f"CAST({row}{key} AS TEXT)" for key in self.keys)

    def put(self, row: str) -> str:
        """The statement that seals the text of a row."""
        values = f"{row}space, '{self.kind}', {self.ref(row)}, digest_of(CAST({row}{self.column} AS BLOB))"
        return f"INSERT OR REPLACE INTO {_SEALS} (space, kind, ref, digest) SELECT {values}"

    def drop(self, row: str) -> str:
        """The statement that removes the seal of a row."""
        return f"DELETE FROM {_SEALS} WHERE space = {row}space AND kind = '{self.kind}' AND ref = {self.ref(row)}"

    def triggers(self) -> Iterator[str]:
        """What keeps the seals of this column while a connection writes."""
        name, there = f"{self.table}_{self.column}", f"NEW.{self.column} IS NOT NULL"
        begin, new = f"ON main.{self.table} BEGIN", f"CREATE TEMP TRIGGER IF NOT EXISTS seal_{name}"
        changed = ", ".join(dict.fromkeys((self.column, "space", *self.keys)))
        yield f"{new}_put AFTER INSERT {begin} {self.put('NEW.')} WHERE {there}; END"
        both = f"{self.drop('OLD.')}; {self.put('NEW.')} WHERE {there};"
        yield f"{new}_change AFTER UPDATE OF {changed} {begin} {both} END"
        yield f"{new}_drop AFTER DELETE {begin} {self.drop('OLD.')}; END"


def _sealed(tables: Iterable[Table] = EVERYTHING) -> Iterator[_Sealed]:
    for table in tables:
        for column in table.columns:
            if isinstance(column.type, SealedText):
                yield _Sealed(table.name, column.name, column.type.kind, column.type.keys)


@cache
def _triggers(tables: Sequence[Table]) -> dict[str, list[str]]:
    """What seals the texts of these tables, by table."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for each in _sealed(tables):
        found[each.table] += each.triggers()
    return dict(found)


def keep(connection: sqlite3.Connection, tables: Sequence[Table] = EVERYTHING) -> bool:
    """From now on, seal what is written to these tables over this connection.

    False while some are missing, before a migration.
    """
    there = {name for (name,) in connection.execute("SELECT name FROM main.sqlite_schema WHERE type = 'table'")}
    wanted = _triggers(tables)
    if _SEALS in there:
        connection.execute("PRAGMA temp_store=MEMORY")
        for table, triggers in wanted.items():
            for statement in triggers if table in there else ():
                connection.execute(statement)
    return there >= {_SEALS, *wanted}


def seal_all(connection: Connection, tables: Iterable[Table] = EVERYTHING) -> None:
    """Seal everything as it stands, or the texts of some tables."""
    for each in _sealed(tables):
        connection.exec_driver_sql(f"{each.put('')} FROM {each.table} WHERE {each.column} IS NOT NULL")


# What has no id of its own is named by what it belongs to, which a column of it numbers.
_OWNERS = {
    schema.entry_evidence: (schema.entries, "entry"),
    schema.relation_evidence: (schema.relations, "relation"),
    schema.entity_evidence: (schema.entities, "entity"),
    schema.entity_aliases: (schema.entities, "entity"),
    schema.changesets: (schema.dreams, "dream"),
}


class Altered(NamedTuple):
    """A text that is not as it was stored: its table and column, and what users call its row."""

    table: str
    column: str
    key: str


def altered(connection: Connection, space: str, tables: Iterable[Table] = EVERYTHING) -> list[Altered]:
    """Every text of a space, or of some of its tables, that is not as it was stored."""
    found = []
    for table in tables:
        for column in table.columns:
            if isinstance(column.type, CheckedText):
                found += [
                    Altered(table.name, column.name, key) for key in _altered_in(connection, space, table, column)
                ]
    return found


def _altered_in(connection: Connection, space: str, table: Table, column: Any) -> list[str]:
    key = [cast(each, Text) for each in _called(table)]
    wanted = select(*key).where(table.c.space == space, not_(is_intact(column)))
    found = connection.execute(wanted.order_by(*table.primary_key.columns))
    return [" ".join(map(str, row)) for row in found]


def _called(table: Table) -> list[Any]:
    """What a row is called: its id or that of its owner, or else its key."""
    if table in _OWNERS:
        owner, number = _OWNERS[table]
        return [select(owner.c.id).where(numbered(owner, table.c[number])).scalar_subquery()]
    if table is schema.notes:
        return [table.c.kind, table.c.ref]
    return [table.c.id] if "id" in table.c else [each for each in table.primary_key.columns if each.name != "space"]


def unsealed(connection: Connection, space: str) -> int:
    """How many texts have no seal although they are to have one."""
    found = 0
    for each in _sealed():
        there = f"{each.column} IS NOT NULL AND {each.table}.space = ?"
        seal = f"SELECT 1 FROM {_SEALS} AS s WHERE s.space = {each.table}.space AND s.kind = '{each.kind}'"
        missing = f"NOT EXISTS ({seal} AND s.ref = {each.ref(each.table + '.')})"
        statement = f"SELECT count(*) FROM {each.table} WHERE {there} AND {missing}"
        found += connection.exec_driver_sql(statement, (space,)).scalar_one()
    return found
