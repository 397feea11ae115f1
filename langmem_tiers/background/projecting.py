"""Updates the Chroma projection from the log, if this process owns it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection

from langmem_tiers.errors import ProjectionDamaged
from langmem_tiers.storage.chroma import ChromaIndex


@dataclass(frozen=True)
class ProjectJob:
    """Keeps the vectors of a space in Chroma, following the log."""

    chroma: ChromaIndex
    name: str = "project"

    def due(self, connection: Connection) -> None:
        """Never due by the clock."""

    def step(self, stop: Callable[[], bool]) -> bool:
        """Apply new changes in the log; False if there are none, or another process owns the projection.

        Raises:
            ProjectionDamaged: even a rebuilt projection could not be used.
        """
        if not self.chroma.needed():
            return self.chroma.reserve() and self.chroma.drop()
        if self.chroma.lost():
            self.chroma.distrust()
        if not (self.chroma.owned or self.chroma.wanted()):
            return False
        try:
            return self._catch_up(stop)
        except ProjectionDamaged:
            # A damaged index is rebuilt once; if that fails as well, it is retried later.
            self.chroma.distrust()
            return self._catch_up(stop)

    def _catch_up(self, stop: Callable[[], bool]) -> bool:
        worked = False
        if self.chroma.own():
            while self.chroma.step():
                worked = True
                if stop():
                    break
        return worked
