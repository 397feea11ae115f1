"""`langmem-tiers bench longmemeval` and `bench locomo`: the benchmarks from the official file to accuracy, by steps."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from langmem_tiers.cli import bench_options as options
from langmem_tiers.cli.bench_begin import Beginning
from langmem_tiers.cli.bench_options import OFFLINE, FileChoice, GrainChoice, SetName
from langmem_tiers.cli.bench_steps import Judging, Reading, Steps
from langmem_tiers.cli.target import JsonFlag, target_of

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
