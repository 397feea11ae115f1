"""`langmem-tiers bench longmemeval` and `locomo`: from the official file to the accuracy of answers, step by step."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from langmem_tiers.cli import bench_options as options
from langmem_tiers.cli import bench_printing as printing
from langmem_tiers.cli.bench_options import FileChoice, GrainChoice, settings_of
from langmem_tiers.cli.target import Shown, Target, command
from langmem_tiers.cli.terminal import as_data, print_error, print_shown, progress

if TYPE_CHECKING:
    from rich.console import RenderableType

    from langmem_tiers.bench.pipeline.calls import Ask, Prices
    from langmem_tiers.bench.pipeline.contexts import ReaderScope
    from langmem_tiers.bench.pipeline.runs import BenchRun


SetName = Literal["locomo", "longmemeval"]
_OFFLINE = "offline"


class _Steps:
    """The steps of one command on one run. Each prints its result when it ends, or keeps it for `finish`."""

    def __init__(self, target: Target, dataset: SetName, runs: Path | None, label: str | None = None) -> None:
        self._target = target
        self._dataset = dataset
        self._runs = runs or Path(dataset)
        self._told_runs = runs
        self._label = label
        self._done: dict[str, Any] = {}
        self._failed = False
        self._limit: int | None = None
        self._run: BenchRun | None = None

    @property
    def run(self) -> BenchRun:
        """The run, after `begin` or `take_up`."""
        assert self._run is not None
        return self._run

    def download(self, which: str | None, url: str | None, sha256: str | None) -> None:
        from langmem_tiers.bench.pipeline.download import download, source_of
        from langmem_tiers.bench.pipeline.runs import DATA_FOLDER

        source = source_of(self._dataset, which)
        with self._progress("Bytes") as advance:
            done = download(source, self._runs / DATA_FOLDER, url=url, sha256=sha256, on_progress=advance)
        self._tell("download", done, printing.download_lines(done))

    def begin(
        self,
        run: str | None,
        *,
        data: Path | None,
        file: FileChoice | None,
        limit: int | None,
        settings: Path | None = None,
        keyword_only: bool,
        offline: bool = False,
    ) -> None:
        """Begin a run, or continue the one named with its own choices where none are given; `offline` is for trying."""
        from langmem_tiers.bench.pipeline import runs
        from langmem_tiers.bench.pipeline.download import downloaded
        from langmem_tiers.transfer.formats import require_format

        is_known = run is not None and (self._runs / runs.require_id(run) / "run.json").exists()
        known = runs.taken_up(self._dataset, self._runs, run) if is_known else None
        if data is None:
            chosen = file and file.value
            fetched = self._runs / runs.DATA_FOLDER
            data = known.data if known and not chosen else downloaded(self._dataset, fetched, chosen)
        require_format(data, self._dataset)
        self._limit = limit or (known.limit if known else None)
        self._run = runs.begin(
            runs.BenchRun(
                dataset=self._dataset,
                runs=self._runs,
                run_id=run or runs.new_id("smoke-" if offline else ""),
                data=data,
                sha256=runs.data_hash(data),
                settings=known.settings if known and not settings else settings_of(settings),
                vectors=not keyword_only and (known.vectors if known else _has_vectors(offline=offline)),
                limit=self._limit,
            )
        )

    def take_up(
        self, run_id: str | None, *, data: Path | None = None, limit: int | None = None, needs_data: bool = True
    ) -> None:
        from langmem_tiers.bench.pipeline import runs

        known = runs.taken_up(self._dataset, self._runs, run_id)
        self._run = runs.with_data(known, data) if needs_data else known
        self._limit = limit or known.limit

    def ingest(self, jobs: int) -> None:
        from langmem_tiers.bench.pipeline.ingest import ingest

        with self._progress("Conversations") as advance:
            done = ingest(self.run, limit=self._limit, jobs=jobs, on_progress=advance)
        self._tell("ingest", done, printing.ingest_lines(done))

    def retrieve(self, jobs: int) -> None:
        from langmem_tiers.bench.retrieval import run_retrieval

        with self._progress("Questions") as advance:
            done = run_retrieval(self.run.retrieval(limit=self._limit, jobs=jobs), on_progress=advance)
        self._tell("retrieve", done, printing.retrieve_lines(done))

    def contexts(self, reading: ReaderScope, jobs: int) -> None:
        path = self._contexts(reading, jobs)
        self._tell("contexts", {"path": path}, [f"What the reader is given: {path}"])

    def _contexts(self, reading: ReaderScope, jobs: int) -> Path:
        from langmem_tiers.bench.pipeline.contexts import make_contexts

        with self._progress("Contexts") as advance:
            return make_contexts(self.run, reading, limit=self._limit, jobs=jobs, on_progress=advance)

    def score_retrieval(self) -> None:
        from langmem_tiers.bench.datasets import read_gold
        from langmem_tiers.bench.scoring import read_answers, score

        log = self.run.retrieval_log
        scores = score([*read_answers(log)], read_gold(self._dataset, self.run.data))
        self._tell("score_retrieval", scores, printing.scores_lines(scores, f"{self._dataset}: {log}"))

    def qa(
        self,
        reader: str,
        reading: ReaderScope,
        *,
        jobs: int,
        temperature: float | None = None,
        retry_failed: bool = True,
        prices: Prices | None = None,
    ) -> None:
        from langmem_tiers.bench.pipeline.answering import Answering, answer, model_reader, offline_reader

        how = Answering(
            run=self.run,
            reader=offline_reader if reader == _OFFLINE else model_reader(_asking(reader, temperature)),
            reader_name=reader,
            temperature=temperature,
            reading=reading,
            limit=self._limit,
            jobs=jobs,
            label=self._label,
            retry_failed=retry_failed,
            prices=prices,
        )
        given = self._contexts(reading, 1)
        with self._progress("Answers") as advance:
            done = answer(how, given, on_progress=advance)
        self._failed |= bool(done.failed)
        self._tell("qa", done, printing.answers_lines(done))

    def score_qa(
        self,
        judge: str | None,
        *,
        jobs: int,
        temperature: float | None = None,
        audit: Path | None = None,
        prices: Prices | None = None,
    ) -> None:
        """Have the answers judged; without a judge, words are compared."""
        from langmem_tiers.bench.pipeline.judging import Grading, grade

        how = Grading(
            run=self.run,
            ask=_asking(judge, temperature) if judge else None,
            judge_name=judge or "",
            temperature=temperature,
            jobs=jobs,
            label=self._label,
            audit=audit,
            prices=prices,
        )
        with self._progress("Judgements") as advance:
            done = grade(how, on_progress=advance)
        self._failed |= bool(done.scores.unjudged)
        title = f"{self._dataset}: {self.run.log('generation_logs', self._label)}"
        self._tell("score_qa", done, printing.graded_lines(done, title))

    def all(
        self,
        reader: str | None,
        reading: ReaderScope,
        judge: str | None,
        *,
        audit: Path | None = None,
        processes: int = 1,
        jobs: int,
    ) -> None:
        """All steps; those with models only if there is a reader."""
        for model in (None if reader == _OFFLINE else reader, judge):
            if model is not None:
                _asking(model, None)  # a model that cannot be used is said before hours of work
        self.ingest(processes)
        self.retrieve(processes)
        self.score_retrieval()
        if reader is not None:
            self.qa(reader, reading, jobs=jobs)
            self.score_qa(judge, jobs=jobs, audit=audit)

    def finish(self, following: str | None = None) -> Shown:
        """The results of the steps, and the next command; failed if a model failed on a question."""
        data, lines = {}, []
        if self._run is not None:
            data = {"run": self.run.run_id, "folder": self.run.folder}
            lines = [f"Run {self.run.run_id}: {self.run.folder}"]
        data |= as_data(self._done)
        if following:
            data["next"] = self._command(following)
            lines.append(f"Next: {data['next']}")
        return Shown(data, lines, failed=self._failed)

    def _command(self, step: str) -> str:
        name, *more = step.split(" ", 1)
        told = [f"langmem-tiers bench {self._dataset} {name}"]
        if self._run is not None:
            told.append(f"--run {self.run.run_id}")
        if self._told_runs is not None:
            told.append(f"--runs {shlex.quote(str(self._told_runs))}")
        if self._label is not None:
            told.append(f"--label {self._label}")
        return " ".join([*told, *more])

    def _progress(self, what: str) -> Any:
        return progress(what, shown=not self._target.json)

    def _tell(self, step: str, done: object, lines: Iterable[RenderableType]) -> None:
        self._done[step] = done
        if not self._target.json:
            print_shown(lines)


def _has_vectors(*, offline: bool) -> bool:
    """Whether a new run has vectors: a run for trying goes without rather than download the model."""
    from langmem_tiers.models.minilm import MiniLM

    if not offline or MiniLM().available():
        return True
    print_error("The embedding model is not on this machine: going on by keywords alone.")
    return False


def _asking(name: str, temperature: float | None) -> Ask:
    from langmem_tiers.bench.pipeline.calls import asking, with_temperature
    from langmem_tiers.cli.chat import chat_model

    return asking(with_temperature(chat_model(name), temperature))


def _prices(tokens_in: float | None, tokens_out: float | None) -> Prices:
    from langmem_tiers.bench.pipeline.calls import Prices

    return Prices(tokens_in=tokens_in, tokens_out=tokens_out)


def _reading(
    grain: GrainChoice,
    top_k: int | None = None,
    token_budget: int | None = None,
    threshold: float = 0.0,
    *,
    adversarial: bool = False,
) -> ReaderScope:
    from langmem_tiers.bench.pipeline.contexts import ReaderScope

    return ReaderScope(
        grain=grain.value, top_k=top_k, token_budget=token_budget, threshold=threshold, adversarial=adversarial
    )


def download(
    target: Target,
    *,
    dataset: SetName,
    file: Annotated[FileChoice, typer.Option("--file", help="Which official file.")] = FileChoice.s,
    runs: options.Runs = None,
    url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="The address of another folder that has the file, such as a mirror."),
    ] = None,
    sha256: Annotated[
        str | None, typer.Option(metavar="HASH", help="What its SHA-256 must be, instead of the one known.")
    ] = None,
) -> Shown:
    """Fetch the official file into FOLDER/data; a download that was stopped goes on where it was.

    The file gets its name only when its SHA-256 is the one known for the official file.
    """
    which = file.value if dataset == "longmemeval" else None
    steps = _Steps(target, dataset, runs)
    steps.download(which, url, sha256)
    return steps.finish(f"ingest --file {which}" if which else "ingest")


def ingest(
    target: Target,
    *,
    dataset: SetName,
    run: options.NewRun = None,
    runs: options.Runs = None,
    data: options.Data = None,
    file: options.File = None,
    limit: options.Limit = None,
    jobs: options.Processes = 1,
    settings: options.SettingsFile = None,
    keyword_only: options.KeywordOnly = False,
) -> Shown:
    """Begin a run: store every conversation through the real track node, in a memory of its own that stays."""
    steps = _Steps(target, dataset, runs)
    steps.begin(run, data=data, file=file, limit=limit, settings=settings, keyword_only=keyword_only)
    steps.ingest(jobs)
    return steps.finish("retrieve")


def retrieve(
    target: Target,
    *,
    dataset: SetName,
    run: options.KnownRun = None,
    runs: options.Runs = None,
    data: options.Data = None,
    limit: options.Limit = None,
    jobs: options.Processes = 1,
    for_reader: Annotated[
        bool, typer.Option("--for-reader", help="Write what the reader will be given as well (contexts/).")
    ] = False,
    grain: options.Grain = GrainChoice.block,
    top_k: options.TopK = None,
    token_budget: options.TokenBudget = None,
    threshold: options.Threshold = 0.0,
    with_adversarial: options.Adversarial = False,
) -> Shown:
    """Ask every question through the real recall path, and log what came back, one line a question."""
    steps = _Steps(target, dataset, runs)
    steps.take_up(run, data=data, limit=limit)
    steps.retrieve(jobs)
    if for_reader:
        steps.contexts(_reading(grain, top_k, token_budget, threshold, adversarial=with_adversarial), jobs)
    return steps.finish("score-retrieval")


def score_retrieval(
    target: Target,
    *,
    dataset: SetName,
    run: options.KnownRun = None,
    runs: options.Runs = None,
    data: options.Data = None,
) -> Shown:
    """Score what came back against the set's own labels: recall, R@1, MRR and NDCG by question type."""
    steps = _Steps(target, dataset, runs)
    steps.take_up(run, data=data)
    steps.score_retrieval()
    return steps.finish("qa --reader MODEL")


