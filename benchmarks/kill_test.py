"""Kill a writing process again and again, at random points, and look whether anything it acknowledged is missing.

All rounds write into one memory, so each finds what the kills before left. After every kill the memory is opened again:
every acknowledged turn must be there verbatim, once, and after `flush` the doctor must find no problem and
no drawer may lack its vector.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from time import perf_counter

from killing import KillTest
from reporting import Row
from writer import SPACE, made_turn

from langmem_tiers import Memory
from langmem_tiers.testing import HashEmbedder


@dataclass
class TurnKillTest(KillTest):
    """What was written is known by the ids of its messages."""

    written: set[str] = field(default_factory=set)
    doubled: int = 0

    name = "kill_test"
    writer = "writer.py"
    writes = "writes turns"
    rounds = 50

    @property
    def acknowledged(self) -> Collection[str]:
        """The ids of the messages that were written."""
        return self.written

    def acknowledge(self, line: str) -> None:
        """The messages of one call."""
        self.written.update(line.split())

    def examine(self, folder: str) -> None:
        """Every turn as it was made, once, with its vector."""
        started = perf_counter()
        with Memory.open(folder, embedder=HashEmbedder(), background=False) as memory:
            space = memory.space(SPACE)
            found = {drawer.message_id: drawer.content for drawer in space.drawers()}
            doubled = Counter(drawer.message_id for drawer in space.drawers()).total() - len(found)
            self.slowest_open = max(self.slowest_open, perf_counter() - started)
            self.doubled = max(self.doubled, doubled)
            self.lost = len(self.written - found.keys())
            self.altered = sum(content != made_turn(*_parts(name)).content for name, content in found.items() if name)
            space.flush()
            self.problems += [finding.message for finding in space.doctor() if finding.level == "problem"]
            if (stats := space.stats()).pending:
                self.problems.append(f"{stats.pending} drawers without vectors after flush")

    def figures(self) -> Row:
        """How many were there more than once."""
        return {"doubled": self.doubled}

    @property
    def failures(self) -> int:
        """Also what is there more than once."""
        return super().failures + self.doubled


def _parts(message_id: str) -> tuple[str, int]:
    name, _, number = message_id.rpartition("-")
    return name, int(number)


if __name__ == "__main__":
    sys.exit(TurnKillTest().main(__doc__ or ""))
