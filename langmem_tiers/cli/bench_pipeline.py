"""`langmem-tiers bench longmemeval` and `locomo`: from the official file to the accuracy of answers, step by step."""

from __future__ import annotations

import functools
import inspect
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langmem_tiers.cli import bench_options as options
from langmem_tiers.cli import bench_printing as printing
from langmem_tiers.cli.bench_options import OFFLINE, Beginning, FileChoice, GrainChoice, SetName, begun
from langmem_tiers.cli.target import JsonFlag, target_of
from langmem_tiers.cli.terminal import as_data, print_json, print_text, progress

if TYPE_CHECKING:
    from langmem_tiers.bench.datasets import DatasetName
    from langmem_tiers.bench.pipeline import contexts
    from langmem_tiers.bench.pipeline.calls import Ask, Prices
    from langmem_tiers.bench.pipeline.runs import BenchRun
    from langmem_tiers.cli.target import Target


_Money = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class Reading:
    """What the reader is to be given, and of which questions."""

    grain: GrainChoice = GrainChoice.block
    top_k: int | None = None
    token_budget: int | None = None
    threshold: float = 0.0
    adversarial: bool = False

    def chosen(self) -> contexts.Reading:
        """The same for the library."""
        from langmem_tiers.bench.pipeline import contexts

        return contexts.Reading(
            grain=self.grain.value, top_k=self.top_k, token_budget=self.token_budget, threshold=self.threshold
        )


@dataclass(frozen=True, slots=True)
class Judging:
    """Who is to judge; nobody means that words are compared."""

    judge: str | None = None
    temperature: float | None = None
    audit: Path | None = None
    prices: _Money = (None, None)


