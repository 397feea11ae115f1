"""Episodes: the archive of sessions and tasks, and how much of each room has been archived."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
    BindParameter,
    ColumnElement,
    Connection,
    Text,
    and_,
    bindparam,
    cast,
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
from langmem_tiers.storage.rooms import Unfinished
from langmem_tiers.storage.schema import cursors, drawers, episodes, rooms, tasks
from langmem_tiers.storage.statements import Prepared, delete_among, here, listed, numbered

# The last number assigned: numbers are never reused, even if the newest episode was deleted.
_NEWEST = "newest_episode"
_CURSOR = "archive:"
# Later than any moment, in milliseconds.
_ANY = 1 << 62
_Number = int | BindParameter[int]


@dataclass(frozen=True, kw_only=True)
class NewEpisode:
    """An episode to be stored."""

    id: str
    session: str
    compaction: int
    project: str | None
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


_first, _last = drawers.alias("first"), drawers.alias("last")
_BEGAN = func.coalesce(_first.c.said_at, episodes.c.created_at)
_ENDED = func.coalesce(_last.c.said_at, episodes.c.created_at)
_TABLES = episodes.outerjoin(_first, numbered(_first, episodes.c.first_drawer))
_EVERY = (
    select(episodes, _BEGAN.label("began_at"), _ENDED.label("ended_at"), tasks.c.title)
    .select_from(
        _TABLES.outerjoin(_last, numbered(_last, episodes.c.last_drawer)).outerjoin(
            tasks, numbered(tasks, episodes.c.task, "id")
        )
    )
    .where(*here(episodes))
)
_NAMES = _EVERY.selected_columns.keys()
_LATEST_FIRST = (_ENDED.desc(), episodes.c.number.desc())


def by_ids(connection: Connection, space: str, ids: Collection[str]) -> dict[str, Episode]:
    """Episodes by id; unknown ids are left out."""
    return {each.id: each for each in _where(connection, space, episodes.c.id.in_(ids))}


def by_numbers(connection: Connection, space: str, numbers: Collection[int]) -> list[Episode]:
    """Episodes by number, in order; unknown numbers are left out."""
    return (
        _where(connection, space, episodes.c.number.in_(list(numbers)), order=(episodes.c.number,)) if numbers else []
    )


def of_session(connection: Connection, space: str, session: str, compaction: int | None = None) -> list[Episode]:
    """The episodes of a session, in the order they were archived; only the one with this count if given."""
    counted = {} if compaction is None else {"compaction": compaction}
    return _where(connection, space, *here(episodes, space, session=session, **counted), order=(episodes.c.number,))


def latest(
    connection: Connection,
    space: str,
    most: int | None,
    *,
    at: int,
    since: int | None = None,
    until: int | None = None,
    project: str | None = None,
    task: str | None = None,
) -> list[Episode]:
    """The unexpired episodes that overlap this period, of a project and a task if given, the latest to end first."""
    return _where(connection, space, *_within(at, since, until), *_about(project, task), most=most)


def holding(
    connection: Connection,
    space: str,
    ids: Collection[str],
    *,
    at: int,
    since: int | None = None,
    until: int | None = None,
    project: str | None = None,
    task: str | None = None,
) -> dict[str, Episode]:
    """Which of these episodes are unexpired, overlap this period and are of this project and task, by id."""
    period = {"since": -_ANY if since is None else since, "until": _ANY if until is None else until}
    rows = _HOLDING.rows(connection, space=space, ids=list(ids), at=at, **period, project=project, task=task)
    return {each.id: each for each in map(_episode, rows)}


def keep(connection: Connection, space: str, number: int) -> None:
    """Pin an episode, so that it never expires."""
    _set(connection, space, number, expires_at=None)


def expired(connection: Connection, space: str, at: int) -> list[Episode]:
    """The episodes that have expired by a moment."""
    return _where(connection, space, episodes.c.expires_at <= at)


NEXT_EXPIRY = select(func.min(episodes.c.expires_at)).where(*here(episodes)).scalar_subquery()
"""As part of a statement: when the next episode expires, NULL if none does."""


def of_task(connection: Connection, space: str, task: str) -> list[Episode]:
    """The archives of a task, the latest first."""
    return _where(connection, space, episodes.c.compaction < 0, episodes.c.task == task)


def every(connection: Connection, space: str) -> list[Episode]:
    """All episodes."""
    return _where(connection, space)


def of_messages(connection: Connection, space: str) -> list[Episode]:
    """All episodes except archives of tasks that somebody wrote."""
    return _where(connection, space, or_(episodes.c.compaction >= 0, episodes.c.path != "compaction"))


def rewrite(connection: Connection, space: str, told: Episode, texts: Sequence[NoteText], at: int) -> None:
    """Replace an episode's content and its searchable texts."""
    texts_told = {"summary": told.summary, "abstract": told.abstract, "topics": "\n".join(told.topics)}
    _set(connection, space, told.number, **texts_told)
    change_log.append(connection, space, "episode.changed", told.number, at=at)
    notes.forget_texts(connection, space, notes.put(connection, space, "episode", told.id, texts, at))


