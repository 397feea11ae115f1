"""How long the recall node takes before a turn, against one embedding of the user's message.

The unit is the bare embedder on the same questions, measured in turns with the node. The storage part is what the node
takes beyond its own embedding: look-ups, ranking, rendering and the receipt's transaction.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from embedders import CHOICES, Timed, prepared
from langchain_core.messages import HumanMessage
from reporting import Row, parser, report, say
from texts import question, sessions

from langmem_tiers import Memory, Settings, Turn
from langmem_tiers.bench.asking import verbatim
from langmem_tiers.bench.scoring import spread
from langmem_tiers.graphs import recall_node

SPACE = "users/bench"
WARM_UP = 20
QUESTIONS_A_SESSION = 10


def main() -> None:
    arguments = parser(__doc__ or "", "recall_latency")
    arguments.add_argument("--drawers", type=int, nargs="+", default=[1_000, 10_000], help="sizes, smallest first")
    arguments.add_argument("--questions", type=int, default=200)
    arguments.add_argument("--embedder", choices=CHOICES, default="projection", help="see embedders.py")
    arguments.add_argument("--work", type=Path, default=None, help="folder for the memory, on the disk to measure")
    chosen = arguments.parse_args()
    embedder = prepared(chosen.embedder)
    rows = []
    with (
        TemporaryDirectory(dir=chosen.work) as folder,
        Memory.open(folder, embedder=embedder, settings=verbatim(Settings())) as memory,
    ):
        present = 0
        for size in sorted(chosen.drawers):
            say(f"filling up to {size:,} drawers")
            fill(memory, present, size, chosen.seed)
            present = size
            say("asking")
            rows.append(measure(memory, embedder, size, chosen.questions, chosen.seed))
    report(f"Recall node before a turn, {chosen.embedder} vectors", rows, chosen.out)


def fill(memory: Memory, start: int, stop: int, seed: int, length: int | None = None) -> None:
    store(memory, sessions(start, stop, seed=seed, length=length))


def store(memory: Memory, conversations: Iterable[tuple[str, list[Turn]]]) -> None:
    """Store conversations, and wait for their vectors."""
    space = memory.space(SPACE)
    for session, turns in conversations:
        space.track(turns, session=session).raise_rejected()
    if not space.flush():
        raise SystemExit("The vectors could not be made: see the warning above.")


def measure(memory: Memory, embedder: Timed, size: int, questions: int, seed: int) -> Row:
    node = recall_node(memory, space=SPACE, on_error="raise")
    rng = random.Random(f"{seed}/{size}")
    units, totals, storage = [], [], []
    for number in range(WARM_UP + questions):
        asked = HumanMessage(question(rng), id=f"q{size}-{number}")
        started = perf_counter()
        embedder.embed_query(asked.text)
        unit = (perf_counter() - started) * 1000
        session = f"ask-{size}-{number // QUESTIONS_A_SESSION}"
        started = perf_counter()
        node.invoke({"messages": [asked]}, {"configurable": {"thread_id": session}})
        total = (perf_counter() - started) * 1000
        if number >= WARM_UP:
            units.append(unit)
            totals.append(total)
            storage.append(total - embedder.query_ms)
    unit, total, beyond = spread(units), spread(totals), spread(storage)
    return {
        "drawers": size,
        "embedding p50 ms": unit.p50,
        "node p50 ms": total.p50,
        "node p95 ms": total.p95,
        "p50 / embedding p50": total.p50 / unit.p50,
        "p95 / embedding p50": total.p95 / unit.p50,
        "storage p50 ms": beyond.p50,
        "storage p95 ms": beyond.p95,
    }


if __name__ == "__main__":
    main()
