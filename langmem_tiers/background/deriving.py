"""What is derived from what was said and saved: entries, episodes, the graph, and dreams of all that.

All may ask a model, so they come after everything that a recall waits for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from langmem_tiers.background.archiving import ArchivingPass
from langmem_tiers.background.dreaming import Dream, DreamingPass
from langmem_tiers.background.enriching import EnrichingPass
from langmem_tiers.background.expiring import ExpiringPass
from langmem_tiers.background.graphing import GraphPass
from langmem_tiers.background.mining import MiningPass
from langmem_tiers.background.pruning import PruningPass
from langmem_tiers.background.sweeping import SweepingPass
from langmem_tiers.clock import Clock, to_millis
from langmem_tiers.episodes.archivist import Archivist
from langmem_tiers.knowledge.nearby import Embed
from langmem_tiers.llm.asker import ModelAsker
from langmem_tiers.llm.directives import Directives
from langmem_tiers.settings import Settings
from langmem_tiers.storage.store import SpaceStore
from langmem_tiers.writing.enriching.enricher import Enricher
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
    directives: Directives
    listeners: Sequence[Listener] = ()
    dream: Dream | None = None

    def step(self, stop: Callable[[], bool]) -> bool:
        """Do what is due; False when nothing was. Between steps `stop` is asked."""
        worked = self._expiring().step() | self._sweeping().step() | self._pruning().step()
        for step in self._steps():
            if stop():
                break
            worked = step(stop) or worked
        return worked

    def _steps(self) -> tuple[Callable[[Callable[[], bool]], bool], ...]:
        steps = (self._enriching().step, self._mining().step, self._archiving().step)
        graphing = (self._graphing().step,) if self.settings.graph.enabled else ()
        return (*steps, *graphing, self._dreaming().step)

    def seconds_to_next(self) -> float | None:
        """Seconds until something is due, 0 when it is now; None if never as things are.

        What waits for a moment is looked at every `prune_hours` at the latest: machines sleep, and clocks are set.
        """
        with self.store.reading() as connection:
            ending = (self._expiring(), self._sweeping(), self._pruning())
            passes = (*ending, self._mining(), self._archiving(), self._dreaming())
            moments = [each.next_due(connection) for each in passes]
        moments.append(self._enriching().next_due())
        due = [moment for moment in moments if moment is not None]
        latest = self.settings.dream.prune_hours * 3600
        return min(max(0.0, (min(due) - to_millis(self.clock())) / 1000), latest) if due else None

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

    def _expiring(self) -> ExpiringPass:
        return ExpiringPass(self.store, self.clock)

    def _sweeping(self) -> SweepingPass:
        return SweepingPass(self.store, self.clock)

    def _pruning(self) -> PruningPass:
        return PruningPass(store=self.store, settings=self.settings.dream, clock=self.clock)

    def _enriching(self) -> EnrichingPass:
        if self.asker is None or not self.settings.knowledge.enrich:
            return EnrichingPass(None)
        return EnrichingPass(
            Enricher(
                store=self.store,
                settings=self.settings,
                clock=self.clock,
                asker=self.asker,
                directives=self.directives,
                embed=self.embed,
                listeners=self.listeners,
            )
        )

    def _mining(self) -> MiningPass:
        return MiningPass(self.miner())

    def _graphing(self) -> GraphPass:
        return GraphPass(
            store=self.store,
            settings=self.settings,
            clock=self.clock,
            asker=self.asker,
            listeners=self.listeners,
        )

    def _dreaming(self) -> DreamingPass:
        return DreamingPass(store=self.store, settings=self.settings.dream, clock=self.clock, dream=self.dream)

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
