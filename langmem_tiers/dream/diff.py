"""A changeset in lines that a user can read: + what is new, - what holds no longer, ~ what has changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection

from langmem_tiers.dream.types import ChangedRecord
from langmem_tiers.knowledge_graph.types import Entity
from langmem_tiers.storage import entities, entries, relations

_COUNTED = ("version", "updated_at", "content_hash", "recall_count", "last_recalled_at", "created_at")
_LONGEST = 300
_ENDS = ("source", "target")


class Line(NamedTuple):
    """One line: `mark` is +, - or ~."""

    mark: str
    text: str


def render(connection: Connection, space: str, records: Sequence[ChangedRecord]) -> str:
    """The lines of a changeset, the records of one kind together."""
    return "\n".join(f"{line.mark} {line.text}" for line in lines(connection, space, records))


def lines(connection: Connection, space: str, records: Sequence[ChangedRecord]) -> Iterator[Line]:
    """The lines of a changeset; rows that belong to another record go with that one."""
    for record in records:
        if record.table == "entries":
            yield _entry(record)
    yield from _evidence(connection, space, records)
    for record in records:
        if record.table == "documents":
            yield _document(record)
        elif record.table == "episodes":
            yield _episode(record)
    yield from _merges(connection, space, records)
    yield from _relations(connection, space, records)


def _entry(record: ChangedRecord) -> Line:
    if record.before is None or record.after is None:
        held = record.after or record.before or {}
        mark = "+" if record.before is None else "-"
        return Line(mark, f"entry {held['id']} [{held['category']}] {_short(held['content'])}")
    return _changed_entry(record.before, record.after)


def _changed_entry(before: Mapping[str, Any], after: Mapping[str, Any]) -> Line:
    held, holds = (row["status"] == "active" for row in (before, after))
    if held and not holds:
        instead = f", {after['successor']} holds instead" if after["successor"] else ""
        return Line("-", f"entry {after['id']} {_short(after['content'])} ({after['reason']}{instead})")
    if holds and not held:
        return Line("+", f"entry {after['id']} [{after['category']}] {_short(after['content'])} (holds again)")
    return Line("~", f"entry {after['id']} {_short(after['content'])}: {_changes(before, after)}")


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    differ = [name for name in after if name not in _COUNTED and before.get(name) != after[name]]
    told = (f"{name} {_plain(before.get(name))} → {_plain(after[name])}" for name in differ)
    return "; ".join(told) or "counted"


def _evidence(connection: Connection, space: str, records: Sequence[ChangedRecord]) -> Iterator[Line]:
    """Entries that hold as before, and rest on more or less."""
    told = {r.key["number"] for r in records if r.table == "entries" and _status(r.before) != _status(r.after)}
    counts: dict[int, int] = {}
    for record in records:
        if record.table == "entry_evidence" and record.key["entry"] not in told:
            change = 1 if record.before is None else -1
            counts[record.key["entry"]] = counts.get(record.key["entry"], 0) + change
    held = entries.by_numbers(connection, space, counts)
    for number, count in counts.items():
        if number in held:
            more = "more" if count > 0 else "fewer"
            yield Line("~", f"entry {held[number].id} {_short(held[number].content)}: {abs(count)} {more} in evidence")


def _status(row: Mapping[str, Any] | None) -> str | None:
    return None if row is None else str(row["status"])


def _document(record: ChangedRecord) -> Line:
    before, after = record.before, record.after
    if after is None:
        return Line("-", f"document {record.key['path']}")
    if before is None:
        return Line("+", f"document {record.key['path']}: {_short(after['content'])}")
    grown = after["content"].startswith(before["content"])
    added = after["content"][len(before["content"]) :] if grown else after["content"]
    return Line("~", f"document {record.key['path']}: {'added ' if grown else ''}{_short(added)}")


def _episode(record: ChangedRecord) -> Line:
    held = record.after or record.before or {}
    promoted = record.after is not None and record.after["promoted_at"] is not None
    what = "taken up" if promoted else "not taken up any more"
    return Line("~", f"episode {held['id']} {_short(held['abstract'])}: {what}")


def _merges(connection: Connection, space: str, records: Sequence[ChangedRecord]) -> Iterator[Line]:
    merges = [record for record in records if record.table == "entity_merges"]
    rows = [record.after or record.before or {} for record in merges]
    named = entities.by_numbers(connection, space, {row[end] for row in rows for end in _ENDS})
    for record, row in zip(merges, rows, strict=True):
        source, target = (_name(named.get(row[end])) for end in _ENDS)
        yield Line("~", f"entity {source} {'is not' if record.after is None else 'is'} {target}: {row['reason']}")


def _relations(connection: Connection, space: str, records: Sequence[ChangedRecord]) -> Iterator[Line]:
    numbers = {record.key["relation"] for record in records if record.table == "relation_versions"}
    for each in relations.by_numbers(connection, space, sorted(numbers)).values():
        yield Line("-" if each.withdrawn else "~", f"relation {each.id} {_short(str(each))}")


def _name(entity: Entity | None) -> str:
    return "?" if entity is None else _short(entity.name)


def _plain(value: Any) -> str:
    return _short(str(value).replace("\n", ", ")) if value not in (None, "") else "none"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1].rstrip()}…"
