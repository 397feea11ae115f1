"""What settings of an agent, a space or a node cost each recall: the same questions with and without them, in turns.

What is set is what holds anyway, so that all recalls do the same work in the same space. Two plain ones show how much
chance is in the figures; beside them stands the handle of a space alone, in microseconds, with its settings looked up.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from reporting import Row, parser, report, say
from texts import question, sessions

from langmem_tiers import Memory, RecallSettings, Settings
from langmem_tiers.bench.scoring import spread
from langmem_tiers.graphs import recall_node

WARM_UP = 20
HANDLES = 20_000
SAME = Settings(recall=RecallSettings(later=RecallSettings().later))
CODE = Settings(
    spaces={f"users/{name}": SAME for name in ("own", *range(1000))},
    agents={str(name): SAME for name in ("own", *range(1000))},
)


def main() -> None:
    arguments = parser(__doc__ or "", "settings_cost")
    arguments.add_argument("--drawers", type=int, default=1000)
    arguments.add_argument("--questions", type=int, default=1000)
    chosen = arguments.parse_args()
    with TemporaryDirectory() as folder, Memory.open(folder, embedder=None, settings=CODE) as memory:
        say("filling the space")
        space = memory.user("plain")
        for session, turns in sessions(0, chosen.drawers, seed=chosen.seed):
            space.track(turns, session=session).raise_rejected()
        memory.flush()
        say("asking")
        rows = [*recalls(memory, random.Random(chosen.seed), chosen.questions)]
        report(f"Recall nodes, {chosen.drawers:,} drawers, by keywords; milliseconds", rows, chosen.out)
        handles = [handle(memory, *whose) for whose in (("plain", None), ("plain", "own"), ("own", "own"))]
        report("The handle of a space; microseconds", handles, chosen.out.with_stem(f"{chosen.out.stem}_handle"))


def recalls(memory: Memory, rng: random.Random, questions: int) -> list[Row]:
    """Recalls of each kind in turns, in an order that changes; the difference is that to the plain one of its turn."""
    plain = recall_node(memory, on_error="raise")
    limited = recall_node(memory, limit=RecallSettings().limit, on_error="raise")
    kinds: dict[str, tuple[Any, dict[str, str]]] = {
        "none": (plain, {}),
        "none again": (plain, {}),
        "of the agent": (plain, {"agent_id": "own"}),
        "of the node": (limited, {}),
    }
    took: dict[str, list[float]] = {kind: [] for kind in kinds}
    for number in range(WARM_UP + questions):
        state = {"messages": [("human", question(rng))]}
        for kind in rng.sample([*kinds], len(kinds)):
            node, who = kinds[kind]
            config = {"configurable": {"user_id": "plain", "thread_id": f"{kind} {number}", **who}}
            spent = timed(partial(node.invoke, state, config))
            if number >= WARM_UP:
                took[kind].append(spent)
    first = took["none"]
    return [
        {
            "settings": kind,
            "p50": spread(times).p50,
            "p95": spread(times).p95,
            "median difference": median(mine - its for mine, its in zip(times, first, strict=True)),
            "p50 ratio": spread(times).p50 / spread(first).p50,
        }
        for kind, times in took.items()
    ]


def handle(memory: Memory, user: str, agent: str | None) -> Row:
    """Making the handle of a space."""
    times = [timed(partial(memory.user, user, agent=agent)) * 1000 for _ in range(HANDLES)]
    owners = [whose for whose in (user, agent) if whose == "own"]
    kind = ("none", "of the agent", "of the space and the agent")[len(owners)]
    return {"settings": kind, "p50": spread(times).p50, "p95": spread(times).p95}


def timed(call: Callable[[], object]) -> float:
    started = perf_counter()
    call()
    return (perf_counter() - started) * 1000


if __name__ == "__main__":
    main()
