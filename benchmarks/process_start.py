"""What a process computes until it has imported the package, said something for the first time, and been asked.

Each round is a process of its own, with byte code of an earlier one. The floor is to import the libraries alone.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from reporting import Row, parser, report, say

STEPS = (
    "the libraries alone",
    "import of Memory",
    "warm_up",
    "first track",
    "first recall",
    "flush",
    "mining",
    "second recall",
)
RUN = """
import sys, tempfile
from time import process_time

def told(began):
    print(process_time() - began, flush=True)
    return process_time()

now = process_time()
import numpy, orjson, pydantic, sqlalchemy
now = told(now)
from langmem_tiers import Memory, Turn
now = told(now)
with tempfile.TemporaryDirectory() as folder, Memory.open(folder, background=False) as memory:
    alice = memory.user("alice")
    now = process_time()
    if "warm_up" in sys.argv:
        memory.warm_up()
    now = told(now)
    alice.track([Turn(role="user", content="I moved to Lisbon last year, and I work at a bakery.")], session="s")
    now = told(now)
    alice.recall("Where do I live?", session="t")
    now = told(now)
    memory.flush()
    now = told(now)
    alice.mine()
    now = told(now)
    alice.recall("Where do I work?", session="t")
    now = told(now)
"""


def main() -> None:
    arguments = parser(__doc__ or "", "process_start")
    arguments.add_argument("--rounds", type=int, default=5, help="the median counts")
    arguments.add_argument("--source", type=Path, help="another checkout of the package, to be compared with this one")
    arguments.add_argument("--warm-up", action="store_true", help="call `Memory.warm_up` first, as a service does")
    chosen = arguments.parse_args()
    here = Path(__file__).parent.parent
    sources = {"this checkout": here} | ({"the other one": chosen.source.resolve()} if chosen.source else {})
    with tempfile.TemporaryDirectory() as cache:
        rounds: dict[str, list[list[float]]] = {name: [] for name in sources}
        for number in range(chosen.rounds + 1):
            say(f"round {number}")
            for name, source in sources.items():
                took = seconds(source, cache, warm_up=chosen.warm_up)
                rounds[name] += [took] if number else []  # the first one writes the byte code
    report("What a process computes at its start, seconds", [*rows(rounds)], chosen.out)


def seconds(source: Path, cache: str, *, warm_up: bool) -> list[float]:
    """Processor time of each step in a new process."""
    environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONPYCACHEPREFIX": cache}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    run = [sys.executable, "-c", RUN, *(["warm_up"] if warm_up else [])]
    # Elsewhere, as the folder it is run in goes before all others.
    done = subprocess.run(run, cwd=cache, env=environment, check=True, capture_output=True, text=True)
    return [float(line) for line in done.stdout.split()]


def rows(rounds: dict[str, list[list[float]]]) -> list[Row]:
    found: list[Row] = []
    for place, step in enumerate(STEPS):
        row: dict[str, float | str] = {"step": step}
        for name, taken in rounds.items():
            row[name] = median(each[place] for each in taken)
        found.append(row)
    return found


if __name__ == "__main__":
    main()
