"""`langmem-tiers bench`: how much of what it should find, recall finds on public conversation sets."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from langmem_tiers.cli import bench_mine, bench_pipeline
from langmem_tiers.cli.bench_options import settings_of
from langmem_tiers.cli.bench_printing import print_problems, print_scores
from langmem_tiers.cli.target import JsonFlag, target_of
from langmem_tiers.cli.terminal import as_data, print_json, print_text, progress

if TYPE_CHECKING:
    from langmem_tiers.bench.retrieval import RunReport


class DatasetChoice(StrEnum):
    """What `--dataset` can be."""

    locomo = "locomo"
    longmemeval = "longmemeval"


DatasetOption = Annotated[DatasetChoice, typer.Option("--dataset", help="Which set the file is.")]
DataOption = Annotated[Path, typer.Option("--data", metavar="FILE", help="The set's own file, plain or gzipped.")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    bench = typer.Typer(help="Measure recall on public conversation sets.", no_args_is_help=True)
    bench.command()(retrieval)
    bench.command()(score)
    bench_mine.register(bench)
    bench_pipeline.register(bench)
    app.add_typer(bench, name="bench")


def retrieval(
    context: typer.Context,
    *,
    dataset: DatasetOption,
    data: DataOption,
    out: Annotated[
        Path, typer.Option(metavar="OUT.jsonl", help="The log; questions it has already are not asked again.")
    ],
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Only the first N questions.")] = None,
    jobs: Annotated[int, typer.Option(min=1, metavar="N", help="Processes, each with its own conversations.")] = 1,
    work: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="For memories and embeddings. Default: 'work' beside OUT.")
    ] = None,
    settings: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="Settings that differ from the defaults.")
    ] = None,
    keyword_only: Annotated[bool, typer.Option("--keyword-only", help="Without an embedding model.")] = False,
    keep: Annotated[
        bool,
        typer.Option(
            "--keep",
            help="Leave the memories in the work folder, and use those left there as they are. With --grow, only the"
            " base stays, as it does anyway: copies are always temporary.",
        ),
    ] = False,
    grow: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Ask over N more sessions of the file, none of them evidence for any question."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="S", help="Which sessions --grow takes first.")] = 0,
    json: JsonFlag = False,
) -> None:
    """Ask every question of a set through the real recall path, and log what came back, one line a question."""
    from langmem_tiers.bench.retrieval import Run, prepare_base, run_retrieval

    target = target_of(context, json=json)
    run = Run(
        dataset=dataset.value,
        data=data,
        out=out,
        work=work or out.parent / "work",
        settings=settings_of(settings),
        limit=limit,
        jobs=jobs,
        vectors=not keyword_only,
        keep=keep,
        grow=grow,
        seed=seed,
    )
    if grow is not None:
        with progress("Sessions to grow by", shown=not target.json) as advance:
            prepare_base(run, on_progress=advance)
    with progress("Questions", shown=not target.json) as advance:
        report = run_retrieval(run, on_progress=advance)
    if target.json:
        told = as_data(report)
        print_json({"out": out, **{name: value for name, value in told.items() if value is not None}})
    else:
        _print_run(report, out)


def score(
    context: typer.Context,
    log: Annotated[Path, typer.Argument(metavar="OUT.jsonl", help="What `bench retrieval` wrote.")],
    *,
    dataset: DatasetOption,
    data: DataOption,
    bootstrap: Annotated[
        bool, typer.Option("--bootstrap", help="Add 95 % intervals, from 1,000 resamples of the questions.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Score a log against the set's own labels: recall, R@1, MRR and NDCG by question type.

    recall_any: any of the gold sessions is among the first k distinct sessions; recall_all: all of them are.
    turn R@10: the share of the gold messages among the first 10 drawers.
    """
    from langmem_tiers.bench.datasets import read_gold
    from langmem_tiers.bench.scoring import RESAMPLES, read_answers
    from langmem_tiers.bench.scoring import score as scores_of

    target = target_of(context, json=json)
    answers = list(read_answers(log))
    scores = scores_of(answers, read_gold(dataset.value, data), resamples=RESAMPLES if bootstrap else 0)
    if target.json:
        print_json({"dataset": dataset.value, "log": log, **as_data(scores)})
    else:
        print_scores(scores, f"{dataset.value}: {log}")


def _print_run(report: RunReport, out: Path) -> None:
    before = f", {report.answered_before:,} were there before" if report.answered_before else ""
    print_text(f"{report.asked:,} questions asked{before}: {out}")
    if report.grown is not None:
        by = report.grown
        to = f"{by.fewest:,}" if by.fewest == by.most else f"{by.fewest:,} to {by.most:,}"
        print_text(f"Haystacks grown by {to} sessions; the file has {by.pool:,} for it.")
    print_problems(report.problems)