def qa(
    target: Target,
    *,
    dataset: SetName,
    reader: options.Reader,
    run: options.KnownRun = None,
    runs: options.Runs = None,
    data: options.Data = None,
    limit: options.Limit = None,
    jobs: options.Calls = 1,
    grain: options.Grain = GrainChoice.block,
    top_k: options.TopK = None,
    token_budget: options.TokenBudget = None,
    threshold: options.Threshold = 0.0,
    with_adversarial: options.Adversarial = False,
    temperature: options.Temperature = None,
    label: options.Label = None,
    retry_failed: options.RetryFailed = True,
    price_in: options.PriceIn = None,
    price_out: options.PriceOut = None,
) -> Shown:
    """Give each question with what is recalled for it to a reader model, and log its answer, one line a question.

    Exit code 1 when the reader failed on any; running the step again asks those again.
    """
    steps = _Steps(target, dataset, runs, label)
    steps.take_up(run, data=data, limit=limit)
    reading = _reading(grain, top_k, token_budget, threshold, adversarial=with_adversarial)
    prices = _prices(price_in, price_out)
    steps.qa(reader, reading, jobs=jobs, temperature=temperature, retry_failed=retry_failed, prices=prices)
    return steps.finish("score-qa --judge MODEL")


def score_qa(
    target: Target,
    *,
    dataset: SetName,
    judge: options.Judge = None,
    run: options.KnownRun = None,
    runs: options.Runs = None,
    jobs: options.Calls = 1,
    temperature: options.Temperature = None,
    label: options.Label = None,
    audit: options.Audit = None,
    price_in: options.PriceIn = None,
    price_out: options.PriceOut = None,
) -> Shown:
    """Have each answer judged as the set's authors do, by question type, and print the accuracy.

    Without --judge, words are compared instead: that is deterministic, and not the official metric.
    Exit code 1 when the judge gave no verdict on any; running the step again asks it again.
    """
    steps = _Steps(target, dataset, runs, label)
    steps.take_up(run, needs_data=False)
    prices = _prices(price_in, price_out)
    steps.score_qa(judge, jobs=jobs, temperature=temperature, audit=audit, prices=prices)
    return steps.finish()


