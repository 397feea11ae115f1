"""Dreams: what each decided and cost, and the rows that it changed, as they were and as they became."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import orjson
from pydantic import BaseModel
from sqlalchemy import Connection, delete, func, insert, or_, select, update

from langmem_tiers.clock import to_millis
from langmem_tiers.dream.types import ChangedRecord, Decision, DreamReport, Kept, Material
from langmem_tiers.storage import change_log, facts
from langmem_tiers.storage.schema import changesets, dreams

TURNS = "dream:turns"
"""The cursor of the conversation log: the last drawer that a dream has read."""
# The number last given out.
_NEWEST = "newest_dream"
# Log position of the last dream's material.
_SEEN = "dream:seen"
_SOME_GONE = "Not all that it decided is kept: some of its words were deleted."
_NOTHING: Mapping[str, Any] = {"decision": Decision(), "diff": "", "golden": (), "notes": ()}
# The columns of changed rows that hold words.
_WORDS = ("content", "text", "summary", "abstract", "topics", "quote", "value", "said", "name")

Without = Callable[[str], str]
"""Gives a text without the passages that say what is deleted."""


class DreamRow(NamedTuple):
    """A dream as it is kept."""

    number: int
    report: DreamReport


def put(connection: Connection, space: str, report: DreamReport, material: Material) -> int:
    """Keep what became of a dream; its number. The turns that it read are not read again, whatever came of it."""
    number = int(facts.get(connection, space, _NEWEST) or 0) + 1
    facts.put(connection, space, _NEWEST, str(number))
    connection.execute(insert(dreams).values(space=space, number=number, fence=material.fence, **_columns(report)))
    change_log.reset_cursor(connection, space, _SEEN, material.position)
    if material.turns_upto > change_log.cursor(connection, space, TURNS):
        change_log.reset_cursor(connection, space, TURNS, material.turns_upto)
    return number


def seen(connection: Connection, space: str) -> int:
    """The log position up to which the last dream has seen the space, 0 where there was none."""
    return change_log.cursor(connection, space, _SEEN)


def change(connection: Connection, space: str, number: int, report: DreamReport) -> None:
    """Let this be what is kept of a dream from now on."""
    this = (dreams.c.space == space, dreams.c.number == number)
    connection.execute(update(dreams).where(*this).values(**_columns(report)))


def one(connection: Connection, space: str, dream_id: str) -> DreamRow | None:
    """The dream of an id, None where there is none."""
    wanted = select(dreams.c.number, dreams.c.report).where(dreams.c.space == space, dreams.c.id == dream_id)
    row = connection.execute(wanted).first()
    return None if row is None else _read(*row)


def latest(connection: Connection, space: str, most: int) -> list[DreamRow]:
    """The last dreams, newest first."""
    wanted = select(dreams.c.number, dreams.c.report).where(dreams.c.space == space)
    return [_read(*row) for row in connection.execute(wanted.order_by(dreams.c.number.desc()).limit(most))]


def put_changes(connection: Connection, space: str, number: int, records: Iterable[ChangedRecord]) -> None:
    """Keep the rows that a dream changed."""
    rows = [
        {
            "space": space,
            "dream": number,
            "ordinal": ordinal,
            "table_name": record.table,
            "key": _stored(record.key),
            "before": _stored(record.before),
            "after": _stored(record.after),
        }
        for ordinal, record in enumerate(records)
    ]
    if rows:
        connection.execute(insert(changesets), rows)


def changes(connection: Connection, space: str, number: int) -> tuple[ChangedRecord, ...]:
    """The rows that a dream changed."""
    columns = (changesets.c.table_name, changesets.c.key, changesets.c.before, changesets.c.after)
    wanted = select(*columns).where(changesets.c.space == space, changesets.c.dream == number)
    return tuple(_record(*row) for row in connection.execute(wanted.order_by(changesets.c.ordinal)))


def forget(connection: Connection, space: str, names: Iterable[str]) -> None:
    """Drop what is kept of the dreams that name these records, by id or path: their words were deleted for good.

    Such a dream stays in the list, without what it decided; where it changed one of these, it can not be undone any
    more.
    """
    wanted = list(names)
    changed = {number for name in wanted for number in _changing(connection, space, name)}
    told = {number for name in wanted for number in _naming(connection, space, name)}
    _drop_changes(connection, space, changed)
    for row in _of_numbers(connection, space, changed | told):
        kept: Kept = "forgotten" if row.number in changed else row.report.changes
        _change_words(connection, space, row, {**_NOTHING, "changes": kept})


def unsay(connection: Connection, space: str, without: Without) -> None:
    """Take what is deleted for good out of all that is kept of dreams, also of what they proposed in vain.

    `without` gives a text without the passages that say so. A dream whose changes hold such words can not be undone
    any more; all others can.
    """
    held = {number for number, row in _rows(connection, space) if _says(row, without)}
    _drop_changes(connection, space, held)
    for row in latest(connection, space, -1):
        left = _left(row.report, without)
        if row.number in held:
            left |= {"changes": "forgotten", "diff": ""}
        if left:
            _change_words(connection, space, row, left)


def prune(connection: Connection, space: str, before: int) -> int:
    """Drop what dreams changed that ended before a moment, in UTC milliseconds: they can not be undone any more.

    How many there were. Their reports stay.
    """
    old = select(dreams.c.number).where(dreams.c.space == space, dreams.c.finished_at < before)
    with_changes = select(changesets.c.dream).distinct().where(changesets.c.space == space)
    gone = set(connection.execute(old.where(dreams.c.number.in_(with_changes))).scalars())
    _drop_changes(connection, space, gone)
    for row in _of_numbers(connection, space, gone):
        change(connection, space, row.number, row.report.model_copy(update={"changes": "pruned"}))
    return len(gone)


def oldest_kept(connection: Connection, space: str) -> int | None:
    """When the first dream ended whose changes are kept, in UTC milliseconds; None where there is none."""
    with_changes = select(changesets.c.dream).where(changesets.c.space == space)
    wanted = select(func.min(dreams.c.finished_at)).where(dreams.c.space == space, dreams.c.number.in_(with_changes))
    first: int | None = connection.execute(wanted).scalar()
    return first


def _naming(connection: Connection, space: str, name: str) -> set[int]:
    """The numbers of the dreams whose report names a record."""
    here = json.dumps(name).strip('"')
    told = select(dreams.c.number).where(dreams.c.space == space, func.instr(dreams.c.report, here) > 0)
    return set(connection.execute(told).scalars())


def _changing(connection: Connection, space: str, name: str) -> set[int]:
    """The numbers of the dreams whose changeset names a record."""
    there = orjson.dumps(name).decode().strip('"')
    rows = (changesets.c.key, changesets.c.before, changesets.c.after)
    held = or_(*(func.instr(column, there) > 0 for column in rows))
    return set(
        connection.execute(select(changesets.c.dream).distinct().where(changesets.c.space == space, held)).scalars()
    )


def _drop_changes(connection: Connection, space: str, numbers: Iterable[int]) -> None:
    for number in numbers:
        connection.execute(delete(changesets).where(changesets.c.space == space, changesets.c.dream == number))


def _of_numbers(connection: Connection, space: str, numbers: Iterable[int]) -> list[DreamRow]:
    wanted = select(dreams.c.number, dreams.c.report).where(dreams.c.space == space)
    return [
        _read(*row) for each in sorted(numbers) for row in connection.execute(wanted.where(dreams.c.number == each))
    ]


def _rows(connection: Connection, space: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Every row that dreams changed, as it was and as it became, with the number of the dream."""
    wanted = select(changesets.c.dream, changesets.c.before, changesets.c.after).where(changesets.c.space == space)
    for number, *rows in connection.execute(wanted):
        yield from ((number, orjson.loads(row)) for row in rows if row is not None)


