"""What statements on all tables have in common: the space, joins by number, and long lists. No business logic."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import (
    BindParameter,
    Column,
    ColumnElement,
    Connection,
    Executable,
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
from langmem_tiers.storage import (
    functions,  # noqa: F401 - registers what `func` knows
    trips,
)
from langmem_tiers.storage.trips import cursors, names_parameters

T = TypeVar("T")
_Values = Sequence[Any] | dict[str, Any]
# More records than a space ever has: what counts up to a number would take for ever to get there.
_MOST = 50_000_000
# Values in a statement: SQLite allows 32,766 by default.
AT_ONCE = 10_000
# What SQLAlchemy writes for a list until it is known how long that is.
_LIST = re.compile(r"__\[POSTCOMPILE_(\w+)\]")
# In the place of an empty list: with `IN ()`, SQLite would use no index.
_NOTHING = "SELECT 1 WHERE 1 = 0"
# What it writes for the values of a new row.
_ROW = re.compile(r"(?<= VALUES )\(.*?\)(?= ON CONFLICT| RETURNING|$)", re.DOTALL)
# Rows that one statement inserts.
ROWS_AT_ONCE = 100
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


def batches(items: Collection[T]) -> Iterator[list[T]]:
    """The items in order, in batches that fit into one statement: lists, as a driver takes no range for an array."""
    held = list(items)
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


class _Text(NamedTuple):
    """A statement as text: its parameters by place, what stands for lists among them, and the values it has itself.

    `row` is the part of an INSERT that stands for one row.
    """

    text: str
    names: Sequence[str]
    lists: Mapping[str, str]
    own: dict[str, Any]
    row: str

    @classmethod
    def of(cls, compiled: Any) -> _Text:
        """The text of a compiled statement."""
        lists = {match[1]: match[0] for match in _LIST.finditer(compiled.string)}
        row = _ROW.search(compiled.string)
        return cls(compiled.string, compiled.positiontup or (), lists, compiled.params, row[0] if row else "")


class Prepared:
    """A statement that is built once and run for every reply or write; its rows are plain tuples.

    SQLAlchemy takes ten times as long over a short statement as SQLite does, most of it for parameters and rows. So
    only the text is kept, and values and rows are the driver's. A driver names parameters, and takes lists as one, or
    it counts them by their place.
    """

    def __init__(self, statement: Executable) -> None:
        self._statement: Any = statement
        self._texts: dict[tuple[str, ...], _Text] = {}

    def rows(self, connection: Connection, **given: Any) -> Sequence[Any]:
        """The rows for these values of its parameters; of a list, so many as fit into one statement."""
        if (known := trips.known_ahead(connection, self, given)) is not None:
            return known
        return _executed(connection, *self.filled(connection, given)).fetchall()  # type: ignore[no-any-return]

    def among(self, connection: Connection, values: Collection[Any], **given: Any) -> list[Any]:
        """The rows of a statement with a `listed` column, for any number of values."""
        return [row for some in batches(values) for row in self.rows(connection, among=some, **given)]

    def change(self, connection: Connection, **given: Any) -> int:
        """Change or delete rows. Returns how many these were."""
        return _executed(connection, *self.filled(connection, given)).rowcount  # type: ignore[no-any-return]

    def insert(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> list[Any]:
        """Insert rows with the same columns, many at once. Returns what the statement returns of them."""
        found: list[Any] = []
        for start in range(0, len(rows), ROWS_AT_ONCE):
            some = rows[start : start + ROWS_AT_ONCE]
            if names_parameters(connection):
                done = connection.execute(self._statement, some)
                found += done.all() if done.returns_rows else ()
                continue
            text, names, _, own, one = self._text(connection, tuple(some[0]))
            per_row = one.count("?")
            held = [row[name] if name in row else own[name] for row in some for name in names[:per_row]]
            held += [own[name] for name in names[per_row:]]
            several = text.replace(one, ", ".join([one] * len(some)), 1) if len(some) > 1 else text
            done = _executed(connection, several, held)
            found += done.fetchall() if " RETURNING " in text else ()
        return found

    def filled(self, connection: Connection, given: Mapping[str, Any]) -> tuple[str, _Values]:
        """The text with room for all values of its lists, and the values."""
        text, names, lists, own, _ = self._text(connection, ())
        if names_parameters(connection):
            # A tuple is a row to the driver.
            every = {**own, **given}
            return text, {name: list(each) if isinstance(each, tuple) else each for name, each in every.items()}
        held: list[Any] = []
        for name in names:
            value = given[name] if name in given else own[name]
            if name in lists:
                values = _padded(value)
                text = text.replace(lists[name], ", ".join("?" * len(values)) or _NOTHING)
                held += values
            else:
                held.append(value)
        return text, held

    def _text(self, connection: Connection, columns: tuple[str, ...]) -> _Text:
        """The text, with these columns if it is an INSERT."""
        key = (connection.dialect.name, *columns)
        known = self._texts.get(key)
        if known is None:
            compiled = self._statement.compile(dialect=connection.dialect, column_keys=columns or None)
            known = self._texts[key] = _Text.of(compiled)
        return known


def _padded(values: Collection[Any]) -> list[Any]:
    """A list with its last value repeated up to a power of two.

    Lists of any length would make as many statements, and SQLite takes longer to prepare one than to run it.
    """
    held = [*values]
    room = min(1 << (len(held) - 1).bit_length(), AT_ONCE) if held else 0
    return held + held[-1:] * (room - len(held))


def driver_rows(connection: Connection, text: str, values: Sequence[Any]) -> Sequence[Any]:
    """The rows of a statement of this engine as the driver gives them, which is much sooner."""
    return _executed(connection, text, values).fetchall()  # type: ignore[no-any-return]


def _executed(connection: Connection, text: str, values: _Values) -> Any:
    """The cursor of a statement; on a server, until the next one."""
    if connection.dispatch.before_cursor_execute:  # who listens hears of it
        return connection.exec_driver_sql(text, values if isinstance(values, dict) else tuple(values))
    if not isinstance(values, dict):
        raw: Any = connection.connection.driver_connection
        return raw.execute(text, values)
    # Vectors take half as much on their way as bytes.
    return cursors(connection, 1)[0].execute(text, values, binary=True)


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