class Steps:
    """The steps of one command over one run; what they did is printed as they end, or gathered for `finish`."""

    def __init__(self, dataset: DatasetName, runs: Path | None, target: Target, *, label: str | None = None) -> None:
        self._dataset = dataset
        self._runs = runs or Path(dataset)
        self._told_runs = runs
        self._target = target
        self._label = label
        self._done: dict[str, Any] = {}
        self._failed = False
        self._limit: int | None = None
        self._of: BenchRun | None = None

    @property
    def run(self) -> BenchRun:
        """The run, after `begin` or `take_up`."""
        assert self._of is not None
        return self._of

    def download(self, which: str | None, url: str | None, sha256: str | None) -> None:
        """Fetch an official file."""
        from langmem_tiers.bench.pipeline.download import download, source_of
        from langmem_tiers.bench.pipeline.runs import DATA_FOLDER

        source = source_of(self._dataset, which)
        with self._progress("Bytes") as advance:
            done = download(source, self._runs / DATA_FOLDER, url=url, sha256=sha256, on_progress=advance)
        self._tell("download", done, lambda: printing.print_downloaded(done))
        self.finish(f"ingest --file {which}" if which else "ingest")

    def begin(self, how: Beginning) -> None:
        """Begin a run, or go on with the one that was named."""
        self._of = begun(self._dataset, self._runs, how)
        self._limit = self._of.limit

    def take_up(
        self, run_id: str | None, *, data: Path | None = None, limit: int | None = None, needs_data: bool = True
    ) -> None:
        """Go on with a run."""
        from langmem_tiers.bench.pipeline import runs

        known = runs.taken_up(self._dataset, self._runs, run_id)
        self._of = runs.with_data(known, data) if needs_data else known
        self._limit = limit or known.limit

    def ingest(self, jobs: int) -> None:
        """Store the conversations."""
        from langmem_tiers.bench.pipeline.ingest import ingest

        with self._progress("Conversations") as advance:
            done = ingest(self.run, limit=self._limit, jobs=jobs, on_progress=advance)
        self._tell("ingest", done, lambda: printing.print_ingested(done))

    def retrieve(self, jobs: int) -> None:
        """Ask the memories."""
        from langmem_tiers.bench.retrieval import run_retrieval

        with self._progress("Questions") as advance:
            done = run_retrieval(self.run.retrieval(limit=self._limit, jobs=jobs), on_progress=advance)
        self._tell("retrieve", done, lambda: printing.print_retrieved(done))

    def contexts(self, reading: Reading, jobs: int) -> None:
        """Write what the reader will be given."""
        path = self._contexts(reading, jobs)
        self._tell("contexts", {"path": path}, lambda: print_text(f"What the reader is given: {path}"))

    def _contexts(self, reading: Reading, jobs: int) -> Path:
        from langmem_tiers.bench.pipeline.contexts import make_contexts

        with self._progress("Contexts") as advance:
            return make_contexts(
                self.run,
                reading.chosen(),
                limit=self._limit,
                adversarial=reading.adversarial,
                jobs=jobs,
                on_progress=advance,
            )

    def score_retrieval(self) -> None:
        """Score what the memories gave."""
        from langmem_tiers.bench.datasets import read_gold
        from langmem_tiers.bench.scoring import read_answers, score

        log = self.run.retrieval_log
        scores = score([*read_answers(log)], read_gold(self._dataset, self.run.data))
        self._tell("score_retrieval", scores, lambda: printing.print_scores(scores, f"{self._dataset}: {log}"))

    def qa(
        self,
        reader: str,
        reading: Reading,
        jobs: int,
        temperature: float | None = None,
        *,
        retry_failed: bool = True,
        prices: _Money = (None, None),
    ) -> None:
        """Have the questions answered."""
        from langmem_tiers.bench.pipeline.answering import Answering, answer, model_reader, offline_reader

        how = Answering(
            run=self.run,
            reader=offline_reader if reader == OFFLINE else model_reader(_asking(reader, temperature)),
            reader_name=reader,
            temperature=temperature,
            reading=reading.chosen(),
            limit=self._limit,
            adversarial=reading.adversarial,
            jobs=jobs,
            label=self._label,
            retry_failed=retry_failed,
            prices=_prices(prices),
        )
        given = self._contexts(reading, 1)
        with self._progress("Answers") as advance:
            done = answer(how, given, on_progress=advance)
        self._failed |= bool(done.failed)
        self._tell("qa", done, lambda: printing.print_answers(done))

    def score_qa(self, judging: Judging, jobs: int) -> None:
        """Have the answers judged."""
        from langmem_tiers.bench.pipeline.judging import Grading, grade

        how = Grading(
            run=self.run,
            ask=_asking(judging.judge, judging.temperature) if judging.judge else None,
            judge_name=judging.judge or "",
            temperature=judging.temperature,
            jobs=jobs,
            label=self._label,
            audit=judging.audit,
            prices=_prices(judging.prices),
        )
        with self._progress("Judgements") as advance:
            done = grade(how, on_progress=advance)
        self._failed |= bool(done.scores.unjudged)
        title = f"{self._dataset}: {self.run.log('generation_logs', self._label)}"
        self._tell("score_qa", done, lambda: printing.print_graded(done, title))

    def all(self, reader: str | None, reading: Reading, judging: Judging, *, processes: int, jobs: int) -> None:
        """Every step; those with models when there is a reader."""
        if reader is not None and reader != OFFLINE:
            _asking(reader, None)  # a model that can not be used is said before hours of work
        if judging.judge is not None:
            _asking(judging.judge, None)
        self.ingest(processes)
        self.retrieve(processes)
        self.score_retrieval()
        if reader is not None:
            self.qa(reader, reading, jobs)
            self.score_qa(judging, jobs)

    def finish(self, following: str | None = None) -> None:
        """Say which command comes next, print the JSON, and leave with 1 if a model failed on something."""
        run = {} if self._of is None else {"run": self.run.run_id, "folder": self.run.folder}
        if self._target.json:
            next_command = {"next": self._command(following)} if following else {}
            print_json({**run, **as_data(self._done), **next_command})
        else:
            if self._of is not None:
                print_text(f"Run {self.run.run_id}: {self.run.folder}")
            if following:
                print_text(f"Next: {self._command(following)}")
        if self._failed:
            raise typer.Exit(1)

    def _command(self, step: str) -> str:
        name, *more = step.split(" ", 1)
        told = [f"langmem-tiers bench {self._dataset} {name}"]
        if self._of is not None:
            told.append(f"--run {self.run.run_id}")
        if self._told_runs is not None:
            told.append(f"--runs {shlex.quote(str(self._told_runs))}")
        if self._label is not None:
            told.append(f"--label {self._label}")
        return " ".join([*told, *more])

    def _progress(self, what: str) -> Any:
        return progress(what, shown=not self._target.json)

    def _tell(self, step: str, done: Any, say: Any) -> None:
        self._done[step] = done
        if not self._target.json:
            say()


def _asking(name: str, temperature: float | None) -> Ask:
    from langmem_tiers.bench.pipeline.calls import asking, with_temperature
    from langmem_tiers.cli.chat import chat_model

    return asking(with_temperature(chat_model(name), temperature))


def _prices(told: _Money) -> Prices:
    from langmem_tiers.bench.pipeline.calls import Prices

    return Prices(tokens_in=told[0], tokens_out=told[1])


_HELP: dict[SetName, str] = {
    "longmemeval": "LongMemEval: 500 questions, each over its own haystack of sessions.",
    "locomo": "LoCoMo: 10 long conversations of two people.",
}
# Options that a set has no use for.
_LACKS: dict[SetName, set[str]] = {"longmemeval": {"with_adversarial"}, "locomo": {"file"}}


def register(bench: typer.Typer) -> None:
    """Add the two groups of commands."""
    commands = (download, ingest, retrieve, score_retrieval, qa, score_qa, full, smoke)
    for dataset, told in _HELP.items():
        group = typer.Typer(help=told, no_args_is_help=True)
        for command in commands:
            group.command(command.__name__.replace("_", "-"))(_of(dataset, command))
        bench.add_typer(group, name=dataset)


