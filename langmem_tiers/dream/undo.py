"""Undoes a dream, and redoes it: its rows are restored exactly as they were.

That is refused, with the records concerned, if a later change touched one of them or builds on one. Recall counters
and the index words of an entry do not count as changes: they are kept, all else is restored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import Connection

from langmem_tiers import arguments
from langmem_tiers.clock import to_millis
from langmem_tiers.context import SpaceContext
from langmem_tiers.dream.diff import name_of
from langmem_tiers.dream.types import DreamReport, Kept
from langmem_tiers.errors import DreamConflict, InvalidInput, UnknownDream
from langmem_tiers.knowledge import likeness
from langmem_tiers.knowledge_graph.relations import resolve_entity
from langmem_tiers.knowledge_graph.transaction import GraphTransaction
from langmem_tiers.settings import Settings
from langmem_tiers.storage import change_log, changesets, dreams, keyword, notes
from langmem_tiers.storage.changesets import BOOKKEEPING, ChangedRecord
from langmem_tiers.storage.keyword import WordsRow
from langmem_tiers.wording import beginning

_MOST_NAMED = 20
_GONE = "some of its words were deleted for good"
_WHY_NOT: Mapping[Kept, str] = {
    "pruned": "it is older than `Settings.dream.undo_days`",
    "forgotten": _GONE,
    "altered": "it was not as it was stored",
    "kept": _GONE,  # by an earlier version, which did not record it
}
_WAY_OUT = "`langmem-tiers dreams` tells what became of each."


def latest(context: SpaceContext, *, limit: int) -> tuple[DreamReport, ...]:
    """The reports of the last dreams of a space, newest first."""
    most = arguments.whole(limit, "limit", least=1)
    with context.open() as store, store.reading() as connection:
        return tuple(DreamReport.model_validate(row.report) for row in dreams.latest(connection, store.key, most))


def one(context: SpaceContext, dream_id: str) -> DreamReport | None:
    """The report of a dream by its id, None if there is none."""
    named = arguments.text(dream_id, "dream_id").strip().lower()
    with context.open() as store, store.reading() as connection:
        row = dreams.one(connection, store.key, named)
    return None if row is None else DreamReport.model_validate(row.report)


def undo(context: SpaceContext, dream_id: str) -> DreamReport:
    """Revert what a dream changed, in one transaction; returns its updated report.

    Raises:
        UnknownDream: there is no dream with this id.
        InvalidInput: it was already undone, or changed nothing.
        DreamConflict: later changes touched the same records; nothing was put back.
        DatabaseDamaged: what it changed is not as it was stored; nothing was put back.
    """
    return _reverse(context, dream_id, undone=True)


def redo(context: SpaceContext, dream_id: str) -> DreamReport:
    """Apply an undone dream again, in one transaction; returns its updated report.

    Raises:
        UnknownDream: there is no dream with this id.
        InvalidInput: it is not undone.
        DreamConflict: later changes touched the same records; nothing was changed.
        DatabaseDamaged: what it changed is not as it was stored; nothing was changed.
    """
    return _reverse(context, dream_id, undone=False)


def _reverse(context: SpaceContext, dream_id: str, *, undone: bool) -> DreamReport:
    named, now = arguments.text(dream_id, "dream_id").strip().lower(), context.clock()
    with context.open() as store, store.writing() as connection:
        row = dreams.one(connection, store.key, named)
        if row is None:
            raise UnknownDream(f"There is no dream {beginning(named, 40)!a}.")
        report = DreamReport.model_validate(row.report)
        _require_status(report, undone=undone)
        records = changesets.of_dream(connection, store.key, row.number)
        require_kept(report, records)
        wanted = [record.reversed for record in records] if undone else records
        Restoring(connection, store.key, now, context.settings).restore(wanted, report.id)
        report = report.but(status="undone" if undone else "applied", undone_at=now if undone else None)
        dreams.change(connection, store.key, row.number, report.model_dump(mode="json"))
        kind: change_log.Kind = "dream.undone" if undone else "dream.applied"
        change_log.append(connection, store.key, kind, row.number, at=to_millis(now))
    context.wake()
    return report


def _require_status(report: DreamReport, *, undone: bool) -> None:
    """Refuse to undo a dream that is not applied, and to redo one that is not undone."""
    if undone and report.status == "undone":
        raise InvalidInput(f"Dream {report.id} was undone already.", way_out="Do it again with redo.")
    if undone and report.status != "applied":
        raise InvalidInput(f"Dream {report.id} changed nothing ({report.status}).", way_out=_WAY_OUT)
    if not undone and report.status != "undone":
        raise InvalidInput(f"Dream {report.id} was not undone ({report.status}).", way_out=_WAY_OUT)


def require_kept(report: DreamReport, records: Sequence[ChangedRecord]) -> None:
    """Refuse a dream of which the changed rows are gone.

    Raises:
        DreamConflict: they are.
    """
    if not records:
        raise DreamConflict(
            f"What dream {report.id} changed is not kept any more: {_WHY_NOT[report.changes]}.",
            way_out="Change the entries by hand.",
        )


class Restoring:
    """Restores rows within one transaction."""

    def __init__(self, connection: Connection, space: str, now: datetime, settings: Settings) -> None:
        self._connection = connection
        self._space = space
        self._at = to_millis(now)
        self._settings = settings

    def restore(self, records: Sequence[ChangedRecord], dream_id: str) -> None:
        """Set each row to its `after`, provided it is its `before` now.

        Raises:
            DreamConflict: some rows are not, or others build on them.
        """
        held = [changesets.current(self._connection, self._space, record) for record in records]
        differ = [record for record, now in zip(records, held, strict=True) if not _same(record, record.before, now)]
        names = (name_of(self._connection, self._space, record) for record in differ)
        if named := tuple(dict.fromkeys([*names, *self._built_upon(records)])):
            shown = ", ".join(named[:_MOST_NAMED])
            more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
            raise DreamConflict(f"Later changes touched what dream {dream_id} changed: {shown}{more}.", records=named)
        roots = _roots(records)
        for record, now in sorted(zip(records, held, strict=True), key=lambda each: _rank(each[0])):
            values = None if record.after is None else _with_bookkeeping(record, now)
            changesets.restore(self._connection, self._space, record, values, there=now is not None)
        self._keep_words_in_step(records)
        self._log(records, roots)

    def _built_upon(self, records: Sequence[ChangedRecord]) -> Iterator[str]:
        """Later additions to entries that would go: further evidence, and entries retired in their favour."""
        going = {r.key["number"]: r.before["id"] for r in records if r.table == "entries" and r.before and not r.after}
        if not going:
            return
        known = {(r.key["entry"], r.key["drawer"], r.key["via"]) for r in records if r.table == "entry_evidence"}
        for entry, drawer, via in changesets.evidence_of(self._connection, self._space, going):
            if (entry, drawer, via) not in known:
                yield f"entry {going.get(entry) or going[via]}"
        ours = {r.key["number"] for r in records if r.table == "entries"}
        behind = changesets.giving_way_to(self._connection, self._space, going.values())
        yield from (f"entry {entry_id}" for number, entry_id in behind if number not in ours)

    def _keep_words_in_step(self, records: Sequence[ChangedRecord]) -> None:
        """Update the keyword index over notes, and drop vectors of texts that are no longer used."""
        changed = [(record.key["number"], record) for record in records if record.table == "notes"]
        added = [(number, record.after) for number, record in changed if record.after is not None]
        words = [WordsRow(number=number, **{name: row[name] for name in _WORDS}) for number, row in added]
        keyword.notes.remove(self._connection, [number for number, record in changed if record.before is not None])
        keyword.notes.add(self._connection, words)
        if not all(likeness.is_indexed(row) for _, row in added):  # the dream is of an older version
            likeness.forget_indexed(self._connection, self._space)
        gone = [(record.table, record.before) for record in records if record.before is not None and not record.after]
        # An inactive entry has no note, but uses its text still.
        entries = {row["id"] for table, row in gone if table == "entries"}
        dropped = [row for table, row in gone if table == "notes" and (row["kind"] != "entry" or row["ref"] in entries)]
        hashes = [bytes.fromhex(row["text_hash"]) for row in dropped]
        notes.forget_texts(self._connection, self._space, hashes)

    def _log(self, records: Sequence[ChangedRecord], roots: set[int]) -> None:
        append = partial(change_log.append, self._connection, self._space, at=self._at)
        for number in _numbers(records, {"entries": "number", "entry_evidence": "entry"}):
            append("entry.changed", number)
        for number in _numbers(records, {"episodes": "number"}):
            append("episode.changed", number)
        for first, last in change_log.ranges((each, each) for each in _numbers(records, {"notes": "number"})):
            append("notes.changed", first, until=last)
        for _ in (record for record in records if record.table == "documents"):
            append("document.changed", change_log.head(self._connection, self._space) + 1)
        with GraphTransaction(self._connection, self._space, self._at, self._settings) as graph:
            graph.log_relations(*_numbers(records, _OF_RELATIONS))
            named = {*_numbers(records, _OF_ENTITIES), *roots}
            graph.log_entities(*{number for each in named for number in graph.members(each)}, *named)
            for number in sorted(roots):
                resolve_entity(graph, number)  # some later relations may belong to the other entity now


_WORDS = ("text", "tags", "category")
_OF_RELATIONS = {"relations": "number", "relation_versions": "relation", "relation_evidence": "relation"}
_OF_ENTITIES = {"entities": "number", "entity_aliases": "entity", "entity_evidence": "entity"}


def _roots(records: Sequence[ChangedRecord]) -> set[int]:
    """The canonical entities that these records' entities belong or belonged to."""
    merged = [record for record in records if record.table == "entities"]
    ends = ({*(row["merged_into"] for row in (r.before, r.after) if row), r.key["number"]} for r in merged)
    return {number for each in ends for number in each if number is not None}


def _same(record: ChangedRecord, wanted: Mapping[str, Any] | None, held: Mapping[str, Any] | None) -> bool:
    """Whether a row is as it should be, apart from what is no part of it."""
    if wanted is None or held is None:
        return wanted is held
    counted = BOOKKEEPING.get(record.table, frozenset())
    return all(held[name] == value for name, value in wanted.items() if name not in counted)


def _with_bookkeeping(record: ChangedRecord, held: Mapping[str, Any] | None) -> dict[str, Any]:
    """The row to restore, with what is no part of it as it is now."""
    values = dict(record.after or {})
    if held is not None and record.before is not None:
        counted = BOOKKEEPING.get(record.table, frozenset())
        values |= {name: held[name] for name in counted if held[name] != record.before[name]}
    return values


def _rank(record: ChangedRecord) -> int:
    """Sort deletions first, to make room for the other rows."""
    return 0 if record.after is None else 1 if record.before is not None else 2


def _numbers(records: Sequence[ChangedRecord], columns: Mapping[str, str]) -> list[int]:
    """The numbers of the records that rows of these tables belong to."""
    return sorted({record.key[columns[record.table]] for record in records if record.table in columns})
