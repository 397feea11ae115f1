"""The retrieval benchmark as a whole: which questions are left, over how many processes, into which log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from langmem_tiers.bench.asking import Plan, ask_case
from langmem_tiers.bench.datasets import DATASETS, DatasetName, read_cases
from langmem_tiers.bench.log import Answer, AnswerLog
from langmem_tiers.bench.questions import Case
from langmem_tiers.settings import Settings
from langmem_tiers.transfer.records import LineProblem
from langmem_tiers.version import __version__

if TYPE_CHECKING:
    from langmem_tiers.embeddings.base import Embedder


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """What to measure. `limit` is the number of questions from the start of the file; `jobs` that of processes.

    Without `vectors`, recall goes by keywords alone. `keep` leaves the memories in the work folder.
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

    def described(self) -> dict[str, object]:
        """What must stay the same for a log to be gone on with."""
        return {
            "version": __version__,
            "dataset": self.dataset,
            "data": self.data.name,
            "vectors": self.vectors,
            "settings": self.settings.model_dump(),
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class RunReport:
    """What a run did: questions asked now, questions that the log had before, parts of the file that were skipped."""

    asked: int
    answered_before: int
    problems: tuple[LineProblem, ...]


def run_retrieval(run: Run, *, on_progress: Callable[[int, int], None] | None = None) -> RunReport:
    """Ask every question that the log does not have yet, and append the answers as they come.

    `on_progress` is told the number of answers so far and the number to come to, first of all and after each answer.

    Raises:
        UnreadableFile: the data or the log is not in its format.
        InvalidInput: the log was begun with other settings.
        EmbeddingUnavailable: the model is neither there nor can it be downloaded.
    """
    log = AnswerLog(run.out, run.described())
    total = sum(len(case.questions) for case in _Left(run, log.answered))
    if run.vectors and total:
        _embedder(run.work).prepare()  # once here, so that processes do not all begin to download
    left = _Left(run, log.answered)
    told = on_progress or (lambda _done, _total: None)
    told(0, total)
    for done, answer in enumerate(_answers(run, left), 1):
        log.append(answer)
        told(done, total)
    return RunReport(asked=total, answered_before=left.answered, problems=tuple(left.problems))


class _Left:
    """The cases with the questions that still have to be asked; problems of the file are gathered on the way."""

    def __init__(self, run: Run, answered: AbstractSet[str]) -> None:
        self._run = run
        self._answered = answered
        self.answered = 0
        self.problems: list[LineProblem] = []

    def __iter__(self) -> Iterator[Case]:
        wanted = self._run.limit
        for entry in read_cases(self._run.dataset, self._run.data):
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


def _answers(run: Run, cases: Iterable[Case]) -> Iterator[Answer]:
    plan = Plan(
        work=run.work,
        settings=run.settings,
        session_number=DATASETS[run.dataset].session_number,
        vectors=run.vectors,
        keep=run.keep,
    )
    if run.jobs == 1:
        for case in cases:
            yield from ask_case(case, plan, _embedder_of(plan))
    else:
        yield from _answers_in_processes(cases, plan, run.jobs)


def _answers_in_processes(cases: Iterable[Case], plan: Plan, jobs: int) -> Iterator[Answer]:
    waiting = iter(cases)
    # Spawned, not forked: threads and the model's session do not survive a fork.
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))
    try:
        running = {pool.submit(_asked, case, plan) for case in islice(waiting, 2 * jobs)}
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            running |= {pool.submit(_asked, case, plan) for case in islice(waiting, len(done))}
            for future in done:
                yield from future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _asked(case: Case, plan: Plan) -> list[Answer]:
    return list(ask_case(case, plan, _embedder_of(plan)))


def _embedder_of(plan: Plan) -> Embedder | None:
    return _embedder(plan.work) if plan.vectors else None


@cache
def _embedder(work: Path) -> Embedder:
    """The model with its cache, once in a process."""
    from langmem_tiers.bench.cache import CachedEmbedder
    from langmem_tiers.embeddings.minilm import MiniLM

    return CachedEmbedder(MiniLM(), work / "embeddings.db")
