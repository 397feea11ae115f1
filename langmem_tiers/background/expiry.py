"""Expiry of entries, episodes, store items, working memory, and the changesets of old dreams."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Connection

from langmem_tiers.clock import to_millis
from langmem_tiers.context import SpaceContext
from langmem_tiers.knowledge import lifecycle
from langmem_tiers.knowledge.entry_writer import EntryWriter
from langmem_tiers.storage import dreams, episodes, expiry, facts, items, working_entries
from langmem_tiers.storage.expiry import Dates
from langmem_tiers.store import SpaceStore

_DAY = 86_400_000
_YEAR = 366 * _DAY


class Expiring(NamedTuple):
    """A kind of thing that expires.

    `due` says when the next one does, in UTC milliseconds, None if none will; `expire` lets go of those that are due
    now, and returns how many these were.
    """

    name: str
    due: Callable[[Dates, SpaceContext], int | None]
    expire: Callable[[Connection, str, SpaceContext, int], int]


@dataclass(frozen=True)
class ExpiryJob:
    """Lets go of what is kept in a space for a time, when that is over; readers ignore it in any case.

    What should have gone more than a year ago stays for another day: the clock may have jumped ahead, and be set right.
    """

    context: SpaceContext
    store: SpaceStore
    name: str = "expire"

    def due(self, connection: Connection) -> int | None:
        """When the next thing expires, in UTC milliseconds, possibly in the past; None if nothing will."""
        return min((due for _, due in self._dues(connection)), default=None)

    def step(self, stop: Callable[[], bool]) -> bool:
        """Expire what is due; False if nothing was."""
        return self.expire(*KINDS) > 0

    def expire(self, *kinds: Expiring) -> int:
        """Let go of what of these kinds is due; returns how many these were.

        Raises:
            StorageError: the rest is expired later; readers ignore it in any case.
        """
        now, expired = to_millis(self.context.clock()), 0
        with self.store.reading() as connection:
            over = [kind for kind, due in self._dues(connection) if kind in kinds and due <= now]
        for kind in over:
            with self.store.writing() as connection:
                if not self._may_have_jumped(connection, kind, now):
                    expired += kind.expire(connection, self.store.key, self.context, now)
        return expired

    def _dues(self, connection: Connection) -> Iterator[tuple[Expiring, int]]:
        """When the next thing of each kind expires."""
        now = to_millis(self.context.clock())
        for kind, first in self._first(connection):
            seen = None if now - first <= _YEAR else self._seen(connection, kind, now)
            yield kind, first if seen is None else seen + _DAY

    def _first(self, connection: Connection) -> list[tuple[Expiring, int]]:
        dates = expiry.dates(connection, self.store.key)
        moments = [(kind, kind.due(dates, self.context)) for kind in KINDS]
        return [(kind, moment) for kind, moment in moments if moment is not None]

    def _may_have_jumped(self, connection: Connection, kind: Expiring, now: int) -> bool:
        """Whether something was due long ago, and the clock has not said so for a day."""
        due, seen = dict(self._first(connection)).get(kind), self._seen(connection, kind, now)
        if due is None or now - due <= _YEAR:
            return False
        if seen is None:
            facts.put_numbers(connection, self.store.key, _fact(kind), [now])
            return True
        return now - seen < _DAY

    def _seen(self, connection: Connection, kind: Expiring, now: int) -> int | None:
        """When something was first seen to be long due; None if it was not, or by a clock that went elsewhere since."""
        seen = facts.numbers(connection, self.store.key, _fact(kind))
        return seen[0] if seen and 0 <= now - seen[0] <= _YEAR else None


def _fact(kind: Expiring) -> str:
    return f"long due: {kind.name}"


def _expire_episodes(connection: Connection, space: str, _context: SpaceContext, now: int) -> int:
    expired = episodes.expired(connection, space, now)
    episodes.remove(connection, space, expired, now)
    return len(expired)


def _sweep_due(dates: Dates, context: SpaceContext) -> int | None:
    """When working memory is swept: at once after the clock was set back."""
    now = to_millis(context.clock())
    return now if dates.working_stored is not None and dates.working_stored > now else dates.working


def _dreams_due(dates: Dates, context: SpaceContext) -> int | None:
    """When the next dream becomes too old to be undone."""
    if context.settings.dream.undo_days is None or dates.oldest_dream is None:
        return None
    return dates.oldest_dream + _undo_milliseconds(context) + 1


def _undo_milliseconds(context: SpaceContext) -> int:
    return round((context.settings.dream.undo_days or 0) * _DAY)


ITEMS = Expiring(
    "expire items",
    lambda dates, _: dates.items,
    lambda connection, space, _, now: items.drop(connection, space, items.expired(connection, space, now), now),
)
KINDS = (
    Expiring(
        "expire entries",
        lambda dates, _: dates.entries,
        lambda connection, space, _, now: len(lifecycle.expire(EntryWriter(connection, space, now))),
    ),
    Expiring("expire episodes", lambda dates, _: dates.episodes, _expire_episodes),
    ITEMS,
    Expiring(
        "sweep working memory",
        _sweep_due,
        lambda connection, space, _, now: working_entries.sweep(connection, space, now),
    ),
    # Their changesets, without which they can no longer be undone.
    Expiring(
        "prune dreams",
        _dreams_due,
        lambda connection, space, context, now: dreams.prune(connection, space, now - _undo_milliseconds(context)),
    ),
)
