"""The retrieval benchmark as a whole: which questions are left, over how many processes, into which log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from langmem_tiers.bench.asking import Plan, ask_case, in_processes
from langmem_tiers.bench.datasets import DATASETS, Case, DatasetName, read_cases, read_grown_cases
from langmem_tiers.bench.grown import Base, Growth, ask_grown, base_for
from langmem_tiers.bench.scoring import Answer, AnswerLog
from langmem_tiers.settings import Settings
from langmem_tiers.transfer.records import LineProblem
from langmem_tiers.version import __version__

if TYPE_CHECKING:
    from langmem_tiers.models.embedder import Embedder


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """What to measure. `limit` is the number of questions from the start of the file; `jobs` that of processes.

    Without `vectors`, recall goes by keywords alone. `keep` leaves the memories in the work folder. With `grow`, every
    question is asked over so many more sessions of the file as well, drawn by `seed`, without a limit of dates: of
    these memories the work folder keeps the base, with or without `keep`. `embeddings` is the file of vectors made
    before, by default `embeddings.db` in the work folder.
    """

    dataset: DatasetName
    data: Path
    out: Path
    work: Path
    settings: Settings = field(default_factory=Settings)
    limit: int | None = None
    jobs: int = 1
    vectors: bool = True
    keep: bool = False
    grow: int | None = None
    seed: int = 0
    embeddings: Path | None = None

    def described(self) -> dict[str, object]:
        """What must stay the same for a log to be gone on with."""
        grown = {} if self.grow is None else {"grow": self.grow, "seed": self.seed}
        return {
            **grown,
            "version": __version__,
            "dataset": self.dataset,
            "data": self.data.name,
            "vectors": self.vectors,
            "settings": self.settings.model_dump(),
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class RunReport:
    """What a run did: questions asked now, questions that the log had before, parts of the file that were skipped.

    `grown` tells what the haystacks of the questions asked now were grown by, where they were to be.
    """

    asked: int
    answered_before: int
    problems: tuple[LineProblem, ...]
    grown: GrownBy | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class GrownBy:
    """The fewest and the most sessions that a haystack was grown by, and how many the file has for it."""

    fewest: int
    most: int
    pool: int


def prepare_base(run: Run, *, on_progress: Callable[[int, int], None] | None = None) -> None:
    """Build the base memory of a grown run, if any question is left to ask and the work folder does not have it.

    `run_retrieval` does so itself; this is for those who want to see how far it is: `on_progress` is told the number of
    sessions stored and that to come to.

    Raises:
        As `run_retrieval`.
    """
    log = AnswerLog(run.out, run.described())
    if run.grow is not None and any(_Left(run, log.answered)):
        _base(run, run.grow, on_progress)


def run_retrieval(run: Run, *, on_progress: Callable[[int, int], None] | None = None) -> RunReport:
    """Ask every question that the log does not have yet, and append the answers as they come.

    `on_progress` is told the number of answers so far and the number to come to, first of all and after each answer.

    Raises:
        UnreadableFile: the data or the log is not in its format.
        InvalidInput: the log was begun with other settings, or the conversations can not be grown.
        EmbeddingUnavailable: the model is neither there nor can it be downloaded.
    """
    log = AnswerLog(run.out, run.described())
    total = sum(len(case.questions) for case in _Left(run, log.answered))
    if run.vectors and total:
        embedder_of(run).prepare()  # once here, so that processes do not all begin to download
    base = _base(run, run.grow) if run.grow is not None and total else None
    left = _Left(run, log.answered)
    told = on_progress or (lambda _done, _total: None)
    told(0, total)
    others: list[int] = []
    for done, answer in enumerate(_answers(run, left, base), 1):
        log.append(answer)
        others += [] if answer.others is None else [answer.others]
        told(done, total)
    grown = GrownBy(fewest=min(others), most=max(others), pool=base.pool) if base and others else None
    return RunReport(asked=total, answered_before=left.answered, problems=tuple(left.problems), grown=grown)


class _Left:
    """The cases with the questions that still have to be asked; problems of the file are gathered on the way."""

    def __init__(self, run: Run, answered: AbstractSet[str]) -> None:
        self._run = run
        self._answered = answered
        self.answered = 0
        self.problems: list[LineProblem] = []

    def __iter__(self) -> Iterator[Case]:
        wanted = self._run.limit
        read = read_cases if self._run.grow is None else read_grown_cases
        for entry in read(self._run.dataset, self._run.data):
            if isinstance(entry, LineProblem):
                self.problems.append(entry)
                continue
            if wanted is not None:
                entry = replace(entry, questions=entry.questions[:wanted])  # noqa: PLW2901
                wanted -= len(entry.questions)
            yield from self._unanswered(entry)
            if wanted == 0:
                return

    def _unanswered(self, case: Case) -> Iterator[Case]:
        left = tuple(question for question in case.questions if question.question_id not in self._answered)
        self.answered += len(case.questions) - len(left)
        if left:
            self.problems.extend(case.problems)
            yield replace(case, questions=left)


def _base(run: Run, grow: int, on_progress: Callable[[int, int], None] | None = None) -> Base:
    embedder = embedder_of(run) if run.vectors else None
    if embedder is not None:
        embedder.prepare()
    growth = Growth(data=run.data, others=grow, seed=run.seed)
    return base_for(growth, work=run.work, settings=run.settings, embedder=embedder, on_progress=on_progress)


def _answers(run: Run, cases: Iterable[Case], base: Base | None) -> Iterator[Answer]:
    plan = Plan(
        work=run.work,
        settings=run.settings,
        session_number=DATASETS[run.dataset].session_number,
        vectors=run.vectors,
        keep=run.keep,
        embeddings=run.embeddings,
    )
    if run.jobs == 1:
        for case in cases:
            yield from _of_case(case, plan, base)
    else:
        for answers in in_processes(partial(_asked, plan=plan, base=base), cases, run.jobs):
            yield from answers


def _asked(case: Case, plan: Plan, base: Base | None) -> list[Answer]:
    return list(_of_case(case, plan, base))


def _of_case(case: Case, plan: Plan, base: Base | None) -> Iterator[Answer]:
    embedder = embedder_of(plan) if plan.vectors else None
    return ask_case(case, plan, embedder) if base is None else ask_grown(case, plan, base, embedder)


def embedder_of(plan: Plan | Run) -> Embedder:
    """The model with its cache, once in a process."""
    return _embedder(plan.embeddings or plan.work / "embeddings.db")


@cache
def _embedder(cache_file: Path) -> Embedder:
    from langmem_tiers.bench.asking import CachedEmbedder
    from langmem_tiers.models.minilm import MiniLM

    return CachedEmbedder(MiniLM(), cache_file)
