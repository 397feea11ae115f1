"""Rows of a changeset as users know them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import Connection, select

from langmem_tiers.dream.changeset import TABLES
from langmem_tiers.dream.types import ChangedRecord
from langmem_tiers.storage import entries

# Which column of a row, or of its key, names the entity or relation that it belongs to.
_OWNERS = ("relation", "entity", "source", "low", "number")


def name_of(connection: Connection, space: str, record: ChangedRecord) -> str:
    """What a row is of, and the id or path by which it is called."""
    known = _NAMED.get(record.table)
    if known is not None:
        return known({**(record.before or record.after or {}), **record.key})
    if record.table == "entry_evidence":
        return f"entry {_entry(connection, space, record.key['entry'])}"
    kind = "relation" if record.table.startswith("relation") else "entity"
    return f"{kind} {_graph_id(connection, space, record, kind)}"


_NAMED: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "entries": lambda row: f"entry {row['id']}",
    "episodes": lambda row: f"episode {row['id']}",
    "notes": lambda row: f"{row['kind']} {row['ref']}",
    "documents": lambda row: f"document {row['path']}",
    "tombstones": lambda row: f"tombstone of a deleted {row['kind']}",
}


def _entry(connection: Connection, space: str, number: int) -> str:
    entry = entries.by_numbers(connection, space, [number]).get(number)
    return str(number) if entry is None else entry.id


def _graph_id(connection: Connection, space: str, record: ChangedRecord, kind: str) -> str:
    values = {**(record.before or record.after or {}), **record.key}
    if "id" in values:
        return str(values["id"])
    number = next(values[name] for name in _OWNERS if name in values)
    table = TABLES["relations" if kind == "relation" else "entities"]
    wanted = select(table.c.id).where(table.c.space == space, table.c.number == number)
    return str(connection.execute(wanted).scalar() or number)
