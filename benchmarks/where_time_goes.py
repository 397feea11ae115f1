"""Where the time of each main door goes: processor time, the modules that take it, and its SQL statements.

Every door is measured three times: bare (processor time of the process, and of the bare embedder), with SQLAlchemy's
events (how many statements a call takes, which, and for how long), and under cProfile (shares of the calling thread's
processor time by module; a profiler distorts them). With `--plans`, the slowest statements come with their query plans.
With `--allocations`, a fourth time under tracemalloc: how many KB a call needs at its most beyond what there was, and
what is still there after it and a collection, in KB and blocks.

A call of `ingest` tells a conversation of 20 messages, has it filed, embedded and mined by the rules, and what was
found put in the graph; one of `import` does the same with a file of them, as `langmem-tiers import` does.
"""

from __future__ import annotations

import cProfile
import gc
import json
import pstats
import random
import re
import sys
import tracemalloc
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time, thread_time
from typing import Any
from uuid import uuid4

from embedders import CHOICES, Timed, prepared
from langchain_core.messages import HumanMessage
from multiply import make
from recall_latency import SPACE
from reporting import Row, parser, report, say
from sqlalchemy import Engine, event
from texts import SESSION_TURNS, message, question

from langmem_tiers import GraphSettings, Memory, Settings, Turn
from langmem_tiers.bench.asking import verbatim
from langmem_tiers.bench.scoring import spread
from langmem_tiers.graphs import recall_node
from langmem_tiers.integrations.store import TieredStore

Door = Callable[[int], object]
"""One call of a door; its argument is a number that was not used before."""
# What a module is counted as: the first that its file's path contains.
_ROOMS = ("langmem_tiers/", "sqlalchemy", "numpy", "onnxruntime", "tokenizers", "orjson", "chromadb", "langgraph")
_SLOW, _MODULES = 5, 12
# Calls of a door that takes longer than others, and those under tracemalloc, which takes several times as long.
_FEW, _TRACED = 5, 20
# Characters of a statement that are told.
_LONGEST = 300
_PLANNED = {"SELECT", "INSERT", "UPDATE", "DELETE"}


