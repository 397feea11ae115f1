"""Recording which rows change in a SQLite file: by temporary triggers, so that no writer can forget to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from sqlalchemy import Connection, Table

from langmem_tiers.storage.changesets import TABLES, ChangedRecord, key_columns, row_of

# Whether the row existed before, and what it held: only the first change of a row knows.
_EVENTS: Mapping[str, tuple[int, str]] = {"INSERT": (0, "NEW"), "UPDATE": (1, "OLD"), "DELETE": (1, "OLD")}


@contextmanager
def recording(connection: Connection, space: str) -> Iterator[list[ChangedRecord]]:
    """Records what changes in a space during the block; see `changesets.recording`."""
    changed: list[ChangedRecord] = []
    _stop(connection)
    for table in TABLES.values():
        for statement in _begin(table):
            connection.exec_driver_sql(statement)
    yield changed
    # Not after an error: the rollback removes the triggers.
    for table in TABLES.values():
        changed += _changed(connection, space, table)
    _stop(connection)


def _stop(connection: Connection) -> None:
    for table in TABLES.values():
        for event in _EVENTS:
            connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS temp.note_{table.name}_{event.lower()}")
        connection.exec_driver_sql(f"DROP TABLE IF EXISTS temp.noted_{table.name}")


def _begin(table: Table) -> Iterator[str]:
    noted, names = f"noted_{table.name}", [column.name for column in table.columns]
    keys = ("space", *key_columns(table))
    # Untyped, so values stay as they are.
    yield f"CREATE TEMP TABLE {noted} (was, {', '.join(names)}, PRIMARY KEY ({', '.join(keys)}))"
    for event, (was, row) in _EVENTS.items():
        same = " AND ".join(f"{name} IS {row}.{name}" for name in keys)
        values = ", ".join(f"{row}.{name}" for name in names)
        yield (
            f"CREATE TEMP TRIGGER note_{table.name}_{event.lower()} AFTER {event} ON main.{table.name} BEGIN "
            f"INSERT INTO {noted} SELECT {was}, {values} WHERE NOT EXISTS (SELECT 1 FROM {noted} WHERE {same}); END"
        )


def _changed(connection: Connection, space: str, table: Table) -> Iterator[ChangedRecord]:
    """What was noted of a table, without rows that are as they were before."""
    then = ", ".join(f"noted.{column.name}" for column in table.columns)
    now = ", ".join(f"held.{column.name}" for column in table.columns)
    same = " AND ".join(f"held.{name} = noted.{name}" for name in ("space", *key_columns(table)))
    noted = (
        f"SELECT noted.was, {then}, {now} FROM temp.noted_{table.name} AS noted "
        f"LEFT JOIN main.{table.name} AS held ON {same} WHERE noted.space = ? ORDER BY noted.rowid"
    )
    width = len(table.columns)
    for was, *values in connection.exec_driver_sql(noted, (space,)):
        before = row_of(table, values[:width]) if was else None
        after = None if values[width] is None else row_of(table, values[width:])
        if before != after:
            held = before or after or {}
            key = {name: held[name] for name in key_columns(table)}
            yield ChangedRecord(table=table.name, key=key, before=before, after=after)
