"""Which turns have been mined, what waits for it, and what mining found for the graph."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, NamedTuple

import orjson
from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Select,
    and_,
    bindparam,
    delete,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.dialects.sqlite import insert as insert_or

from langmem_tiers.clock import from_millis
from langmem_tiers.storage import change_log, facts
from langmem_tiers.storage.schema import drawers, mined_windows, proposals, rooms, usages
from langmem_tiers.writing.proposals import Said

MinedPath = Literal["rule", "model", "again"]
"""`again`: by rule, since the model could not be reached; it is asked again later."""

# The number last given out: a number is never used twice, also when the newest proposal is gone.
_NEWEST = "newest_proposal"


class Waiting(NamedTuple):
    """A room with turns that are not mined, or to be mined again; `mined` is the last place that was."""

    room: int
    session: str
    mined: int
    drawers: int
    touched_at: int
    ended_at: int | None


class Again(NamedTuple):
    """Turns mined by rule while the model was away, and when that was last tried."""

    room: int
    session: str
    first_place: int
    last_place: int
    at: int


@dataclass(frozen=True, kw_only=True, slots=True)
class NewProposal:
    """An entity or a relation, with the words that it stands in."""

    kind: Literal["entity", "relation"]
    body: dict[str, str]
    drawer: int
    quote: str


class ProposalRow(NamedTuple):
    """An entity or a relation as mining found it; the drawer that it stands in, and in which words."""

    number: int
    kind: Literal["entity", "relation"]
    body: dict[str, Any]
    drawer: int
    quote: str
    path: Literal["rule", "model"]


def waiting(connection: Connection, space: str, session: str | None = None) -> list[Waiting]:
    """The rooms with turns that are not mined, of a session or all, in the order they were opened."""
    found = connection.execute(_waiting(), {"space": space, "session": session})
    return [Waiting(*row) for row in found]


def again(connection: Connection, space: str, session: str | None = None) -> list[Again]:
    """The turns that the model is to be asked about again, those tried longest ago first."""
    return [Again(*row) for row in connection.execute(_again(), {"space": space, "session": session})]


def standing(connection: Connection, space: str, room: int, *, after: int, upto: int | None = None) -> Iterator[Said]:
    """The turns of a room behind a place that stand, in order; read as they are asked for."""
    values = {"space": space, "room": room, "after": after, "upto": 2**62 if upto is None else upto}
    return (_said(row) for row in connection.execute(_standing(), values))


def before(connection: Connection, space: str, room: int, *, place: int, most: int) -> list[Said]:
    """The last turns in front of a place that stand, in order."""
    values = {"space": space, "room": room, "after": 0, "upto": place - 1}
    backwards = _standing().order_by(None).order_by(drawers.c.place.desc()).limit(most)
    return [_said(row) for row in connection.execute(backwards, values)][::-1]


def note(
    connection: Connection, space: str, room: int, first_place: int, last: int, *, path: MinedPath, at: int
) -> bool:
    """Note that turns have been mined; False where somebody else has mined them meanwhile."""
    row = {"room": room, "first_place": first_place, "last_place": last, "path": path, "at": at}
    return (
        connection.execute(insert_or(mined_windows).values(space=space, **row).on_conflict_do_nothing()).rowcount == 1
    )


def note_again(connection: Connection, space: str, window: Again, *, path: MinedPath, at: int) -> bool:
    """Note that the model was asked again; False where somebody else has asked it meanwhile."""
    this = (
        mined_windows.c.space == space,
        mined_windows.c.room == window.room,
        mined_windows.c.first_place == window.first_place,
        mined_windows.c.path == "again",
        mined_windows.c.at == window.at,
    )
    return connection.execute(update(mined_windows).where(*this).values(path=path, at=at)).rowcount == 1


def propose(
    connection: Connection, space: str, found: Sequence[NewProposal], *, path: Literal["rule", "model"], at: int
) -> None:
    """Keep entities and relations for the graph."""
    if not found:
        return
    first = int(facts.get(connection, space, _NEWEST) or 0) + 1
    last = first + len(found) - 1
    facts.put(connection, space, _NEWEST, str(last))
    rows = [
        {
            "space": space,
            "number": number,
            "kind": each.kind,
            "body": orjson.dumps(each.body).decode(),
            "drawer": each.drawer,
            "quote": each.quote,
            "path": path,
            "at": at,
        }
        for number, each in enumerate(found, first)
    ]
    connection.execute(insert(proposals), rows)
    change_log.append(connection, space, "proposals.added", first, until=last, at=at)


def proposed(connection: Connection, space: str, first: int, last: int) -> list[ProposalRow]:
    """The proposals for the graph with the numbers `first` to `last`, both included, in order."""
    return _proposals(connection, space, proposals.c.number.between(first, last))


def proposed_of(connection: Connection, space: str, drawer_numbers: Collection[int]) -> list[ProposalRow]:
    """The proposals for the graph that stand in these drawers, in order."""
    if not drawer_numbers:
        return []
    first, last = min(drawer_numbers), max(drawer_numbers)
    found = _proposals(connection, space, proposals.c.drawer.between(first, last))
    return [each for each in found if each.drawer in drawer_numbers]


def _proposals(connection: Connection, space: str, which: ColumnElement[bool]) -> list[ProposalRow]:
    columns = [proposals.c[name] for name in ProposalRow._fields]
    wanted = select(*columns).where(proposals.c.space == space, which).order_by(proposals.c.number)
    return [ProposalRow(*row)._replace(body=_body(row.body)) for row in connection.execute(wanted)]


def _body(stored: str) -> dict[str, Any]:
    """What a proposal says; nothing where the row can not be read."""
    try:
        read = orjson.loads(stored)
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}


def forget(
    connection: Connection, space: str, drawer_numbers: Sequence[int], unwanted: Callable[[int, str], bool]
) -> None:
    """Drop what was found for the graph in these drawers, in words of them that are unwanted."""
    columns = (proposals.c.number, proposals.c.drawer, proposals.c.quote)
    found = select(*columns).where(proposals.c.space == space, proposals.c.drawer.in_(drawer_numbers))
    gone = [number for number, drawer, quote in connection.execute(found) if unwanted(drawer, quote)]
    connection.execute(delete(proposals).where(proposals.c.space == space, proposals.c.number.in_(gone)))


def model_calls(connection: Connection, space: str, session: str, source: str) -> int:
    """How many calls of a model are booked for a session under a source."""
    these = (usages.c.space == space, usages.c.session == session, usages.c.source == source)
    return int(connection.execute(select(func.coalesce(func.sum(usages.c.calls), 0)).where(*these)).scalar_one())


# Statements are built once: these are run on every look of the background.
@cache
def _waiting() -> Select[Any]:
    same_room = and_(mined_windows.c.space == rooms.c.space, mined_windows.c.room == rooms.c.number)
    mined = func.coalesce(func.max(mined_windows.c.last_place), 0)
    columns = (rooms.c.number, rooms.c.session, mined, rooms.c.drawers, rooms.c.touched_at, rooms.c.ended_at)
    found = select(*columns).select_from(rooms.outerjoin(mined_windows, same_room)).group_by(rooms.c.number)
    return found.where(*_of_session()).having(rooms.c.drawers > mined).order_by(rooms.c.number)


@cache
def _again() -> Select[Any]:
    same_room = and_(mined_windows.c.space == rooms.c.space, mined_windows.c.room == rooms.c.number)
    window = (mined_windows.c.first_place, mined_windows.c.last_place, mined_windows.c.at)
    found = select(rooms.c.number, rooms.c.session, *window).select_from(mined_windows.join(rooms, same_room))
    order = (mined_windows.c.at, rooms.c.number, mined_windows.c.first_place)
    return found.where(*_of_session(), mined_windows.c.path == "again").order_by(*order)


def _of_session() -> tuple[Any, Any]:
    """Of the session asked for, or of any where none is."""
    session: BindParameter[str | None] = bindparam("session")
    return rooms.c.space == bindparam("space"), (session.is_(None)) | (rooms.c.session == session)


@cache
def _standing() -> Select[Any]:
    names = ("number", "place", "role", "origin", "speaker", "content", "said_at")
    return (
        select(*(drawers.c[name] for name in names))
        .where(
            drawers.c.space == bindparam("space"),
            drawers.c.room == bindparam("room"),
            drawers.c.place > bindparam("after"),
            drawers.c.place <= bindparam("upto"),
            drawers.c.superseded_by.is_(None),
        )
        .order_by(drawers.c.place)
    )


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
