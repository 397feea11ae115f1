"""Kill a writing process again and again, at random points, and look whether anything it acknowledged is missing.

All rounds write into one memory, so each finds what the kills before left. After every kill the memory is opened again:
every acknowledged turn must be there verbatim, once, and after `flush` the doctor must find no problem and
no drawer may lack its vector.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Timer
from time import perf_counter

from reporting import Row, parser, report, say
from writer import SPACE, made_turn

from langmem_tiers import Memory
from langmem_tiers.testing import HashEmbedder

WRITER = Path(__file__).with_name("writer.py")


@dataclass
class Counts:
    """What all rounds together came to."""

    kills: int = 0
    before_ready: int = 0
    acknowledged: set[str] = field(default_factory=set)
    refused: int = 0
    lost: int = 0
    altered: int = 0
    doubled: int = 0
    problems: list[str] = field(default_factory=list)
    slowest_open: float = 0.0


def main() -> int:
    arguments = parser(__doc__ or "", "kill_test")
    arguments.add_argument("--kills", type=int, default=50)
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
    report(f"{chosen.kills} times kill -9 of a writing process", [row(counts)], chosen.out)
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
            counts.acknowledged.update(line.split())
    writer.wait()
    writer.stdout.close()
    counts.kills += writer.returncode == -9
    counts.before_ready += not ready


def examine(folder: str, counts: Counts) -> None:
    """Open the memory and compare it with what was acknowledged."""
    started = perf_counter()
    with Memory.open(folder, embedder=HashEmbedder(), background=False) as memory:
        space = memory.space(SPACE)
        found = {drawer.message_id: drawer.content for drawer in space.drawers()}
        doubled = Counter(drawer.message_id for drawer in space.drawers()).total() - len(found)
        counts.slowest_open = max(counts.slowest_open, perf_counter() - started)
        counts.doubled = max(counts.doubled, doubled)
        counts.lost = len(counts.acknowledged - found.keys())
        counts.altered = sum(content != made_turn(*_parts(name)).content for name, content in found.items() if name)
        space.flush()
        counts.problems += [finding.message for finding in space.doctor() if finding.level == "problem"]
        if (stats := space.stats()).pending:
            counts.problems.append(f"{stats.pending} drawers without vectors after flush")


def _parts(message_id: str) -> tuple[str, int]:
    name, _, number = message_id.rpartition("-")
    return name, int(number)


def failures(counts: Counts) -> int:
    return counts.lost + counts.altered + counts.doubled + counts.refused + len(counts.problems)


def row(counts: Counts) -> Row:
    return {
        "kills": counts.kills,
        "while opening": counts.before_ready,
        "acknowledged": len(counts.acknowledged),
        "lost": counts.lost,
        "altered": counts.altered,
        "doubled": counts.doubled,
        "errors": counts.refused,
        "problems found": "; ".join(counts.problems) or "none",
        "slowest reopening s": counts.slowest_open,
    }


if __name__ == "__main__":
    sys.exit(main())
