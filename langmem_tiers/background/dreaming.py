"""The dreaming pass: a space is consolidated once enough episodes wait for it, or every so often.

Nothing is dreamt again that came to nothing: without an episode or a message more, a dream would see the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection

from langmem_tiers.clock import Clock, to_millis
from langmem_tiers.dream.lease import DREAM
from langmem_tiers.dream.types import DreamReport, Trigger
from langmem_tiers.errors import LeaseLost
from langmem_tiers.settings import DreamSettings
from langmem_tiers.storage import change_log, dreams, dreamt, facts, leases
from langmem_tiers.storage.dreams import DreamRow
from langmem_tiers.storage.store import SpaceStore

_MINUTE = 60_000
_HOUR = 60 * _MINUTE
# When the last dream was begun by itself, also one that an error ended before anything was kept of it.
_TRIED = "dream_tried"

Dream = Callable[[Trigger], DreamReport]
"""Has a space dream."""


@dataclass(frozen=True, kw_only=True)
class DreamingPass:
    """Has one space dream when it is due; `dream` is None where nobody can."""

    store: SpaceStore
    settings: DreamSettings
    clock: Clock
    dream: Dream | None

    def step(self, stop: Callable[[], bool]) -> bool:
        """Dream if that is due, and nobody says to stop; whether anything was changed by it.

        A dream that is under way looks itself at whether the memory is being closed.

        Raises:
            StorageError: nothing was changed; it is tried again later.
        """
        now = to_millis(self.clock())
        with self.store.reading() as connection:
            due, trigger = self.next_due(connection), self._trigger(connection, now)
        if self.dream is None or trigger is None or due is None or due > now or stop():
            return False
        with self.store.writing(durable=False) as connection:
            facts.put(connection, self.store.key, _TRIED, str(now))
        try:
            return self.dream(trigger).status == "applied"
        except LeaseLost:
            return False  # another process dreams; what is left is due again when that has ended

    def next_due(self, connection: Connection) -> int | None:
        """When a dream is due, in UTC milliseconds, be it past; None if never as things are."""
        now = to_millis(self.clock())
        last = self._last(connection)
        wanted = (self._by_episodes(connection, last, now), self._by_interval(connection, last, now))
        moments = [moment for moment in wanted if moment is not None]
        if self.dream is None or not self.settings.enabled or not moments:
            return None
        return max(min(moments), self._rested(connection, last, now), self._free(connection, now))

    def _trigger(self, connection: Connection, now: int) -> Trigger | None:
        last = self._last(connection)
        if self._by_episodes(connection, last, now) is not None:
            return "episodes"
        return None if self._by_interval(connection, last, now) is None else "interval"

    def _last(self, connection: Connection) -> DreamRow | None:
        return next(iter(dreams.latest(connection, self.store.key, 1)), None)

    def _by_episodes(self, connection: Connection, last: DreamRow | None, now: int) -> int | None:
        """Now, where enough episodes wait that the last dream has not seen, or that it left for the next one."""
        enough = self.settings.episodes
        waiting = len(dreamt.unpromoted(connection, self.store.key, enough, at=now)) >= enough
        return now if waiting and (_went_on(last) or self._news(connection, {"episode.added"})) else None

    def _by_interval(self, connection: Connection, last: DreamRow | None, now: int) -> int | None:
        """So long after the last dream, or the first message, where there is something that no dream has seen."""
        if self.settings.interval_hours is None or not self._news(connection, {"episode.added", "drawers.added"}):
            return None
        began = change_log.first_at(connection, self.store.key) if last is None else _ended(last)
        # A clock that jumped back must not put it off for longer than the interval.
        return min(began or now, now) + round(self.settings.interval_hours * _HOUR)

    def _news(self, connection: Connection, kinds: set[change_log.Kind]) -> bool:
        seen = dreams.seen(connection, self.store.key)
        return bool(change_log.read(connection, self.store.key, after=seen, kinds=kinds, most=1))

    def _rested(self, connection: Connection, last: DreamRow | None, now: int) -> int:
        """When the space has rested since its last dream. One in the future tells of a clock: it is over."""
        tried = int(facts.get(connection, self.store.key, _TRIED) or 0)
        moments = (tried, 0 if last is None else _ended(last))
        latest = max((moment for moment in moments if moment <= now), default=0)
        return latest + round(self.settings.debounce_minutes * _MINUTE) if latest else 0

    def _free(self, connection: Connection, now: int) -> int:
        """When nobody else dreams of the space any more."""
        lease = leases.read(connection, self.store.key, DREAM)
        held = lease is not None and lease.held(now, round(self.settings.lease_seconds * 1000))
        return lease.until if lease is not None and held else 0


def _ended(last: DreamRow) -> int:
    return to_millis(last.report.finished_at or last.report.started_at)


def _went_on(last: DreamRow | None) -> bool:
    """Whether the last dream took episodes up, so that those it left are due."""
    if last is None or last.report.status != "applied":
        return False
    return any(proposal.kind == "synthesis" for proposal in last.report.decision.accepted)
