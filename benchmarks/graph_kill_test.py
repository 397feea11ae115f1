"""Kill a process that writes to the knowledge graph, at random points, and look whether anything it said is missing.

All rounds write into one memory, so each finds what the kills before left. After every kill the memory is opened again:
every acknowledged relation must be there as it was said, the graph in memory must be what its rows say, and its file
whole or not there.
"""

from __future__ import annotations

import random
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Timer
from time import perf_counter

from graph_writer import SPACE, told
from reporting import Row, parser, report, say

from langmem_tiers import Memory
from langmem_tiers.storage import relations

WRITER = Path(__file__).with_name("graph_writer.py")


@dataclass
class Counts:
    """What all rounds together came to; what was acknowledged is subject, target and start by relation id."""

    kills: int = 0
    before_ready: int = 0
    acknowledged: dict[str, list[str]] = field(default_factory=dict)
    refused: int = 0
    lost: int = 0
    altered: int = 0
    from_file: int = 0
    problems: list[str] = field(default_factory=list)
    slowest_open: float = 0.0


def main() -> int:
    arguments = parser(__doc__ or "", "graph_kill_test")
    arguments.add_argument("--kills", type=int, default=200)
    arguments.add_argument("--longest", type=float, default=1.0, help="seconds a writer lives at most once it is ready")
    arguments.add_argument("--work", type=Path, default=None, help="folder for the memory, on the disk to measure")
    chosen = arguments.parse_args()
    rng = random.Random(chosen.seed)
    counts = Counts()
    with TemporaryDirectory(dir=chosen.work) as folder:
        for number in range(chosen.kills):
            write_and_kill(folder, f"w{number}", rng, chosen.longest, counts)
            examine(folder, counts)
            say(f"kill {number + 1}: {len(counts.acknowledged):,} acknowledged, {failures(counts)} failures so far")
    report(f"{chosen.kills} times kill -9 of a process that writes to the graph", [row(counts)], chosen.out)
    return min(failures(counts), 1)


def write_and_kill(folder: str, name: str, rng: random.Random, longest: float, counts: Counts) -> None:
    """One writer from start to kill; one in five dies early, mostly while it opens the memory."""
    writer = subprocess.Popen([sys.executable, str(WRITER), folder, "--name", name], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    early, ready = rng.random() < 0.2, False
    if early:
        Timer(rng.uniform(0.2, 1.2), writer.kill).start()
    for line in writer.stdout:
        if line == "ready\n":
            ready = True
            if not early:
                Timer(rng.uniform(0, longest), writer.kill).start()
        elif line.startswith("error"):
            counts.refused += 1
            say(line.strip())
        elif line.endswith("\n"):  # else it was cut off in the pipe, and so not acknowledged
            identity, *said = line.rstrip("\n").split("\t")
            counts.acknowledged[identity] = said
    writer.wait()
    writer.stdout.close()
    counts.kills += writer.returncode == -9
    counts.before_ready += not ready


def examine(folder: str, counts: Counts) -> None:
    """Open the memory and compare rows and graph with what was acknowledged; the doctor compares the two."""
    started = perf_counter()
    with Memory.open(folder, embedder=None, background=False) as memory:
        space = memory.space(SPACE)
        space.graph.resolve("somebody")
        counts.slowest_open = max(counts.slowest_open, perf_counter() - started)
        counts.problems += [finding.message for finding in space.doctor() if finding.level == "problem"]
        with memory.use(SPACE) as store, store.reading() as connection:
            counts.from_file += store.graph.path.exists()
            rows = list(relations.every(connection, store.key))
            found = {made.id: made for made in relations.relations_of(connection, store.key, rows)}
    counts.lost = len(counts.acknowledged.keys() - found.keys())
    kept = {each: told(made) for each, made in found.items()}
    counts.altered = sum(kept[each] != said for each, said in counts.acknowledged.items() if each in kept)


def failures(counts: Counts) -> int:
    return counts.lost + counts.altered + counts.refused + len(counts.problems)


def row(counts: Counts) -> Row:
    return {
        "kills": counts.kills,
        "while opening": counts.before_ready,
        "acknowledged": len(counts.acknowledged),
        "lost": counts.lost,
        "altered": counts.altered,
        "errors": counts.refused,
        "opened with a file": counts.from_file,
        "problems found": "; ".join(counts.problems) or "none",
        "slowest reopening s": counts.slowest_open,
    }


if __name__ == "__main__":
    sys.exit(main())
