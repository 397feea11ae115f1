"""Recall by size: opening cold, the first recall, the recalls after it by stage, memory and disk; and many spaces.

Each size has a memory of its own, made from the next smaller one (multiply.py), and is asked in a fresh process, whose
model is loaded before the clock starts. The system's file cache is as it is. The questions and their unit, one bare
embedding of the same question, are those of recall_latency.py.
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import sys
from argparse import Namespace
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from uuid import uuid4

from embedders import CHOICES, Timed, prepared
from langchain_core.messages import HumanMessage
from multiply import IN_MEMORY, make
from recall_latency import QUESTIONS_A_SESSION, SPACE, WARM_UP
from reporting import Row, parser, report, say
from texts import question

from langmem_tiers import Memory, Settings, StorageSettings
from langmem_tiers.bench.asking import verbatim
from langmem_tiers.bench.scoring import spread
from langmem_tiers.graphs import recall_node
from langmem_tiers.naming import user_space
from langmem_tiers.storage.folder import DATABASE, mark_space, size, space_folder


@dataclass
class Asked:
    """What one process measured of one memory; times in milliseconds, memory in megabytes.

    `units` are bare embeddings of the questions, `nodes` the node with each, `within` the embedding in that.
    """

    loaded: float
    opened: float = 0.0
    first: float = 0.0
    first_stages: Mapping[str, float] = field(default_factory=dict)
    after_first: float = 0.0
    after_all: float = 0.0
    units: list[float] = field(default_factory=list)
    nodes: list[float] = field(default_factory=list)
    within: list[float] = field(default_factory=list)
    again: list[float] = field(default_factory=list)
    stages: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))


def main() -> None:
    arguments = parser(__doc__ or "", "recall_at_size")
    arguments.add_argument("--drawers", type=int, nargs="*", default=[1_000, 10_000, 100_000])
    arguments.add_argument("--spaces", type=int, default=0, help="so many spaces in one memory, asked at random")
    arguments.add_argument("--per-space", type=int, default=1_000, help="drawers in each of them")
    arguments.add_argument("--questions", type=int, default=200)
    arguments.add_argument("--embedder", choices=CHOICES, default="projection", help="see embedders.py")
    arguments.add_argument("--in-memory", action="store_true", help="no Chroma: all vectors are searched in memory")
    arguments.add_argument("--work", type=Path, default=None, help="folder for the memories, on the disk to measure")
    arguments.add_argument("--keep", action="store_true", help="leave them in --work, and use those that are there")
    chosen = arguments.parse_args()
    if chosen.keep and chosen.work is None:
        arguments.error("--keep needs --work")
    with _work(chosen) as work:
        if chosen.drawers:
            _sizes(work, chosen)
        if chosen.spaces:
            _spaces(work, chosen)


@contextmanager
def _work(chosen: Namespace) -> Iterator[Path]:
    if chosen.keep:
        chosen.work.mkdir(parents=True, exist_ok=True)
        yield chosen.work
    else:
        with TemporaryDirectory(dir=chosen.work) as folder:
            yield Path(folder)


def _sizes(work: Path, chosen: Namespace) -> None:
    asked: dict[int, Asked] = {}
    disk: dict[int, Row] = {}
    for drawers in sorted(chosen.drawers):
        folder = _made(work, drawers, chosen)
        disk[drawers] = _disk(space_folder(folder, SPACE))
        say(f"asking {drawers:,} drawers")
        asked[drawers] = _apart(ask_one, folder, chosen.embedder, chosen.questions, chosen.seed, _storage(chosen))
    cold = [{"drawers": number, **_cold(each), **disk[number]} for number, each in asked.items()]
    stages = [{"drawers": number, **row} for number, each in asked.items() for row in _stages(each)]
    nodes = [{"drawers": number, **_nodes(each)} for number, each in asked.items()]
    report("Opened cold", cold, chosen.out.with_stem(f"{chosen.out.stem}_cold"))
    report("Recall by stage", stages, chosen.out.with_stem(f"{chosen.out.stem}_stages"))
    report(f"Recall node before a turn, {chosen.embedder} vectors", nodes, chosen.out)


def _spaces(work: Path, chosen: Namespace) -> None:
    one = space_folder(_made(work, chosen.per_space, chosen), SPACE)
    folder = work / f"spaces-of-{chosen.per_space}-{chosen.embedder}"
    names = [user_space(number) for number in range(chosen.spaces)]
    say(f"copying one space {len(names):,} times, {_megabytes(size(one)):,.0f} MB each")
    _copy(one, folder, names)
    say(f"asking {len(names):,} spaces")
    asked = _apart(ask_many, folder, names, chosen.embedder, chosen.questions, chosen.seed)
    row = {"spaces": chosen.spaces, "drawers in each": chosen.per_space, **_opened_and_warm(asked)}
    report("Many spaces, asked at random", [row], chosen.out.with_stem(f"{chosen.out.stem}_spaces"))


def _made(work: Path, drawers: int, chosen: Namespace) -> Path:
    """The memory of a size: the one that is there, or a copy of the largest smaller one, filled up."""
    name = f"-drawers-{chosen.embedder}"
    folder = work / f"{drawers}{name}"
    smaller = [number for path in work.glob(f"*{name}") if (number := int(path.name.removesuffix(name))) < drawers]
    if smaller and not folder.exists():
        half = folder.with_suffix(".half")
        shutil.rmtree(half, ignore_errors=True)
        shutil.copytree(work / f"{max(smaller)}{name}", half)
        half.rename(folder)
    say(f"filling up to {drawers:,} drawers")
    storage = {"storage": IN_MEMORY} if chosen.in_memory else {}
    make(folder, drawers, embedder=prepared(chosen.embedder), seed=chosen.seed, **storage)
    return folder


def _storage(chosen: Namespace) -> StorageSettings:
    return IN_MEMORY if chosen.in_memory else StorageSettings()


def _copy(one: Path, folder: Path, names: Sequence[str]) -> None:
    """Spaces of these names: a space is a folder that may be copied, and its mark says the name."""
    with Memory.open(folder, embedder=None, background=False) as memory:
        there = set(memory.spaces())
    for name in names:
        if name not in there:
            target = space_folder(folder, name)
            shutil.copytree(one, target, ignore=shutil.ignore_patterns("space.json"), dirs_exist_ok=True)
            mark_space(target, name)


def _apart(measure: Callable[..., Asked], *arguments: object) -> Asked:
    """What a function returns in a process of its own, which has nothing in memory."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(measure, *arguments).result()


