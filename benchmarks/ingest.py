"""How fast conversations come in, stored and embedded, as a share of what the bare embedder does on the same texts."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

from embedders import Timed, prepared
from recall_latency import fill
from reporting import Row, parser, report, say
from texts import sessions

from langmem_tiers import Memory, Settings
from langmem_tiers.bench.asking import verbatim


def main() -> None:
    arguments = parser(__doc__ or "", "ingest")
    arguments.add_argument("--drawers", type=int, default=2_000)
    arguments.add_argument("--rounds", type=int, default=3, help="the median counts")
    arguments.add_argument("--work", type=Path, default=None, help="folder for the memory, on the disk to measure")
    chosen = arguments.parse_args()
    embedder = prepared("minilm")
    texts = [turn.content for _, turns in sessions(0, chosen.drawers, seed=chosen.seed) for turn in turns]
    bare, whole = [], []
    for number in range(chosen.rounds):
        say(f"round {number + 1} of {chosen.rounds}")
        bare.append(bare_seconds(embedder, texts))
        whole.append(ingest_seconds(embedder, chosen.drawers, chosen.seed, chosen.work))
    report(
        "Ingest: track and flush against the bare embedder", [row(len(texts), median(bare), median(whole))], chosen.out
    )


def bare_seconds(embedder: Timed, texts: list[str]) -> float:
    started = perf_counter()
    embedder.embed_documents(texts)
    return perf_counter() - started


def ingest_seconds(embedder: Timed, drawers: int, seed: int, work: Path | None) -> float:
    with (
        TemporaryDirectory(dir=work) as folder,
        Memory.open(folder, embedder=embedder, settings=verbatim(Settings())) as memory,
    ):
        started = perf_counter()
        fill(memory, 0, drawers, seed)
        return perf_counter() - started


def row(drawers: int, bare: float, whole: float) -> Row:
    return {
        "drawers": drawers,
        "bare drawers/s": drawers / bare,
        "ingested drawers/s": drawers / whole,
        "share of the bare embedder": bare / whole,
    }


if __name__ == "__main__":
    main()
