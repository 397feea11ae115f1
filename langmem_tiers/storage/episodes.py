"""Episodes: the archive of sessions and tasks, and how much of each room has been archived."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Row,
    Select,
    Text,
    and_,
    bindparam,
    cast,
    delete,
    func,
    insert,
    literal,
    or_,
    select,
    update,
)

from langmem_tiers.clock import from_millis
from langmem_tiers.content import content_hash
from langmem_tiers.records import Episode
from langmem_tiers.storage import change_log, facts, notes, tombstones
from langmem_tiers.storage.notes import NoteText
from langmem_tiers.storage.schema import cursors, drawers, episodes, rooms

# The last number assigned: numbers are never reused, even if the newest episode was deleted.
_NEWEST = "newest_episode"
_CURSOR = "archive:"


class Ended(NamedTuple):
    """A room with turns that are in no episode yet; `archived` is the last place that is."""

    room: int
    session: str
    archived: int
    drawers: int
    touched_at: int
    ended_at: int | None


@dataclass(frozen=True, kw_only=True)
class NewEpisode:
    """An episode to be stored."""

    id: str
    session: str
    compaction: int
    task: str | None
    summary: str
    abstract: str
    topics: tuple[str, ...]
    path: str
    first_drawer: int | None
    last_drawer: int | None
    expires_at: int | None


def put(connection: Connection, space: str, new: NewEpisode, texts: Sequence[NoteText], at: int) -> Episode:
    """Store an episode with its searchable texts."""
    number = facts.count_up(connection, space, _NEWEST)
    row = {**vars(new), "topics": "\n".join(new.topics)}
    connection.execute(insert(episodes).values(space=space, number=number, created_at=at, **row))
    change_log.append(connection, space, "episode.added", number, at=at)
    notes.put(connection, space, "episode", new.id, texts, at)
    return by_ids(connection, space, [new.id])[new.id]


def by_ids(connection: Connection, space: str, ids: Collection[str]) -> dict[str, Episode]:
    """Episodes by id; unknown ids are left out."""
    found = connection.execute(_every().where(episodes.c.id.in_(ids)), {"space": space})
    return {row.id: _episode(row) for row in found}


def by_numbers(connection: Connection, space: str, numbers: Collection[int]) -> list[Episode]:
    """Episodes by number, in order; unknown numbers are left out."""
    wanted = _every().where(episodes.c.number.in_(list(numbers))).order_by(None).order_by(episodes.c.number)
    return [_episode(row) for row in connection.execute(wanted, {"space": space})] if numbers else []


def of_session(connection: Connection, space: str, session: str, compaction: int | None = None) -> list[Episode]:
    """The episodes of a session, in the order they were archived; only the one with this count if given."""
    wanted = _every().where(episodes.c.session == session).order_by(None).order_by(episodes.c.number)
    if compaction is not None:
        wanted = wanted.where(episodes.c.compaction == compaction)
    return [_episode(row) for row in connection.execute(wanted, {"space": space})]


def latest(
    connection: Connection, space: str, most: int, *, at: int, since: int | None = None, until: int | None = None
) -> list[Episode]:
    """The unexpired episodes that overlap this period, the latest to end first."""
    wanted = _every().where(_holds(at), *_within(since, until)).limit(most)
    return [_episode(row) for row in connection.execute(wanted, {"space": space})]


def holding(
    connection: Connection,
    space: str,
    ids: Collection[str],
    *,
    at: int,
    since: int | None = None,
    until: int | None = None,
) -> dict[str, Episode]:
    """Which of these episodes are unexpired and overlap this period, by id."""
    wanted = _every().where(episodes.c.id.in_(ids), _holds(at), *_within(since, until))
    return {row.id: _episode(row) for row in connection.execute(wanted, {"space": space})}


def keep(connection: Connection, space: str, number: int) -> None:
    """Pin an episode, so that it never expires."""
    this = (episodes.c.space == space, episodes.c.number == number)
    connection.execute(update(episodes).where(*this).values(expires_at=None))


def expired(connection: Connection, space: str, at: int) -> list[Episode]:
    """The episodes that have expired by a moment."""
    wanted = _every().where(episodes.c.expires_at <= at)
    return [_episode(row) for row in connection.execute(wanted, {"space": space})]


def next_expiry(connection: Connection, space: str) -> int | None:
    """When the next episode expires, None if none does."""
    return connection.execute(select(func.min(episodes.c.expires_at)).where(episodes.c.space == space)).scalar()


def of_sessions(connection: Connection, space: str) -> list[Episode]:
    """All episodes except those of tasks."""
    return [_episode(row) for row in connection.execute(_every().where(episodes.c.task.is_(None)), {"space": space})]


def rewrite(connection: Connection, space: str, told: Episode, texts: Sequence[NoteText], at: int) -> None:
    """Replace an episode's content and its searchable texts."""
    this = (episodes.c.space == space, episodes.c.number == told.number)
    values = {"summary": told.summary, "abstract": told.abstract, "topics": "\n".join(told.topics)}
    connection.execute(update(episodes).where(*this).values(**values))
    change_log.append(connection, space, "episode.changed", told.number, at=at)
    notes.forget_vectors(connection, space, notes.put(connection, space, "episode", told.id, texts, at))


