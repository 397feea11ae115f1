"""Expiry of entries, episodes, store items, working memory, and the changesets of old dreams."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Connection

from langmem_tiers.clock import to_millis
from langmem_tiers.context import SpaceContext
from langmem_tiers.knowledge import lifecycle
from langmem_tiers.knowledge.entry_writer import EntryWriter
from langmem_tiers.storage import dreams, entries, episodes, facts, items, working_entries
from langmem_tiers.store import SpaceStore

_DAY = 86_400_000
_YEAR = 366 * _DAY


class Expiring(NamedTuple):
    """A kind of thing that expires.

    `due` says when the next one does, in UTC milliseconds, None if none will; `expire` lets go of those that are due
    now, and returns how many these were.
    """

    name: str
    due: Callable[[Connection, str, SpaceContext], int | None]
    expire: Callable[[Connection, str, SpaceContext, int], int]


@dataclass(frozen=True)
class ExpiryJob:
    """Lets go of one kind of thing in a space when its time has come.

    What should have gone more than a year ago stays for another day: the clock may have jumped ahead, and be set right.
    """

    context: SpaceContext
    store: SpaceStore
    kind: Expiring

    @property
    def name(self) -> str:
        """The name of the job."""
        return self.kind.name

    def due(self, connection: Connection) -> int | None:
        """When the next one expires, in UTC milliseconds, possibly in the past; None if none will."""
        due, now = self._first(connection), to_millis(self.context.clock())
        seen = None if due is None or now - due <= _YEAR else self._seen(connection, now)
        return due if seen is None else seen + _DAY

    def step(self, stop: Callable[[], bool]) -> bool:
        """Expire what is due; False if nothing was."""
        return bool(self.expire())

    def expire(self) -> int:
        """Like `step`, but returns the number expired.

        Raises:
            StorageError: they are expired later; readers ignore them in any case.
        """
        now = to_millis(self.context.clock())
        with self.store.reading() as connection:
            due = self.due(connection)
        if due is None or due > now:
            return 0
        with self.store.writing() as connection:
            if self._may_have_jumped(connection, now):
                return 0
            return self.kind.expire(connection, self.store.key, self.context, now)

    def _first(self, connection: Connection) -> int | None:
        return self.kind.due(connection, self.store.key, self.context)

    def _may_have_jumped(self, connection: Connection, now: int) -> bool:
        """Whether something was due long ago, and the clock has not said so for a day."""
        due, seen = self._first(connection), self._seen(connection, now)
        if due is None or now - due <= _YEAR:
            return False
        if seen is None:
            facts.put_numbers(connection, self.store.key, self._fact, [now])
            return True
        return now - seen < _DAY

    @property
    def _fact(self) -> str:
        return f"long due: {self.name}"

    def _seen(self, connection: Connection, now: int) -> int | None:
        """When something was first seen to be long due; None if it was not, or by a clock that went elsewhere since."""
        seen = facts.numbers(connection, self.store.key, self._fact)
        return seen[0] if seen and 0 <= now - seen[0] <= _YEAR else None


def _expire_episodes(connection: Connection, space: str, _context: SpaceContext, now: int) -> int:
    expired = episodes.expired(connection, space, now)
    episodes.remove(connection, space, expired, now)
    return len(expired)


def _oldest_dream(connection: Connection, space: str, context: SpaceContext) -> int | None:
    """When the next dream becomes too old to be undone."""
    if context.settings.dream.undo_days is None:
        return None
    first = dreams.oldest_kept(connection, space)
    return None if first is None else first + _undo_milliseconds(context) + 1


def _undo_milliseconds(context: SpaceContext) -> int:
    return round((context.settings.dream.undo_days or 0) * _DAY)


ENTRIES = Expiring(
    "expire entries",
    lambda connection, space, _: entries.next_expiry(connection, space),
    lambda connection, space, _, now: len(lifecycle.expire(EntryWriter(connection, space, now))),
)
EPISODES = Expiring(
    "expire episodes", lambda connection, space, _: episodes.next_expiry(connection, space), _expire_episodes
)
ITEMS = Expiring(
    "expire items",
    lambda connection, space, _: items.next_expiry(connection, space),
    lambda connection, space, _, now: items.drop(connection, space, items.expired(connection, space, now), now),
)
WORKING = Expiring(
    "sweep working memory",
    lambda connection, space, context: working_entries.next_sweep(connection, space, to_millis(context.clock())),
    lambda connection, space, _, now: working_entries.sweep(connection, space, now),
)
DREAMS = Expiring(
    "prune dreams",
    _oldest_dream,
    lambda connection, space, context, now: dreams.prune(connection, space, now - _undo_milliseconds(context)),
)
"""The changesets of old dreams, which can then no longer be undone."""
KINDS = (ENTRIES, EPISODES, ITEMS, WORKING, DREAMS)
