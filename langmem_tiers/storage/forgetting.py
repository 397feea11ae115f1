"""Which messages are to be forgotten, by what is known of them, and their removal from all tables that name them."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import orjson
from sqlalchemy import ColumnElement, Connection, Table, delete, func, select, update

from langmem_tiers.storage import change_log, facts, keyword, notes, packed_text
from langmem_tiers.storage import receipts as kept_receipts
from langmem_tiers.storage.errors_border import translated
from langmem_tiers.storage.rooms import LAST_CLOSET, LAST_DRAWER, LAST_IN_WING, LAST_ROOM, LAST_WING
from langmem_tiers.storage.schema import (
    activities,
    chunks,
    closets,
    drawers,
    entity_evidence,
    entry_evidence,
    feedback_signals,
    golden_questions,
    mined_windows,
    proposals,
    receipts,
    relation_evidence,
    revisions,
    rooms,
    turns,
    wing_aliases,
    wings,
)
from langmem_tiers.storage.statements import among, delete_among, here, listed, numbered


@dataclass(frozen=True, kw_only=True, slots=True)
class MessageFilter:
    """Which messages are meant; None stands for any. Times are UTC milliseconds, `until` is the first one after."""

    numbers: Collection[int] | None = None
    session: str | None = None
    since: int | None = None
    until: int | None = None
    speaker: str | None = None
    project: str | None = None


class ForgottenTurn(NamedTuple):
    """A message by which it is known again: its session and id, what it says, and its drawer."""

    session: str
    message_id: str
    content_hash: bytes
    drawer: int


def find(connection: Connection, space: str, wanted: MessageFilter) -> set[int]:
    """The numbers of the drawers that are meant, with superseded ones."""
    tables = drawers.join(rooms, numbered(rooms, drawers.c.room))
    found = select(drawers.c.number).select_from(tables).where(*here(drawers, space), *_conditions(wanted))
    if wanted.numbers is None:
        return set(connection.execute(found).scalars())
    return {row.number for row in among(connection, found.where(listed(drawers.c.number)), sorted(wanted.numbers))}


def _conditions(wanted: MessageFilter) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if wanted.session is not None:
        conditions.append(rooms.c.session == wanted.session)
    if wanted.since is not None:
        conditions.append(drawers.c.said_at >= wanted.since)
    if wanted.until is not None:
        conditions.append(drawers.c.said_at < wanted.until)
    if wanted.project is not None:
        conditions.append(drawers.c.project == wanted.project)
    if wanted.speaker is not None:
        said_by = func.coalesce(drawers.c.speaker, drawers.c.role)
        conditions.append(func.lower(said_by) == wanted.speaker.lower())
    return conditions


def speakers(connection: Connection, space: str) -> dict[str, int]:
    """Who is named as a speaker, with how many drawers are theirs."""
    counted = select(drawers.c.speaker, func.count()).where(*here(drawers, space), drawers.c.speaker.is_not(None))
    rows = connection.execute(counted.group_by(drawers.c.speaker))
    return dict(map(tuple, rows))


def turns_of(connection: Connection, space: str, numbers: Collection[int]) -> list[ForgottenTurn]:
    """The messages of these drawers."""
    wanted = select(turns.c.session, turns.c.message_id, turns.c.content_hash, turns.c.drawer)
    return [
        ForgottenTurn(*row)
        for row in among(connection, wanted.where(*here(turns, space), listed(turns.c.drawer)), numbers)
    ]


def sessions_of(connection: Connection, space: str, numbers: Collection[int]) -> set[str]:
    """The sessions that these drawers are of."""
    tables = drawers.join(rooms, numbered(rooms, drawers.c.room))
    wanted = select(rooms.c.session).select_from(tables).where(*here(drawers, space), listed(drawers.c.number))
    return {row.session for row in among(connection, wanted.distinct(), numbers)}


def all_wordings(connection: Connection, space: str, numbers: Collection[int]) -> set[int]:
    """These drawers, and those with other wordings of the same messages."""
    named = {(each.session, each.message_id) for each in turns_of(connection, space, numbers)}
    ids = {message_id for _, message_id in named}
    wanted = select(turns.c.session, turns.c.message_id, turns.c.drawer).where(
        *here(turns, space), listed(turns.c.message_id)
    )
    rows = among(connection, wanted, ids)
    return {*numbers, *(row.drawer for row in rows if (row.session, row.message_id) in named)}


def saying(connection: Connection, space: str, phrase: str) -> set[int]:
    """The drawers that hold these words one after the other."""
    return keyword.drawers.with_phrase(connection, phrase)


def superseded_with(connection: Connection, space: str, text: str) -> set[int]:
    """The superseded drawers that hold a text; these are in no index."""
    wanted = select(drawers.c.number).where(*here(drawers, space), drawers.c.superseded_by.is_not(None))
    return set(connection.execute(wanted.where(func.instr(func.lower(drawers.c.content), text.lower()) > 0)).scalars())


def rests_on(connection: Connection, space: str, numbers: Collection[int]) -> dict[int, set[int]]:
    """The entries that have one of these drawers as evidence, each with all its evidence, by number."""
    evidence = entry_evidence.c
    naming = select(evidence.entry).where(*here(entry_evidence, space), listed(evidence.drawer)).distinct()
    named = {row.entry for row in among(connection, naming, numbers)}
    every = select(evidence.entry, evidence.drawer).where(*here(entry_evidence, space), listed(evidence.entry))
    found: dict[int, set[int]] = {}
    for row in among(connection, every, named):
        found.setdefault(row.entry, set()).add(row.drawer)
    return found


def remove_messages(connection: Connection, space: str, numbers: Collection[int], at: int) -> int:
    """Delete drawers from every table that names them, and from the keyword index; returns how many vectors went.

    Search indexes that follow the log learn of each. What rests on them must be gone before.
    """
    counted = select(chunks.c.drawer, func.count().label("count")).where(*here(chunks, space), listed(chunks.c.drawer))
    sizes = {row.drawer: row.count for row in among(connection, counted.group_by(chunks.c.drawer), numbers)}
    pieces = select(chunks.c.text_hash).where(*here(chunks, space), listed(chunks.c.drawer))
    hashes = {row.text_hash for row in among(connection, pieces, numbers)}
    places = select(drawers.c.room, drawers.c.closet).where(*here(drawers, space), listed(drawers.c.number)).distinct()
    held = among(connection, places, numbers)
    _keep_numbers(connection, space, max(numbers))
    _close_gaps(connection, space, set(numbers))
    keyword.drawers.remove(connection, numbers)
    for column in (chunks.c.drawer, turns.c.drawer, revisions.c.drawer, proposals.c.drawer, feedback_signals.c.drawer):
        delete_among(connection, space, column, numbers)
    for table in (entry_evidence, entity_evidence, relation_evidence):
        delete_among(connection, space, table.c.drawer, numbers)
    delete_among(connection, space, drawers.c.number, numbers)
    change_log.append_all(
        connection,
        space,
        [("drawer.forgotten", number, sizes.get(number, 0)) for number in sorted(numbers)],
        at=at,
    )
    _remove_empty(connection, space, {row.room for row in held}, {row.closet for row in held} - {None})
    return notes.forget_texts(connection, space, hashes)


def _close_gaps(connection: Connection, space: str, gone: set[int]) -> None:
    """Let each turn that follows one that goes follow the last before it that stays."""
    of_them = select(turns.c.drawer, turns.c.follows).where(*here(turns, space), listed(turns.c.drawer))
    before = {row.drawer: row.follows for row in among(connection, of_them, gone)}
    after = select(turns.c.session, turns.c.message_id, turns.c.content_hash, turns.c.follows, turns.c.drawer)
    after = after.where(*here(turns, space), listed(turns.c.follows))
    for row in among(connection, after, gone):
        left, seen = row.follows, set[int]()
        while left in gone and left not in seen:
            seen.add(left)
            left = before.get(left)
        key = {"session": row.session, "message_id": row.message_id, "content_hash": row.content_hash}
        linked = None if left in gone or left == row.drawer else left
        connection.execute(update(turns).where(*here(turns, space, **key)).values(follows=linked))


def _keep_numbers(connection: Connection, space: str, last: int) -> None:
    facts.raise_to(connection, space, LAST_DRAWER, last)
    for name, column in ((LAST_ROOM, rooms.c.number), (LAST_WING, wings.c.number), (LAST_CLOSET, closets.c.number)):
        highest = connection.execute(select(func.max(column)).where(*here(column.table, space))).scalar()
        facts.raise_to(connection, space, name, highest or 0)


def _remove_empty(connection: Connection, space: str, of_rooms: set[int], of_closets: set[int]) -> None:
    """Delete those of these closets and rooms that hold nothing any more, and wings that are then empty."""
    empty_closets = of_closets - _used(connection, space, drawers.c.closet, of_closets)
    delete_among(connection, space, closets.c.number, empty_closets)
    empty = of_rooms - _used(connection, space, drawers.c.room, of_rooms)
    if not empty:
        return
    filed = select(rooms.c.wing, rooms.c.address_wing, rooms.c.address_room)
    left = among(connection, filed.where(*here(rooms, space), listed(rooms.c.number)), empty)
    for row in left:
        facts.raise_to(connection, space, f"{LAST_IN_WING}{row.address_wing}", row.address_room)
    delete_among(connection, space, closets.c.room, empty)
    delete_among(connection, space, mined_windows.c.room, empty)
    delete_among(connection, space, rooms.c.number, empty)
    were_in = {row.wing for row in left}
    unused = were_in - _used(connection, space, rooms.c.wing, were_in)
    delete_among(connection, space, wing_aliases.c.wing, unused)
    delete_among(connection, space, wings.c.number, unused)


def _used(connection: Connection, space: str, column: Any, values: Collection[int]) -> set[int]:
    wanted = select(column.label("value")).where(*here(column.table, space), listed(column)).distinct()
    return {row.value for row in among(connection, wanted, values)}


def receipts_showing(
    connection: Connection,
    space: str,
    of: str,
    pointers: Mapping[int, str],
    turns_gone: Collection[ForgottenTurn] = (),
) -> list[int]:
    """The numbers of the receipts that name these drawers of the space `of`, or are of a message that goes."""
    if not pointers:
        return []
    asked = {(each.session, each.message_id) for each in turns_gone}
    columns = (receipts.c.number, receipts.c.session, receipts.c.message_id, receipts.c.shown, receipts.c.body)
    return [
        row.number
        for row in connection.execute(select(*columns).where(*here(receipts, space)))
        if (row.session, row.message_id) in asked or kept_receipts.names(row.shown, row.body, of, pointers)
    ]


def drop_receipts(connection: Connection, space: str, numbers: Collection[int]) -> int:
    """Delete receipts; returns how many there were."""
    return delete_among(connection, space, receipts.c.number, numbers)


_TEXTS = {
    "activity": (activities, activities.c.body),
    "golden": (golden_questions, golden_questions.c.question),
    "closet": (closets, closets.c.name),
    "wing": (wings, wings.c.name),
}


def texts(connection: Connection, space: str, kind: str) -> Iterator[tuple[int, str]]:
    """Number and text of all rows of a kind: activity, golden, closet or wing."""
    table, column = _TEXTS[kind]
    yield from connection.execute(select(table.c.number, column).where(*here(table, space)))


def of_sessions(
    connection: Connection, space: str, kind: Literal["activity", "receipt"], of: Collection[str]
) -> set[int]:
    """The numbers of the activities or receipts that were recorded for these sessions."""
    table = activities if kind == "activity" else receipts
    wanted = select(table.c.number).where(*here(table, space), listed(table.c.session))
    return {row.number for row in among(connection, wanted, of)}


def drop_activities(connection: Connection, space: str, numbers: Collection[int]) -> int:
    """Delete activities; the newest one has to stay, or its number would be used twice."""
    return delete_among(connection, space, activities.c.number, numbers)


def rename(connection: Connection, space: str, kind: str, numbers: Sequence[int], name: str) -> None:
    """Give closets or wings another name."""
    table: Table = _TEXTS[kind][0]
    for number in numbers:
        slug = f"{name}-{number}"
        connection.execute(update(table).where(*here(table, space, number=number)).values(name=name, slug=slug))
        if table is wings:
            connection.execute(delete(wing_aliases).where(*here(wing_aliases, space, wing=number)))


def rooms_of(connection: Connection, space: str, of_closets: Collection[int], of_wings: Collection[int]) -> list[int]:
    """The rooms that have one of these closets, or are filed in one of these wings."""
    by_closet = select(closets.c.room.label("room")).where(*here(closets, space), listed(closets.c.number))
    by_wing = select(rooms.c.number.label("room")).where(*here(rooms, space), listed(rooms.c.wing))
    found = {row.room for row in among(connection, by_closet, of_closets)}
    return sorted(found | {row.room for row in among(connection, by_wing, of_wings)})


def queries(connection: Connection, space: str) -> Iterator[tuple[int, str]]:
    """Number and query of all receipts."""
    wanted = select(receipts.c.number, receipts.c.body).where(*here(receipts, space))
    for number, body in connection.execute(wanted):
        with suppress(orjson.JSONDecodeError):  # the doctor tells of a damaged one
            yield number, orjson.loads(body).get("query") or ""


def receipts_of_space(connection: Connection, space: str, of: str) -> dict[int, list[int | str]]:
    """The receipts that name another space, each with the drawers and known things of it that they name."""
    name = orjson.dumps(of).decode()
    columns = (receipts.c.number, receipts.c.shown, receipts.c.body)
    rows = connection.execute(select(*columns).where(*here(receipts, space)))
    mentions = (row for row in rows if name in row.shown or name in row.body)
    return {row.number: kept_receipts.named_of(row.shown, row.body, of) for row in mentions}


def file_names_space(path: Path, of: str) -> bool:
    """Whether the receipts in a database file name a space; a quick look that changes nothing.

    A recall that is just storing its receipt there is waited for.

    Raises:
        StorageError: the file cannot be read.
    """
    if not path.exists():
        return False
    name = orjson.dumps(of).decode()
    with translated(path), closing(sqlite3.connect(path)) as connection:
        packed_text.register(connection)
        connection.execute("BEGIN IMMEDIATE")
        look = "SELECT 1 FROM receipts WHERE instr(shown, ?) > 0 OR instr(unpacked(body), ?) > 0 LIMIT 1"
        return connection.execute(look, (name, name)).fetchone() is not None