def ask_one(folder: Path, model: str, questions: int, seed: int, storage: StorageSettings) -> Asked:
    """Open a memory, ask its space once, then a warm-up, then so many times the node, and as often for the stages."""
    embedder = prepared(model)
    settings = verbatim(Settings(storage=storage))
    asked = Asked(loaded=_resident())
    started = perf_counter()
    with Memory.open(folder, embedder=embedder, settings=settings) as memory:
        space = memory.space(SPACE)
        asked.opened = _since(started)
        node = _Asker(memory, embedder, seed)
        started = perf_counter()
        asked.first_stages = space.recall(node.question(), session=node.run).receipt.timings
        asked.first = _since(started)
        asked.after_first = _resident()
        for _ in range(WARM_UP):
            node.ask(SPACE)
        for _ in range(questions):
            asked.units.append(node.bare())
            asked.nodes.append(node.ask(SPACE))
            asked.within.append(embedder.query_ms)
        for number in range(questions):
            session = f"{node.run}-stages-{number // QUESTIONS_A_SESSION}"
            for stage, spent in space.recall(node.question(), session=session).receipt.timings.items():
                asked.stages[stage].append(spent)
        asked.after_all = _resident()
    return asked


def ask_many(folder: Path, names: Sequence[str], model: str, questions: int, seed: int) -> Asked:
    """Ask spaces at random, each twice: when it is mostly not open yet, and again while it is."""
    embedder = prepared(model)
    asked = Asked(loaded=_resident())
    rng = random.Random(f"{seed}/spaces")
    started = perf_counter()
    with Memory.open(folder, embedder=embedder, settings=verbatim(Settings())) as memory:
        asked.opened = _since(started)
        node = _Asker(memory, embedder, seed)
        node.ask(names[0])
        for _ in range(questions):
            name = rng.choice(names)
            asked.units.append(node.bare())
            asked.nodes.append(node.ask(name))
            asked.again.append(node.ask(name))
        asked.after_all = _resident()
    return asked


