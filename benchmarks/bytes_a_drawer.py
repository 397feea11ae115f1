"""What a drawer takes on disk, by what the bytes are for, and how big the vectors and receipts are.

The memory is made as by `multiply.py`, and asked some questions, so that it has receipts. What is measured was closed
before: no write-ahead log is left. Receipts do not grow with the drawers: a space keeps a thousand.
"""

from __future__ import annotations

import random
from argparse import ArgumentDefaultsHelpFormatter, ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from embedders import CHOICES, prepared
from multiply import make
from recall_latency import SPACE
from reporting import say
from texts import question

from langmem_tiers import Memory
from langmem_tiers.models.embedder import Embedder
from langmem_tiers.types import SpaceStats


def main() -> None:
    arguments = ArgumentParser(description=__doc__, formatter_class=ArgumentDefaultsHelpFormatter)
    arguments.add_argument("--drawers", type=int, nargs="+", default=[1_000, 10_000])
    arguments.add_argument("--tracked", type=int, default=1_000, help="how many come in through the front door")
    arguments.add_argument("--sentences", type=int, default=None, help="in each drawer: 5 are about 100 tokens")
    arguments.add_argument("--questions", type=int, default=100)
    arguments.add_argument("--embedder", choices=CHOICES, default="projection", help="see embedders.py")
    chosen = arguments.parse_args()
    embedder = prepared(chosen.embedder)
    for size in chosen.drawers:
        with TemporaryDirectory() as folder:
            make(Path(folder), size, embedder=embedder, tracked=chosen.tracked, length=chosen.sentences)
            without = measured(Path(folder), embedder)
            ask(Path(folder), embedder, chosen.questions)
            asked = measured(Path(folder), embedder)
        report(without, asked, chosen.questions)


def ask(folder: Path, embedder: Embedder, questions: int) -> None:
    drawn = random.Random(1)
    with Memory.open(folder, embedder=embedder, background=False) as memory:
        for place in range(questions):
            memory.space(SPACE).recall(question(drawn), session=f"asked-{place // 10}", message_id=f"q{place}")


def measured(folder: Path, embedder: Embedder) -> SpaceStats:
    with Memory.open(folder, embedder=embedder, background=False) as memory:
        return memory.space(SPACE).stats(by_kind=True)


def report(without: SpaceStats, asked: SpaceStats, questions: int) -> None:
    parts: Mapping[str, int] = without.bytes_by_kind
    say(f"{without.drawers:,} drawers, {without.vectors:,} vectors; bytes a drawer:")
    for kind, size in (*parts.items(), ("all", sum(parts.values()))):
        say(f"  {kind:14} {size / without.drawers:8,.0f}")
    grown = asked.bytes_by_kind["receipts"] - parts["receipts"]
    say(f"  a receipt takes {grown / questions:,.0f} bytes")


if __name__ == "__main__":
    main()
