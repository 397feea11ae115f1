"""Dreaming: consolidates a space when enough episodes are waiting, or at intervals.

A dream without result is not repeated until there is a new episode or message: it would see the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection

from langmem_tiers.clock import to_millis
from langmem_tiers.context import SpaceContext
from langmem_tiers.dream import run
from langmem_tiers.dream.types import DreamReport, Trigger
from langmem_tiers.errors import LeaseLost
from langmem_tiers.settings import DreamSettings
from langmem_tiers.storage import change_log, dreams, facts, leases
from langmem_tiers.storage.dreams import DreamRow
from langmem_tiers.storage.leases import DREAM
from langmem_tiers.store import SpaceStore

_MINUTE = 60_000
_HOUR = 60 * _MINUTE
# When the last dream was started by this job, even if an error ended it before it left a report.
_TRIED = "dream_tried"


@dataclass(frozen=True)
class DreamJob:
    """Runs a dream of one space when it is due."""

    context: SpaceContext
    store: SpaceStore
    name: str = "dream"
    dream: Callable[..., DreamReport] = run.dream

    def step(self, stop: Callable[[], bool]) -> bool:
        """Dream if that is due and not stopped; returns whether anything changed.

        A running dream checks itself whether the memory is being closed.

        Raises:
            StorageError: nothing was changed; it is retried later.
        """
        now = to_millis(self.context.clock())
        with self.store.reading() as connection:
            last = self._last(connection)
            wanted = self._wanted(connection, last, now)
            due = self._due(connection, last, wanted, now)
        trigger = next(iter(wanted), None)
        if trigger is None or due is None or due > now or stop():
            return False
        with self.store.writing(durable=False) as connection:
            facts.put(connection, self.store.key, _TRIED, str(now))
        try:
            return self.dream(self.context, trigger=trigger).status == "applied"
        except LeaseLost:
            return False  # another process is dreaming; the rest is due again when it has finished

    def due(self, connection: Connection) -> int | None:
        """When a dream is due, in UTC milliseconds, possibly in the past; None if never as things stand."""
        now, last = to_millis(self.context.clock()), self._last(connection)
        return self._due(connection, last, self._wanted(connection, last, now), now)

    def _due(
        self, connection: Connection, last: DreamRow | None, wanted: Mapping[Trigger, int], now: int
    ) -> int | None:
        if not wanted:
            return None
        return max(min(wanted.values()), self._rested(connection, last, now), self._free(connection, now))

    def _wanted(self, connection: Connection, last: DreamRow | None, now: int) -> dict[Trigger, int]:
        """What asks for a dream, and when for."""
        if not self._settings.enabled:
            return {}
        moments: dict[Trigger, int | None] = {
            "episodes": self._by_episodes(connection, last, now),
            "interval": self._by_interval(connection, last, now),
        }
        return {trigger: moment for trigger, moment in moments.items() if moment is not None}

    @property
    def _settings(self) -> DreamSettings:
        return self.context.settings.dream

    def _last(self, connection: Connection) -> DreamRow | None:
        return dreams.last(connection, self.store.key)

    def _by_episodes(self, connection: Connection, last: DreamRow | None, now: int) -> int | None:
        """Now, if enough episodes are waiting that the last dream has not seen, or has left for the next one."""
        if not (_went_on(last) or self._news(connection, {"episode.added"})):
            return None
        enough = self._settings.episodes
        waiting = dreams.unpromoted_numbers(connection, self.store.key, enough, at=now)
        return now if len(waiting) >= enough else None

    def _by_interval(self, connection: Connection, last: DreamRow | None, now: int) -> int | None:
        """One interval after the last dream, or the first message, if there is anything no dream has seen."""
        if self._settings.interval_hours is None or not self._news(connection, {"episode.added", "drawers.added"}):
            return None
        began = change_log.first_at(connection, self.store.key) if last is None else last.ended_at
        # A clock that jumped back must not postpone it by more than the interval.
        return min(began or now, now) + round(self._settings.interval_hours * _HOUR)

    def _news(self, connection: Connection, kinds: set[change_log.Kind]) -> bool:
        return bool(change_log.unread(connection, self.store.key, dreams.SEEN, kinds=kinds, most=1)[1])

    def _rested(self, connection: Connection, last: DreamRow | None, now: int) -> int:
        """When the pause after the last dream ends; none if it lies in the future, since clocks can be set back."""
        tried = int(facts.get(connection, self.store.key, _TRIED) or 0)
        moments = (tried, 0 if last is None else last.ended_at)
        latest = max((moment for moment in moments if moment <= now), default=0)
        return latest + round(self._settings.debounce_minutes * _MINUTE) if latest else 0

    def _free(self, connection: Connection, now: int) -> int:
        """When no one else holds the lease on dreaming in the space."""
        lease = leases.read(connection, self.store.key, DREAM)
        held = lease is not None and lease.held(now, round(self._settings.lease_seconds * 1000))
        return lease.until if lease is not None and held else 0


def _went_on(last: DreamRow | None) -> bool:
    """Whether the last dream promoted episodes, so that those it left are due."""
    if last is None or last.report["status"] != "applied":
        return False
    return any(proposal["kind"] == "synthesis" for proposal in last.report["decision"]["accepted"])
