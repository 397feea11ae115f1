"""Dreams: what each decided and cost, as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, Select, func, insert, select, update

from langmem_tiers.clock import to_millis
from langmem_tiers.storage import change_log, changesets, facts
from langmem_tiers.storage.schema import changesets as changed_rows
from langmem_tiers.storage.schema import dreams

TURNS = "dream:turns"
"""The cursor of the conversation log: the last drawer that a dream has read."""
# The last number assigned.
_NEWEST = "newest_dream"
# Log position of the last dream's material.
_SEEN = "dream:seen"
_SOME_GONE = "Not all that it decided is kept: some of its words were deleted."
_NOTHING: Mapping[str, Any] = {"decision": {"accepted": [], "rejected": []}, "diff": "", "golden": [], "notes": []}
# The columns of changed rows that contain text.
_WORDS = ("content", "text", "summary", "abstract", "topics", "quote", "value", "said", "name")

Without = Callable[[str], str]
"""Gives a text without the passages that say what is deleted."""


Report = Mapping[str, Any]
"""What became of a dream, as JSON."""


class DreamRow(NamedTuple):
    """A stored dream; `ended_at` is in UTC milliseconds."""

    number: int
    ended_at: int
    report: Report


class Seen(NamedTuple):
    """What a dream saw: its lease, the position in the change log, and the last turn."""

    fence: int
    position: int
    turns_upto: int


def put(connection: Connection, space: str, report: Report, saw: Seen) -> int:
    """Store the outcome of a dream. Returns its number. The turns it read are not read again, whatever the outcome."""
    number = facts.count_up(connection, space, _NEWEST)
    connection.execute(insert(dreams).values(space=space, number=number, fence=saw.fence, **_columns(report)))
    change_log.reset_cursor(connection, space, _SEEN, saw.position)
    if saw.turns_upto > change_log.cursor(connection, space, TURNS):
        change_log.reset_cursor(connection, space, TURNS, saw.turns_upto)
    return number


def seen(connection: Connection, space: str) -> int:
    """The log position up to which the last dream has seen the space, 0 if there was none."""
    return change_log.cursor(connection, space, _SEEN)


def change(connection: Connection, space: str, number: int, report: Report) -> None:
    """Replace what is stored of a dream."""
    this = (dreams.c.space == space, dreams.c.number == number)
    connection.execute(update(dreams).where(*this).values(**_columns(report)))


def one(connection: Connection, space: str, dream_id: str) -> DreamRow | None:
    """The dream with an id, None if there is none."""
    row = connection.execute(_every(space).where(dreams.c.id == dream_id)).first()
    return None if row is None else _read(row)


def latest(connection: Connection, space: str, most: int) -> list[DreamRow]:
    """The latest dreams, newest first."""
    wanted = _every(space).order_by(dreams.c.number.desc()).limit(most)
    return [_read(row) for row in connection.execute(wanted)]


def forget(connection: Connection, space: str, names: Iterable[str]) -> None:
    """Redact the dreams that name these records, by id or path, because their content was deleted for good.

    Such a dream stays in the list without its decisions; if it changed one of the records, it can no longer be
    undone.
    """
    wanted = list(names)
    changed = {number for name in wanted for number in changesets.naming(connection, space, name)}
    told = {number for name in wanted for number in _naming(connection, space, name)}
    changesets.drop(connection, space, changed)
    for row in _of_numbers(connection, space, changed | told):
        kept = "forgotten" if row.number in changed else row.report["changes"]
        _change_words(connection, space, row, {**_NOTHING, "changes": kept})


def unsay(connection: Connection, space: str, without: Without) -> None:
    """Remove permanently deleted content from everything stored about dreams, including rejected proposals.

    `without` returns a text without the passages in question. A dream whose changes contain such words can no longer
    be undone; all others can.
    """
    held = {number for number, row in changesets.rows(connection, space) if _says(row, without)}
    changesets.drop(connection, space, held)
    for row in latest(connection, space, -1):
        left = _left(row.report, without)
        if row.number in held:
            left |= {"changes": "forgotten", "diff": ""}
        if left:
            _change_words(connection, space, row, left)


def prune(connection: Connection, space: str, before: int) -> int:
    """Delete the changesets of dreams that ended before a moment (UTC milliseconds); those cannot be undone any more.

    Returns how many there were. Their reports stay.
    """
    old = select(dreams.c.number).where(dreams.c.space == space, dreams.c.finished_at < before)
    with_changes = select(changed_rows.c.dream).distinct().where(changed_rows.c.space == space)
    gone = set(connection.execute(old.where(dreams.c.number.in_(with_changes))).scalars())
    changesets.drop(connection, space, gone)
    for row in _of_numbers(connection, space, gone):
        change(connection, space, row.number, {**row.report, "changes": "pruned"})
    return len(gone)


def oldest_kept(connection: Connection, space: str) -> int | None:
    """When the oldest dream with a changeset ended, in UTC milliseconds; None if there is none."""
    with_changes = select(changed_rows.c.dream).where(changed_rows.c.space == space)
    wanted = select(func.min(dreams.c.finished_at)).where(dreams.c.space == space, dreams.c.number.in_(with_changes))
    first: int | None = connection.execute(wanted).scalar()
    return first


def _naming(connection: Connection, space: str, name: str) -> set[int]:
    """The numbers of the dreams whose report names a record."""
    here = json.dumps(name).strip('"')
    told = select(dreams.c.number).where(dreams.c.space == space, func.instr(dreams.c.report, here) > 0)
    return set(connection.execute(told).scalars())


def _of_numbers(connection: Connection, space: str, numbers: Iterable[int]) -> list[DreamRow]:
    found = (connection.execute(_every(space).where(dreams.c.number == each)).first() for each in sorted(numbers))
    return [_read(row) for row in found if row is not None]


def _says(row: Mapping[str, Any], without: Without) -> bool:
    """Whether a row contains words that `without` removes."""
    texts = (text for name in _WORDS if isinstance(text := row.get(name), str))
    return any(without(text) != text for text in texts)


def _left(report: Report, without: Without) -> dict[str, Any]:
    """The parts of a report, without those that contain words that `without` removes."""

    def staying(parts: Iterable[Any]) -> list[Any]:
        return [part for part in parts if all(without(text) == text for text in _texts(part))]

    lines = report["diff"].splitlines()
    left = {
        "decision": {name: staying(proposals) for name, proposals in report["decision"].items()},
        "diff": "\n".join(staying(lines)),
        "golden": staying(report["golden"]),
        "notes": staying(report["notes"]),
    }
    return {} if left == {**{name: report[name] for name in left}, "diff": "\n".join(lines)} else left


def _texts(value: Any) -> Iterator[str]:
    """All strings inside a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (text for each in value.values() for text in _texts(each))
    elif isinstance(value, list | tuple):
        yield from (text for each in value for text in _texts(each))


def _change_words(connection: Connection, space: str, row: DreamRow, left: Mapping[str, Any]) -> None:
    """Replace the report, marking that some of its words were removed."""
    notes = dict.fromkeys((*left.get("notes", row.report["notes"]), _SOME_GONE))
    change(connection, space, row.number, {**row.report, **left, "notes": [*notes]})


def _columns(report: Report) -> dict[str, Any]:
    moments = ("started_at", "finished_at", "undone_at")
    return {
        "id": report["id"],
        "status": report["status"],
        **{name: None if report[name] is None else to_millis(datetime.fromisoformat(report[name])) for name in moments},
        # As ASCII: what a model proposed and was refused may contain lone surrogates, which UTF-8 cannot encode.
        "report": json.dumps(report, ensure_ascii=True),
    }


def _every(space: str) -> Select[Any]:
    columns = (dreams.c.number, dreams.c.started_at, dreams.c.finished_at, dreams.c.report)
    return select(*columns).where(dreams.c.space == space)


def _read(row: Row[Any]) -> DreamRow:
    ended_at = row.started_at if row.finished_at is None else row.finished_at
    return DreamRow(row.number, ended_at, json.loads(row.report))
