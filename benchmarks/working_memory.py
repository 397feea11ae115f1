"""Working memory of one user: saving, reading, listing and searching with many full namespaces, and its inventory.

Beside it stands the floor: one commit of the same database, which every save waits for.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from reporting import Row, parser, report, say

from langmem_tiers import Memory
from langmem_tiers.storage import facts
from langmem_tiers.testing import HashEmbedder

VALUE = "3 unread messages: Ana asks about the boat, Ben about Friday, the bank about a card. " * 3


def main() -> None:
    arguments = parser(__doc__ or "", "working_memory")
    arguments.add_argument("--namespaces", type=int, default=1000)
    arguments.add_argument("--entries", type=int, default=50, help="in each namespace")
    arguments.add_argument("--calls", type=int, default=300)
    chosen = arguments.parse_args()
    with TemporaryDirectory() as folder, Memory.open(folder, embedder=HashEmbedder(), background=False) as memory:
        working = memory.user("alice").working
        for number in range(chosen.namespaces):
            if number % 100 == 0:
                say(f"namespace {number:,} of {chosen.namespaces:,}")
            own = working.within(f"session/t{number}")
            for entry in range(chosen.entries):
                own.save(f"entry{entry:02}", VALUE, ttl_minutes=600, category="mail", tags=["inbox", "unread"])
        rng = np.random.default_rng(chosen.seed)

        def somewhere() -> Any:
            return working.within(f"session/t{rng.integers(chosen.namespaces)}")

        calls: dict[str, Callable[[], object]] = {
            "get": lambda: somewhere().get(f"entry{rng.integers(chosen.entries):02}"),
            "list": lambda: somewhere().list(),
            "search by words": lambda: somewhere().search("bank card"),
            "inventory": lambda: somewhere().prompt_block(),
            "save": lambda: somewhere().save(f"entry{rng.integers(chosen.entries):02}", VALUE, ttl_minutes=600),
            "a commit alone": lambda: commit(memory),
        }
        rows = [timed(name, call, chosen.calls) for name, call in calls.items()]
        block = working.within("session/t0").prompt_block()
        tokens = memory.count_tokens(block)
    report(f"{chosen.namespaces:,} namespaces of {chosen.entries} entries; milliseconds", rows, chosen.out)
    print(f"Inventory of {chosen.entries} entries: {tokens:,} tokens, {len(block):,} characters.")


def commit(memory: Memory) -> None:
    with memory.use("users/alice") as store, store.writing() as connection:
        facts.count_up(connection, store.key, "benchmark")


def timed(name: str, call: Callable[[], object], calls: int) -> Row:
    took = []
    for _ in range(calls):
        begun = time.perf_counter()
        call()
        took.append(1000 * (time.perf_counter() - begun))
    return {"call": name, "p50": float(np.percentile(took, 50)), "p95": float(np.percentile(took, 95))}


if __name__ == "__main__":
    main()
