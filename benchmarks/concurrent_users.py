"""Many users at once in one async process: whether the event loop is held up, and how long recall takes.

All users take their turns at the same time, in one graph without memory, in the ready-made agent and in an agent with
the middleware. Beside them a task asks to be woken every few milliseconds; what it is late is the loop's delay. One
thread of a process runs Python at a time, so a loop is late as well where others compute: for "threads" those that the
memory would work in do nothing else. Each single step of the loop is timed by what its thread computed: that is what
holds others up and is the code's own, however busy the machine. Python's garbage collections are told apart: a full one
looks at all that was ever imported, unless `gc.freeze()` was called after the start.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import random
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, thread_time
from typing import Any

from embedders import CHOICES, prepared
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from reporting import Row, parser, report, say
from texts import question, sentence

from langmem_tiers import Memory, Settings, StorageSettings
from langmem_tiers.bench.scoring import spread
from langmem_tiers.graphs import memory_agent
from langmem_tiers.integrations import MemoryMiddleware
from langmem_tiers.testing import ScriptedChatModel

BEAT = 0.005
REPLY = "I see."


@dataclass
class Loop:
    """How late a loop was, what each of its steps computed, and its thread's garbage collections, in milliseconds."""

    late: list[float] = field(default_factory=list)
    steps: list[float] = field(default_factory=list)
    collected: list[float] = field(default_factory=list)

    async def beat(self) -> None:
        """Ask to be woken, again and again."""
        while True:
            due = perf_counter() + BEAT
            await asyncio.sleep(BEAT)
            self.late.append(max(0.0, perf_counter() - due) * 1000)

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Time every step: asyncio runs each through this one method."""
        really, here, collecting = asyncio.Handle._run, threading.get_ident(), 0.0

        def run(handle: asyncio.Handle) -> None:
            before, known = thread_time(), len(self.collected)
            really(handle)
            if asyncio.Handle._run is run:
                self.steps.append((thread_time() - before) * 1000 - sum(self.collected[known:]))

        def collects(phase: str, _: Any) -> None:
            nonlocal collecting
            if threading.get_ident() != here:
                return
            if phase == "start":
                collecting = thread_time()
            else:
                self.collected.append((thread_time() - collecting) * 1000)

        asyncio.Handle._run = run
        gc.callbacks.append(collects)
        try:
            yield
        finally:
            asyncio.Handle._run = really
            gc.callbacks.remove(collects)


async def watched(work: Callable[[], Awaitable[list[float]]]) -> tuple[Loop, list[float]]:
    """The loop while some work was done, and the work's own times."""
    loop = Loop()
    beating = asyncio.create_task(loop.beat())
    try:
        with loop.timed():
            times = await work()
    finally:
        beating.cancel()
    return loop, times


async def idle() -> list[float]:
    await asyncio.sleep(3)
    return [0.0]


async def threads() -> list[float]:
    """Computing in the threads that the memory would work in, without it."""

    def compute() -> None:
        for number in range(60_000):
            str(number).encode()

    await asyncio.gather(*(asyncio.to_thread(compute) for _ in range(60)))
    return [0.0]


def turns(graph: Any, users: int, each: int, seed: str) -> Callable[[], Awaitable[list[float]]]:
    """All users at once, each with so many turns: a thing to remember, then questions. How long each turn took."""

    async def one(user: int) -> list[float]:
        rng = random.Random(f"{seed}-{user}")
        run = {"configurable": {"user_id": f"user{user}", "thread_id": f"{user}-{seed}"}}
        times = []
        for number in range(each):
            text = sentence(rng) if number == 0 else question(rng)
            started = perf_counter()
            await graph.ainvoke({"messages": text}, run)
            times.append((perf_counter() - started) * 1000)
        return times

    async def all_of_them() -> list[float]:
        return [time for times in await asyncio.gather(*map(one, range(users))) for time in times]

    return all_of_them


def without_memory() -> Any:
    async def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(REPLY)]}

    return StateGraph(MessagesState).add_node(answer).add_edge(START, "answer").compile(checkpointer=InMemorySaver())


def row(name: str, loop: Loop, times: list[float], recalls: list[float]) -> Row:
    late, step, took = spread(loop.late), spread(loop.steps), spread(times)
    recall = spread(recalls or [0.0])
    return {
        "what": name,
        "late p50 ms": late.p50,
        "late p95 ms": late.p95,
        "late max ms": max(loop.late),
        "step p95 ms": step.p95,
        "longest step ms": max(loop.steps),
        "longest collection ms": max(loop.collected, default=0.0),
        "turn p50 ms": took.p50,
        "turn p95 ms": took.p95,
        "recall p50 ms": recall.p50,
        "recall p95 ms": recall.p95,
    }


async def measured(chosen: Any, folder: str) -> list[Row]:
    rows = [row("idle", *await watched(idle), []), row("threads", *await watched(threads), [])]
    plain = turns(without_memory(), chosen.users, chosen.turns, "plain")
    rows.append(row("no memory", *await watched(plain), []))
    settings = Settings(storage=StorageSettings(memory_mb=chosen.memory_mb))
    with Memory.open(folder, embedder=prepared(chosen.embedder), settings=settings) as memory:
        model, saver = ScriptedChatModel(responses=[REPLY]), InMemorySaver()
        graphs = {
            "agent graph": memory_agent(model, memory, checkpointer=saver, on_error="raise"),
            "middleware": create_agent(
                model, middleware=[MemoryMiddleware(memory, on_error="raise")], checkpointer=InMemorySaver()
            ),
        }
        say(f"making {chosen.users} spaces")
        await turns(graphs["agent graph"], chosen.users, 1, "first")()
        for name, graph in (*graphs.items(), ("agent graph, gc.freeze()", graphs["agent graph"])):
            say(name)
            if "freeze" in name:
                gc.freeze()
            seen = {user: memory.user(f"user{user}").receipts(limit=1)[0].number for user in range(chosen.users)}
            loop, times = await watched(turns(graph, chosen.users, chosen.turns, f"{chosen.seed} {name}"))
            rows.append(row(name, loop, times, recalls(memory, seen)))
    return rows


def recalls(memory: Memory, seen: dict[int, int]) -> list[float]:
    """How long the recalls of the users took since those receipts, in milliseconds."""
    return [
        receipt.timings["total"]
        for user, last in seen.items()
        for receipt in memory.user(f"user{user}").receipts(limit=100)
        if receipt.number > last
    ]


def main() -> None:
    arguments = parser(__doc__ or "", "concurrent_users")
    arguments.add_argument("--users", type=int, default=100)
    arguments.add_argument("--turns", type=int, default=5)
    arguments.add_argument("--memory-mb", type=int, default=2_000, help="what open spaces may take")
    arguments.add_argument("--embedder", choices=CHOICES, default="projection", help="see embedders.py")
    arguments.add_argument("--work", type=Path, default=None, help="folder for the memory, on the disk to measure")
    chosen = arguments.parse_args()
    logging.getLogger("langmem_tiers").setLevel(logging.ERROR)
    with TemporaryDirectory(dir=chosen.work) as folder:
        rows = asyncio.run(measured(chosen, folder))
    report(f"{chosen.users} users at once, {chosen.turns} turns each", rows, chosen.out)


if __name__ == "__main__":
    main()
