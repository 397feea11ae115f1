"""The retrieval benchmark as a whole: which questions are left, over how many processes, into which log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from langmem_tiers.bench.asking import Plan, ask_case
from langmem_tiers.bench.datasets import Case, Cases, DatasetName, unanswered
from langmem_tiers.bench.grown import Base, Growth, ask_grown, base_for
from langmem_tiers.bench.logs import AnswerLog
from langmem_tiers.bench.scoring import RetrievalAnswer
from langmem_tiers.bench.workers import Progress, in_processes, unwatched
from langmem_tiers.transfer.records import LineProblem
from langmem_tiers.version import __version__


@dataclass(frozen=True, kw_only=True, slots=True)
class Run(Plan):
    """What to measure. `limit` is the number of questions from the start of the file; `jobs` that of processes.

    With `grow`, every question is asked over so many more sessions of the file as well, drawn by `seed`, without a
    limit of dates: of these memories the work folder keeps the base, with or without `keep`.
    """

    dataset: DatasetName
    data: Path
    out: Path
    limit: int | None = None
    jobs: int = 1
    grow: int | None = None
    seed: int = 0

    def cases(self) -> Cases:
        """The conversations, with the questions to ask."""
        return Cases(self.dataset, self.data, limit=self.limit, grown=self.grow is not None)

    def log(self) -> AnswerLog:
        """The log; it is only continued with the same data and settings."""
        grown = {} if self.grow is None else {"grow": self.grow, "seed": self.seed}
        place = {} if self.address is None else {"on": "servers"}
        described = {
            **grown,
            **place,
            "version": __version__,
            "dataset": self.dataset,
            "data": self.data.name,
            "vectors": self.vectors,
            "settings": self.settings.model_dump(),
        }
        return AnswerLog(self.out, described)


@dataclass(frozen=True, kw_only=True, slots=True)
class RunReport:
    """The result of a run: questions asked now, questions that were in the log already, skipped parts of the file.

    `grown` tells what the haystacks of the questions asked now were grown by, where they were to be.
    """

    asked: int
    answered_before: int
    problems: tuple[LineProblem, ...]
    grown: GrownBy | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class GrownBy:
    """The fewest and the most sessions added to a haystack, and how many the file has to offer."""

    fewest: int
    most: int
    pool: int


def prepare_base(run: Run, *, on_progress: Progress | None = None) -> None:
    """Build the base memory of a grown run, if any question is left to ask and the work folder does not have it.

    `run_retrieval` does so itself; call this first to watch: `on_progress` gets the number of sessions stored and the
    total.

    Raises:
        As `run_retrieval`.
    """
    if any(unanswered(run.cases(), run.log().answered)):
        _base(run, on_progress)


def run_retrieval(run: Run, *, on_progress: Progress | None = None) -> RunReport:
    """Ask every question that the log does not have yet, and append the answers as they come.

    `on_progress` is called with the number of answers so far and the total, at the start and after each answer.

    Raises:
        UnreadableFile: the data or the log is not in its format.
        InvalidInput: the log was begun with other settings, or the conversations cannot be grown.
        EmbeddingUnavailable: the model is neither there nor can it be downloaded.
    """
    log, cases, progress = run.log(), run.cases(), on_progress or unwatched
    before = log.answered
    asked = [question.question_id in before for case in cases for question in case.questions]
    total = asked.count(False)
    if total and (embedder := run.embedder()):
        embedder.prepare()  # once here, so that processes do not all begin to download
    base = _base(run) if total else None
    progress(0, total)
    others: list[int] = []
    for done, answer in enumerate(_answers(run, unanswered(cases, before), base), 1):
        log.append(answer.as_fields())
        others += [] if answer.others is None else [answer.others]
        progress(done, total)
    grown = GrownBy(fewest=min(others), most=max(others), pool=base.pool) if base and others else None
    return RunReport(asked=total, answered_before=asked.count(True), problems=tuple(cases.problems), grown=grown)


def _base(run: Run, on_progress: Progress | None = None) -> Base | None:
    """The base of a grown run."""
    if run.grow is None:
        return None
    if embedder := run.embedder():
        embedder.prepare()
    growth = Growth(data=run.data, others=run.grow, seed=run.seed)
    return base_for(growth, work=run.work, settings=run.settings, embedder=embedder, on_progress=on_progress)


def _answers(run: Run, cases: Iterable[Case], base: Base | None) -> Iterator[RetrievalAnswer]:
    if run.jobs == 1:
        for case in cases:
            yield from _of_case(case, run, base)
    else:
        for answers in in_processes(partial(_asked, run=run, base=base), cases, run.jobs):
            yield from answers


def _asked(case: Case, run: Run, base: Base | None) -> list[RetrievalAnswer]:
    return list(_of_case(case, run, base))


def _of_case(case: Case, run: Run, base: Base | None) -> Iterator[RetrievalAnswer]:
    embedder = run.embedder()
    return ask_case(case, run, embedder) if base is None else ask_grown(case, run, base, embedder)
