"""Recording which rows change in PostgreSQL: by triggers that note them in the transactions that ask for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, LargeBinary, delete, select, text

from langmem_tiers.storage.changesets import TABLES, ChangedRecord, current, key_columns
from langmem_tiers.storage.postgres.ddl import RECORDING, noted

_SET = text("SELECT set_config(:name, :value, true)")


@contextmanager
def recording(connection: Connection, space: str) -> Iterator[list[ChangedRecord]]:
    """Records what changes in a space during the block; see `changesets.recording`."""
    changed: list[ChangedRecord] = []
    of_space = noted.c.space == space
    connection.execute(delete(noted).where(of_space))
    connection.execute(_SET, {"name": RECORDING, "value": "on"})
    yield changed
    # Not after an error: the rollback takes back what was noted.
    connection.execute(_SET, {"name": RECORDING, "value": "off"})
    seen: set[tuple[str, tuple[Any, ...]]] = set()
    order = list(TABLES)
    rows = connection.execute(
        select(noted.c.table_name, noted.c.event, noted.c.row).where(of_space).order_by(noted.c.number)
    )
    for name, event, row in sorted(rows, key=lambda each: order.index(each[0])):
        then = _as_stored(name, row)
        key = {column: then[column] for column in key_columns(TABLES[name])}
        if (name, tuple(key.values())) in seen:
            continue
        seen.add((name, tuple(key.values())))
        record = ChangedRecord(table=name, key=key, before=None if event == "INSERT" else then)
        after = current(connection, space, record)
        if record.before != after:
            changed.append(ChangedRecord(table=name, key=key, before=record.before, after=after))
    connection.execute(delete(noted).where(of_space))


def _as_stored(name: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """A noted row as changesets have it: without its space, and bytes in hexadecimal."""
    held = {str(column.name): (column, row[column.name]) for column in TABLES[name].columns if column.name != "space"}
    return {
        name: value.removeprefix("\\x") if isinstance(column.type, LargeBinary) and value is not None else value
        for name, (column, value) in held.items()
    }
