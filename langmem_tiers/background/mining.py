"""Derives memories from conversations that paused or ended, and from saved entries: mining, episodes, enriching."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from sqlalchemy import Connection

from langmem_tiers.clock import paused, to_millis
from langmem_tiers.context import SpaceContext
from langmem_tiers.knowledge.episode_writer import EpisodeWriter
from langmem_tiers.lazy_property import lazy_property
from langmem_tiers.storage import episodes, progress, revisions
from langmem_tiers.storage.progress import Again
from langmem_tiers.storage.rooms import Unfinished
from langmem_tiers.store import SpaceStore
from langmem_tiers.writing import edits
from langmem_tiers.writing.enriching import Enricher
from langmem_tiers.writing.mining import Miner

_MINUTE = 60_000
# How long to wait before asking an unreachable model about the same turns again.
_AGAIN = 5 * _MINUTE


@dataclass(frozen=True)
class MineJob:
    """Mines conversations window by window: each turn once, in short steps that can be killed at any point.

    Facts mined from a message that was edited are retired, whether mining is enabled or not.
    """

    context: SpaceContext
    store: SpaceStore
    name: str = "mine"

    def due(self, connection: Connection) -> int | None:
        """When there is something to mine, in UTC milliseconds, possibly in the past; None if never as things stand."""
        now = to_millis(self.context.clock())
        rooms, again = self._waiting(connection)
        moments = [self._moment(room, now) for room in rooms]
        moments += [self._moment_again(once, now) for once in again]
        return min(moments, default=None)

    def step(self, stop: Callable[[], bool]) -> bool:
        """Mine what is due, window by window; False if nothing was. `stop` is checked after each window.

        Raises:
            StorageError: the rest is mined later.
        """
        while edits.follow(self.store, to_millis(self.context.clock())):
            if stop():
                return True
        worked = False
        for mine in self._due():
            mine()
            worked = True
            if stop():
                break
        return worked

    @lazy_property
    def miner(self) -> Miner:
        """The miner for this space."""
        return Miner.of(self.context, self.store)

    def _due(self) -> Iterator[Callable[[], object]]:
        """The pending work, one window each; windows never mined before come first."""
        now = to_millis(self.context.clock())
        with self.store.reading() as connection:
            rooms, again = self._waiting(connection)
        for room in rooms:
            if self._moment(room, now) <= now:
                miner = self.miner.of_agent(room.agent)
                yield from (partial(miner.mine, window) for window in miner.windows(room))
        for once in again:
            if self._moment_again(once, now) <= now:
                yield partial(self.miner.of_agent(once.agent).mine_again, once)

    def _waiting(self, connection: Connection) -> tuple[list[Unfinished], list[Again]]:
        again = progress.to_mine_again(connection, self.store.key) if self.miner.asker else []
        rooms = progress.unmined(connection, self.store.key)
        return [each for each in rooms if _mines(self.context, each)], [
            each for each in again if _mines(self.context, each)
        ]

    def _moment(self, room: Unfinished, now: int) -> int:
        """When to mine a conversation: when it has ended or paused."""
        settings = self.context.of_agent(room.agent).settings
        pause = min(settings.mining.pause_minutes, settings.sessions.idle_minutes)
        return room.over(round(pause * _MINUTE), now)

    def _moment_again(self, once: Again, now: int) -> int:
        resting = 0.0 if self.miner.asker is None else self.miner.asker.resting()
        return max(paused(once.at, _AGAIN, now), now + round(resting * 1000) if resting else 0)


def _mines(context: SpaceContext, room: Unfinished | Again) -> bool:
    """Whether conversations with the agent of this one are mined without being asked to."""
    settings = context.of_agent(room.agent).settings
    return settings.enabled and settings.mining.enabled


@dataclass(frozen=True)
class ReviseJob:
    """Reads again, once, what an older version of this package took for the end of something said before."""

    context: SpaceContext
    store: SpaceStore
    name: str = "revise"

    def due(self, connection: Connection) -> int | None:
        """Long ago if there is something to read again, None if not."""
        return 0 if revisions.of_older_rules(connection, self.store.key, 1) else None

    def step(self, stop: Callable[[], bool]) -> bool:
        """Read it again, some at a time; False if there is nothing. `stop` is checked after each time.

        Raises:
            StorageError: the rest is read again later.
        """
        worked = False
        while Miner.of(self.context, self.store).revise_again():
            worked = True
            if stop():
                break
        return worked


@dataclass(frozen=True)
class ArchiveJob:
    """Creates episodes from ended sessions, one per transaction."""

    context: SpaceContext
    store: SpaceStore
    name: str = "archive"

    def due(self, connection: Connection) -> int | None:
        """When a session ends, in UTC milliseconds, possibly in the past; None if none does as things stand."""
        now = to_millis(self.context.clock())
        return min((self._moment(room, now) for room in self._waiting(connection)), default=None)

    def step(self, stop: Callable[[], bool]) -> bool:
        """Archive ended sessions; False if there were none. `stop` is checked after each session.

        Raises:
            StorageError: the rest is archived later.
        """
        now = to_millis(self.context.clock())
        with self.store.reading() as connection:
            ended = [room for room in self._waiting(connection) if self._moment(room, now) <= now]
        archivist = EpisodeWriter(self.context, self.store)
        for room in ended:
            archivist.archive(room)
            if stop():
                break
        return bool(ended)

    def _waiting(self, connection: Connection) -> list[Unfinished]:
        return [each for each in episodes.unarchived(connection, self.store.key) if _mines(self.context, each)]

    def _moment(self, room: Unfinished, now: int) -> int:
        return room.over(round(self.context.settings.sessions.idle_minutes * _MINUTE), now)


@dataclass(frozen=True)
class EnrichJob:
    """Has the model tidy saved entries, one per transaction; does nothing without a model."""

    context: SpaceContext
    store: SpaceStore
    name: str = "enrich"

    def due(self, connection: Connection) -> int | None:
        """When there is an entry to enrich, in UTC milliseconds, possibly in the past; None if never at present."""
        enricher = self.enricher
        task = None if enricher is None else enricher.waiting(connection)
        return None if task is None or enricher is None else enricher.due(task)

    def step(self, stop: Callable[[], bool]) -> bool:
        """Enrich saved entries; False if there was nothing to do. `stop` is checked after each entry.

        Raises:
            StorageError: the rest is enriched later.
        """
        worked = False
        enricher = self.enricher
        while enricher is not None and (task := enricher.next_task()) is not None:
            if enricher.due(task) > to_millis(self.context.clock()) or not enricher.enrich(task):
                break
            worked = True
            if stop():
                break
        return worked

    @lazy_property
    def enricher(self) -> Enricher | None:
        """The enricher for this space, None if there is no model."""
        return Enricher.of(self.context, self.store)