def cover(connection: Connection, space: str, number: int, first: int | None, last: int | None) -> None:
    """Set which messages an episode covers."""
    _set(connection, space, number, first_drawer=first, last_drawer=last)


def remove(connection: Connection, space: str, gone: Sequence[Episode], at: int) -> int:
    """Delete episodes with their searchable texts; the tasks that they archive have none then.

    Returns how many vectors nothing else needed.
    """
    archived = [each.id for each in gone if each.of_task]
    if archived:
        of_tasks = update(tasks).where(*here(tasks, space), tasks.c.episode.in_(archived))
        connection.execute(of_tasks.values(episode=None))
    hashes = [text for each in gone for text in notes.drop(connection, space, "episode", each.id, at)]
    delete_among(connection, space, episodes.c.number, [each.number for each in gone])
    return notes.forget_texts(connection, space, hashes)


def bury(connection: Connection, space: str, gone: Episode, at: int) -> None:
    """Add the tombstone of an episode, so that it is not written again automatically."""
    tombstones.put(connection, space, "episode", {_key(gone.session, gone.compaction)}, at)


def buried(connection: Connection, space: str, session: str, compaction: int) -> bool:
    """Whether an episode was deleted on purpose."""
    return bool(tombstones.among(connection, space, "episode", {_key(session, compaction)}))


def keys(connection: Connection, space: str) -> list[tuple[str, bytes]]:
    """The id of every episode, and the key of its tombstone."""
    wanted = select(episodes.c.id, episodes.c.session, episodes.c.compaction).where(*here(episodes, space))
    return [(one, _key(session, compaction)) for one, session, compaction in connection.execute(wanted)]


def next_count(connection: Connection, space: str, session: str, *, task: bool) -> int:
    """The count for a session's next episode, or next task episode; counts are never reused."""
    step = -1 if task else 1
    edge = func.min(episodes.c.compaction) if task else func.max(episodes.c.compaction)
    of_kind = episodes.c.compaction < 0 if task else episodes.c.compaction >= 0
    taken = connection.execute(select(edge).where(*here(episodes, space, session=session), of_kind)).scalar()
    count = (-1 if task else 0) if taken is None else int(taken) + step
    while buried(connection, space, session, count):
        count += step
    return count


def promote(connection: Connection, space: str, taken_up: Sequence[Episode], at: int) -> None:
    """Record that a dream has processed these episodes."""
    for each in taken_up:
        _set(connection, space, each.number, promoted_at=at)
        change_log.append(connection, space, "episode.changed", each.number, at=at)


_COUNT_RECALLED = Prepared(
    update(episodes)
    .where(*here(episodes), listed(episodes.c.id))
    .values(recall_count=episodes.c.recall_count + 1, last_recalled_at=bindparam("at"))
)


def count_recalled(connection: Connection, space: str, ids: Collection[str], at: int) -> None:
    """Count that episodes were shown to a model."""
    if ids:
        _COUNT_RECALLED.change(connection, space=space, among=sorted(ids), at=at)


