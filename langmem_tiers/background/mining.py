"""The mining pass: what was said in conversations that paused or ended is looked at, window by window."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from sqlalchemy import Connection

from langmem_tiers.clock import to_millis
from langmem_tiers.storage import mined
from langmem_tiers.storage.mined import Again, Waiting
from langmem_tiers.writing.mining import edits
from langmem_tiers.writing.mining.miner import Miner

_MINUTE = 60_000
# Until a model that could not be reached is asked about the same turns again.
_AGAIN = 5 * _MINUTE


@dataclass(frozen=True)
class MiningPass:
    """Mines one space: each turn once, in short steps that may be stopped and killed anywhere.

    What was mined of a message that was edited holds no longer, whether mining is enabled or not.
    """

    miner: Miner

    def step(self, stop: Callable[[], bool]) -> bool:
        """Mine what is due, window by window; False when nothing was. After each window `stop` is asked.

        Raises:
            StorageError: what is not mined yet is mined later.
        """
        while edits.follow(self.miner.store, to_millis(self.miner.clock())):
            if stop():
                return True
        worked = False
        for mine in self._due():
            mine()
            worked = True
            if stop():
                break
        return worked

    def next_due(self, connection: Connection) -> int | None:
        """When there is something to mine, in UTC milliseconds, be it past; None if never as things are."""
        rooms, again = self._waiting(connection)
        moments = [*map(self._moment, rooms), *map(self._moment_again, again)]
        return min(moments, default=None)

    def _due(self) -> Iterator[Callable[[], object]]:
        """What to do, one window each: those that nobody has looked at yet go first."""
        now = to_millis(self.miner.clock())
        with self.miner.store.reading() as connection:
            rooms, again = self._waiting(connection)
        for room in rooms:
            if self._moment(room) <= now:
                yield from (partial(self.miner.mine, window) for window in self.miner.windows(room))
        for once in again:
            if self._moment_again(once) <= now:
                yield partial(self.miner.mine_again, once)

    def _waiting(self, connection: Connection) -> tuple[list[Waiting], list[Again]]:
        key = self.miner.store.key
        if not self.miner.settings.mining.enabled:
            return [], []
        return mined.waiting(connection, key), mined.again(connection, key) if self.miner.asker else []

    def _moment(self, room: Waiting) -> int:
        """When a conversation is to be mined: at its end, or when it has paused."""
        settings = self.miner.settings
        pause = min(settings.mining.pause_minutes, settings.sessions.idle_minutes)
        return room.touched_at + round(pause * _MINUTE) if room.ended_at is None else room.ended_at

    def _moment_again(self, once: Again) -> int:
        resting = 0.0 if self.miner.asker is None else self.miner.asker.resting()
        rested = to_millis(self.miner.clock()) + round(resting * 1000) if resting else 0
        return max(once.at + _AGAIN, rested)
