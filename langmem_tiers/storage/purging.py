"""How far the bytes of deleted records have been erased from the files: counters, so that a kill loses nothing.

What is deleted is asked to be purged in the transaction that deletes it. Each part of the files notes up to which
request it has been purged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from sqlalchemy import Connection, func, select

from langmem_tiers.storage import facts, keyword, rooms
from langmem_tiers.storage.change_log import Moment
from langmem_tiers.storage.schema import changes
from langmem_tiers.storage.statements import Prepared, here, plausible

Part = Literal["rows", "file", "chroma"]
"""The keyword index, the database file with its log, and the vectors in Chroma."""

PARTS: tuple[Part, ...] = ("rows", "file", "chroma")
_WANTED, _AT, _NOW = "purge:wanted", "purge:wanted_at", "purge:now"
LATEST = facts.least(_WANTED)
"""As part of a statement: the number of the latest request, 0 if there was none."""
SEEN = select(func.max(changes.c.position), LATEST, rooms.LAST_DRAWER_EVER).where(*here(changes))
"""As part of a statement: what `as_moment` is made of."""
_SEEN = Prepared(SEEN)
WORDS = "purge:words"
"""Counts changes that left words of replaced notes in the keyword index; there is none while it holds none."""


def request(connection: Connection, space: str, *, at: int, now: bool = False) -> None:
    """Ask for what this transaction deletes to be erased from the files; `now`: without waiting for a quiet moment."""
    wanted = facts.count_up(connection, space, _WANTED)
    facts.put(connection, space, _AT, str(at))
    if now:
        facts.put(connection, space, _NOW, str(wanted))


def wanted(connection: Connection, space: str) -> int:
    """The number of the latest request, 0 if there was none."""
    return facts.number(connection, space, _WANTED)


def moment(connection: Connection, space: str, until: int | None = None) -> tuple[Moment, int]:
    """The moment that a connection sees, as the change log has it, and the number of the latest request by then."""
    (seen,) = _SEEN.rows(connection, space=space)
    return as_moment(connection, seen, until)


def as_moment(connection: Connection, seen: Sequence[Any], until: int | None = None) -> tuple[Moment, int]:
    """The same from a row of `SEEN`."""
    head, latest, last_drawer = seen
    return Moment(connection, int(head or 0), until, last_drawer=plausible(last_drawer)), int(latest)


def wanted_at(connection: Connection, space: str) -> int:
    """When it was made, in UTC milliseconds."""
    return facts.number(connection, space, _AT)


class Requests(NamedTuple):
    """The numbers of the latest request, of the latest that somebody waits for, and up to which every part is done.

    `words` says whether words of replaced notes are left in the keyword index.
    """

    latest: int
    awaited: int
    done: int
    words: bool

    @property
    def is_urgent(self) -> bool:
        """Whether somebody waits for one that is not carried out."""
        return self.awaited > self.done

    @property
    def is_pending(self) -> bool:
        """Whether the files may still hold something that was deleted."""
        return self.latest > self.done


def requests(connection: Connection, space: str) -> Requests:
    """What was asked for so far, and what is done of it."""
    parts = [f"purge:{part}" for part in PARTS]
    held = facts.several(connection, space, [_WANTED, _NOW, WORDS, *parts])
    latest, awaited, *done = (facts.as_number(name, held.get(name)) for name in (_WANTED, _NOW, *parts))
    return Requests(latest, awaited, min(done), WORDS in held)


def done(connection: Connection, space: str) -> int:
    """The latest request of which every part is done."""
    return requests(connection, space).done


def is_pending(connection: Connection, space: str) -> bool:
    """Whether the files may still hold something that was deleted."""
    return requests(connection, space).is_pending


def of_part(connection: Connection, space: str, part: Part) -> int:
    """Up to which request a part is done."""
    return facts.number(connection, space, f"purge:{part}")


def note(connection: Connection, space: str, part: Part, upto: int) -> None:
    """Note that a part is done up to a request."""
    facts.raise_to(connection, space, f"purge:{part}", upto)


def note_all(connection: Connection, space: str, upto: int) -> None:
    """Note that everything is done up to a request."""
    for part in PARTS:
        note(connection, space, part, upto)


def notes_changed_at(connection: Connection, space: str) -> int | None:
    """When notes were changed last, in UTC milliseconds; None if there were none."""
    newest = select(changes.c.at).where(*here(changes, space, kind="notes.changed"))
    return connection.execute(newest.order_by(changes.c.position.desc()).limit(1)).scalar()


def purge_words(connection: Connection, space: str) -> None:
    """Erase the words of deleted and replaced notes from the keyword index, in time that grows with the index."""
    keyword.notes.purge(connection)
    facts.drop(connection, space, WORDS)


def last_forgotten(connection: Connection, space: str) -> int:
    """The log position of the message that was forgotten last, 0 if there is none."""
    newest = select(changes.c.position).where(*here(changes, space, kind="drawer.forgotten"))
    return connection.execute(newest.order_by(changes.c.position.desc()).limit(1)).scalar() or 0
