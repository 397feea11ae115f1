"""What is derived from what was said: mining of conversations that paused, episodes of those that ended.

Both may ask a model, so they come after everything that a recall waits for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from langmem_tiers.background.archiving import ArchivingPass
from langmem_tiers.background.mining import MiningPass
from langmem_tiers.clock import Clock, to_millis
from langmem_tiers.episodes.archivist import Archivist
from langmem_tiers.knowledge.nearby import Embed
from langmem_tiers.llm.asker import ModelAsker
from langmem_tiers.settings import Settings
from langmem_tiers.storage.store import SpaceStore
from langmem_tiers.writing.listeners import Listener
from langmem_tiers.writing.mining.miner import Miner


@dataclass(frozen=True, kw_only=True)
class Deriving:
    """The passes that derive memories, over one space."""

    store: SpaceStore
    settings: Settings
    clock: Clock
    asker: ModelAsker | None
    embed: Embed
    listeners: Sequence[Listener] = ()

    def step(self, stop: Callable[[], bool]) -> bool:
        """Do what is due; False when nothing was. Between steps `stop` is asked."""
        mined = self._mining().step(stop)
        return (not stop() and self._archiving().step(stop)) or mined

    def seconds_to_next(self) -> float | None:
        """Seconds until something is due, 0 when it is now; None if never as things are."""
        with self.store.reading() as connection:
            moments = [self._mining().next_due(connection), self._archiving().next_due(connection)]
        due = [moment for moment in moments if moment is not None]
        return max(0.0, (min(due) - to_millis(self.clock())) / 1000) if due else None

    def miner(self) -> Miner:
        """What mines this space."""
        return Miner(
            store=self.store,
            settings=self.settings,
            clock=self.clock,
            asker=self.asker,
            embed=self.embed,
            listeners=self.listeners,
        )

    def _mining(self) -> MiningPass:
        return MiningPass(self.miner())

    def _archiving(self) -> ArchivingPass:
        return ArchivingPass(
            Archivist(
                store=self.store,
                settings=self.settings,
                clock=self.clock,
                asker=self.asker,
                listeners=self.listeners,
            )
        )
