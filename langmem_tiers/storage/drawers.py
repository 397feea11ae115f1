"""Drawers: storing messages verbatim, and reading them back with their address."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from operator import attrgetter
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, bindparam, func, insert, or_, select, update

from langmem_tiers.clock import from_millis
from langmem_tiers.pointers import drawer_pointer
from langmem_tiers.storage.schema import changes, chunks, closets, drawers, rooms, turns, wings
from langmem_tiers.storage.statements import Prepared, among, batches, here, listed, numbered, plausible
from langmem_tiers.types import Drawer


@dataclass(frozen=True, kw_only=True)
class NewDrawer:
    """A message to be stored; `chunks` are (start, stop, text_hash)."""

    message_id: str
    role: str
    origin: str
    speaker: str | None
    content: str
    content_hash: bytes
    tags: tuple[str, ...]
    states: int
    said_at: int
    chunks: tuple[tuple[int, int, bytes], ...]


class DrawerFacts(NamedTuple):
    """What ranking needs to know about a drawer. A tuple, because a recall makes a hundred of them.

    `previous` is the drawer said just before it in its room, 0 if there is no current one.
    """

    number: int
    room: int
    place: int
    session: str
    pointer: str
    turns_back: int
    content_hash: bytes
    origin: str
    role: str
    speaker: str | None
    states: int
    said_at: int
    previous: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Version:
    """One stored wording of a message; the last one tracked is current."""

    drawer: int
    stands: bool


@dataclass(frozen=True, kw_only=True)
class KnownTurns:
    """The wordings stored for some message ids, by content hash, and the newest change of the log when they were.

    `last` is the last drawer of the session, 0 if there is none.
    """

    head: int
    last: int
    versions: dict[str, dict[bytes, Version]]


# Returns at least one row, so that the newest change is always known; the joins let SQLite use its indexes.
_LAST_OF_SESSION = (
    select(drawers.c.number)
    .select_from(rooms.join(drawers, and_(*here(drawers), drawers.c.room == rooms.c.number)))
    .where(*here(rooms, session=bindparam("session")))
    .order_by(drawers.c.place.desc())
    .limit(1)
    .scalar_subquery()
)
_NOW = (
    select(func.coalesce(func.max(changes.c.position), 0).label("head"), _LAST_OF_SESSION.label("last"))
    .where(*here(changes))
    .subquery()
)
_NAMED = (turns.c.session == bindparam("session"), turns.c.message_id.in_(bindparam("messages", expanding=True)))
_KNOWN_TURNS = Prepared(
    select(*_NOW.c, turns.c.message_id, turns.c.content_hash, turns.c.drawer, drawers.c.superseded_by).select_from(
        _NOW.outerjoin(turns, and_(*here(turns), *_NAMED)).outerjoin(
            drawers, and_(*here(drawers), drawers.c.number == turns.c.drawer)
        )
    )
)


def known_turns(connection: Connection, space: str, session: str, message_ids: Collection[str]) -> KnownTurns:
    """The wordings stored for these message ids of a session."""
    head, last, versions = 0, 0, dict[str, dict[bytes, Version]]()
    for some in batches(message_ids):
        rows = _KNOWN_TURNS.rows(connection, space=space, session=session, messages=some)
        for newest_change, last_drawer, message_id, content_hash, drawer, superseded_by in rows:
            head, last = newest_change, last_drawer or 0
            if message_id is not None:
                version = Version(drawer=drawer, stands=superseded_by is None)
                versions.setdefault(message_id, {})[content_hash] = version
    return KnownTurns(head=head, last=last, versions=versions)


class BranchTurn(NamedTuple):
    """A turn of a session, and the drawer of the turn before it, if that is known."""

    drawer: int
    follows: int | None
    role: str
    stands: bool


_TREE = (
    select(turns.c.drawer, turns.c.follows, drawers.c.role, drawers.c.superseded_by.is_(None))
    .select_from(turns.join(drawers, numbered(drawers, turns.c.drawer)))
    .where(*here(turns), turns.c.session == bindparam("session"))
    .order_by(turns.c.drawer)
)


def tree(connection: Connection, space: str, session: str) -> list[BranchTurn]:
    """All turns of a session, with those that no longer stand."""
    return [BranchTurn(*row) for row in connection.execute(_TREE, {"space": space, "session": session})]


_OF_SESSION = select(turns.c.drawer).where(*here(turns), turns.c.session == bindparam("session"))
_FOLLOWED = Prepared(_OF_SESSION.where(listed(turns.c.follows)).limit(1))


def followed(connection: Connection, space: str, session: str, numbers: Collection[int]) -> bool:
    """Whether a turn of the session comes right after one of these drawers."""
    return bool(_FOLLOWED.among(connection, numbers, space=space, session=session))


class Standing(NamedTuple):
    """A current turn of a session."""

    drawer: int
    role: str
    content_hash: bytes
    message_id: str


_CURRENT = (
    select(drawers.c.number, drawers.c.role, drawers.c.content_hash, turns.c.message_id)
    .select_from(turns.join(drawers, numbered(drawers, turns.c.drawer)))
    .where(*here(turns), turns.c.session == bindparam("session"), drawers.c.superseded_by.is_(None))
    .order_by(drawers.c.number.desc())
    .limit(bindparam("most"))
)
_CURRENT_SINCE, _CURRENT_LAST = Prepared(_CURRENT.where(turns.c.drawer >= bindparam("since"))), Prepared(_CURRENT)


def standing(
    connection: Connection, space: str, session: str, *, since: int | None = None, most: int | None = None
) -> list[Standing]:
    """The current turns of a session, oldest first: the last `most`, or those from the drawer `since` on."""
    given = {"space": space, "session": session, "most": -1 if most is None else most}
    if since is None:
        rows = _CURRENT_LAST.rows(connection, **given)
    else:
        rows = _CURRENT_SINCE.rows(connection, **given, since=since)
    return [Standing(*row) for row in rows][::-1]


def tracked(connection: Connection, space: str) -> list[tuple[int, str, str]]:
    """The drawer of every message that was tracked, with its session and its id."""
    rows = connection.execute(select(turns.c.drawer, turns.c.session, turns.c.message_id).where(*here(turns, space)))
    return [(drawer, session, message_id) for drawer, session, message_id in rows]


_NEWEST = Prepared(select(func.max(drawers.c.number)).where(*here(drawers)))


def newest(connection: Connection, space: str) -> int:
    """The number of the last drawer, 0 if there is none."""
    ((number,),) = _NEWEST.rows(connection, space=space)
    return plausible(number or 0)


_PUT_DRAWERS, _PUT_TURNS, _PUT_CHUNKS = (Prepared(insert(table)) for table in (drawers, turns, chunks))
_KEPT = ("role", "origin", "speaker", "content", "content_hash", "states", "said_at")


def put(
    connection: Connection,
    space: str,
    new: Sequence[NewDrawer],
    *,
    follows: Sequence[int | None],
    session: str,
    room: int,
    place: int,
    number: int,
    at: int,
    project: str | None = None,
    task: str | None = None,
) -> list[int]:
    """Store messages in a room from `place` on, numbered from `number` on. Returns their numbers.

    `follows` are the drawers of the turns before them.
    """
    numbers = list(range(number, number + len(new)))
    rows, keys, pieces = [], [], []
    about = {"project": project, "task": task}
    for offset, (each, drawer, before) in enumerate(zip(numbers, new, follows, strict=True)):
        row = {name: getattr(drawer, name) for name in _KEPT} | {"tags": "\n".join(drawer.tags), "recorded_at": at}
        rows.append({**row, "space": space, "number": each, "room": room, "place": place + offset} | about)
        key = {"message_id": drawer.message_id, "content_hash": drawer.content_hash, "drawer": each, "follows": before}
        keys.append({"space": space, "session": session, **key})
        for ordinal, (start, stop, text_hash) in enumerate(drawer.chunks):
            piece = {"ordinal": ordinal, "start": start, "stop": stop, "text_hash": text_hash}
            pieces.append({"space": space, "drawer": each, **piece})
    _PUT_DRAWERS.insert(connection, rows)
    _PUT_TURNS.insert(connection, keys)
    _PUT_CHUNKS.insert(connection, pieces)
    return numbers


def supersede(connection: Connection, space: str, number: int, by: int) -> int:
    """Mark a drawer as superseded by its edited message. Returns the number of its chunks."""
    connection.execute(update(drawers).where(*here(drawers, space, number=number)).values(superseded_by=by))
    return connection.execute(select(func.count()).where(*here(chunks, space, drawer=number))).scalar_one()


def reinstate(connection: Connection, space: str, number: int) -> None:
    """Make a superseded drawer current again."""
    connection.execute(update(drawers).where(*here(drawers, space, number=number)).values(superseded_by=None))


class Spoken(NamedTuple):
    """What somebody said last in a session."""

    role: str
    speaker: str | None
    content: str
    said_at: int
    origin: str | None


# Found first and read then: of each text that is read, the hash is compared.
_LAST = (
    select(drawers.c.number)
    .select_from(rooms.join(drawers, and_(*here(drawers), drawers.c.room == rooms.c.number)))
    .where(*here(rooms, session=bindparam("session")), drawers.c.superseded_by.is_(None))
    # No bare number: SQLite would look through all drawers up to that one, not through those of the session.
    .where(drawers.c.number + 0 < bindparam("before"))
    .order_by(drawers.c.place.desc())
    .limit(bindparam("most"))
)
_SAID_LAST = Prepared(
    select(drawers.c.role, drawers.c.speaker, drawers.c.content, drawers.c.said_at, drawers.c.origin)
    .where(*here(drawers), drawers.c.number.in_(_LAST))
    .order_by(drawers.c.place.desc())
)


def said_last(connection: Connection, space: str, session: str, *, before: int | None, most: int) -> list[Spoken]:
    """The last current turns of a session, those before a drawer if one is given, newest first."""
    values = {"space": space, "session": session, "before": before or 2**62, "most": most}
    return [Spoken(*row) for row in _SAID_LAST.rows(connection, **values)]


_OF_MESSAGES = select(turns.c.drawer).where(*here(turns), listed(turns.c.message_id))
_OF_MESSAGES_HERE = Prepared(_OF_MESSAGES.where(turns.c.session == bindparam("session")))
_OF_MESSAGES_ANYWHERE = Prepared(_OF_MESSAGES)


def of_messages(connection: Connection, space: str, session: str | None, message_ids: Collection[str]) -> set[int]:
    """The numbers of the drawers of these messages, in one session or in all."""
    if session is None:
        rows = _OF_MESSAGES_ANYWHERE.among(connection, message_ids, space=space)
    else:
        rows = _OF_MESSAGES_HERE.among(connection, message_ids, space=space, session=session)
    return {number for (number,) in rows}


_OF_DRAWER = (
    *("number", "place", "role", "origin", "speaker", "said_at", "recorded_at", "tags", "superseded_by"),
    *("recall_count", "last_recalled_at", "project", "task"),
)
BESIDE_TEXT = (
    select(
        *(drawers.c[name] for name in _OF_DRAWER),
        rooms.c.session,
        rooms.c.address_wing,
        rooms.c.address_room,
        turns.c.message_id,
        wings.c.name.label("wing"),
        closets.c.name.label("closet_name"),
    )
    .select_from(
        drawers.join(rooms, numbered(rooms, drawers.c.room))
        .outerjoin(turns, numbered(turns, drawers.c.number, "drawer"))
        .join(wings, numbered(wings, rooms.c.wing))
        .outerjoin(closets, numbered(closets, drawers.c.closet))
    )
    .where(*here(drawers))
)
"""What `as_drawer` needs of drawers beside their texts."""
_WHOLE = BESIDE_TEXT.add_columns(drawers.c.content)
_OF_NUMBERS = Prepared(_WHOLE.where(listed(drawers.c.number)))
_OF_USER = Prepared(_WHOLE.where(listed(drawers.c.number), drawers.c.role == "user"))
_BESIDE_TEXTS = Prepared(BESIDE_TEXT.where(listed(drawers.c.number)))
_AT_PLACE = Prepared(_WHOLE.where(drawers.c.room == bindparam("room"), drawers.c.place == bindparam("place")))


def read(connection: Connection, space: str, numbers: Iterable[int]) -> dict[int, Drawer]:
    """Whole drawers by number, ascending, including superseded ones."""
    found = map(_drawer, _OF_NUMBERS.among(connection, sorted(numbers), space=space))
    # Servers return rows in any order.
    return {drawer.number: drawer for drawer in sorted(found, key=attrgetter("number"))}


def of_user(connection: Connection, space: str, numbers: Iterable[int]) -> dict[int, Drawer]:
    """Those of these drawers that the user wrote, like `read`."""
    found = map(_drawer, _OF_USER.among(connection, sorted(numbers), space=space))
    return {drawer.number: drawer for drawer in found}


def with_texts(connection: Connection, space: str, said: Mapping[int, str]) -> dict[int, Drawer]:
    """Whole drawers by number, of which the texts are read already."""
    rows = _BESIDE_TEXTS.among(connection, sorted(said), space=space)
    return {row[0]: as_drawer(row, said[row[0]]) for row in rows}


_EXISTING = select(drawers.c.number).where(*here(drawers), listed(drawers.c.number))


def existing(connection: Connection, space: str, numbers: Collection[int]) -> set[int]:
    """Those of these drawers that there are: the others were forgotten."""
    return {row.number for row in among(connection, _EXISTING, numbers, space=space)}


def at_place(connection: Connection, space: str, room: int, place: int) -> Drawer | None:
    """The drawer that the last part of a pointer names."""
    return next(map(_drawer, _AT_PLACE.rows(connection, space=space, room=room, place=place)), None)


_AT_PLACES = Prepared(
    select(drawers.c.room, drawers.c.place, drawers.c.number)
    .where(*here(drawers), drawers.c.superseded_by.is_(None))
    .where(drawers.c.room.in_(bindparam("rooms", expanding=True)), drawers.c.place.in_(bindparam("at", expanding=True)))
)


def numbers_at(connection: Connection, space: str, places: Collection[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """The numbers of the current drawers at these places, each a room and a place in it; of a few."""
    rooms_, at = (sorted(set(each)) for each in zip(*places, strict=True))
    rows = _AT_PLACES.rows(connection, space=space, rooms=rooms_, at=at)
    return {(room, place): number for room, place, number in rows if (room, place) in places}


def find_said(connection: Connection, space: str, session: str, text: str) -> int | None:
    """The latest message of a session in which the user said this, as it stands; None if there is none."""
    own = (rooms.c.session == session, drawers.c.role == "user", drawers.c.superseded_by.is_(None))
    wanted = select(drawers.c.number, drawers.c.content).select_from(
        drawers.join(rooms, numbered(rooms, drawers.c.room))
    )
    wanted = wanted.where(*here(drawers, space), *own, drawers.c.content.contains(text, autoescape=True))
    rows = connection.execute(wanted.order_by(drawers.c.number.desc()))
    return next((row.number for row in rows if text in row.content), None)


def other_speakers(connection: Connection, space: str, speaker: str | None, *, most: int) -> list[str]:
    """Names under which users spoke for themselves, other than this one."""
    named = (*here(drawers, space, role="user"), drawers.c.speaker.is_not(None), drawers.c.speaker != speaker)
    named += (drawers.c.origin != "import",)
    others = select(drawers.c.speaker).distinct().where(*named)
    return list(connection.execute(others.limit(most)).scalars())


_TEXTS = Prepared(
    select(drawers.c.number, drawers.c.content_hash, drawers.c.content).where(*here(drawers), listed(drawers.c.number))
)


def texts(connection: Connection, space: str, numbers: Sequence[int]) -> dict[int, tuple[bytes, str]]:
    """Content hash and content of drawers, by number."""
    rows = _TEXTS.among(connection, numbers, space=space)
    return {number: (content_hash, content) for number, content_hash, content in rows}


def every(
    connection: Connection,
    space: str,
    *,
    session: str | None = None,
    project: str | None = None,
    task: str | None = None,
) -> list[Drawer]:
    """All drawers by number: of a session, a project and a task where these are given."""
    wanted = _WHOLE.where(*_about(project, task), *([] if session is None else [rooms.c.session == session]))
    return [_drawer(row) for row in connection.execute(wanted.order_by(drawers.c.number), {"space": space})]


def numbers_about(connection: Connection, space: str, project: str | None, task: str | None) -> set[int]:
    """The numbers of the current drawers of a project and a task; None stands for any."""
    wanted = select(drawers.c.number).where(*here(drawers, space), drawers.c.superseded_by.is_(None))
    return set(connection.execute(wanted.where(*_about(project, task))).scalars())


def project_and_task(connection: Connection, space: str, numbers: Collection[int]) -> tuple[str | None, str | None]:
    """The project and the task that these drawers have in common."""
    wanted = select(drawers.c.project, drawers.c.task).where(*here(drawers, space), listed(drawers.c.number))
    rows = among(connection, wanted.distinct(), numbers)
    projects, tasks = {row.project for row in rows}, {row.task for row in rows}
    return projects.pop() if len(projects) == 1 else None, tasks.pop() if len(tasks) == 1 else None


def _about(project: str | None, task: str | None) -> list[ColumnElement[bool]]:
    wanted = {drawers.c.project: project, drawers.c.task: task}
    return [column == value for column, value in wanted.items() if value is not None]


_SAID = (
    select(drawers.c.number)
    .where(*here(drawers), listed(drawers.c.room), drawers.c.superseded_by.is_(None))
    .where(drawers.c.said_at >= bindparam("since"), drawers.c.said_at < bindparam("until"))
    .order_by(drawers.c.number)
)


def said(connection: Connection, space: str, in_rooms: Collection[int], *, since: int, until: int) -> list[int]:
    """The numbers of the current drawers of these rooms that were said between two moments."""
    return [row.number for row in among(connection, _SAID, in_rooms, space=space, since=since, until=until)]


def tagged(connection: Connection, space: str, kind: str, *, most: int) -> list[tuple[int, str]]:
    """Current drawers of the user with a tag of a kind, newest first, as (number, content)."""
    wanted = (
        select(drawers.c.number, drawers.c.content)
        .where(*here(drawers, space, role="user"), drawers.c.superseded_by.is_(None))
        .where(drawers.c.tags.contains(f"@{kind} ", autoescape=True))
        .order_by(drawers.c.said_at.desc(), drawers.c.number.desc())
        .limit(most)
    )
    return [(row.number, row.content) for row in connection.execute(wanted)]


def about(connection: Connection, space: str, first: date, last: date) -> list[int]:
    """The numbers of the current drawers that name a day or a month from one day to another, whenever said."""
    months = {(first + timedelta(days=days)).isoformat()[:7] for days in range((last - first).days + 1)}
    named = or_(*(drawers.c.tags.contains(f"@t {month}", autoescape=True) for month in sorted(months)))
    wanted = select(drawers.c.number, drawers.c.tags).where(
        *here(drawers, space), drawers.c.superseded_by.is_(None), named
    )
    return [
        row.number
        for row in connection.execute(wanted)
        if any(_within(tag, first, last) for tag in row.tags.split("\n"))
    ]


def _within(tag: str, first: date, last: date) -> bool:
    kind, _, moment = tag.partition(" ")
    length = len(moment)
    return (
        kind == "@t" and length >= len("2024-05") and first.isoformat()[:length] <= moment <= last.isoformat()[:length]
    )


def recent(connection: Connection, space: str, *, most: int) -> list[tuple[int, str]]:
    """Current drawers of the user, newest first, as (number, content)."""
    wanted = (
        select(drawers.c.number, drawers.c.content)
        .where(*here(drawers, space, role="user"), drawers.c.superseded_by.is_(None))
        .order_by(drawers.c.number.desc())
        .limit(most)
    )
    return [(row.number, row.content) for row in connection.execute(wanted)]


def last_recorded(connection: Connection, space: str, session: str, *, most: int, by: int) -> set[int]:
    """The last `most` drawers of a session that were stored by a moment, in milliseconds."""
    wanted = (
        select(drawers.c.number)
        .select_from(drawers.join(rooms, numbered(rooms, drawers.c.room)))
        .where(*here(drawers, space), rooms.c.session == session, drawers.c.recorded_at <= by)
        .order_by(drawers.c.place.desc())
        .limit(most)
    )
    return set(connection.execute(wanted).scalars())


_COUNT_RECALLED = Prepared(
    update(drawers)
    .where(*here(drawers), listed(drawers.c.number))
    .values(recall_count=drawers.c.recall_count + 1, last_recalled_at=bindparam("at"))
)


def count_recalled(connection: Connection, space: str, numbers: Collection[int], at: int) -> None:
    """Count that drawers were shown to a model."""
    if numbers:
        _COUNT_RECALLED.change(connection, space=space, among=sorted(numbers), at=at)


def _drawer(row: Sequence[Any]) -> Drawer:
    *beside, content = row
    return as_drawer(beside, content)


def as_drawer(row: Sequence[Any], content: str) -> Drawer:
    """The drawer in a row of `BESIDE_TEXT` with its text."""
    number, place, role, origin, speaker, said_at, recorded_at, tags, superseded_by, *others = row
    recall_count, last_recalled_at, project, task, session, address_wing, address_room, message_id, *named = others
    wing, closet = named
    return Drawer(
        number=number,
        pointer=drawer_pointer(address_wing, address_room, place),
        session=session,
        wing=wing,
        closet=closet,
        role=role,
        origin=origin,
        speaker=speaker,
        content=content,
        said_at=from_millis(said_at),
        recorded_at=from_millis(recorded_at),
        tags=tuple(tags.split("\n")) if tags else (),
        status="active" if superseded_by is None else "superseded",
        superseded_by=superseded_by,
        recall_count=recall_count,
        last_recalled_at=None if last_recalled_at is None else from_millis(last_recalled_at),
        message_id=message_id,
        project=project,
        task=task,
    )
