"""The changeset: every row that a transaction changes, as it was before and as it is after.

SQLite itself notes it, by triggers of this connection alone: whatever writes to these tables is noted, be it code that
does not exist yet. Values are kept as they are stored, bytes in hexadecimal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any

from sqlalchemy import Connection, LargeBinary, Table

from langmem_tiers.dream.types import ChangedRecord
from langmem_tiers.storage import schema

TABLES: Mapping[str, Table] = {
    table.name: table
    for table in (
        schema.entries,
        schema.entry_evidence,
        schema.notes,
        schema.documents,
        schema.episodes,
        schema.tombstones,
        schema.entities,
        schema.entity_aliases,
        schema.entity_evidence,
        schema.entity_merges,
        schema.entity_pairs,
        schema.relations,
        schema.relation_versions,
        schema.relation_evidence,
    )
}
"""The tables that a dream may change, and that undoing it puts back."""

BOOKKEEPING: Mapping[str, frozenset[str]] = {
    "entries": frozenset({"recall_count", "last_recalled_at"}),
    "episodes": frozenset({"recall_count", "last_recalled_at"}),
}
"""Columns that every recall writes: they tell nothing of what a record says."""


class Recorder:
    """Notes what changes in a space while the block runs; to be used within a transaction that writes.

    Example:
        >>> with store.writing() as connection, Recorder(connection, store.key) as recorder:
        ...     ...
        >>> recorder.records
    """

    def __init__(self, connection: Connection, space: str) -> None:
        self._connection = connection
        self._space = space
        self.records: tuple[ChangedRecord, ...] = ()

    def __enter__(self) -> Recorder:
        self._drop()
        for table in TABLES.values():
            for statement in _begin(table):
                self._connection.exec_driver_sql(statement)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:  # else the transaction is undone, and with it the triggers
            self.records = tuple(self._read())
            self._drop()

    def _read(self) -> Iterator[ChangedRecord]:
        for table in TABLES.values():
            width = len(table.columns)
            for was, *values in self._connection.exec_driver_sql(_changed(table), (self._space,)):
                before = _row(table, values[:width]) if was else None
                after = None if values[width] is None else _row(table, values[width:])
                if before != after:
                    held = before or after or {}
                    yield ChangedRecord(table=table.name, key=_key(table, held), before=before, after=after)

    def _drop(self) -> None:
        for table in TABLES.values():
            for event in _EVENTS:
                self._connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS temp.{_trigger(table, event)}")
            self._connection.exec_driver_sql(f"DROP TABLE IF EXISTS temp.{_noted(table)}")


def key_columns(table: Table) -> tuple[str, ...]:
    """The primary key of a table, without the space."""
    return tuple(column.name for column in table.primary_key.columns if column.name != "space")


def read(connection: Connection, space: str, record: ChangedRecord) -> dict[str, Any] | None:
    """The row of a record as it is now, None where there is none."""
    table = TABLES[record.table]
    where = " AND ".join(f"{name} = ?" for name in ("space", *key_columns(table)))
    values = (space, *stored(table, record.key, key_columns(table)))
    row = connection.exec_driver_sql(f"SELECT {_listed(table)} FROM main.{table.name} WHERE {where}", values).first()
    return None if row is None else _row(table, row)


def stored(table: Table, values: Mapping[str, Any], names: Sequence[str]) -> tuple[Any, ...]:
    """Values of a record as the columns hold them."""
    return tuple(
        bytes.fromhex(values[name])
        if isinstance(table.c[name].type, LargeBinary) and values[name] is not None
        else values[name]
        for name in names
    )


# Whether the row was there before, and what it held; only the first change of a row tells.
_EVENTS: Mapping[str, tuple[int, str]] = {"INSERT": (0, "NEW"), "UPDATE": (1, "OLD"), "DELETE": (1, "OLD")}


def _begin(table: Table) -> Iterator[str]:
    names = [column.name for column in table.columns]
    keys = ", ".join(("space", *key_columns(table)))
    # Without types: the values stay as they are.
    yield f"CREATE TEMP TABLE {_noted(table)} (was, {', '.join(names)}, PRIMARY KEY ({keys}))"
    for event, (was, row) in _EVENTS.items():
        same = " AND ".join(f"{name} IS {row}.{name}" for name in ("space", *key_columns(table)))
        values = ", ".join(f"{row}.{name}" for name in names)
        yield (
            f"CREATE TEMP TRIGGER {_trigger(table, event)} AFTER {event} ON main.{table.name} BEGIN "
            f"INSERT INTO {_noted(table)} SELECT {was}, {values} "
            f"WHERE NOT EXISTS (SELECT 1 FROM {_noted(table)} WHERE {same}); END"
        )


def _changed(table: Table) -> str:
    here = ", ".join(f"noted.{column.name}" for column in table.columns)
    now = ", ".join(f"held.{column.name}" for column in table.columns)
    same = " AND ".join(f"held.{name} = noted.{name}" for name in ("space", *key_columns(table)))
    return (
        f"SELECT noted.was, {here}, {now} FROM temp.{_noted(table)} AS noted "
        f"LEFT JOIN main.{table.name} AS held ON {same} WHERE noted.space = ? ORDER BY noted.rowid"
    )


def _noted(table: Table) -> str:
    return f"noted_{table.name}"


def _trigger(table: Table, event: str) -> str:
    return f"note_{table.name}_{event.lower()}"


def _listed(table: Table) -> str:
    return ", ".join(column.name for column in table.columns)


def _row(table: Table, values: Sequence[Any]) -> dict[str, Any]:
    """A row without its space, whose name may change."""
    held = {column.name: value for column, value in zip(table.columns, values, strict=True) if column.name != "space"}
    return {name: value.hex() if isinstance(value, bytes) else value for name, value in held.items()}


def _key(table: Table, row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in key_columns(table)}
