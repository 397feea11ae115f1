"""A process that writes relations into a space's graph and says on standard output which are acknowledged.

Lines: `ready` once the graph is open, then one for every relation whose call returned, or `error` with the reason. It
also asks, and has the graph written to its file again and again; `graph_kill_test.py` kills it somewhere on the way.
"""

from __future__ import annotations

import argparse
import random
import sys

from langmem_tiers import Memory, Space
from langmem_tiers.errors import MemoryTiersError
from langmem_tiers.records import Relation

SPACE = "users/bench"
PLACES = 40
CHANGES_A_FILE = 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--name", required=True, help="begins every name")
    chosen = parser.parse_args()
    with Memory.open(chosen.folder, embedder=None) as memory:
        space = memory.space(SPACE)
        space.graph.resolve("somebody")
        say("ready")
        write(memory, space, chosen.name)


def write(memory: Memory, space: Space, name: str) -> None:
    rng = random.Random(name)
    number = 0
    while True:
        number += 1
        try:
            step(rng, space, f"{name}-{number}")
            if number % 3 == 0:
                space.graph.neighbours(f"{name}-{number}", depth=2)
            with memory.use(SPACE) as store:
                store.graph.checkpoint(CHANGES_A_FILE)
        except MemoryTiersError as error:
            say(f"error {type(error).__name__}: {error}")


def step(rng: random.Random, space: Space, person: str) -> None:
    """Somebody moves somewhere, and in some cases on; some meet."""
    graph, year = space.graph, rng.randrange(1950, 2020)
    for moved in range(rng.choice((1, 1, 2))):
        place = f"Place {rng.randrange(PLACES)}"
        tell(graph.add_relation(person, "lives in", place, valid_from=f"{year + moved}").relation)
    if rng.random() < 0.2:
        tell(graph.add_relation(person, "has age", value=year).relation)


def tell(made: Relation) -> None:
    say("\t".join((made.id, *told(made))))


def told(made: Relation) -> list[str]:
    """What is compared later: of whom, what, and since when."""
    return [made.subject.name, made.target, "" if made.period.start is None else made.period.start.isoformat()]


def say(line: str) -> None:
    """One line, at once: what is in the pipe survives the process."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
