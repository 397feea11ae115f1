"""How long the track node takes after a turn: one transaction, no embedding.

Conversations grow by a question and an answer each time, and the node sees the whole conversation each time, as it does
in a graph. Measured with the background worker at work on what was just stored, and without it.
"""

from __future__ import annotations

import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from embedders import CHOICES, Timed, prepared
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from recall_latency import SPACE, fill
from reporting import Row, parser, report, say
from texts import SESSION_TURNS, turn

from langmem_tiers import Memory, Settings
from langmem_tiers.bench.asking import verbatim
from langmem_tiers.bench.scoring import spread
from langmem_tiers.graphs import track_node

WARM_UP = 10


def main() -> None:
    arguments = parser(__doc__ or "", "post_turn")
    arguments.add_argument("--drawers", type=int, default=10_000, help="drawers there before")
    arguments.add_argument("--turns", type=int, default=300)
    arguments.add_argument("--embedder", choices=CHOICES, default="projection", help="see embedders.py")
    arguments.add_argument("--work", type=Path, default=None, help="folder for the memory, on the disk to measure")
    chosen = arguments.parse_args()
    embedder = prepared(chosen.embedder)
    rows = []
    with TemporaryDirectory(dir=chosen.work) as folder:
        say(f"filling up to {chosen.drawers:,} drawers")
        with Memory.open(folder, embedder=embedder, settings=verbatim(Settings())) as memory:
            fill(memory, 0, chosen.drawers, chosen.seed)
        start = chosen.drawers
        for background in (True, False):
            with Memory.open(folder, embedder=embedder, background=background, settings=verbatim(Settings())) as memory:
                rows.append(measure(memory, embedder, start, chosen.turns, background))
            start += 2 * (WARM_UP + chosen.turns)
    report(f"Track node after a turn, {chosen.drawers:,} drawers there", rows, chosen.out)


def measure(memory: Memory, embedder: Timed, start: int, turns: int, background: bool) -> Row:
    node = track_node(memory, space=SPACE, on_error="raise")
    embedder.document_threads.clear()
    times: list[float] = []
    conversation: list[AnyMessage] = []
    for number in range(start, start + 2 * (WARM_UP + turns), 2):
        if len(conversation) >= SESSION_TURNS:
            conversation = []
        conversation += [HumanMessage(turn(number).content, id=f"m{number}")]
        conversation += [AIMessage(turn(number + 1).content, id=f"m{number + 1}")]
        started = perf_counter()
        node.invoke({"messages": conversation}, {"configurable": {"thread_id": f"post-{conversation[0].id}"}})
        times.append((perf_counter() - started) * 1000)
    spent = spread(times[WARM_UP:])
    embedded_here = threading.get_ident() in embedder.document_threads
    return {
        "background": "at work" if background else "off",
        "turns": turns,
        "p50 ms": spent.p50,
        "p95 ms": spent.p95,
        "embedded on this path": "yes" if embedded_here else "no",
    }


if __name__ == "__main__":
    main()
