"""All records of a space as plain rows, out of one database and into another, table by table.

The tables of `RECORDS` are what a space remembers. Those of `DERIVED` are made from them, and save the work of making
them again. What belongs to one folder only (where Chroma is, who holds a lease) is in neither.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from sqlalchemy import (
    BigInteger,
    Connection,
    LargeBinary,
    Table,
    Text,
    delete,
    exists,
    func,
    insert,
    not_,
    or_,
    select,
    update,
)

from langmem_tiers.errors import DatabaseDamaged
from langmem_tiers.storage import facts as fact_rows
from langmem_tiers.storage import keyword, merges, receipts, schema, seals
from langmem_tiers.storage.packed_text import PackedText
from langmem_tiers.storage.sealed_text import is_intact
from langmem_tiers.storage.statements import here, insert_new

_AT_ONCE = 500
# The words for rows of tables that users know by another name.
_CALLED = {"drawers": "message", "entries": "entry", "changesets": "change of dream"}
_ALTERED = "`langmem-tiers doctor --deep` lists all of them: restore a backup, or delete them."
Row = dict[str, Any]

# Parents before children.
_RECORDS: tuple[Table, ...] = (
    *(schema.wings, schema.wing_aliases, schema.rooms, schema.closets, schema.drawers, schema.turns),
    *(schema.entries, schema.entry_evidence, schema.identities, schema.episodes, schema.tasks, schema.documents),
    *(schema.entities, schema.entity_aliases, schema.entity_evidence, schema.entity_merges, schema.entity_pairs),
    *(schema.relations, schema.relation_versions, schema.relation_evidence),
    *(schema.store_items, schema.working_entries, schema.feedback_signals, schema.golden_questions),
    *(schema.dreams, schema.changesets, schema.receipts, schema.activities, schema.usages, schema.tombstones),
)
_DERIVED: tuple[Table, ...] = (
    *(schema.chunks, schema.notes, schema.revisions, schema.mined_windows, schema.proposals),
    *(schema.facts, schema.cursors, schema.changes),
)
_TABLES: Mapping[str, Table] = {table.name: table for table in (*_RECORDS, *_DERIVED, schema.embeddings)}
RECORDS: tuple[str, ...] = tuple(table.name for table in _RECORDS)
DERIVED: tuple[str, ...] = tuple(table.name for table in _DERIVED)
VECTORS = schema.embeddings.name
TABLES: tuple[str, ...] = tuple(_TABLES)

# Which facts and cursors are no matter of the folder.
_FACTS = ("newest_", "note:newest", "enriched_upto", "enriching_waits", "flushed:", "dream_tried", "tombstone_key")
_OF_VECTORS = ("embed:", "notes:")
_CHROMA = "chroma"
_EMBEDDED = ("drawers.embedded", "notes.embedded")
# The facts that number what is stored next.
_NUMBERS: Mapping[str, Table] = {
    "newest_entry": schema.entries,
    "newest_episode": schema.episodes,
    "newest_entity": schema.entities,
    "newest_relation": schema.relations,
    "newest_merge": schema.entity_merges,
    "newest_proposal": schema.proposals,
    "newest_feedback_signal": schema.feedback_signals,
    "newest_dream": schema.dreams,
    "newest_golden_question": schema.golden_questions,
    "note:newest": schema.notes,
}

REFERENCES: Mapping[str, Mapping[str, Table]] = {
    "wing_aliases": {"wing": schema.wings},
    "rooms": {"wing": schema.wings, "address_wing": schema.wings},
    "closets": {"room": schema.rooms},
    "drawers": {"room": schema.rooms, "closet": schema.closets, "superseded_by": schema.drawers},
    "turns": {"drawer": schema.drawers, "follows": schema.drawers},
    "entry_evidence": {"entry": schema.entries, "drawer": schema.drawers},
    "episodes": {"first_drawer": schema.drawers, "last_drawer": schema.drawers},
    "entities": {"merged_into": schema.entities},
    "entity_aliases": {"entity": schema.entities},
    "entity_evidence": {"entity": schema.entities, "drawer": schema.drawers},
    "entity_merges": {"source": schema.entities, "target": schema.entities},
    "entity_pairs": {"low": schema.entities, "high": schema.entities},
    "relations": {"subject": schema.entities, "object": schema.entities},
    "relation_versions": {"relation": schema.relations},
    "relation_evidence": {"relation": schema.relations, "drawer": schema.drawers},
    "feedback_signals": {"drawer": schema.drawers},
    "chunks": {"drawer": schema.drawers},
    "revisions": {"drawer": schema.drawers},
    "mined_windows": {"room": schema.rooms},
    "proposals": {"drawer": schema.drawers},
}
"""Columns that hold the number of a row of another table."""


class ColumnFacts(NamedTuple):
    """What a column takes: its kind, whether it may be null, and what stands in it where nothing is given."""

    name: str
    kind: Literal["text", "bytes", "integer", "big"]
    nullable: bool
    default: str | int | None


def columns_of(name: str) -> tuple[ColumnFacts, ...]:
    """The columns of a table but for the space."""
    return tuple(map(_facts_of, _columns(_TABLES[name])))


def _facts_of(column: Any) -> ColumnFacts:
    text, given = isinstance(column.type, (Text, PackedText)), column.server_default
    default = None if given is None else str(given.arg) if text else int(str(given.arg))
    name, nullable = str(column.name), bool(column.nullable)
    if text or isinstance(column.type, LargeBinary):
        return ColumnFacts(name, "text" if text else "bytes", nullable, default)
    return ColumnFacts(name, "big" if isinstance(column.type, BigInteger) else "integer", nullable, default)


def _columns(table: Table) -> tuple[Any, ...]:
    return tuple(column for column in table.columns if column.name != "space")


def rows(connection: Connection, space: str, name: str, *, vectors: bool = True) -> Iterator[Row]:
    """The rows of a table in the order of its key, a few at a time; without what belongs to the folder only.

    Without `vectors`, what says how far embedding has come is left out as well. A receipt whose block was altered is
    left out too: it is a log, and nobody is ever shown that block. So is a pair or a merge of an entity that is gone.

    Raises:
        DatabaseDamaged: a text in another table was altered.
    """
    table = _TABLES[name]
    altered = [] if table is schema.receipts else seals.altered(connection, space, [table])
    if altered:
        told = f"{_CALLED.get(name, name)} {altered[0].key} was altered, and would be lost in a copy."
        raise DatabaseDamaged(told, way_out=_ALTERED)
    wanted = select(*_columns(table)).where(*here(table, space), *_kept(table, vectors))
    key = [column for column in table.primary_key.columns if column.name != "space"]
    found = connection.execute(wanted.order_by(*key).execution_options(yield_per=_AT_ONCE))
    names = [str(column.name) for column in _columns(table)]  # the driver's own names are no plain texts
    for row in found:
        yield dict(zip(names, row, strict=True))


def _kept(table: Table, vectors: bool) -> list[Any]:
    if table is schema.facts:
        beginnings = (*_FACTS, "dimension:") if vectors else _FACTS
        return [or_(*(table.c.name.startswith(each, autoescape=True) for each in beginnings))]
    if table is schema.receipts:
        return [is_intact(table.c.block)]
    if table is schema.cursors:
        not_ours = (_CHROMA,) if vectors else (_CHROMA, *_OF_VECTORS)
        return [not_(or_(*(table.c.name.startswith(each, autoescape=True) for each in not_ours)))]
    if table is schema.changes and not vectors:
        return [table.c.kind.not_in(_EMBEDDED)]
    return [*merges.BOTH_THERE.get(table, ())]


def count(connection: Connection, space: str, name: str) -> int:
    """How many rows a table has."""
    table = _TABLES[name]
    return int(connection.execute(select(func.count()).select_from(table).where(*here(table, space))).scalar_one())


def is_empty(connection: Connection, space: str) -> bool:
    """Whether nothing was ever stored in a space."""
    return not any(
        connection.execute(select(table.c.space).where(*here(table, space)).limit(1)).first()
        for table in (*_RECORDS, schema.changes)
    )


def clear(connection: Connection, space: str) -> None:
    """Delete the few rows that an empty space has of its own: facts and cursors."""
    for table in (schema.facts, schema.cursors):
        connection.execute(delete(table).where(*here(table, space)))


def add(connection: Connection, space: str, name: str, found: Sequence[Row]) -> None:
    """Insert rows as they are; all of them have the same columns."""
    if found:
        connection.execute(insert(_TABLES[name]), [{"space": space, **row} for row in found])
        if _TABLES[name] is schema.receipts:
            receipts.note_others(connection, (str(row["body"]) for row in found))


def loose(connection: Connection, space: str) -> str:
    """A row that refers to another one that is not there, in words; empty if there is none."""
    for name, refers in REFERENCES.items():
        table = _TABLES[name]
        for column, parent in refers.items():
            target = parent.alias()
            there = exists().where(target.c.space == table.c.space, target.c.number == table.c[column])
            wanted = select(table.c[column]).where(*here(table, space), table.c[column].is_not(None), not_(there))
            if (row := connection.execute(wanted.limit(1)).first()) is not None:
                return f"{name}.{column} names {parent.name} {row[0]}, which is not there"
    return ""


def count_on(connection: Connection, space: str) -> None:
    """Make sure that the next number of everything is beyond those that are there."""
    for name, table in _NUMBERS.items():
        newest = connection.execute(select(func.max(table.c.number)).where(*here(table, space))).scalar() or 0
        if newest > fact_rows.number(connection, space, name):
            fact_rows.put(connection, space, name, str(newest))


def add_new(connection: Connection, space: str, name: str, found: Iterable[Row]) -> int:
    """Insert the rows whose key is free. Returns how many these are."""
    return insert_new(connection, _TABLES[name], space, found)


def set_value(connection: Connection, space: str, name: str, number: int, column: str, value: int) -> None:
    """Set one value of a row by its number."""
    table = _TABLES[name]
    connection.execute(update(table).where(*here(table, space, number=number)).values({column: value}))


def next_number(connection: Connection, space: str, name: str) -> int:
    """The number after the highest one in a table."""
    table = _TABLES[name]
    newest = connection.execute(select(func.max(table.c.number)).where(*here(table, space))).scalar() or 0
    counted = next((fact for fact, other in _NUMBERS.items() if other is table), None)
    return 1 + max(newest, 0 if counted is None else fact_rows.number(connection, space, counted))


def with_values(connection: Connection, space: str, name: str, names: Collection[str]) -> dict[tuple[Any, ...], Any]:
    """For a table with numbers: the number of each row by its values in some columns."""
    table = _TABLES[name]
    wanted = select(table.c.number, *(table.c[each] for each in names)).where(*here(table, space))
    return {tuple(values): number for number, *values in connection.execute(wanted)}


def one(connection: Connection, space: str, name: str, key: Row) -> Row | None:
    """The row with these values, None if there is none."""
    table = _TABLES[name]
    row = connection.execute(select(*_columns(table)).where(*here(table, space, **key))).first()
    return None if row is None else dict(row._mapping)


def index(connection: Connection, space: str) -> None:
    """Make both keyword indexes anew, in the transaction that stored the rows."""
    from langmem_tiers.storage import closets, drawers, inspection, notes, rooms

    keyword.drawers.recreate(connection)
    last = drawers.newest(connection, space)
    for first in range(1, last + 1, _AT_ONCE):
        keyword.drawers.add(connection, inspection.keyword_rows(connection, space, first, first + _AT_ONCE - 1))
    for room in rooms.every(connection, space):
        keyword.drawers.categorise(connection, closets.categories(connection, space, room.number))
    keyword.notes.recreate(connection)
    for first in range(1, notes.newest(connection, space) + 1, _AT_ONCE):
        stride = notes.between(connection, space, first, first + _AT_ONCE - 1)
        keyword.notes.add(connection, (notes.words_row(note.number, note) for note in stride))