_ARCHIVED = func.coalesce(cursors.c.position, 0)
_SESSION: BindParameter[str | None] = bindparam("session", type_=Text)
_CURSOR_NAME = literal(_CURSOR) + cast(rooms.c.number, Text)
_UNARCHIVED = (
    select(
        rooms.c.number, rooms.c.session, _ARCHIVED, rooms.c.drawers, rooms.c.touched_at, rooms.c.ended_at, rooms.c.agent
    )
    .select_from(rooms.outerjoin(cursors, and_(cursors.c.space == rooms.c.space, cursors.c.name == _CURSOR_NAME)))
    .where(*here(rooms), or_(_SESSION.is_(None), rooms.c.session == _SESSION), rooms.c.drawers > _ARCHIVED)
    .order_by(rooms.c.number)
)


def unarchived(connection: Connection, space: str, session: str | None = None) -> list[Unfinished]:
    """The rooms with turns that are in no episode, of one session or all, in the order they were opened."""
    return [Unfinished(*row) for row in connection.execute(_UNARCHIVED, {"space": space, "session": session})]


def archived_to(connection: Connection, space: str, room: Unfinished, place: int) -> bool:
    """Record that a room is archived up to a place; False if someone else has done so in the meantime."""
    return change_log.move_cursor(connection, space, f"{_CURSOR}{room.room}", old=room.done, new=place)


def _key(session: str, compaction: int) -> bytes:
    return content_hash(f"{compaction} {session}")


def _within(at: _Number, since: _Number | None, until: _Number | None) -> list[ColumnElement[bool]]:
    """Conditions for unexpired episodes that overlap a period, both ends included.

    The summary of a branch that the conversation has left is out until it returns there; a task has many.
    """
    begun = [] if until is None else [until >= _BEGAN]
    ended = [] if since is None else [since <= _ENDED]
    unexpired = or_(episodes.c.expires_at.is_(None), episodes.c.expires_at > at)
    standing = or_(_last.c.superseded_by.is_(None), episodes.c.compaction < 0)
    return [unexpired, standing, *begun, *ended]


def _about(project: str | None, task: str | None) -> list[ColumnElement[bool]]:
    """Conditions for the episodes of a project and a task; None stands for any."""
    wanted = {episodes.c.project: project, episodes.c.task: task}
    return [column == value for column, value in wanted.items() if value is not None]


_IDS: BindParameter[str] = bindparam("ids", expanding=True)
_PROJECT, _TASK = bindparam("project", type_=Text), bindparam("task", type_=Text)
_HOLDING = Prepared(
    _EVERY.where(episodes.c.id.in_(_IDS))
    .where(*_within(*(bindparam(name, type_=BigInteger) for name in ("at", "since", "until"))))
    .where(or_(_PROJECT.is_(None), episodes.c.project == _PROJECT), or_(_TASK.is_(None), episodes.c.task == _TASK))
    .order_by(*_LATEST_FIRST)
)


def _set(connection: Connection, space: str, number: int, **values: int | str | None) -> None:
    connection.execute(update(episodes).where(*here(episodes, space, number=number)).values(**values))


def _where(
    connection: Connection,
    space: str,
    *which: ColumnElement[bool],
    order: Sequence[ColumnElement[Any]] = _LATEST_FIRST,
    most: int | None = None,
) -> list[Episode]:
    """Such episodes, the latest to end first unless another order is given."""
    rows = connection.execute(_EVERY.where(*which).order_by(*order).limit(most), {"space": space})
    return [*map(_episode, rows)]


def _episode(row: Sequence[Any]) -> Episode:
    values = dict(zip(_NAMES, row, strict=True))
    del values["space"]
    values["topics"] = tuple(values["topics"].split("\n")) if values["topics"] else ()
    for name in ("began_at", "ended_at", "created_at", "expires_at", "last_recalled_at", "promoted_at"):
        values[name] = None if values[name] is None else from_millis(values[name])
    return Episode(**values)