@dataclass
class Statements:
    """The statements that were executed while it listens, with their time in milliseconds and SQLite's plans."""

    count: Counter[str] = field(default_factory=Counter)
    plans: dict[str, list[str]] = field(default_factory=dict)
    spent: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Count during the block."""

        def before(connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool) -> None:
            connection.info.setdefault("started", []).append(perf_counter())

        def after(connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool) -> None:
            spent = (perf_counter() - connection.info["started"].pop()) * 1000
            said = re.sub(r"\?(, \?)+", "?, …", " ".join(statement.split()))
            self.count[said] += 1
            self.spent[said] += spent
            if said not in self.plans and not many and said.split()[0] in _PLANNED:
                raw = connection.connection.driver_connection
                self.plans[said] = [row[3] for row in raw.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)]

        event.listen(Engine, "before_cursor_execute", before)
        event.listen(Engine, "after_cursor_execute", after)
        try:
            yield
        finally:
            event.remove(Engine, "before_cursor_execute", before)
            event.remove(Engine, "after_cursor_execute", after)


def main() -> None:
    arguments = parser(__doc__ or "", "where_time_goes")
    arguments.add_argument("--drawers", type=int, default=10_000)
    arguments.add_argument("--calls", type=int, default=100, help="of each door and kind of measurement")
    arguments.add_argument("--doors", nargs="*", default=None, help="only these")
    arguments.add_argument("--embedder", choices=CHOICES, default="projection", help="see embedders.py")
    arguments.add_argument("--work", type=Path, default=None, help="a memory to use, and write into")
    arguments.add_argument("--plans", action="store_true", help="query plans of the slowest statements")
    arguments.add_argument("--allocations", action="store_true", help="the memory that a call needs and keeps")
    chosen = arguments.parse_args()
    embedder = prepared(chosen.embedder)
    with TemporaryDirectory() if chosen.work is None else nullcontext(chosen.work) as folder:
        say(f"filling up to {chosen.drawers:,} drawers")
        make(Path(folder), chosen.drawers, embedder=embedder, seed=chosen.seed)
        wanted = set(chosen.doors or ("opening", *_DOORS, *_BATCHES))
        rows, modules, statements, plans = [], list[Row](), list[Row](), dict[str, list[str]]()
        floor = _floor(embedder, chosen.calls)
        for name, door in _doors(Path(folder), embedder, wanted):
            say(name)
            calls = chosen.calls if name in _DOORS else min(chosen.calls, _FEW)
            row, taken, asked = _measure(door, calls)
            allocated = _allocated(door, min(calls, _TRACED)) if chosen.allocations else {}
            rows.append({"door": name, **row, "times one embedding": row["processor ms"] / floor, **allocated})
            modules += [{"door": name, "module": each, "share %": share} for each, share in taken]
            statements += [{"door": name, **each} for each in _told(asked, calls)]
            plans |= {said[:_LONGEST]: plan for said, plan in asked.plans.items()}
        report(f"Where the time goes, {chosen.drawers:,} drawers (one embedding: {floor:.1f} ms)", rows, chosen.out)
        report("Share of the time by module", modules, chosen.out.with_stem(f"{chosen.out.stem}_modules"))
        report("The slowest statements", statements, chosen.out.with_stem(f"{chosen.out.stem}_statements"))
        if chosen.plans:
            for row in statements:
                print(f"{row['door']}: {row['statement']}", *plans.get(str(row["statement"]), ()), sep="\n    ")


def _doors(folder: Path, embedder: Timed, wanted: set[str]) -> Iterator[tuple[str, Door]]:
    """The doors that are wanted, each with what calls it."""
    if "opening" in wanted:
        yield "opening", lambda number: _opened(folder, embedder)
    verbatim_only = verbatim(Settings())
    into_graph = verbatim_only.model_copy(update={"graph": GraphSettings()})
    for doors, settings in ((_DOORS, verbatim_only), (_BATCHES, into_graph)):
        if wanted.isdisjoint(doors):
            continue
        with Memory.open(folder, embedder=embedder, settings=settings, background=False) as memory:
            for name in doors:
                if name in wanted:
                    yield name, doors[name](memory)


def _opened(folder: Path, embedder: Timed) -> None:
    """A memory is opened, asked once, and closed."""
    with Memory.open(folder, embedder=embedder, settings=verbatim(Settings()), background=False) as memory:
        memory.space(SPACE).recall(question(random.Random(uuid4().hex)), session="opened")


def _recall(memory: Memory) -> Door:
    node, run = recall_node(memory, space=SPACE, on_error="raise"), uuid4().hex

    def call(number: int) -> object:
        asked = HumanMessage(question(random.Random(f"{run}/{number}")), id=f"{run}-{number}")
        return node.invoke({"messages": [asked]}, {"configurable": {"thread_id": f"{run}-{number // 10}"}})

    return call


def _track(memory: Memory) -> Door:
    space, run = memory.space(SPACE), uuid4().hex

    def call(number: int) -> object:
        rng = random.Random(f"{run}/{number}")
        said = [Turn(role=role, content=message(rng)) for role in ("user", "assistant")]
        return space.track(said, session=f"{run}-{number // 10}")

    return call


def _background(memory: Memory) -> Door:
    """A turn, and a visit of the background that embeds, files and indexes it, for which nobody waits."""
    track, visit = _track(memory), _nothing(memory)

    def call(number: int) -> object:
        track(number)
        return visit(number)

    return call


def _nothing(memory: Memory) -> Door:
    """A visit of the background to a space with nothing to do."""

    def call(number: int) -> object:
        with memory.use(SPACE) as store:
            return memory.jobs(store, awaited=False).run(lambda: False), memory.jobs(store).seconds_to_next(store)

    return call


def _add_relation(memory: Memory) -> Door:
    space, run = memory.space(SPACE), uuid4().hex[:6]
    return lambda number: space.graph.add_relation(f"Person {run} {number}", "lives in", f"Town {number % 50}")


def _save(memory: Memory) -> Door:
    space, run = memory.space(SPACE), uuid4().hex[:6]
    return lambda number: space.knowledge.save(f"Guest {run} {number} likes tea no. {number}.", category="people")


def _put(memory: Memory) -> Door:
    store, run = TieredStore(memory), uuid4().hex[:6]
    return lambda number: store.put(("memories", "bench"), f"{run}-{number}", {"text": f"Fact {run} number {number}."})


def _ingest(memory: Memory) -> Door:
    space, run = memory.space(SPACE), uuid4().hex

    def call(number: int) -> object:
        session = f"{run}-{number}"
        space.track(_conversation(session), session=session)
        space.flush()
        mined = space.mine(session=session)
        space.flush()
        return mined

    return call


def _import(memory: Memory) -> Door:
    space, run = memory.space(SPACE), uuid4().hex

    def call(number: int) -> object:
        session = f"{run}-{number}"
        said = [{"session": session, "role": turn.role, "content": turn.content} for turn in _conversation(session)]
        with TemporaryDirectory() as folder:
            file = Path(folder) / "said.jsonl"
            file.write_text("\n".join(map(json.dumps, said)), encoding="utf-8")
            memory.import_file(file, user=space.name.partition("/")[2])
        space.flush()
        mined = space.mine(session=session)
        space.flush()
        return mined

    return call


def _conversation(seed: str) -> list[Turn]:
    rng = random.Random(seed)
    return [Turn(role=role, content=message(rng)) for _ in range(SESSION_TURNS // 2) for role in ("user", "assistant")]


_DOORS: Mapping[str, Callable[[Memory], Door]] = {
    "recall node": _recall,
    "track": _track,
    "turn, background": _background,
    "background, nothing": _nothing,
    "add_relation": _add_relation,
    "knowledge.save": _save,
    "store put": _put,
}
_BATCHES: Mapping[str, Callable[[Memory], Door]] = {"ingest": _ingest, "import": _import}
"""Doors through which a conversation comes in at once."""


def _measure(door: Door, calls: int) -> tuple[dict[str, float], list[tuple[str, float]], Statements]:
    """The figures of a door, the shares of its modules and its statements."""
    numbers = iter(range(10_000_000))
    for _ in range(min(calls, 20)):
        door(next(numbers))
    spent, worked = list[float](), list[float]()
    for _ in range(calls):
        started, processor = perf_counter(), process_time()
        door(next(numbers))
        spent.append((perf_counter() - started) * 1000)
        worked.append((process_time() - processor) * 1000)
    statements = Statements()
    with statements.listening():
        for _ in range(calls):
            door(next(numbers))
    profile = cProfile.Profile(thread_time)
    with profile:
        for _ in range(calls):
            door(next(numbers))
    row = {
        "processor ms": spread(worked).p50,
        "p50 ms": spread(spent).p50,
        "p95 ms": spread(spent).p95,
        "statements": statements.count.total() / calls,
        "in statements ms": sum(statements.spent.values()) / calls,
    }
    return row, _modules(profile), statements


def _allocated(door: Door, calls: int) -> dict[str, float]:
    """The memory that a call needs at its most, and what is still there after it; the median of the calls."""
    needed, kept, blocks = list[float](), list[float](), list[float]()
    tracemalloc.start()
    try:
        for number in range(20_000_000, 20_000_000 + calls):
            gc.collect()
            tracemalloc.reset_peak()
            before, there = tracemalloc.get_traced_memory()[0], sys.getallocatedblocks()
            door(number)
            needed.append((tracemalloc.get_traced_memory()[1] - before) / 1024)
            gc.collect()
            blocks.append(float(sys.getallocatedblocks() - there))
            kept.append((tracemalloc.get_traced_memory()[0] - before) / 1024)
    finally:
        tracemalloc.stop()
    return {"most KB": median(needed), "kept KB": median(kept), "kept blocks": median(blocks)}


def _floor(embedder: Timed, calls: int) -> float:
    """Milliseconds of processor time of one embedding of a question."""
    rng, spent = random.Random("floor"), []
    for _ in range(calls):
        asked, started = question(rng), process_time()
        embedder.embed_query(asked)
        spent.append((process_time() - started) * 1000)
    return spread(spent).p50


def _modules(profile: cProfile.Profile) -> list[tuple[str, float]]:
    """The modules in which most of the time was spent, and their shares in percent."""
    spent: defaultdict[str, float] = defaultdict(float)
    for (file, _, function), (_, _, own, _, callers) in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        if file != "~":
            spent[_room(file)] += own
            continue
        # A built-in function counts for those who call it, but for the database and the model.
        named = next((each for each in ("sqlite3", "onnxruntime") if each in function), None)
        for (caller, _, _), (_, _, part, _) in callers.items():
            spent[named or ("built-in functions" if caller == "~" else _room(caller))] += part
    total = sum(spent.values())
    best = sorted(spent.items(), key=lambda each: -each[1])[:_MODULES]
    return [(name, 100 * each / total) for name, each in best]


def _room(file: str) -> str:
    room = next((each for each in _ROOMS if each in file), None)
    if room == "langmem_tiers/":
        return file.rpartition(room)[2].removesuffix(".py")
    return room or "other"


def _told(statements: Statements, calls: int) -> Iterator[Row]:
    slowest = sorted(statements.spent, key=lambda said: -statements.spent[said])[:_SLOW]
    for said in slowest:
        yield {
            "a call": statements.count[said] / calls,
            "ms a call": statements.spent[said] / calls,
            "statement": said[:_LONGEST],
        }


if __name__ == "__main__":
    main()
