"""How fast conversations come in, stored and embedded, as a share of what the bare embedder does.

That is given the messages as they are, and then the texts that are made of them: pieces of long ones, and statements.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
from embedders import Timed, prepared
from numpy.typing import NDArray
from recall_latency import store
from reporting import Row, parser, report, say
from texts import sessions

from langmem_tiers import Memory, Settings, Turn
from langmem_tiers.bench.asking import verbatim
from langmem_tiers.models.embedder import Embedder


def main() -> None:
    arguments = parser(__doc__ or "", "ingest")
    arguments.add_argument("--drawers", type=int, default=2_000)
    arguments.add_argument("--rounds", type=int, default=3, help="the median counts")
    arguments.add_argument("--work", type=Path, default=None, help="folder for the memory, on the disk to measure")
    chosen = arguments.parse_args()
    embedder = Noting(prepared("minilm"))
    bare, whole, same = [], [], []
    for number in range(chosen.rounds):
        say(f"round {number + 1} of {chosen.rounds}")
        # Others in each round: what was read before is read faster again.
        conversations = list(sessions(0, chosen.drawers, seed=chosen.seed + number))
        bare.append(bare_seconds(embedder, [turn.content for _, turns in conversations for turn in turns]))
        embedder.texts.clear()
        whole.append(ingest_seconds(embedder, conversations, chosen.work))
        same.append(bare_seconds(embedder, [*embedder.texts]))
    report(
        "Ingest: track and flush against the bare embedder",
        [row(chosen.drawers, median(bare), median(same), median(whole))],
        chosen.out,
    )


class Noting(Timed):
    """An embedder that notes the texts that it is given."""

    def __init__(self, inner: Embedder) -> None:
        super().__init__(inner)
        self.texts: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of the texts."""
        self.texts += texts
        return super().embed_documents(texts)


def bare_seconds(embedder: Timed, texts: list[str]) -> float:
    started = perf_counter()
    embedder.embed_documents(texts)
    return perf_counter() - started


def ingest_seconds(embedder: Timed, conversations: Iterable[tuple[str, list[Turn]]], work: Path | None) -> float:
    with (
        TemporaryDirectory(dir=work) as folder,
        Memory.open(folder, embedder=embedder, settings=verbatim(Settings())) as memory,
    ):
        started = perf_counter()
        store(memory, conversations)
        return perf_counter() - started


def row(drawers: int, bare: float, same: float, whole: float) -> Row:
    return {
        "drawers": drawers,
        "bare drawers/s": drawers / bare,
        "ingested drawers/s": drawers / whole,
        "share of the bare embedder": bare / whole,
        "on the same texts": same / whole,
    }


if __name__ == "__main__":
    main()
