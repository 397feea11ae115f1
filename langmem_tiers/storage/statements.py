"""What statements on all tables have in common: the space, joins by number, and long lists. No business logic."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from sqlalchemy import (
    BindParameter,
    Column,
    ColumnElement,
    Connection,
    FromClause,
    Select,
    Table,
    Text,
    and_,
    bindparam,
    delete,
)

# What it says after ON CONFLICT is understood by all engines.
from sqlalchemy.dialects.postgresql import Insert
from sqlalchemy.dialects.postgresql import insert as _insert

from langmem_tiers.errors import DatabaseDamaged
from langmem_tiers.storage import functions  # noqa: F401 - registers what `func` knows

T = TypeVar("T")
# More records than a space ever has: what counts up to a number would take for ever to get there.
_MOST = 50_000_000
# Values in a statement: SQLite allows 32,766 by default.
AT_ONCE = 10_000
SPACE: BindParameter[str] = bindparam("space", type_=Text)
"""The space of a statement that is built once and run for many spaces."""


def here(table: FromClause, space: str | BindParameter[str] = SPACE, **equal: Any) -> tuple[ColumnElement[bool], ...]:
    """The conditions for rows of a space that have these values."""
    return (table.c.space == space, *(table.c[name] == value for name, value in equal.items()))


def numbered(table: FromClause, by: Column[Any], key: str = "number") -> ColumnElement[bool]:
    """The condition that joins a table with the column of another that holds its number, or another key of it."""
    return and_(table.c.space == by.table.c.space, table.c[key] == by)


def plausible(number: int) -> int:
    """The number of a record, or how many there are.

    Raises:
        DatabaseDamaged: there can be no such number; a damaged page says so.
    """
    if not 0 <= number <= _MOST:
        raise DatabaseDamaged(f"The database is damaged: it has a record of the number {number}.")
    return number


def batches(items: Collection[T]) -> Iterator[Sequence[T]]:
    """The items in order, in batches that fit into one statement."""
    held = items if isinstance(items, Sequence) else list(items)
    return (held[start : start + AT_ONCE] for start in range(0, len(held), AT_ONCE))


def listed(column: ColumnElement[Any]) -> ColumnElement[bool]:
    """The condition that a column has one of the values that `among` is given."""
    # A parameter: with a long list as a part of it, building a statement would cost more than running it.
    return column.in_(bindparam("among", expanding=True))


def among(connection: Connection, wanted: Select[Any], values: Collection[Any], **given: Any) -> list[Any]:
    """The rows of a statement with a `listed` column, for any number of values; `given` are its other parameters."""
    held = list(values)
    starts = range(0, len(held), AT_ONCE)
    some = ({"among": held[start : start + AT_ONCE], **given} for start in starts)
    return [row for each in some for row in connection.execute(wanted, each)]


def upsert(table: Table) -> Insert:
    """The beginning of an INSERT that may say what is to be done about rows that are there."""
    return _insert(table)


def insert_new(connection: Connection, table: Table, space: str, rows: Iterable[Mapping[str, Any]]) -> int:
    """Insert the rows whose key is free. Returns how many these are."""
    values = [{"space": space, **row} for row in rows]
    return connection.execute(upsert(table).on_conflict_do_nothing(), values).rowcount if values else 0


def put_row(
    connection: Connection,
    table: Table,
    space: str,
    key: Mapping[str, Any],
    values: Mapping[str, Any],
    at_first: Mapping[str, Any] | None = None,
) -> None:
    """Insert a row, or set these values in the row with this key; `at_first` is set only in a new one."""
    row = upsert(table).values(space=space, **key, **values, **(at_first or {}))
    connection.execute(row.on_conflict_do_update(index_elements=["space", *key], set_=values))


def delete_among(connection: Connection, space: str, column: Column[Any], values: Collection[Any]) -> int:
    """Delete the rows whose column has one of these values. Returns how many there were."""
    statement = delete(column.table).where(*here(column.table, space), listed(column))
    return sum(connection.execute(statement, {"among": list(some)}).rowcount for some in batches(values))
