"""Random sequences of writes to the graph against a naive model of two times: every as-of answer has to be equal."""

from __future__ import annotations

from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import perf_counter

from bitemporal import Difference, Trial, day, random_writes
from reporting import parser, report, say

from langmem_tiers import Memory
from langmem_tiers.settings import Settings, StorageSettings
from langmem_tiers.testing import FrozenClock

# Sequences that share a space, each with names of its own.
_AT_ONCE = 200
# What power loss would take is made again by the next run.
QUICK = Settings(storage=StorageSettings(synchronous="NORMAL"))


def main() -> int:
    arguments = parser(__doc__ or "", "graph_bitemporal")
    arguments.add_argument("--sequences", type=int, default=1_000)
    arguments.add_argument("--writes", type=int, default=14, help="most of a sequence")
    arguments.add_argument("--questions", type=int, default=5, help="after each sequence")
    chosen = arguments.parse_args()
    started = perf_counter()
    writes = refused = answers = 0
    different: list[str] = []
    for first in range(0, chosen.sequences, _AT_ONCE):
        with TemporaryDirectory() as folder:
            clock = FrozenClock(day(6))
            with Memory.open(Path(folder), embedder=None, background=False, clock=clock, settings=QUICK) as memory:
                for number in range(first, min(first + _AT_ONCE, chosen.sequences)):
                    chance = Random(f"{chosen.seed} {number}")
                    sequence = random_writes(chance, chosen.writes)
                    clock.tick((day(6) - clock()).total_seconds())
                    trial = Trial(memory.space("trials"), clock, str(number))
                    try:
                        trial.run(sequence)
                        answers += trial.compare(chance, chosen.questions)
                    except Difference as difference:
                        different.append(f"sequence {number}: {difference}")
                        say(different[-1])
                    writes += len(sequence)
                    refused += trial.refused
        say(f"{min(first + _AT_ONCE, chosen.sequences):,} sequences, {len(different)} differ")
    row = {
        "sequences": chosen.sequences,
        "writes": writes,
        "refused alike": refused,
        "answers equal": answers,
        "sequences that differ": len(different),
        "seconds": round(perf_counter() - started, 1),
    }
    report("The graph against a naive model of two times", [row], chosen.out)
    return int(bool(different))


if __name__ == "__main__":
    raise SystemExit(main())
