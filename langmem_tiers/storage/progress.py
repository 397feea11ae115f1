"""Background progress: how much of each conversation is mined and flushed, and which entries are enriched.

Also here: the entities and relations that mining proposes for the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import orjson
from sqlalchemy import BindParameter, ColumnElement, Connection, Text, bindparam, func, insert, or_, select, update

from langmem_tiers.clock import from_millis
from langmem_tiers.records import Entry, Said
from langmem_tiers.storage import change_log, facts
from langmem_tiers.storage import entries as records
from langmem_tiers.storage.rooms import Unfinished
from langmem_tiers.storage.schema import drawers, entries, entry_evidence, mined_windows, proposals, rooms, usages
from langmem_tiers.storage.statements import delete_among, here, insert_new, numbered

MinedPath = Literal["rule", "model", "again"]
"""`again`: by rule, since the model could not be reached; it is asked again later."""

# The last number assigned: numbers are never reused, even if the newest proposal is gone.
_NEWEST = "newest_proposal"


class Again(NamedTuple):
    """Turns mined by rules while the model was unavailable, and when a retry was last attempted."""

    room: int
    session: str
    first_place: int
    last_place: int
    at: int
    agent: str | None = None


class ProposalRow(NamedTuple):
    """An entity or a relation that mining found for the graph, with its drawer and the words that express it."""

    kind: Literal["entity", "relation"]
    body: dict[str, Any]
    drawer: int
    quote: str
    path: Literal["rule", "model"] = "rule"
    number: int = 0


# Statements are built once: they run every time the background looks for work.
_SESSION: BindParameter[str | None] = bindparam("session", type_=Text)
_OF_SESSION = (*here(rooms), or_(_SESSION.is_(None), rooms.c.session == _SESSION))
_MINED = func.coalesce(func.max(mined_windows.c.last_place), 0)
_WAITING = (
    select(
        rooms.c.number, rooms.c.session, _MINED, rooms.c.drawers, rooms.c.touched_at, rooms.c.ended_at, rooms.c.agent
    )
    .select_from(rooms.outerjoin(mined_windows, numbered(mined_windows, rooms.c.number, "room")))
    .group_by(rooms.c.space, rooms.c.number)
    .where(*_OF_SESSION)
    .having(rooms.c.drawers > _MINED)
    .order_by(rooms.c.number)
)
_WINDOW = (mined_windows.c.first_place, mined_windows.c.last_place, mined_windows.c.at)
_AGAIN = (
    select(rooms.c.number, rooms.c.session, *_WINDOW, rooms.c.agent)
    .select_from(mined_windows.join(rooms, numbered(rooms, mined_windows.c.room)))
    .where(*_OF_SESSION, mined_windows.c.path == "again")
    .order_by(mined_windows.c.at, rooms.c.number, mined_windows.c.first_place)
)
_SAID = ("number", "place", "role", "origin", "speaker", "content", "said_at")
_STANDING = (
    select(*(drawers.c[name] for name in _SAID))
    .where(*here(drawers, room=bindparam("room")), drawers.c.superseded_by.is_(None))
    .where(drawers.c.place > bindparam("after"), drawers.c.place <= bindparam("upto"))
)


def unmined(connection: Connection, space: str, session: str | None = None) -> list[Unfinished]:
    """The rooms with unmined turns, of one session or all, in the order they were opened."""
    return [Unfinished(*row) for row in connection.execute(_WAITING, {"space": space, "session": session})]


def to_mine_again(connection: Connection, space: str, session: str | None = None) -> list[Again]:
    """The turns to ask the model about again, least recently tried first."""
    return [Again(*row) for row in connection.execute(_AGAIN, {"space": space, "session": session})]


def standing(connection: Connection, space: str, room: int, *, after: int, upto: int | None = None) -> Iterator[Said]:
    """The current turns of a room after a place, in order; read lazily."""
    values = {"space": space, "room": room, "after": after, "upto": 2**62 if upto is None else upto}
    return (_said(row) for row in connection.execute(_STANDING.order_by(drawers.c.place), values))


_IN_TASK = (
    select(*(drawers.c[name] for name in _SAID))
    .where(*here(drawers, task=bindparam("task")), drawers.c.superseded_by.is_(None))
    .order_by(drawers.c.number)
)


def said_in_task(connection: Connection, space: str, task: str) -> list[Said]:
    """The current turns of a task, in the order they were stored."""
    return [_said(row) for row in connection.execute(_IN_TASK, {"space": space, "task": task})]


def before(connection: Connection, space: str, room: int, *, place: int, most: int) -> list[Said]:
    """The last current turns before a place, in order."""
    values = {"space": space, "room": room, "after": 0, "upto": place - 1}
    backwards = _STANDING.order_by(drawers.c.place.desc()).limit(most)
    return [_said(row) for row in connection.execute(backwards, values)][::-1]


def note_mined(
    connection: Connection, space: str, room: int, first_place: int, last: int, *, path: MinedPath, at: int
) -> bool:
    """Record that turns have been mined; False if someone else has mined them in the meantime."""
    row = {"room": room, "first_place": first_place, "last_place": last, "path": path, "at": at}
    return insert_new(connection, mined_windows, space, [row]) == 1


def note_mined_again(connection: Connection, space: str, window: Again, *, path: MinedPath, at: int) -> bool:
    """Record that the model was asked again; False if someone else has asked it in the meantime."""
    this = here(mined_windows, space, room=window.room, first_place=window.first_place, path="again", at=window.at)
    return connection.execute(update(mined_windows).where(*this).values(path=path, at=at)).rowcount == 1


def propose(
    connection: Connection, space: str, found: Sequence[ProposalRow], *, path: Literal["rule", "model"], at: int
) -> None:
    """Store proposed entities and relations for the graph."""
    if not found:
        return
    last = facts.count_up(connection, space, _NEWEST, len(found))
    first = last - len(found) + 1
    given = {"space": space, "path": path, "at": at}
    rows = [
        {**each._asdict(), **given, "number": number, "body": orjson.dumps(each.body).decode()}
        for number, each in enumerate(found, first)
    ]
    connection.execute(insert(proposals), rows)
    change_log.append(connection, space, "proposals.added", first, until=last, at=at)


def proposed(connection: Connection, space: str, first: int, last: int) -> list[ProposalRow]:
    """The proposals with the numbers `first` to `last`, both included, in order."""
    return _proposals(connection, space, proposals.c.number.between(first, last))


def proposed_of(connection: Connection, space: str, drawer_numbers: Collection[int]) -> list[ProposalRow]:
    """The proposals from these drawers, in order."""
    if not drawer_numbers:
        return []
    first, last = min(drawer_numbers), max(drawer_numbers)
    found = _proposals(connection, space, proposals.c.drawer.between(first, last))
    return [each for each in found if each.drawer in drawer_numbers]


def _proposals(connection: Connection, space: str, which: ColumnElement[bool]) -> list[ProposalRow]:
    columns = [proposals.c[name] for name in ProposalRow._fields]
    wanted = select(*columns).where(*here(proposals, space), which).order_by(proposals.c.number)
    return [ProposalRow(*row)._replace(body=_body(row.body)) for row in connection.execute(wanted)]


def _body(stored: str) -> dict[str, Any]:
    """The body of a proposal; empty if the row cannot be read."""
    try:
        read = orjson.loads(stored)
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}


def forget_proposals(
    connection: Connection, space: str, drawer_numbers: Sequence[int], unwanted: Callable[[int, str], bool]
) -> None:
    """Delete the proposals from these drawers that are based on unwanted words."""
    columns = (proposals.c.number, proposals.c.drawer, proposals.c.quote)
    found = select(*columns).where(*here(proposals, space), proposals.c.drawer.in_(drawer_numbers))
    gone = [number for number, drawer, quote in connection.execute(found) if unwanted(drawer, quote)]
    delete_among(connection, space, proposals.c.number, gone)


def model_calls(connection: Connection, space: str, session: str, source: str) -> int:
    """How many model calls are booked for a session under a source."""
    calls = select(func.coalesce(func.sum(usages.c.calls), 0))
    return int(connection.execute(calls.where(*here(usages, space, session=session, source=source))).scalar_one())


def _said(row: Any) -> Said:
    return Said(
        drawer=row.number,
        place=row.place,
        role=row.role,
        origin=row.origin,
        speaker=row.speaker,
        content=row.content,
        said_at=from_millis(row.said_at),
    )


# The number of the last entry examined; for the one that waits, how often it was tried, and when.
_UPTO, _WAITS = "enriched_upto", "enriching_waits"


class Waits(NamedTuple):
    """How often asking the model about an entry has failed, and when last, in milliseconds."""

    entry: int
    tries: int
    at: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """The next entry to examine, after number `after`."""

    after: int
    entry: Entry
    waits: Waits


def enriched_upto(connection: Connection, space: str) -> int:
    """The number of the last entry examined."""
    return facts.number(connection, space, _UPTO)


_NEXT = (
    select(entries.c.number)
    .where(*here(entries, status="active", version=1, pinned=0, flags=""))
    .where(entries.c.number > bindparam("after"), entries.c.path.in_(bindparam("paths", expanding=True)))
    .order_by(entries.c.number)
    .limit(1)
)


def next_to_enrich(connection: Connection, space: str, *, paths: Collection[str]) -> Task | None:
    """The next entry from one of these sources that was neither examined nor changed since, if any."""
    after = enriched_upto(connection, space)
    number = connection.execute(_NEXT, {"space": space, "after": after, "paths": sorted(paths)}).scalar()
    if number is None:
        return None
    entry = records.by_numbers(connection, space, [number])[number]
    noted = facts.numbers(connection, space, _WAITS)
    waits = Waits(*noted) if noted[:1] == (number,) else Waits(number, 0, 0)
    return Task(after=after, entry=entry, waits=waits)


def untouched(entry: Entry) -> bool:
    """Whether an entry is as it was saved, active, not protected, and does not read like an instruction."""
    return entry.active and entry.version == 1 and not entry.pinned and not entry.flags


def note_enriched(connection: Connection, space: str, number: int, *, after: int) -> bool:
    """Record that all entries up to one have been examined; False if someone else was faster."""
    if enriched_upto(connection, space) != after:
        return False
    facts.put(connection, space, _UPTO, str(number))
    return True


def put_off(connection: Connection, space: str, waits: Waits) -> None:
    """Record that the model could not be asked about an entry now."""
    facts.put_numbers(connection, space, _WAITS, waits)


_PREFIX = "flushed:"


class Flushed(NamedTuple):
    """The last place of a room, and the newest entry of the space, at the last flush; zeros if there was none."""

    place: int = 0
    entry: int = 0


def flushed_upto(connection: Connection, space: str, room: int) -> Flushed:
    """How much of a room has been flushed."""
    return Flushed(*facts.numbers(connection, space, f"{_PREFIX}{room}"))


def note_flushed(connection: Connection, space: str, room: int, flushed: Flushed) -> None:
    """Record how much of a room has been flushed."""
    facts.put_numbers(connection, space, f"{_PREFIX}{room}", flushed)


def unnoted(connection: Connection, space: str, room: int, flushed: Flushed) -> dict[int, int]:
    """The entries that got evidence in a room since it was flushed, each with its first drawer there."""
    first = func.min(drawers.c.number).label("drawer")
    newer = or_(entry_evidence.c.entry > flushed.entry, func.min(drawers.c.place) > flushed.place)
    wanted = (
        select(entry_evidence.c.entry, first)
        .select_from(entry_evidence.join(drawers, numbered(drawers, entry_evidence.c.drawer)))
        .where(*here(drawers, space, room=room))
        .group_by(entry_evidence.c.entry)
        .having(newer)
        .order_by(first, entry_evidence.c.entry)
    )
    return {row.entry: row.drawer for row in connection.execute(wanted)}
