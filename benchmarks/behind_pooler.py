"""Track and recall over PostgreSQL, directly and behind PgBouncer in transaction and in session mode, in turns."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from time import perf_counter

from reporting import parser, report

sys.path.append(str(Path(__file__).parent.parent))
from langmem_tiers import Memory, Space, Turn
from langmem_tiers.testing import HashEmbedder
from tests import servers


def main() -> None:
    arguments = parser(__doc__ or "", "behind_pooler")
    arguments.add_argument("--rounds", type=int, default=5, help="after one that warms up")
    arguments.add_argument("--turns", type=int, default=60, help="tracked and recalled in each round")
    chosen = arguments.parse_args()
    with ExitStack() as last_to_first:
        postgres = servers.Postgres(durable=True)
        last_to_first.callback(postgres.remove)
        addresses = {"directly": postgres.address()}
        for mode in ("transaction", "session"):
            pooler = servers.PgBouncer(postgres, mode=mode)
            last_to_first.callback(pooler.remove)
            addresses[f"PgBouncer, {mode} mode"] = pooler.address()
        spaces = {}
        for way, address in addresses.items():
            memory = Memory.open(address, embedder=HashEmbedder(), background=False)
            spaces[way] = last_to_first.enter_context(memory).user(way)
        spent: dict[str, tuple[list[float], list[float]]] = {way: ([], []) for way in spaces}
        for place in range(chosen.rounds + 1):
            for way, space in spaces.items():
                talk(space, place * chosen.turns, chosen.turns, *(spent[way] if place else ([], [])))
    rows = [
        {"way": way, "track ms": 1000 * median(tracked), "recall ms": 1000 * median(recalled)}
        for way, (tracked, recalled) in spent.items()
    ]
    report("A memory behind a pooler", rows, chosen.out)


def talk(space: Space, first: int, turns: int, tracked: list[float], recalled: list[float]) -> None:
    """Tell something and ask for something, and note how long each took."""
    for number in range(first, first + turns):
        said = Turn(
            role="user", content=f"My boat number {number} is called Nadia {number} and lies at pier {number % 9}."
        )
        tracked.append(timed(lambda said=said, number=number: space.track([said], session=f"s{number // 20}")))
        asked = f"Where does boat number {number // 2} lie?"
        recalled.append(timed(lambda asked=asked, number=number: space.recall(asked, session=f"t{number}")))


def timed(call: Callable[[], object]) -> float:
    began = perf_counter()
    call()
    return perf_counter() - began


if __name__ == "__main__":
    main()