class _Asker:
    """Asks the recall node questions that were never asked before: a kept block is given again in no time."""

    def __init__(self, memory: Memory, embedder: Timed, seed: int) -> None:
        self.run = uuid4().hex
        self._embedder = embedder
        self._node = recall_node(memory, space=lambda config, _: config["configurable"]["space"], on_error="raise")
        self._rng = random.Random(f"{seed}/asked")
        self._asked = 0
        self._next = ""

    def question(self) -> str:
        return question(self._rng)

    def bare(self) -> float:
        """Milliseconds of one embedding of the next question."""
        self._next = self.question()
        started = perf_counter()
        self._embedder.embed_query(self._next)
        return _since(started)

    def ask(self, space: str) -> float:
        """Milliseconds of the node with the next question."""
        text, self._next = self._next or self.question(), ""
        self._asked += 1
        session = f"{self.run}-{self._asked // QUESTIONS_A_SESSION}"
        message = HumanMessage(text, id=f"{self.run}-{self._asked}")
        started = perf_counter()
        self._node.invoke({"messages": [message]}, {"configurable": {"thread_id": session, "space": space}})
        return _since(started)


def _cold(asked: Asked) -> Row:
    return {
        "open ms": asked.opened,
        "first recall ms": asked.first,
        "process before MB": asked.loaded,
        "after first MB": asked.after_first,
        "after all MB": asked.after_all,
    }


def _disk(space: Path) -> Row:
    files = sum(file.stat().st_size for file in space.glob(f"{DATABASE}*"))
    return {"memory.db MB": _megabytes(files), "Chroma MB": _megabytes(size(space / "chroma"))}


def _nodes(asked: Asked) -> Row:
    unit, node = spread(asked.units), spread(asked.nodes)
    return {
        "embedding p50 ms": unit.p50,
        "embedding p95 ms": unit.p95,
        "embedding in the node p50 ms": spread(asked.within).p50,
        "node p50 ms": node.p50,
        "node p95 ms": node.p95,
        "p50 / embedding p50": node.p50 / unit.p50,
        "p95 / embedding p50": node.p95 / unit.p50,
    }


def _stages(asked: Asked) -> Iterator[Row]:
    for stage, spent in asked.stages.items():
        found, first = spread(spent), asked.first_stages.get(stage, 0.0)
        yield {"stage": stage, "first ms": first, "p50 ms": found.p50, "p95 ms": found.p95}


def _opened_and_warm(asked: Asked) -> Row:
    unit, opened, warm = spread(asked.units), spread(asked.nodes), spread(asked.again)
    return {
        "embedding p50 ms": unit.p50,
        "at random p50 ms": opened.p50,
        "at random p95 ms": opened.p95,
        "again p50 ms": warm.p50,
        "again p95 ms": warm.p95,
        "p50 / embedding p50": opened.p50 / unit.p50,
        "process before MB": asked.loaded,
        "after all MB": asked.after_all,
    }


def _since(started: float) -> float:
    return (perf_counter() - started) * 1000


def _megabytes(count: int) -> float:
    return count / 1_000_000


def _resident() -> float:
    """Megabytes of this process in memory now; where the system does not tell, the most there ever were."""
    pages = Path("/proc/self/statm")
    if pages.exists():
        return _megabytes(int(pages.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return _megabytes(most if sys.platform == "darwin" else most * 1024)


if __name__ == "__main__":
    main()
