"""Recalls of a space in which another process writes for a while again and again, beside those of one left alone."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, sleep

import numpy as np
from reporting import parser, report
from texts import question, sentence

from langmem_tiers import Memory, Space, Turn

# What another process does: it holds the lock of the database for some seconds, and lets it go for as long.
HOLD = """
import sqlite3, sys, time
connection, seconds = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60), float(sys.argv[2])
print("ready", flush=True)
while True:
    connection.execute("BEGIN IMMEDIATE")
    time.sleep(seconds)
    connection.execute("ROLLBACK")
    time.sleep(seconds)
"""


def main() -> None:
    arguments = parser(__doc__ or "", "recall_beside_writer")
    arguments.add_argument("--drawers", type=int, default=2_000)
    arguments.add_argument("--recalls", type=int, default=150)
    arguments.add_argument("--held", type=float, nargs="+", default=[0.0, 0.05, 0.3, 2.0], help="seconds at a time")
    chosen = arguments.parse_args()
    with TemporaryDirectory() as folder, Memory.open(folder) as memory:
        space = memory.user("alice")
        rng = random.Random(chosen.seed)
        for start in range(0, chosen.drawers, 100):
            told = [Turn(role="user", content=sentence(rng)) for _ in range(100)]
            space.track(told, session=f"s{start}")
        memory.flush()
        memory.warm_up()
        (file,) = Path(folder).rglob("memory.db")
        rows = [beside(space, file, held, [question(rng) for _ in range(chosen.recalls)]) for held in chosen.held]
    report("Recalls beside another process that holds the space", rows, chosen.out)


def beside(space: Space, file: Path, held: float, questions: list[str]) -> dict[str, float | int | str]:
    other = None
    if held:
        other = subprocess.Popen([sys.executable, "-c", HOLD, str(file), str(held)], stdout=subprocess.PIPE)
        assert other.stdout is not None
        other.stdout.readline()
    spent, recalled = [], []
    try:
        for number, asked in enumerate(questions):
            began = perf_counter()
            recalled.append(space.recall(asked, session=f"{held}-{number}", message_id="1"))
            spent.append((perf_counter() - began) * 1000)
            sleep(0.05)
    finally:
        if other is not None:
            other.kill()
            other.wait()
    with_receipt = sum(each.receipt.number > 0 for each in recalled)
    p50, p95, most = np.percentile(spent, [50, 95, 100])
    with sqlite3.connect(file) as connection:
        stored = connection.execute("SELECT count(*) FROM receipts WHERE session LIKE ?", (f"{held}-%",)).fetchone()[0]
    return {
        "held s": held,
        "p50 ms": float(p50),
        "p95 ms": float(p95),
        "longest ms": float(most),
        "recalls": len(recalled),
        "with a receipt": with_receipt,
        "receipts stored": stored,
    }


if __name__ == "__main__":
    main()
