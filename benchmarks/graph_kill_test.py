"""Kill a process that writes to the knowledge graph, at random points, and look whether anything it said is missing.

All rounds write into one memory, so each finds what the kills before left. After every kill the memory is opened again:
every acknowledged relation must be there as it was said, the graph in memory must be what its rows say, and its file
whole or not there.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from dataclasses import dataclass, field
from time import perf_counter

from graph_writer import SPACE, told
from killing import KillTest
from reporting import Row

from langmem_tiers import Memory
from langmem_tiers.storage import relations


@dataclass
class GraphKillTest(KillTest):
    """What was said is subject, target and start by relation id."""

    said: dict[str, list[str]] = field(default_factory=dict)
    from_file: int = 0

    name = "graph_kill_test"
    writer = "graph_writer.py"
    writes = "writes to the graph"
    rounds = 200

    @property
    def acknowledged(self) -> Collection[str]:
        """The ids of the relations that were said."""
        return self.said.keys()

    def acknowledge(self, line: str) -> None:
        """A relation: its id, and what is compared."""
        identity, *said = line.split("\t")
        self.said[identity] = said

    def examine(self, folder: str) -> None:
        """The doctor compares the graph in memory with its rows."""
        started = perf_counter()
        with Memory.open(folder, embedder=None, background=False) as memory:
            space = memory.space(SPACE)
            space.graph.resolve("somebody")
            self.slowest_open = max(self.slowest_open, perf_counter() - started)
            self.problems += [finding.message for finding in space.doctor() if finding.level == "problem"]
            with memory.use(SPACE) as store, store.reading() as connection:
                self.from_file += store.graph.path.exists()
                rows = list(relations.every(connection, store.key))
                found = {made.id: made for made in relations.relations_of(connection, store.key, rows)}
        self.lost = len(self.said.keys() - found.keys())
        kept = {each: told(made) for each, made in found.items()}
        self.altered = sum(kept[each] != said for each, said in self.said.items() if each in kept)

    def figures(self) -> Row:
        """How often the graph had a file to be opened from."""
        return {"opened with a file": self.from_file}


if __name__ == "__main__":
    sys.exit(GraphKillTest().main(__doc__ or ""))