def full(
    target: Target,
    *,
    dataset: SetName,
    reader: options.MaybeReader = None,
    judge: options.Judge = None,
    run: options.NewRun = None,
    runs: options.Runs = None,
    data: options.Data = None,
    file: options.File = None,
    limit: options.Limit = None,
    processes: Annotated[int, typer.Option(min=1, metavar="N", help="Processes for the memories.")] = 1,
    jobs: options.Calls = 1,
    settings: options.SettingsFile = None,
    keyword_only: options.KeywordOnly = False,
    grain: options.Grain = GrainChoice.block,
    top_k: options.TopK = None,
    token_budget: options.TokenBudget = None,
    threshold: options.Threshold = 0.0,
    with_adversarial: options.Adversarial = False,
    audit: options.Audit = None,
) -> Shown:
    """All steps: ingest, retrieve, score-retrieval, and with --reader qa and score-qa."""
    steps = _Steps(target, dataset, runs)
    steps.begin(run, data=data, file=file, limit=limit, settings=settings, keyword_only=keyword_only)
    reading = _reading(grain, top_k, token_budget, threshold, adversarial=with_adversarial)
    steps.all(reader, reading, judge, audit=audit, processes=processes, jobs=jobs)
    return steps.finish(None if reader else "qa --reader MODEL")