def remove(connection: Connection, space: str, gone: Sequence[Episode], at: int) -> int:
    """Delete episodes with their searchable texts. Returns how many vectors nothing else needed."""
    hashes = [text for each in gone for text in notes.drop(connection, space, "episode", each.id, at)]
    numbers = [each.number for each in gone]
    connection.execute(delete(episodes).where(episodes.c.space == space, episodes.c.number.in_(numbers)))
    return notes.forget_vectors(connection, space, hashes)


def bury(connection: Connection, space: str, gone: Episode, at: int) -> None:
    """Add the tombstone of an episode, so that it is not written again automatically."""
    tombstones.put(connection, space, "episode", {_key(gone.session, gone.compaction)}, at)


def buried(connection: Connection, space: str, session: str, compaction: int) -> bool:
    """Whether an episode was deleted on purpose."""
    return bool(tombstones.among(connection, space, "episode", {_key(session, compaction)}))


def next_count(connection: Connection, space: str, session: str, *, task: bool) -> int:
    """The count for a session's next episode, or next task episode; counts are never reused."""
    step = -1 if task else 1
    edge = func.min(episodes.c.compaction) if task else func.max(episodes.c.compaction)
    of_kind = episodes.c.compaction < 0 if task else episodes.c.compaction >= 0
    mine = (episodes.c.space == space, episodes.c.session == session, of_kind)
    taken = connection.execute(select(edge).where(*mine)).scalar()
    count = (-1 if task else 0) if taken is None else int(taken) + step
    while buried(connection, space, session, count):
        count += step
    return count


def promote(connection: Connection, space: str, taken_up: Sequence[Episode], at: int) -> None:
    """Record that a dream has processed these episodes."""
    for each in taken_up:
        this = (episodes.c.space == space, episodes.c.number == each.number)
        connection.execute(update(episodes).where(*this).values(promoted_at=at))
        change_log.append(connection, space, "episode.changed", each.number, at=at)


def count_recalled(connection: Connection, space: str, ids: Collection[str], at: int) -> None:
    """Count that episodes were shown to a model."""
    if ids:
        these = (episodes.c.space == space, episodes.c.id.in_(ids))
        values = {"recall_count": episodes.c.recall_count + 1, "last_recalled_at": at}
        connection.execute(update(episodes).where(*these).values(**values))


def unarchived(connection: Connection, space: str, session: str | None = None) -> list[Ended]:
    """The rooms with turns that are in no episode, of one session or all, in the order they were opened."""
    return [Ended(*row) for row in connection.execute(_unarchived(), {"space": space, "session": session})]


def archived_to(connection: Connection, space: str, room: Ended, place: int) -> bool:
    """Record that a room is archived up to a place; False if someone else has done so in the meantime."""
    return change_log.move_cursor(connection, space, f"{_CURSOR}{room.room}", old=room.archived, new=place)


def _key(session: str, compaction: int) -> bytes:
    return content_hash(f"{compaction} {session}")


# Statements are built once: they run every time the background looks for work, and on every search.
@cache
def _unarchived() -> Select[Any]:
    name = literal(_CURSOR) + cast(rooms.c.number, Text)
    of_room = and_(cursors.c.space == rooms.c.space, cursors.c.name == name)
    archived = func.coalesce(cursors.c.position, 0)
    columns = (rooms.c.number, rooms.c.session, archived, rooms.c.drawers, rooms.c.touched_at, rooms.c.ended_at)
    session: BindParameter[str | None] = bindparam("session")
    wanted = (rooms.c.space == bindparam("space"), or_(session.is_(None), rooms.c.session == session))
    found = select(*columns).select_from(rooms.outerjoin(cursors, of_room))
    return found.where(*wanted, rooms.c.drawers > archived).order_by(rooms.c.number)


_first, _last = drawers.alias("first"), drawers.alias("last")
_BEGAN = func.coalesce(_first.c.said_at, episodes.c.created_at)
_ENDED = func.coalesce(_last.c.said_at, episodes.c.created_at)


@cache
def _every() -> Select[Any]:
    first = and_(_first.c.space == episodes.c.space, _first.c.number == episodes.c.first_drawer)
    last = and_(_last.c.space == episodes.c.space, _last.c.number == episodes.c.last_drawer)
    tables = episodes.outerjoin(_first, first).outerjoin(_last, last)
    found = select(episodes, _BEGAN.label("began_at"), _ENDED.label("ended_at")).select_from(tables)
    return found.where(episodes.c.space == bindparam("space")).order_by(_ENDED.desc(), episodes.c.number.desc())


def _holds(at: int) -> ColumnElement[bool]:
    return or_(episodes.c.expires_at.is_(None), episodes.c.expires_at > at)


def _within(since: int | None, until: int | None) -> list[ColumnElement[bool]]:
    """Conditions for episodes that overlap a period, both ends included."""
    begun = [] if until is None else [until >= _BEGAN]
    return begun if since is None else [*begun, since <= _ENDED]


def _episode(row: Row[Any]) -> Episode:
    values = dict(row._mapping)
    del values["space"]
    values["topics"] = tuple(row.topics.split("\n")) if row.topics else ()
    for name in ("began_at", "ended_at", "created_at", "expires_at", "last_recalled_at", "promoted_at"):
        values[name] = None if values[name] is None else from_millis(values[name])
    return Episode(**values)
