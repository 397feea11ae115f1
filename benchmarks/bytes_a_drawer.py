"""What a drawer takes on disk, by what the bytes are for, and how big the vectors and receipts are.

The memory is made as by `multiply.py`, and asked some questions, so that it has receipts. What is measured was closed
before: no write-ahead log is left. Receipts do not grow with the drawers: a space keeps a thousand.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from embedders import CHOICES, prepared
from multiply import make
from recall_latency import SPACE
from reporting import Row, parser, report
from texts import question

from langmem_tiers import Memory
from langmem_tiers.models.embedder import Embedder
from langmem_tiers.types import SpaceStats


def main() -> None:
    arguments = parser(__doc__, "bytes_a_drawer")
    arguments.add_argument("--drawers", type=int, nargs="+", default=[1_000, 10_000])
    arguments.add_argument("--tracked", type=int, default=1_000, help="how many come in through the front door")
    arguments.add_argument("--sentences", type=int, default=None, help="in each drawer: 5 are about 100 tokens")
    arguments.add_argument("--questions", type=int, default=100)
    arguments.add_argument("--embedder", choices=CHOICES, default="projection", help="see embedders.py")
    chosen = arguments.parse_args()
    embedder = prepared(chosen.embedder)
    found: list[Row] = []
    for size in chosen.drawers:
        with TemporaryDirectory() as folder:
            make(
                Path(folder), size, embedder=embedder, seed=chosen.seed, tracked=chosen.tracked, length=chosen.sentences
            )
            without = measured(Path(folder), embedder)
            ask(Path(folder), embedder, chosen.questions)
            asked = measured(Path(folder), embedder)
        found += rows(without, asked, chosen.questions)
    report("Bytes a drawer", found, chosen.out)


def ask(folder: Path, embedder: Embedder, questions: int) -> None:
    drawn = random.Random(1)
    with Memory.open(folder, embedder=embedder, background=False) as memory:
        for place in range(questions):
            memory.space(SPACE).recall(question(drawn), session=f"asked-{place // 10}", message_id=f"q{place}")


def measured(folder: Path, embedder: Embedder) -> SpaceStats:
    with Memory.open(folder, embedder=embedder, background=False) as memory:
        return memory.space(SPACE).stats(by_kind=True)


def rows(without: SpaceStats, asked: SpaceStats, questions: int) -> Iterator[Row]:
    """What a drawer takes by what the bytes are for; at last what a receipt takes."""
    parts = without.bytes_by_kind
    for kind, size in (*parts.items(), ("all", sum(parts.values()))):
        yield _row(without, kind, size / without.drawers)
    yield _row(without, "a receipt", (asked.bytes_by_kind["receipts"] - parts["receipts"]) / questions)


def _row(space: SpaceStats, of: str, size: float) -> Row:
    return {"drawers": space.drawers, "vectors": space.vectors, "of": of, "bytes": round(size)}


if __name__ == "__main__":
    main()