def _says(row: Mapping[str, Any], without: Without) -> bool:
    """Whether a row holds words that `without` takes out."""
    texts = (text for name in _WORDS if isinstance(text := row.get(name), str))
    return any(without(text) != text for text in texts)


def _left(report: DreamReport, without: Without) -> dict[str, Any]:
    """What is left of the parts of a report that hold words which `without` takes out."""

    def stays(part: BaseModel | str) -> bool:
        return all(without(text) == text for text in _texts(part if isinstance(part, str) else part.model_dump()))

    decision, lines = report.decision, report.diff.splitlines()
    left = {
        "decision": type(decision)(
            accepted=tuple(filter(stays, decision.accepted)), rejected=tuple(filter(stays, decision.rejected))
        ),
        "diff": "\n".join(filter(stays, lines)),
        "golden": tuple(filter(stays, report.golden)),
        "notes": tuple(filter(stays, report.notes)),
    }
    held = {"decision": decision, "diff": "\n".join(lines), "golden": report.golden, "notes": report.notes}
    return {} if left == held else left


def _texts(value: Any) -> Iterator[str]:
    """All texts within a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (text for each in value.values() for text in _texts(each))
    elif isinstance(value, list | tuple):
        yield from (text for each in value for text in _texts(each))


def _change_words(connection: Connection, space: str, row: DreamRow, left: Mapping[str, Any]) -> None:
    """Keep this of a report, and say in it that some words of it are gone."""
    notes = dict.fromkeys((*left.get("notes", row.report.notes), _SOME_GONE))
    change(connection, space, row.number, row.report.model_copy(update={**left, "notes": tuple(notes)}))


def _columns(report: DreamReport) -> dict[str, Any]:
    return {
        "id": report.id,
        "status": report.status,
        "started_at": to_millis(report.started_at),
        "finished_at": None if report.finished_at is None else to_millis(report.finished_at),
        "undone_at": None if report.undone_at is None else to_millis(report.undone_at),
        # In ASCII: what a model proposed and was refused may hold halves of characters, which no UTF-8 takes.
        "report": json.dumps(report.model_dump(mode="json"), ensure_ascii=True),
    }


def _read(number: int, report: str) -> DreamRow:
    return DreamRow(number, DreamReport.model_validate(json.loads(report)))


def _stored(values: Mapping[str, Any] | None) -> str | None:
    return None if values is None else orjson.dumps(dict(values)).decode()


def _record(table: str, *values: str | None) -> ChangedRecord:
    key, before, after = (None if value is None else orjson.loads(value) for value in values)
    return ChangedRecord(table=table, key=key, before=before, after=after)
