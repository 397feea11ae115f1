"""Dreams: what each decided and cost, and the rows that it changed, as they were and as they became."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import orjson
from sqlalchemy import Connection, delete, func, insert, or_, select, update

from langmem_tiers.clock import to_millis
from langmem_tiers.dream.types import ChangedRecord, DreamReport, Material
from langmem_tiers.storage import change_log, facts
from langmem_tiers.storage.schema import changesets, dreams

TURNS = "dream:turns"
"""The cursor of the conversation log: the last drawer that a dream has read."""
# The number last given out.
_NEWEST = "newest_dream"
# Log position of the last dream's material.
_SEEN = "dream:seen"


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

    Such a dream stays in the list, without what it decided, and can not be undone any more.
    """
    for number in sorted({number for name in names for number in _naming(connection, space, name)}):
        of_it = (changesets.c.space == space, changesets.c.dream == number)
        connection.execute(delete(changesets).where(*of_it))
        wanted = select(dreams.c.number, dreams.c.report).where(dreams.c.space == space, dreams.c.number == number)
        change(connection, space, number, _without_words(_read(*connection.execute(wanted).one()).report))


def _naming(connection: Connection, space: str, name: str) -> set[int]:
    """The numbers of the dreams whose report or changeset names a record."""
    here, there = (text.strip('"') for text in (json.dumps(name), orjson.dumps(name).decode()))
    told = select(dreams.c.number).where(dreams.c.space == space, func.instr(dreams.c.report, here) > 0)
    rows = (changesets.c.key, changesets.c.before, changesets.c.after)
    held = or_(*(func.instr(column, there) > 0 for column in rows))
    changed = select(changesets.c.dream).distinct().where(changesets.c.space == space, held)
    return {number for wanted in (told, changed) for number in connection.execute(wanted).scalars()}


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


def _without_words(report: DreamReport) -> DreamReport:
    note = "What it decided is not kept: some of its words were deleted."
    return report.model_copy(update={"decision": type(report.decision)(), "diff": "", "golden": (), "notes": (note,)})
