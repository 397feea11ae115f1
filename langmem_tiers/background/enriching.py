"""The enriching pass: entries that were saved are put in order by the memory's model, if there is one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from langmem_tiers.clock import to_millis
from langmem_tiers.writing.enriching.enricher import Enricher


@dataclass(frozen=True)
class EnrichingPass:
    """Enriches one space, an entry between two commits; `enricher` is None where there is nobody to ask."""

    enricher: Enricher | None

    def step(self, stop: Callable[[], bool]) -> bool:
        """Look at what was saved; False when nothing was. After each entry `stop` is asked.

        Raises:
            StorageError: what is not enriched yet is enriched later.
        """
        worked = False
        while self.enricher is not None and (task := self.enricher.next_task()) is not None:
            if self.enricher.due(task) > to_millis(self.enricher.clock()) or not self.enricher.enrich(task):
                break
            worked = True
            if stop():
                break
        return worked

    def next_due(self) -> int | None:
        """When there is an entry to look at, in UTC milliseconds, be it past; None if never as things are."""
        task = None if self.enricher is None else self.enricher.next_task()
        return None if task is None or self.enricher is None else self.enricher.due(task)
