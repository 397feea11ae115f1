"""The material of a dream: entries in turn, recent conversation, and episodes not yet processed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, Select, and_, func, or_, select

from langmem_tiers.records import Entry, Episode
from langmem_tiers.storage import entries as entry_rows
from langmem_tiers.storage import episodes as episode_rows
from langmem_tiers.storage.embedding_cache import Vectors
from langmem_tiers.storage.notes import same_text
from langmem_tiers.storage.schema import drawers, dreams, embeddings, entries, episodes, notes, rooms

_SPEAKING = ("user", "assistant")
_SAID = ("user", "import", "assistant")


class Spoken(NamedTuple):
    """A turn of a conversation."""

    drawer: int
    session: str
    role: str
    content: str
    said_at: int


def count_active(connection: Connection, space: str) -> int:
    """How many entries are active."""
    return int(connection.execute(select(func.count()).where(*_active(space))).scalar_one())


def active_in_turn(connection: Connection, space: str, most: int) -> list[Entry]:
    """As many active entries as a dream takes, oldest first; each dream continues where the last one stopped."""
    numbers = connection.execute(select(entries.c.number).where(*_active(space)).order_by(entries.c.number))
    every: Sequence[int] = numbers.scalars().all()
    start = 0 if len(every) <= most else count(connection, space) * most % len(every)
    wanted = (*every[start : start + most], *every[: max(0, start + most - len(every))])
    found = entry_rows.by_numbers(connection, space, dict.fromkeys(wanted))
    return [found[number] for number in sorted(found)]


def count(connection: Connection, space: str) -> int:
    """How many dreams there were."""
    return int(connection.execute(select(func.count()).where(dreams.c.space == space)).scalar_one())


def vectors(connection: Connection, space: str, model: str, ids: Iterable[str]) -> dict[str, Vectors]:
    """The vectors of entries by id, for those that have one from this model."""
    wanted = set(ids)
    found = select(notes.c.ref, embeddings.c.vector).select_from(notes.join(embeddings, same_text(model)))
    rows = connection.execute(found.where(notes.c.space == space, notes.c.kind == "entry"))
    return {
        row.ref: np.frombuffer(row.vector, dtype="<f4")
        for row in rows
        if row.ref in wanted and len(row.vector) % 4 == 0
    }


def spoken_behind(connection: Connection, space: str, drawer: int, most: int) -> list[Spoken]:
    """The first current user and assistant turns after a drawer, in order."""
    wanted = _spoken(space).where(drawers.c.number > drawer).order_by(drawers.c.number).limit(most)
    return [Spoken(*row) for row in connection.execute(wanted)]


def spoken_since(connection: Connection, space: str, since: int, most: int) -> list[Spoken]:
    """The latest turns since a moment, in order."""
    latest = _spoken(space).where(drawers.c.said_at >= since).order_by(drawers.c.number.desc()).limit(most)
    return [Spoken(*row) for row in connection.execute(latest)][::-1]


def unpromoted(connection: Connection, space: str, most: int, *, at: int) -> list[Episode]:
    """The current episodes that no dream has processed, oldest first."""
    waiting = (episodes.c.space == space, episodes.c.promoted_at.is_(None))
    holding = or_(episodes.c.expires_at.is_(None), episodes.c.expires_at > at)
    wanted = select(episodes.c.number).where(*waiting, holding).order_by(episodes.c.number).limit(most)
    return episode_rows.by_numbers(connection, space, connection.execute(wanted).scalars().all())


def _active(space: str) -> tuple[Any, Any]:
    return entries.c.space == space, entries.c.status == "active"


def _spoken(space: str) -> Select[Any]:
    same_room = and_(rooms.c.space == drawers.c.space, rooms.c.number == drawers.c.room)
    columns = (drawers.c.number, rooms.c.session, drawers.c.role, drawers.c.content, drawers.c.said_at)
    stands = (drawers.c.space == space, drawers.c.superseded_by.is_(None))
    spoken = (drawers.c.role.in_(_SPEAKING), drawers.c.origin.in_(_SAID))
    return select(*columns).select_from(drawers.join(rooms, same_room)).where(*stands, *spoken)
