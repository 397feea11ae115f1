"""How long recall takes in a memory that exists, by stage, against one embedding of the question.

The questions are made from the space's own messages (`langmem-tiers bench mine`), so words are as common as they are
there. The memory is copied first and left as it is. The first recall is told apart: it opens and loads.
"""

from __future__ import annotations

import resource
import shutil
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from reporting import Row, parser, report, say

from langmem_tiers import Memory, Settings
from langmem_tiers.bench.asking import verbatim
from langmem_tiers.bench.mine import mine_questions
from langmem_tiers.bench.scoring import spread
from langmem_tiers.models.minilm import MiniLM
from langmem_tiers.space import Space

WARM_UP = 20


def main() -> None:
    arguments = parser(__doc__ or "", "recall_in_memory")
    arguments.add_argument("--memory", type=Path, required=True, help="the memory's folder")
    arguments.add_argument("--space", required=True)
    arguments.add_argument("--questions", type=int, default=200)
    chosen = arguments.parse_args()
    embedder = MiniLM()
    embedder.prepare()
    with TemporaryDirectory() as folder:
        shutil.copytree(chosen.memory, folder, dirs_exist_ok=True)
        with Memory.open(folder, embedder=embedder, background=False, settings=verbatim(Settings())) as memory:
            space = memory.space(chosen.space)
            size = space.stats()
            say("making questions")
            asked = mine_questions(space, questions=WARM_UP + chosen.questions, seed=chosen.seed).questions
        if len(asked) <= WARM_UP:
            raise SystemExit(f"{len(asked)} questions can be made from {chosen.space}: {WARM_UP} only warm up.")
        say("asking")
        with Memory.open(folder, embedder=embedder, background=False, settings=verbatim(Settings())) as memory:
            row = measure(memory.space(chosen.space), embedder, [question.text for question in asked])
    row = {"drawers": size.drawers, **row, "disk MB": _megabytes(chosen.memory), "resident MB": _resident()}
    report(f"Recall in {chosen.memory.name}", [row], chosen.out)


def measure(space: Space, embedder: MiniLM, questions: list[str]) -> Row:
    """Milliseconds of the first recall, and of the others by stage."""
    started = perf_counter()
    space.recall(questions[0])
    first = (perf_counter() - started) * 1000
    stages: dict[str, list[float]] = defaultdict(list)
    for number, question in enumerate(questions):
        started = perf_counter()
        embedder.embed_query(question)
        unit = (perf_counter() - started) * 1000
        recalled = space.recall(question, session=f"session-{number}")
        if number >= WARM_UP:
            stages["unit"].append(unit)
            for stage, spent in recalled.receipt.timings.items():
                stages[stage].append(spent)
    unit, total = spread(stages.pop("unit")), spread(stages.pop("total"))
    return {
        "first ms": first,
        "embedding p50 ms": unit.p50,
        "recall p50 ms": total.p50,
        "recall p95 ms": total.p95,
        "p50 / embedding p50": total.p50 / unit.p50,
        "p95 / embedding p50": total.p95 / unit.p50,
        **{f"{stage} p50": spread(spent).p50 for stage, spent in stages.items()},
    }


def _megabytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) // 1_000_000


def _resident() -> int:
    """The most memory this process had, in megabytes (Linux gives kilobytes)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000


if __name__ == "__main__":
    main()