def _of(dataset: SetName, command: Callable[..., None]) -> Callable[..., None]:
    """The command for one set: with the options that it has."""
    signature = inspect.signature(command, eval_str=True)
    lacks = {"dataset", *_LACKS[dataset]}

    @functools.wraps(command)
    def bound(*args: Any, **given: Any) -> None:
        command(*args, dataset=dataset, **given)

    # What Typer makes options of.
    kept = [parameter for name, parameter in signature.parameters.items() if name not in lacks]
    bound.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
    bound.__annotations__ = {parameter.name: parameter.annotation for parameter in kept}
    return bound


def download(
    context: typer.Context,
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
    json: JsonFlag = False,
) -> None:
    """Fetch the official file into FOLDER/data; a download that was stopped goes on where it was.

    The file gets its name only when its SHA-256 is the one known for the official file.
    """
    which = file.value if dataset == "longmemeval" else None
    Steps(dataset, runs, target_of(context, json=json)).download(which, url, sha256)


def ingest(
    context: typer.Context,
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
    json: JsonFlag = False,
) -> None:
    """Begin a run: store every conversation through the real track node, in a memory of its own that stays."""
    steps = Steps(dataset, runs, target_of(context, json=json))
    steps.begin(Beginning(run=run, data=data, file=file, limit=limit, settings=settings, keyword_only=keyword_only))
    steps.ingest(jobs)
    steps.finish("retrieve")


def retrieve(
    context: typer.Context,
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
    json: JsonFlag = False,
) -> None:
    """Ask every question through the real recall path, and log what came back, one line a question."""
    steps = Steps(dataset, runs, target_of(context, json=json))
    steps.take_up(run, data=data, limit=limit)
    steps.retrieve(jobs)
    if for_reader:
        steps.contexts(Reading(grain, top_k, token_budget, threshold, with_adversarial), jobs)
    steps.finish("score-retrieval")


def score_retrieval(
    context: typer.Context,
    *,
    dataset: SetName,
    run: options.KnownRun = None,
    runs: options.Runs = None,
    data: options.Data = None,
    json: JsonFlag = False,
) -> None:
    """Score what came back against the set's own labels: recall, R@1, MRR and NDCG by question type."""
    steps = Steps(dataset, runs, target_of(context, json=json))
    steps.take_up(run, data=data)
    steps.score_retrieval()
    steps.finish("qa --reader MODEL")


def qa(
    context: typer.Context,
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
    json: JsonFlag = False,
) -> None:
    """Give each question with what is recalled for it to a reader model, and log its answer, one line a question.

    Exit code 1 when the reader failed on any; running the step again asks those again.
    """
    steps = Steps(dataset, runs, target_of(context, json=json), label=label)
    steps.take_up(run, data=data, limit=limit)
    reading = Reading(grain, top_k, token_budget, threshold, with_adversarial)
    steps.qa(reader, reading, jobs, temperature, retry_failed=retry_failed, prices=(price_in, price_out))
    steps.finish("score-qa --judge MODEL")


def score_qa(
    context: typer.Context,
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
    json: JsonFlag = False,
) -> None:
    """Have each answer judged as the set's authors do, by question type, and print the accuracy.

    Without --judge, words are compared instead: that is deterministic, and not the official metric.
    Exit code 1 when the judge gave no verdict on any; running the step again asks it again.
    """
    steps = Steps(dataset, runs, target_of(context, json=json), label=label)
    steps.take_up(run, needs_data=False)
    steps.score_qa(Judging(judge, temperature, audit, (price_in, price_out)), jobs)
    steps.finish()


def full(
    context: typer.Context,
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
    json: JsonFlag = False,
) -> None:
    """All steps: ingest, retrieve, score-retrieval, and with --reader qa and score-qa."""
    steps = Steps(dataset, runs, target_of(context, json=json))
    steps.begin(Beginning(run=run, data=data, file=file, limit=limit, settings=settings, keyword_only=keyword_only))
    reading = Reading(grain, top_k, token_budget, threshold, with_adversarial)
    steps.all(reader, reading, Judging(judge, audit=audit), processes=processes, jobs=jobs)
    steps.finish(None if reader else "qa --reader MODEL")


def smoke(
    context: typer.Context,
    *,
    dataset: SetName,
    reader: options.MaybeReader = OFFLINE,
    judge: options.Judge = None,
    run: options.NewRun = None,
    runs: options.Runs = None,
    data: options.Data = None,
    file: options.File = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Only the first N questions.")] = 10,
    jobs: options.Calls = 1,
    keyword_only: options.KeywordOnly = False,
    json: JsonFlag = False,
) -> None:
    """All steps over the first 10 questions, to see that everything works; with --data, no network is needed.

    The embedding model is used if it is on this machine. The offline reader is no model: its score means nothing.
    """
    steps = Steps(dataset, runs, target_of(context, json=json))
    steps.begin(
        Beginning(run=run, data=data, file=file, limit=limit, keyword_only=keyword_only, prefix="smoke-", offline=True)
    )
    steps.all(reader, Reading(), Judging(judge), processes=1, jobs=jobs)
    steps.finish()
