"""Stored words and the hashes that they were stored with: an altered text is never read, `WITHHELD` is in its place.

Messages, entries and notes have a hash in a column of their own. The other texts have one in the table `seals`, which
temporary triggers of each writing connection keep: whoever writes through `Database` need not think of it, and what
another program, or a failing disk, writes into the file is told apart.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from typing import Any, NamedTuple

from sqlalchemy import Connection, LargeBinary, Table, Text, cast, func, select

from langmem_tiers.storage.schema import metadata
from langmem_tiers.storage.sealed_text import HashedText, SealedText

_SEALS = "seals"


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


def _sealed() -> Iterator[_Sealed]:
    for table in metadata.sorted_tables:
        for column in table.columns:
            if isinstance(column.type, SealedText):
                yield _Sealed(table.name, column.name, column.type.kind, column.type.keys)


def keep(connection: sqlite3.Connection) -> bool:
    """From now on, seal what is written over this connection; False while tables are missing, before a migration."""
    there = {name for (name,) in connection.execute("SELECT name FROM main.sqlite_schema WHERE type = 'table'")}
    sealed = list(_sealed())
    if _SEALS in there:
        connection.execute("PRAGMA temp_store=MEMORY")
        for each in sealed:
            for statement in each.triggers() if each.table in there else ():
                connection.execute(statement)
    return there >= {_SEALS, *(each.table for each in sealed)}


def seal_all(connection: Connection) -> None:
    """Seal everything as it stands."""
    for each in _sealed():
        connection.exec_driver_sql(f"{each.put('')} FROM {each.table} WHERE {each.column} IS NOT NULL")


class Altered(NamedTuple):
    """A text that is not as it was stored: its table and column, and the id of its row, or its key if it has none."""

    table: str
    column: str
    key: str


def altered(connection: Connection, space: str) -> list[Altered]:
    """Every text of a space that is not as it was stored."""
    found = []
    for table in metadata.sorted_tables:
        for column in table.columns:
            if isinstance(column.type, HashedText | SealedText):
                found += [
                    Altered(table.name, column.name, key) for key in _altered_in(connection, space, table, column)
                ]
    return found


def _altered_in(connection: Connection, space: str, table: Table, column: Any) -> list[str]:
    kind = column.type
    seal = table.c[kind.digest] if isinstance(kind, HashedText) else kind.seal(table)
    known_by = [table.c.id] if "id" in table.c else table.primary_key.columns
    key = [each for each in known_by if each.name != "space"]
    wanted = select(*(cast(each, Text) for each in key)).where(
        table.c.space == space, func.has_digest(cast(column, LargeBinary), seal) == 0
    )
    return [" ".join(map(str, row)) for row in connection.execute(wanted.order_by(*key))]


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
