"""Kept memories: the conversations of a set, each stored once in a work folder, to be asked over and over.

They are those of `langmem-tiers bench retrieval ... --work WORK --keep`; one that is not there yet is stored first.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from langmem_tiers import Space
from langmem_tiers.bench.asking import CachedEmbedder, Plan, stored
from langmem_tiers.bench.datasets import BenchQuestion, Case, Cases, DatasetName, Gold, gold_answers, read_gold
from langmem_tiers.models.embedder import Embedder, resolve
from langmem_tiers.models.minilm import MiniLM
from langmem_tiers.settings import Settings
from langmem_tiers.testing import HashEmbedder
from langmem_tiers.types import Candidate, Recalled


@dataclass(frozen=True, kw_only=True)
class KeptSet:
    """The first `limit` questions of a file, and the folder that the memories they are asked of are kept in."""

    name: DatasetName
    data: Path
    work: Path
    embedder: Embedder
    limit: int | None = None

    def memories(self, settings: Settings | None = None, *, adversarial: bool = False) -> Iterator[tuple[Case, Space]]:
        """Every case with its space, open for as long as it is at hand; `adversarial` adds LoCoMo's category 5."""
        for case in Cases(self.name, self.data, limit=self.limit, adversarial=adversarial):
            with self._stored(case, settings or Settings()) as space:
                yield case, space

    def gold(self) -> dict[str, Gold]:
        """Where the answers are, by question id."""
        return {gold.question_id: gold for gold in read_gold(self.name, self.data)}

    def answers(self) -> dict[str, str]:
        """The answers in words, by question id."""
        return gold_answers(self.name, self.data)

    def _stored(self, case: Case, settings: Settings) -> AbstractContextManager[Space]:
        return stored(case, Plan(work=self.work, settings=settings, keep=True), self.embedder)


def ask(space: Space, question: BenchQuestion) -> Recalled:
    """What recall brings for a question with no threshold, leaving no trace."""
    return space.recall(question.text, now=question.asked_at, as_of=question.until, threshold=0, keep_receipt=False)


def candidates(recalled: Recalled) -> list[Candidate]:
    """What a recall looked at, best first, without what had not been said yet when the question was asked."""
    return [candidate for candidate in recalled.receipt.candidates if candidate.verdict != "outside_dates"]


def add_arguments(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    """Which sets to ask, and where their memories are."""
    parser.add_argument(
        "--dataset", choices=get_args(DatasetName), action="append", required=required, help="what --data is"
    )
    parser.add_argument(
        "--data",
        type=Path,
        action="append",
        required=required,
        help="a set's own file, once for each --dataset",
    )
    parser.add_argument("--work", type=Path, required=required, help="folder that the memories are kept in")
    parser.add_argument("--limit", type=int, default=None, help="only the first questions of each file")
    parser.add_argument("--embedder", choices=EMBEDDERS, default="minilm", help="hash needs no model, for trying out")


def sets(chosen: argparse.Namespace) -> list[KeptSet]:
    """The sets that were named.

    Raises:
        SystemExit: not every --dataset has its --data.
    """
    if len(chosen.dataset) != len(chosen.data):
        raise SystemExit("Give --dataset and --data once for each set.")
    embedder = EMBEDDERS[chosen.embedder](chosen.work)
    embedder.prepare()
    return [
        KeptSet(name=name, data=data, work=chosen.work, embedder=embedder, limit=chosen.limit)
        for name, data in zip(chosen.dataset, chosen.data, strict=True)
    ]


def _hashed(_work: Path) -> Embedder:
    made = resolve(HashEmbedder())
    assert made is not None
    return made


EMBEDDERS: Mapping[str, Callable[[Path], Embedder]] = {
    "minilm": lambda work: CachedEmbedder(MiniLM(), work / "embeddings.db"),
    "hash": _hashed,
}
