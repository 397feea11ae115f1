"""How long the nodes take while the background embeds, and while it is off: track after a turn, recall before one.

Conversations grow by a question and an answer each time, and the track node sees all of it each time, as in a graph.
The background works on a backlog in a space of its own; whether it had enough of that is told.
"""

from __future__ import annotations

import random
import threading
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from embedders import CHOICES, Projection, Timed, prepared
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from recall_latency import SPACE, fill
from reporting import Row, parser, report, say
from texts import SESSION_TURNS, question, sessions, turn

from langmem_tiers import Memory, Settings
from langmem_tiers.bench.asking import verbatim
from langmem_tiers.bench.scoring import spread
from langmem_tiers.graphs import recall_node, track_node

WARM_UP = 10
QUESTIONS_A_SESSION = 10
BACKLOG = "users/backlog"

Reply = Callable[[], float]
"""One call of a node by one of those who ask; the milliseconds that it took."""


class Replies:
    """Calls of nodes with what was not said or asked before."""

    def __init__(self, start: int) -> None:
        self._turns = count(start, 2)
        self._askers = count()
        self.backlog = count(10_000_000, 10_000_000)

    def tracking(self, memory: Memory) -> Reply:
        """Tracks conversations, each turn anew."""
        node = track_node(memory, space=SPACE, on_error="raise")
        conversation: list[AnyMessage] = []

        def reply() -> float:
            number = next(self._turns)
            if len(conversation) >= SESSION_TURNS:
                conversation.clear()
            conversation.append(HumanMessage(turn(number).content, id=f"m{number}"))
            conversation.append(AIMessage(turn(number + 1).content, id=f"m{number + 1}"))
            config = {"configurable": {"thread_id": f"post-{conversation[0].id}"}}
            return milliseconds(lambda: node.invoke({"messages": conversation}, config))

        return reply

    def recalling(self, memory: Memory) -> Reply:
        """Asks about what was said."""
        node, asker = recall_node(memory, space=SPACE, on_error="raise"), next(self._askers)
        rng, numbers = random.Random(f"asker {asker}"), count()

        def reply() -> float:
            number = next(numbers)
            asked = HumanMessage(question(rng), id=f"q{asker}-{number}")
            config = {"configurable": {"thread_id": f"ask-{asker}-{number // QUESTIONS_A_SESSION}"}}
            return milliseconds(lambda: node.invoke({"messages": [asked]}, config))

        return reply


def main() -> None:
    arguments = parser(__doc__ or "", "post_turn")
    arguments.add_argument("--drawers", type=int, default=10_000, help="drawers there before")
    arguments.add_argument("--turns", type=int, default=300, help="calls of each kind and round")
    arguments.add_argument("--rounds", type=int, default=2, help="in each, all kinds with and without background")
    arguments.add_argument("--threads", type=int, nargs="*", default=[1, 8, 32], help="that recall at once")
    arguments.add_argument("--backlog", type=int, default=1_000, help="messages for the background, a measurement")
    arguments.add_argument("--embedder", choices=CHOICES, default="projection", help="see embedders.py")
    arguments.add_argument("--work", type=Path, default=None, help="folder for the memory, on the disk to measure")
    chosen = arguments.parse_args()
    embedder = prepared(chosen.embedder)
    with TemporaryDirectory(dir=chosen.work) as folder:
        say(f"filling up to {chosen.drawers:,} drawers")
        with Memory.open(folder, embedder=embedder, settings=verbatim(Settings())) as memory:
            fill(memory, 0, chosen.drawers, chosen.seed)
        if isinstance(embedder.inner, Projection):
            embedder.inner.documents_in_full = True
        replies, kinds = Replies(chosen.drawers), [("track", 1), *(("recall", each) for each in chosen.threads)]
        rows: defaultdict[tuple[str, int, int], list[Row]] = defaultdict(list)
        for number in range(chosen.rounds):
            for door, threads in kinds:
                say(f"round {number + 1} of {chosen.rounds}: {door}, {threads} at once")
                for backlog in (chosen.backlog, 0):
                    row = measure(Path(folder), embedder, replies, (door, threads), chosen.turns, backlog)
                    rows[door, threads, backlog].append(row)
    report(
        f"Nodes beside the background, {chosen.drawers:,} drawers there",
        [middle(each) for each in rows.values()],
        chosen.out,
    )


def measure(folder: Path, embedder: Timed, replies: Replies, kind: tuple[str, int], turns: int, backlog: int) -> Row:
    """A row of figures of one door, called by so many threads at once; with a backlog, the background works on it."""
    door, threads = kind
    with Memory.open(folder, embedder=embedder, background=bool(backlog), settings=verbatim(Settings())) as memory:
        askers = [(replies.tracking if door == "track" else replies.recalling)(memory) for _ in range(threads)]
        for number in range(WARM_UP):
            askers[number % threads]()
        embedder.document_threads.clear()
        begin_backlog(memory, replies, backlog)
        with ThreadPoolExecutor(threads) as pool:
            told = list(
                pool.map(lambda reply: (threading.current_thread(), [reply() for _ in range(turns // threads)]), askers)
            )
        spent = spread([each for _, times in told for each in times])
        waiting = backlog and memory.space(BACKLOG).stats().pending
        here = embedder.document_threads & {thread for thread, _ in told}
        memory.flush()
    return {
        "door": door,
        "threads": threads,
        "background": "at work" if backlog else "off",
        "calls": turns // threads * threads,
        "p50 ms": spent.p50,
        "p95 ms": spent.p95,
        "embedded on this path": "yes" if here else "no",
        "backlog left": waiting,
    }


def begin_backlog(memory: Memory, replies: Replies, size: int) -> None:
    """Give the background so many messages to work on, and let it begin."""
    start = next(replies.backlog)
    for session, turns in sessions(start, start + size):
        memory.space(BACKLOG).track(turns, session=session).raise_rejected()


def middle(rows: list[Row]) -> Row:
    """The row with the lower of the two middle 95th percentiles."""
    return sorted(rows, key=lambda row: float(row["p95 ms"]))[(len(rows) - 1) // 2]


def milliseconds(call: Callable[[], object]) -> float:
    started = perf_counter()
    call()
    return (perf_counter() - started) * 1000


if __name__ == "__main__":
    main()
