"""Messages that were forgotten, by their tombstones: a retry, a replay or an import does not bring them back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sqlalchemy import Connection

from langmem_tiers.content import content_hash
from langmem_tiers.storage import tombstones


class Spoken(NamedTuple):
    """A message to be stored; `again` says that it may have been stored before under another id."""

    message_id: str
    role: str
    content_hash: bytes
    again: bool = False
    said_at: int | None = None
    """When it was said, UTC milliseconds, where that is known of it."""


def bury(connection: Connection, space: str, session: str, said: Iterable[Spoken], at: int) -> None:
    """Add the tombstones of messages of a session."""
    gone = list(said)
    tombstones.put(connection, space, "message", {message_key(session, each.message_id) for each in gone}, at)
    by_words = {_by_words(session, each) for each in gone} | {
        _by_time(each) for each in gone if each.said_at is not None
    }
    tombstones.put(connection, space, "words", by_words, at)


def forgotten_among(connection: Connection, space: str, session: str, said: Sequence[Spoken]) -> set[str]:
    """The ids of those of these messages of a session that were forgotten.

    A message is known by its id. In a history whose ids may be new, it is also known by its words, unless a message
    that is known by its id has the same words: then the other one was said again later, and may be remembered. Words
    that were said at the very same moment are known, too, under whatever id and in whatever session.
    """
    if not said or tombstones.secret_of(connection, space) is None:
        return set()
    ids = {message_key(session, each.message_id): each for each in said}
    gone = {ids[key].message_id for key in tombstones.among(connection, space, "message", ids)}
    said_by_them = {_by_words(session, each) for each in said if each.message_id in gone}
    others = [each for each in said if each.again and each.message_id not in gone]
    by_words = {_by_words(session, each) for each in others} - said_by_them
    timed = {each.message_id: _by_time(each) for each in said if each.said_at is not None}
    buried = tombstones.among(connection, space, "words", by_words | set(timed.values()))
    again = {each.message_id for each in others if _by_words(session, each) in buried}
    return gone | again | {message_id for message_id, key in timed.items() if key in buried}


def message_key(session: str, message_id: str) -> bytes:
    """The key of a message's tombstone."""
    return content_hash(f"{session}\0{message_id}")


def _by_words(session: str, spoken: Spoken) -> bytes:
    return content_hash(f"{session}\0{spoken.role}\0{spoken.content_hash.hex()}")


def _by_time(spoken: Spoken) -> bytes:
    return content_hash(f"{spoken.said_at}\0{spoken.role}\0{spoken.content_hash.hex()}")
