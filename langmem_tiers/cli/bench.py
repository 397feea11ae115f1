"""`langmem-tiers bench`: how much of what it should find, recall finds on public conversation sets."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from langmem_tiers.cli import bench_mine, bench_pipeline
from langmem_tiers.cli.bench_options import settings_of
from langmem_tiers.cli.bench_printing import print_skipped, scores_lines
from langmem_tiers.cli.target import Shown, Target, command
from langmem_tiers.cli.terminal import as_data, progress

if TYPE_CHECKING:
    from langmem_tiers.bench.retrieval import RunReport


class DatasetChoice(StrEnum):
    """What `--dataset` can be."""

    locomo = "locomo"
    longmemeval = "longmemeval"


DatasetOption = Annotated[DatasetChoice, typer.Option("--dataset", help="Which set the file is.")]
DataOption = Annotated[Path, typer.Option("--data", metavar="FILE", help="The set's own file, plain or gzipped.")]


bench = typer.Typer(help="Measure recall on public conversation sets.", no_args_is_help=True)
bench.command()(bench_mine.mine)
for group in bench_pipeline.groups():
    bench.add_typer(group)


@bench.command()
@command
def retrieval(
    target: Target,
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
    on_servers: Annotated[
        bool,
        typer.Option("--on-servers", help="Keep the memories in the database of --path and --chroma, which is empty."),
    ] = False,
) -> Shown:
    """Ask every question of a set through the real recall path, and log what came back, one line a question."""
    from langmem_tiers.bench.retrieval import Run, prepare_base, run_retrieval

    if on_servers and grow is not None:
        raise typer.BadParameter("--grow copies folders, and goes without --on-servers.")
    run = Run(
        dataset=dataset.value,
        data=data,
        out=out,
        address=str(target.path) if on_servers else None,
        chroma=target.chroma if on_servers else None,
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
    told = {name: value for name, value in as_data(report).items() if value is not None}
    return Shown({"out": out, **told}, _run_lines(report, out))


@bench.command()
@command
def score(
    target: Target,
    log: Annotated[Path, typer.Argument(metavar="OUT.jsonl", help="What `bench retrieval` wrote.")],
    *,
    dataset: DatasetOption,
    data: DataOption,
    bootstrap: Annotated[
        bool, typer.Option("--bootstrap", help="Add 95 % intervals, from 1,000 resamples of the questions.")
    ] = False,
) -> Shown:
    """Score a log against the set's own labels: recall, R@1, MRR and NDCG by question type.

    recall_any: any of the gold sessions is among the first k distinct sessions; recall_all: all of them are.
    turn R@10: the share of the gold messages among the first 10 drawers.
    """
    from langmem_tiers.bench.datasets import read_gold
    from langmem_tiers.bench.scoring import RESAMPLES, read_answers
    from langmem_tiers.bench.scoring import score as scores_of

    answers = list(read_answers(log))
    scores = scores_of(answers, read_gold(dataset.value, data), resamples=RESAMPLES if bootstrap else 0)
    data_of = {"dataset": dataset.value, "log": log, **as_data(scores)}
    return Shown(data_of, scores_lines(scores, f"{dataset.value}: {log}"))


def _run_lines(report: RunReport, out: Path) -> Iterator[str]:
    before = f", {report.answered_before:,} were there before" if report.answered_before else ""
    yield f"{report.asked:,} questions asked{before}: {out}"
    if report.grown is not None:
        by = report.grown
        to = f"{by.fewest:,}" if by.fewest == by.most else f"{by.fewest:,} to {by.most:,}"
        yield f"Haystacks grown by {to} sessions; the file has {by.pool:,} for it."
    print_skipped(report.problems)