def smoke(
    target: Target,
    *,
    dataset: SetName,
    reader: options.MaybeReader = _OFFLINE,
    judge: options.Judge = None,
    run: options.NewRun = None,
    runs: options.Runs = None,
    data: options.Data = None,
    file: options.File = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Only the first N questions.")] = 10,
    jobs: options.Calls = 1,
    keyword_only: options.KeywordOnly = False,
) -> Shown:
    """All steps over the first 10 questions, to see that everything works; with --data, no network is needed.

    The embedding model is used if it is on this machine. The offline reader is no model: its score means nothing.
    """
    steps = _Steps(target, dataset, runs)
    steps.begin(run, data=data, file=file, limit=limit, keyword_only=keyword_only, offline=True)
    steps.all(reader, _reading(GrainChoice.block), judge, jobs=jobs)
    return steps.finish()


_HELP: dict[SetName, str] = {
    "longmemeval": "LongMemEval: 500 questions, each over its own haystack of sessions.",
    "locomo": "LoCoMo: 10 long conversations of two people.",
}
# Options that a set has no use for.
_LACKS: dict[SetName, set[str]] = {"longmemeval": {"with_adversarial"}, "locomo": {"file"}}


def groups() -> Iterator[typer.Typer]:
    """The two groups of commands."""
    for dataset, told in _HELP.items():
        group = typer.Typer(name=dataset, help=told, no_args_is_help=True)
        for function in (download, ingest, retrieve, score_retrieval, qa, score_qa, full, smoke):
            name = function.__name__.replace("_", "-")
            group.command(name)(command(function, given={"dataset": dataset}, without=_LACKS[dataset]))
        yield group
