"""Reads and repairs of a whole space, for its statistics, the doctor and rebuilding."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, and_, bindparam, func, or_, select, update

from langmem_tiers.storage import keyword
from langmem_tiers.storage.database import engine_of
from langmem_tiers.storage.keyword import WordsRow
from langmem_tiers.storage.schema import (
    chunks,
    documents,
    drawers,
    entries,
    entry_evidence,
    episodes,
    relation_evidence,
    relations,
    rooms,
    store_items,
    turns,
)
from langmem_tiers.storage.statements import here, insert_new


class SpaceCounts(NamedTuple):
    """How many records of each kind a space holds."""

    drawers: int
    superseded: int
    sessions: int
    wings: int
    entries: int
    inactive_entries: int
    episodes: int
    documents: int
    items: int


# What the tables of a database file are for; the others are "other".
_KINDS: Mapping[str, str] = {
    **dict.fromkeys(("drawers", "entries", "episodes", "documents", "notes", "store_items", "working_entries"), "text"),
    **{"embeddings": "vectors", "receipts": "receipts", "changes": "log"},
}
_INDEXES = ("keyword", "note_words")


def bytes_by_kind(connection: Connection) -> dict[str, int]:
    """The bytes in use by what they are for; where the engine cannot tell them apart, all are "other"."""
    found = dict.fromkeys(("text", "keyword index", "vectors", "receipts", "log", "other"), 0)
    for table, size in engine_of(connection).sizes(connection):
        kind = "keyword index" if table.startswith(_INDEXES) else _KINDS.get(table, "other")
        found[kind] += size
    return found


def counts(connection: Connection, space: str) -> SpaceCounts:
    """Count the records in one statement."""

    def of(table: Any, *only: Any) -> Any:
        return select(func.count()).select_from(table).where(*here(table, space), *only).scalar_subquery()

    # Wings without sessions are no part of the palace.
    wings = select(func.count(func.distinct(rooms.c.wing))).where(*here(rooms, space)).scalar_subquery()
    counted: dict[str, Any] = {
        "drawers": of(drawers),
        "superseded": of(drawers, drawers.c.superseded_by.is_not(None)),
        "sessions": of(rooms),
        "wings": wings,
        "entries": of(entries, entries.c.status == "active"),
        "inactive_entries": of(entries, entries.c.status != "active"),
        "episodes": of(episodes),
        "documents": of(documents),
        "items": of(store_items),
    }
    row = connection.execute(select(*(count.label(name) for name, count in counted.items()))).one()
    return SpaceCounts(**row._mapping)


class FoundBySpeaker(NamedTuple):
    """How many active entries and stated relations rest on the words of a speaker; None for one without a name."""

    speaker: str | None
    entries: int
    relations: int


def found_by_speaker(connection: Connection, space: str) -> list[FoundBySpeaker]:
    """What was found in users' messages, by who said it; what several said counts for each."""
    entry_ids = _resting_on(entries, entry_evidence, entry_evidence.c.entry).where(entries.c.status == "active")
    relation_ids = _resting_on(relations, relation_evidence, relation_evidence.c.relation)
    relation_ids = relation_ids.where(relations.c.kind == "stated")
    counts: list[dict[str | None, int]] = [
        {row.speaker: row.found for row in connection.execute(each, {"space": space})}
        for each in (entry_ids, relation_ids)
    ]
    said = sorted({*counts[0], *counts[1]}, key=str)
    return [FoundBySpeaker(speaker, counts[0].get(speaker, 0), counts[1].get(speaker, 0)) for speaker in said]


def _resting_on(table: Any, evidence: Any, of: Any) -> Select[Any]:
    """Counts rows of a table by the speaker of the messages that they rest on."""
    on_drawer = and_(drawers.c.space == evidence.c.space, drawers.c.number == evidence.c.drawer)
    on_record = and_(table.c.space == evidence.c.space, table.c.number == of)
    joined = evidence.join(drawers, on_drawer).join(table, on_record)
    counted = select(drawers.c.speaker, func.count(func.distinct(of)).label("found")).select_from(joined)
    return counted.where(evidence.c.space == bindparam("space"), drawers.c.role == "user").group_by(drawers.c.speaker)


def faults(connection: Connection) -> list[str]:
    """What SQLite finds damaged in the database file, at most five faults."""
    found = [str(each) for each in connection.exec_driver_sql("PRAGMA quick_check(5)").scalars()]
    return [] if found == ["ok"] else found


def index_faults(connection: Connection) -> list[str]:
    """What SQLite finds when it compares every index with its table, at most five faults; slow for a large file."""
    found = [str(each) for each in connection.exec_driver_sql("PRAGMA integrity_check(5)").scalars()]
    return [] if found == ["ok"] else found


def dangling_rows(connection: Connection, space: str) -> int:
    """How many rows name a drawer or a room that does not exist."""
    found = 0
    for column, table in ((turns.c.drawer, drawers), (chunks.c.drawer, drawers), (drawers.c.room, rooms)):
        known = select(table.c.number).where(*here(table, space))
        count = select(func.count()).where(*here(column.table, space), column.not_in(known))
        found += connection.execute(count).scalar_one()
    return found


def standing_drawers(connection: Connection, space: str) -> set[int]:
    """The numbers of all drawers that are not superseded."""
    wanted = select(drawers.c.number).where(*here(drawers, space), drawers.c.superseded_by.is_(None))
    return set(connection.execute(wanted).scalars())


class SpokenText(NamedTuple):
    """A drawer that may contain statements."""

    number: int
    role: str
    origin: str
    speaker: str | None
    content: str
    states: int


def spoken_texts(connection: Connection, space: str, first: int, last: int) -> list[SpokenText]:
    """The drawers of a range that may contain statements, superseded ones too: an edit may be undone."""
    names = ("number", "role", "origin", "speaker", "content", "states")
    columns = [drawers.c[name] for name in names]
    speaking = or_(drawers.c.role == "user", drawers.c.speaker.is_not(None))
    return [SpokenText(*row) for row in connection.execute(_in_range(columns, space, first, last).where(speaking))]


def chunk_spans(connection: Connection, space: str, first: int, last: int) -> dict[int, list[tuple[int, int]]]:
    """Start and stop of the chunks of a range of drawers, by drawer."""
    columns = (chunks.c.drawer, chunks.c.start, chunks.c.stop)
    found: dict[int, list[tuple[int, int]]] = defaultdict(list)
    of_them = (*here(chunks, space), chunks.c.drawer.between(first, last))
    for drawer, start, stop in connection.execute(select(*columns).where(*of_them)):
        found[drawer].append((start, stop))
    return found


def restate(
    connection: Connection, space: str, missing: Sequence[Mapping[str, Any]], states: Mapping[int, int]
) -> None:
    """Add missing chunks, and set the states of drawers, by number."""
    insert_new(connection, chunks, space, missing)  # another process may be rebuilding as well: it adds the same
    for number, value in states.items():
        connection.execute(update(drawers).where(*here(drawers, space, number=number)).values(states=value))


def keyword_rows(connection: Connection, space: str, first: int, last: int) -> list[WordsRow]:
    """The standing drawers of a range as the keyword index takes them, without categories."""
    wanted = _in_range((drawers.c.number, drawers.c.content, drawers.c.tags), space, first, last)
    rows = connection.execute(wanted.where(drawers.c.superseded_by.is_(None)))
    return [keyword.drawer_words(row.number, row.content, row.tags.split("\n")) for row in rows]


def _in_range(columns: Sequence[Any], space: str, first: int, last: int) -> Select[Any]:
    return select(*columns).where(*here(drawers, space), drawers.c.number.between(first, last))
