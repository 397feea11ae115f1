"""Changesets: every row that a dream changed, before and after; recorded, kept, and restored on undo.

Triggers record the rows, so no writer can forget to. Values are kept as stored, bytes as hexadecimal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal

import orjson
from sqlalchemy import (
    ColumnElement,
    Connection,
    LargeBinary,
    Table,
    Text,
    delete,
    func,
    insert,
    or_,
    select,
    type_coerce,
    update,
)

from langmem_tiers.content import WITHHELD, keyed_hash
from langmem_tiers.errors import DatabaseDamaged
from langmem_tiers.storage import schema
from langmem_tiers.storage.database import engine_of
from langmem_tiers.storage.schema import changesets
from langmem_tiers.storage.sealed_text import CheckedText
from langmem_tiers.storage.statements import delete_among, here

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
    "notes": frozenset({"tags"}),
}
"""Columns that are no part of what a record says: every recall writes them, or they follow from another record."""

_Row = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class ChangedRecord:
    """A row that a dream changed; `before` or `after` is None where the row did not exist."""

    table: str
    key: _Row
    before: _Row | None = None
    after: _Row | None = None

    @property
    def reversed(self) -> ChangedRecord:
        """The change that undoes this one."""
        return ChangedRecord(table=self.table, key=self.key, before=self.after, after=self.before)


def recording(connection: Connection, space: str) -> AbstractContextManager[list[ChangedRecord]]:
    """Records what changes in a space during the block, which must be inside a writing transaction.

    Example:
        >>> with store.writing() as connection, recording(connection, store.key) as changed:
        ...     ...
        >>> changed  # filled at the end of the block
    """
    return engine_of(connection).recording(connection, space)


def key_columns(table: Table) -> tuple[str, ...]:
    """The primary key of a table, without the space."""
    return tuple(str(column.name) for column in table.primary_key.columns if column.name != "space")


def current(connection: Connection, space: str, record: ChangedRecord) -> dict[str, Any] | None:
    """The current row of a record, None if there is none."""
    table = TABLES[record.table]
    row = connection.execute(select(*as_stored(table)).where(*_this(table, space, record))).first()
    return None if row is None else row_of(table, row)


def restore(connection: Connection, space: str, record: ChangedRecord, values: _Row | None, *, there: bool) -> None:
    """Set the row of a record to this, or delete it for None; `there` says whether it exists now."""
    table = TABLES[record.table]
    if values is None:
        connection.execute(delete(table).where(*_this(table, space, record)))
    elif there:
        connection.execute(update(table).where(*_this(table, space, record)).values(**_stored(table, values)))
    else:
        connection.execute(insert(table).values(space=space, **_stored(table, values)))


def as_stored(table: Table) -> list[ColumnElement[Any]]:
    """The columns of a table as they are stored, altered texts too."""
    return [type_coerce(each, Text) if isinstance(each.type, CheckedText) else each for each in table.columns]


def evidence_of(connection: Connection, space: str, entries: Iterable[int]) -> list[tuple[int, int, int]]:
    """The evidence of these entries, and what came through them: (entry, drawer, via)."""
    evidence, wanted = schema.entry_evidence, list(entries)
    rests = evidence.c.entry.in_(wanted) | evidence.c.via.in_(wanted)
    columns = (evidence.c.entry, evidence.c.drawer, evidence.c.via)
    found = connection.execute(select(*columns).where(*here(evidence, space), rests))
    return [(entry, drawer, via) for entry, drawer, via in found]


def giving_way_to(connection: Connection, space: str, successors: Iterable[str]) -> list[tuple[int, str]]:
    """The numbers and ids of the entries that were superseded by these."""
    entries = schema.entries
    behind = (*here(entries, space), entries.c.successor.in_(list(successors)))
    return [
        (number, name) for number, name in connection.execute(select(entries.c.number, entries.c.id).where(*behind))
    ]


def graph_id(connection: Connection, space: str, kind: Literal["entity", "relation"], number: int) -> str | None:
    """The id of an entity or relation by its number, None if there is none."""
    table = schema.relations if kind == "relation" else schema.entities
    return connection.execute(select(table.c.id).where(*here(table, space, number=number))).scalar()


def _this(table: Table, space: str, record: ChangedRecord) -> tuple[ColumnElement[bool], ...]:
    """The condition that selects the row of a record."""
    key = {name: record.key[name] for name in key_columns(table)}
    return here(table, space, **_stored(table, key))


def _stored(table: Table, values: _Row) -> dict[str, Any]:
    """Values of a record as the columns store them."""
    return {
        name: bytes.fromhex(value) if isinstance(table.c[name].type, LargeBinary) and value is not None else value
        for name, value in values.items()
    }


def row_of(table: Table, values: Sequence[Any]) -> dict[str, Any]:
    """A row without its space, which may be renamed."""
    held = {str(column.name): value for column, value in zip(table.columns, values, strict=True)}
    del held["space"]
    return {name: value.hex() if isinstance(value, bytes) else value for name, value in held.items()}


# Storage of changesets.


def put(connection: Connection, space: str, dream: int, records: Iterable[ChangedRecord]) -> None:
    """Store the rows that a dream changed."""
    rows = [
        {
            "space": space,
            "dream": dream,
            "ordinal": ordinal,
            "table_name": record.table,
            "key": _dumped(record.key),
            "before": _dumped(record.before),
            "after": _dumped(record.after),
        }
        for ordinal, record in enumerate(records)
    ]
    if rows:
        connection.execute(insert(changesets), rows)


def of_dream(connection: Connection, space: str, dream: int) -> tuple[ChangedRecord, ...]:
    """The rows that a dream changed.

    Raises:
        DatabaseDamaged: some were altered since.
    """
    columns = (changesets.c.table_name, changesets.c.key, changesets.c.before, changesets.c.after)
    wanted = select(*columns).where(*here(changesets, space, dream=dream))
    # All at once: an error half-way would leave a statement open that keeps this connection from writing again.
    found = connection.execute(wanted.order_by(changesets.c.ordinal)).all()
    return tuple(
        ChangedRecord(table=table, key=orjson.loads(key), before=_loaded(before), after=_loaded(after))
        for table, key, before, after in found
    )


def naming(connection: Connection, space: str, name: str) -> set[int]:
    """The numbers of the dreams whose changeset touches a record."""
    text = orjson.dumps(name).decode().strip('"')
    rows = (changesets.c.key, changesets.c.before, changesets.c.after)
    held = or_(*(func.instr(column, text) > 0 for column in rows))
    wanted = select(changesets.c.dream).distinct().where(*here(changesets, space), held)
    return set(connection.execute(wanted).scalars())


def rows(connection: Connection, space: str) -> Iterator[tuple[int, _Row]]:
    """Every row that dreams changed, before and after, with the number of the dream; for deleting, altered ones too."""
    columns = (changesets.c.dream, *(type_coerce(changesets.c[name], Text) for name in ("before", "after")))
    for number, *both in connection.execute(select(*columns).where(*here(changesets, space))):
        yield from ((number, _legible(row)) for row in both if row is not None)


def _legible(stored: str) -> _Row:
    """A stored row; one that was altered and is no JSON any more, as a text."""
    try:
        row = orjson.loads(stored)
    except ValueError:
        return {"text": stored}
    return row if isinstance(row, dict) else {"text": stored}


def rekey_tombstones(connection: Connection, space: str, secret: bytes) -> None:
    """Put keyed hashes in the place of those of tombstones that were noted without a key."""
    columns = ("key", "before", "after")
    of_tombstones = here(changesets, space, table_name=schema.tombstones.name)
    # As plain texts: memories that are this old have no hashes yet.
    wanted = select(
        changesets.c.dream, changesets.c.ordinal, *(type_coerce(changesets.c[each], Text) for each in columns)
    )
    for row in connection.execute(wanted.where(*of_tombstones)).all():
        values = {name: _dumped(_rekeyed(_loaded(row._mapping[name]), secret)) for name in columns}
        this = here(changesets, space, dream=row.dream, ordinal=row.ordinal)
        connection.execute(update(changesets).where(*this).values(**values))


def _rekeyed(values: _Row | None, secret: bytes) -> _Row | None:
    if values is None:
        return None
    return {**values, "key": keyed_hash(bytes.fromhex(values["key"]), secret).hex()}


def drop(connection: Connection, space: str, dreams: Iterable[int]) -> None:
    """Delete the changesets of these dreams."""
    delete_among(connection, space, changesets.c.dream, list(dreams))


def _dumped(values: _Row | None) -> str | None:
    return None if values is None else orjson.dumps(dict(values)).decode()


def _loaded(values: str | None) -> _Row | None:
    if values == WITHHELD:
        raise DatabaseDamaged(
            "What the dream changed is not as it was stored, so it is neither undone nor applied.",
            way_out="Restore a backup, or run `langmem-tiers rebuild`, which deletes what was altered of it.",
        )
    return None if values is None else orjson.loads(values)
