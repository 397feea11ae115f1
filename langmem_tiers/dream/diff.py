"""Renders a changeset for users: rows by name, as lines with +, - and ~."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from sqlalchemy import Connection

from langmem_tiers.language.characters import one_line
from langmem_tiers.storage import changesets, entities, entries, relations
from langmem_tiers.storage.changesets import ChangedRecord

_LONGEST = 300
_NOT_SHOWN = frozenset({"version", "updated_at", "content_hash", "recall_count", "last_recalled_at", "created_at"})
# The column of a row, or of its key, that identifies the entity or relation it belongs to.
_OWNERS = ("relation", "entity", "source", "low", "number")
_NAMED: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "entries": lambda row: f"entry {row['id']}",
    "episodes": lambda row: f"episode {row['id']}",
    "notes": lambda row: f"{row['kind']} {row['ref']}",
    "documents": lambda row: f"document {row['path']}",
    "tombstones": lambda row: f"tombstone of a deleted {row['kind']}",
}


def name_of(connection: Connection, space: str, record: ChangedRecord) -> str:
    """The kind of a row, and the id or path that users know it by."""
    row = {**(record.before or record.after or {}), **record.key}
    if record.table in _NAMED:
        return _NAMED[record.table](row)
    if record.table == "entry_evidence":
        entry = entries.by_numbers(connection, space, [row["entry"]]).get(row["entry"])
        return f"entry {row['entry'] if entry is None else entry.id}"
    kind: Literal["entity", "relation"] = "relation" if record.table.startswith("relation") else "entity"
    if "id" in row:
        return f"{kind} {row['id']}"
    number = next(row[name] for name in _OWNERS if name in row)
    return f"{kind} {changesets.graph_id(connection, space, kind, number) or number}"


def diff(connection: Connection, space: str, records: Sequence[ChangedRecord]) -> str:
    """A changeset as lines: + for what is new, - for what is gone, ~ for what has changed.

    Rows that belong to another record are shown with that record.
    """
    return "\n".join(
        (
            *(_entry(record) for record in records if record.table == "entries"),
            *_evidence(connection, space, records),
            *(_document(record) for record in records if record.table == "documents"),
            *(_episode(record) for record in records if record.table == "episodes"),
            *_merges(connection, space, records),
            *_relations(connection, space, records),
        )
    )


def _entry(record: ChangedRecord) -> str:
    before, after = record.before, record.after
    if before is None or after is None:
        row = after or before or {}
        return f"{'+' if before is None else '-'} entry {row['id']} [{row['category']}] {_short(row['content'])}"
    held, holds = before["status"] == "active", after["status"] == "active"
    if held and not holds:
        instead = f", {after['successor']} holds instead" if after["successor"] else ""
        return f"- entry {after['id']} {_short(after['content'])} ({after['reason']}{instead})"
    if holds and not held:
        return f"+ entry {after['id']} [{after['category']}] {_short(after['content'])} (holds again)"
    return f"~ entry {after['id']} {_short(after['content'])}: {_changes(before, after)}"


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    changed = [name for name in after if name not in _NOT_SHOWN and before.get(name) != after[name]]
    return "; ".join(f"{name} {_value(before.get(name))} → {_value(after[name])}" for name in changed) or "counted"


def _evidence(connection: Connection, space: str, records: Sequence[ChangedRecord]) -> Iterator[str]:
    """Entries with the same status that gained or lost evidence."""
    shown = {r.key["number"] for r in records if r.table == "entries" and _status(r.before) != _status(r.after)}
    counts: Counter[int] = Counter()
    for record in records:
        if record.table == "entry_evidence" and record.key["entry"] not in shown:
            counts[record.key["entry"]] += 1 if record.before is None else -1
    held = entries.by_numbers(connection, space, counts)
    for number, count in counts.items():
        if number in held:
            more = "more" if count > 0 else "fewer"
            yield f"~ entry {held[number].id} {_short(held[number].content)}: {abs(count)} {more} in evidence"


def _status(row: Mapping[str, Any] | None) -> str | None:
    return None if row is None else str(row["status"])


def _document(record: ChangedRecord) -> str:
    before, after = record.before, record.after
    if after is None:
        return f"- document {record.key['path']}"
    if before is None:
        return f"+ document {record.key['path']}: {_short(after['content'])}"
    if after["content"].startswith(before["content"]):
        return f"~ document {record.key['path']}: added {_short(after['content'][len(before['content']) :])}"
    return f"~ document {record.key['path']}: {_short(after['content'])}"


def _episode(record: ChangedRecord) -> str:
    row = record.after or record.before or {}
    promoted = record.after is not None and record.after["promoted_at"] is not None
    what = "taken up" if promoted else "not taken up any more"
    return f"~ episode {row['id']} {_short(row['abstract'])}: {what}"


def _merges(connection: Connection, space: str, records: Sequence[ChangedRecord]) -> Iterator[str]:
    merges = [(record, record.after or record.before or {}) for record in records if record.table == "entity_merges"]
    known = entities.by_numbers(connection, space, {row[end] for _, row in merges for end in ("source", "target")})
    names = {number: _short(entity.name) for number, entity in known.items()}
    for record, row in merges:
        verb = "is not" if record.after is None else "is"
        yield f"~ entity {names.get(row['source'], '?')} {verb} {names.get(row['target'], '?')}: {row['reason']}"


def _relations(connection: Connection, space: str, records: Sequence[ChangedRecord]) -> Iterator[str]:
    numbers = {record.key["relation"] for record in records if record.table == "relation_versions"}
    for each in relations.by_numbers(connection, space, sorted(numbers)).values():
        yield f"{'-' if each.withdrawn else '~'} relation {each.id} {_short(str(each))}"


def _value(value: Any) -> str:
    return _short(str(value).replace("\n", ", ")) if value not in (None, "") else "none"


def _short(text: str) -> str:
    return one_line(text, _LONGEST)
