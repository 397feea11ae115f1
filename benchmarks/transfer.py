"""What exporting, importing and syncing a space take: time, and the most memory of a process that does nothing else."""

from __future__ import annotations

import random
import resource
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import texts
from reporting import Row, parser, report, say

from langmem_tiers import Memory, MiningSettings, Settings

_CATEGORIES = 20


def main() -> None:
    arguments = parser(str(__doc__), "transfer")
    arguments.add_argument("--messages", type=int, default=50_000)
    arguments.add_argument("--entries", type=int, default=1_000)
    arguments.add_argument("--work", type=Path, default=None, help="folder for the memory, on the disk to measure")
    chosen = arguments.parse_args()
    with TemporaryDirectory(dir=chosen.work) as made:
        folder = Path(made)
        _apart(partial(_fill, folder, chosen.messages, chosen.entries, chosen.seed))
        steps = {"export": _export, "import": _import, "first sync": _sync, "sync in step": _sync}
        rows = [{"step": name, **_apart(partial(_measured, step, folder))} for name, step in steps.items()]
    report(f"a space of {chosen.messages:,} messages and {chosen.entries:,} entries", rows, chosen.out)


def _apart(step: Callable[[], Row]) -> Row:
    """Do a step in a fresh process, and give what it says."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(step).result()


def _opened(folder: Path) -> Memory:
    """A memory that neither embeds nor mines: both would take most of the time."""
    return Memory.open(folder, embedder=None, background=False, settings=Settings(mining=MiningSettings(enabled=False)))


def _fill(folder: Path, messages: int, entries: int, seed: int) -> Row:
    rng = random.Random(seed)
    with _opened(folder / "memory") as memory:
        alice = memory.user("alice")
        for session, turns in texts.sessions(0, messages, seed=seed):
            alice.track(turns, session=session)
        say("tracked")
        for number in range(entries):
            alice.knowledge.save(texts.sentence(rng), category=f"category-{number % _CATEGORIES}", origin="user")
        memory.flush()
    say("filled")
    return {}


def _measured(step: Callable[[Path], None], folder: Path) -> Row:
    started = perf_counter()
    step(folder)
    return {"seconds": perf_counter() - started, "most memory MB": _most_memory()}


def _export(folder: Path) -> None:
    with _opened(folder / "memory") as memory:
        memory.user("alice").export(folder / "alice.json")


def _import(folder: Path) -> None:
    with _opened(folder / "another") as memory:
        assert memory.import_file(folder / "alice.json").identical


def _sync(folder: Path) -> None:
    with _opened(folder / "memory") as memory:
        assert memory.user("alice").sync(folder / "files").settled


def _most_memory() -> int:
    """The most that this process took, in megabytes."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most // 1_000_000 if sys.platform == "darwin" else most * 1024 // 1_000_000


if __name__ == "__main__":
    main()
