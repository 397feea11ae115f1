"""Undoing a dream, and doing it again: its rows are put back as they were, byte for byte.

That is refused where a later change touched one of them or builds on one, and then says which. What recalls have
counted since is no change: the counters stay, all else is put back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from langmem_tiers.clock import to_millis
from langmem_tiers.dream import changeset
from langmem_tiers.dream.changeset import BOOKKEEPING, TABLES
from langmem_tiers.dream.record_names import name_of
from langmem_tiers.dream.types import ChangedRecord, DreamReport, Kept
from langmem_tiers.errors import DreamConflict, InvalidInput, UnknownDream
from langmem_tiers.knowledge_graph.ledger import Ledger as GraphLedger
from langmem_tiers.settings import Settings
from langmem_tiers.storage import change_log, dreams, entities, note_words, notes
from langmem_tiers.storage.dreams import DreamRow
from langmem_tiers.storage.note_words import WordsRow
from langmem_tiers.storage.schema import entries as entries_table
from langmem_tiers.storage.schema import entry_evidence
from langmem_tiers.storage.store import SpaceStore

How = Callable[[SpaceStore, str, datetime, Settings], DreamReport]
"""`undo` or `redo`."""
_NAMED = 20
_GONE = "some of its words were deleted for good"
_WHY_NOT: Mapping[Kept, str] = {
    "pruned": "it is older than `Settings.dream.undo_days`",
    "forgotten": _GONE,
    "kept": _GONE,  # by an earlier version, which did not say so
}


def undo(store: SpaceStore, dream_id: str, now: datetime, settings: Settings) -> DreamReport:
    """Put back what a dream changed, in one transaction; its report as it is kept now.

    Raises:
        UnknownDream: there is none of this id.
        InvalidInput: it was undone already, or changed nothing.
        DreamConflict: later changes touched the same records; nothing was put back.
    """
    with store.writing() as connection:
        row = _existing(connection, store.key, dream_id)
        if row.report.status == "undone":
            raise InvalidInput(f"Dream {row.report.id} was undone already.", way_out="Do it again with redo.")
        if row.report.status != "applied":
            raise InvalidInput(f"Dream {row.report.id} changed nothing ({row.report.status}).", way_out=_WAY_OUT)
        records = _kept(connection, store.key, row)
        _Putting(connection, store.key, now, settings).put([_turned(record) for record in records], row)
        return _noted(connection, store.key, row, {"status": "undone", "undone_at": now}, now)


def redo(store: SpaceStore, dream_id: str, now: datetime, settings: Settings) -> DreamReport:
    """Let what a dream changed be changed again, as it was then, in one transaction; its report as it is kept now.

    Raises:
        UnknownDream: there is none of this id.
        InvalidInput: it was not undone.
        DreamConflict: later changes touched the same records; nothing was changed.
    """
    with store.writing() as connection:
        row = _existing(connection, store.key, dream_id)
        if row.report.status != "undone":
            raise InvalidInput(f"Dream {row.report.id} was not undone ({row.report.status}).", way_out=_WAY_OUT)
        records = _kept(connection, store.key, row)
        _Putting(connection, store.key, now, settings).put(records, row)
        return _noted(connection, store.key, row, {"status": "applied", "undone_at": None}, now)


_WAY_OUT = "`langmem-tiers dreams` tells what became of each."


def _existing(connection: Connection, space: str, dream_id: str) -> DreamRow:
    row = dreams.one(connection, space, dream_id)
    if row is None:
        raise UnknownDream(f"There is no dream {dream_id[:40]!a}.")
    return row


def _kept(connection: Connection, space: str, row: DreamRow) -> tuple[ChangedRecord, ...]:
    records = dreams.changes(connection, space, row.number)
    if not records:
        raise DreamConflict(
            f"What dream {row.report.id} changed is not kept any more: {_WHY_NOT[row.report.changes]}.",
            way_out="Change the entries by hand.",
        )
    return records


def _noted(connection: Connection, space: str, row: DreamRow, values: Mapping[str, Any], now: datetime) -> DreamReport:
    report = row.report.model_copy(update=dict(values))
    dreams.change(connection, space, row.number, report)
    kind: change_log.Kind = "dream.undone" if report.status == "undone" else "dream.applied"
    change_log.append(connection, space, kind, row.number, at=to_millis(now))
    return report


def _turned(record: ChangedRecord) -> ChangedRecord:
    return record.model_copy(update={"before": record.after, "after": record.before})


class _Putting:
    """Lets records become what they are after a changeset, within one transaction."""

    def __init__(self, connection: Connection, space: str, now: datetime, settings: Settings) -> None:
        self._connection = connection
        self._space = space
        self._at = to_millis(now)
        self._settings = settings

    def put(self, records: Sequence[ChangedRecord], row: DreamRow) -> None:
        """Each row becomes its `after`, if it is its `before` now.

        Raises:
            DreamConflict: some are not, or others build on them.
        """
        held = [changeset.read(self._connection, self._space, record) for record in records]
        differ = [record for record, now in zip(records, held, strict=True) if not _same(record, record.before, now)]
        named = dict.fromkeys([*self._names(differ), *self._built_upon(records)])
        if named:
            raise _conflict(row, list(named))
        roots = self._roots(records)
        for record, now in sorted(zip(records, held, strict=True), key=lambda each: _rank(each[0])):
            self._write(record, now)
        self._keep_words_in_step(records)
        self._log(records, roots)

    def _write(self, record: ChangedRecord, held: Mapping[str, Any] | None) -> None:
        table = TABLES[record.table]
        keys = changeset.key_columns(table)
        these = " AND ".join(f"{name} = ?" for name in ("space", *keys))
        key = (self._space, *changeset.stored(table, record.key, keys))
        if record.after is None:
            self._connection.exec_driver_sql(f"DELETE FROM main.{table.name} WHERE {these}", key)
            return
        values = _with_counters(record, held)
        names = tuple(values)
        stored = changeset.stored(table, values, names)
        if held is None:
            listed, marks = ", ".join(("space", *names)), ", ".join("?" * (len(names) + 1))
            statement = f"INSERT INTO main.{table.name} ({listed}) VALUES ({marks})"
            self._connection.exec_driver_sql(statement, (self._space, *stored))
        else:
            setting = ", ".join(f"{name} = ?" for name in names)
            statement = f"UPDATE main.{table.name} SET {setting} WHERE {these}"
            self._connection.exec_driver_sql(statement, (*stored, *key))

    def _names(self, records: Sequence[ChangedRecord]) -> Iterator[str]:
        return (name_of(self._connection, self._space, record) for record in records)

    def _built_upon(self, records: Sequence[ChangedRecord]) -> Iterator[str]:
        """What was said later of entries that would go: further evidence, and entries that gave way to them."""
        going = {r.key["number"]: r.before["id"] for r in records if r.table == "entries" and _goes(r) and r.before}
        if going:
            yield from self._later_evidence(going, records)
            yield from self._later_givers(going, records)

    def _later_evidence(self, going: Mapping[int, str], records: Sequence[ChangedRecord]) -> Iterator[str]:
        known = {(r.key["entry"], r.key["drawer"], r.key["via"]) for r in records if r.table == "entry_evidence"}
        columns = (entry_evidence.c.entry, entry_evidence.c.drawer, entry_evidence.c.via)
        rests = entry_evidence.c.entry.in_(list(going)) | entry_evidence.c.via.in_(list(going))
        for row in self._connection.execute(select(*columns).where(entry_evidence.c.space == self._space, rests)):
            if tuple(row) not in known:
                yield f"entry {going.get(row.entry) or going[row.via]}"

    def _later_givers(self, going: Mapping[int, str], records: Sequence[ChangedRecord]) -> Iterator[str]:
        ours = {r.key["number"] for r in records if r.table == "entries"}
        behind = select(entries_table.c.number, entries_table.c.id).where(
            entries_table.c.space == self._space, entries_table.c.successor.in_(list(going.values()))
        )
        yield from (f"entry {row.id}" for row in self._connection.execute(behind) if row.number not in ours)

    def _keep_words_in_step(self, records: Sequence[ChangedRecord]) -> None:
        """The keyword index over notes, and the vectors of texts that nothing holds any more."""
        changed = [record for record in records if record.table == "notes"]
        note_words.remove(self._connection, [r.key["number"] for r in changed if r.before is not None])
        note_words.add(self._connection, [_words(r.key["number"], r.after) for r in changed if r.after is not None])
        notes.forget_vectors(self._connection, self._space, _dropped_texts(records))

    def _roots(self, records: Sequence[ChangedRecord]) -> set[int]:
        """The entities that entities of these records are, or were part of."""
        merged = [record for record in records if record.table == "entities"]
        ends = ({*(row["merged_into"] for row in (r.before, r.after) if row), r.key["number"]} for r in merged)
        return {number for each in ends for number in each if number is not None}

    def _log(self, records: Sequence[ChangedRecord], roots: set[int]) -> None:
        """Tell those who follow the log."""
        self._append("entry.changed", _numbers(records, {"entries": "number", "entry_evidence": "entry"}))
        self._append("episode.changed", _numbers(records, {"episodes": "number"}))
        for first, last in notes.ranges((each, each) for each in _numbers(records, {"notes": "number"})):
            change_log.append(self._connection, self._space, "notes.changed", first, until=last, at=self._at)
        for _ in (record for record in records if record.table == "documents"):
            position = change_log.head(self._connection, self._space) + 1
            change_log.append(self._connection, self._space, "document.changed", position, at=self._at)
        self._log_graph(records, roots)

    def _append(self, kind: change_log.Kind, numbers: Sequence[int]) -> None:
        for number in numbers:
            change_log.append(self._connection, self._space, kind, number, at=self._at)

    def _log_graph(self, records: Sequence[ChangedRecord], roots: set[int]) -> None:
        ledger = GraphLedger(self._connection, self._space, self._at, self._settings)
        ledger.log_relations(*_numbers(records, _OF_RELATIONS))
        named = {*_numbers(records, _OF_ENTITIES), *roots}
        members = (entities.members(self._connection, self._space, number) for number in named)
        ledger.log_entities(*{number for each in members for number in each}, *named)
        for number in sorted(roots):
            ledger.settle_groups_of(number)  # of what came later, some may belong to the other one now


_OF_RELATIONS = {"relations": "number", "relation_versions": "relation", "relation_evidence": "relation"}
_OF_ENTITIES = {"entities": "number", "entity_aliases": "entity", "entity_evidence": "entity"}


def _same(record: ChangedRecord, wanted: Mapping[str, Any] | None, held: Mapping[str, Any] | None) -> bool:
    """Whether a row is as it should be, but for what recalls count."""
    if wanted is None or held is None:
        return wanted is held
    counted = BOOKKEEPING.get(record.table, frozenset())
    return all(held[name] == value for name, value in wanted.items() if name not in counted)


def _with_counters(record: ChangedRecord, held: Mapping[str, Any] | None) -> dict[str, Any]:
    """The row as it is to be, with what recalls have counted since."""
    values = dict(record.after or {})
    if held is not None and record.before is not None:
        counted = BOOKKEEPING.get(record.table, frozenset())
        values |= {name: held[name] for name in counted if held[name] != record.before[name]}
    return values


def _dropped_texts(records: Sequence[ChangedRecord]) -> list[bytes]:
    """The hashes of the texts that nothing holds any more; that of an inactive entry is still there."""
    rows = [(record.table, record.before) for record in records if _goes(record) and record.before is not None]
    gone = {row["id"] for table, row in rows if table == "entries"}
    dropped = (row for table, row in rows if table == "notes" and (row["kind"] != "entry" or row["ref"] in gone))
    return [bytes.fromhex(row["text_hash"]) for row in dropped]


def _goes(record: ChangedRecord) -> bool:
    return record.after is None


def _rank(record: ChangedRecord) -> int:
    """Rows that go make room for those that come."""
    return 0 if record.after is None else 1 if record.before is not None else 2


def _words(number: int, row: Mapping[str, Any]) -> WordsRow:
    return WordsRow(number=number, text=row["text"], tags=row["tags"], category=row["category"])


def _numbers(records: Sequence[ChangedRecord], columns: Mapping[str, str]) -> list[int]:
    """The numbers of the records that rows of these tables belong to."""
    return sorted({record.key[columns[record.table]] for record in records if record.table in columns})


def _conflict(row: DreamRow, named: Sequence[str]) -> DreamConflict:
    shown = ", ".join(named[:_NAMED])
    more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    return DreamConflict(
        f"Later changes touched what dream {row.report.id} changed: {shown}{more}.", records=tuple(named)
    )
