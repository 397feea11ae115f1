"""`langmem-tiers bench`: how much of what it should find, recall finds on public conversation sets."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from langmem_tiers.cli import bench_mine, bench_pipeline
from langmem_tiers.cli.progress import progress
from langmem_tiers.cli.target import JsonFlag, target_of
from langmem_tiers.cli.terminal import as_data, print_error, print_json, print_rich, print_text, shortened

if TYPE_CHECKING:
    from rich.table import Table

    from langmem_tiers.bench.retrieval import RunReport
    from langmem_tiers.bench.scoring import Row, Scores
    from langmem_tiers.settings import Settings
    from langmem_tiers.transfer.records import LineProblem

_SHOWN_PROBLEMS = 20


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
    from langmem_tiers.bench.bootstrap import RESAMPLES
    from langmem_tiers.bench.datasets import read_gold
    from langmem_tiers.bench.log import read_answers
    from langmem_tiers.bench.scoring import score as scores_of

    target = target_of(context, json=json)
    answers = list(read_answers(log))
    scores = scores_of(answers, read_gold(dataset.value, data), resamples=RESAMPLES if bootstrap else 0)
    if target.json:
        print_json({"dataset": dataset.value, "log": log, **as_data(scores)})
    else:
        print_scores(scores, f"{dataset.value}: {log}")


def settings_of(path: Path | None) -> Settings:
    """The settings in a file, or the defaults when there is none."""
    from pydantic import ValidationError

    from langmem_tiers.errors import InvalidSettings, UnreadableFile
    from langmem_tiers.settings import Settings

    if path is None:
        return Settings()
    try:
        return Settings.model_validate_json(path.read_bytes())
    except OSError as error:
        raise UnreadableFile(f"{path} can not be read: {error.strerror}.", way_out="Check --settings.") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InvalidSettings(f"{path}: {where or 'the file'}: {first['msg']}.") from error


def _print_run(report: RunReport, out: Path) -> None:
    before = f", {report.answered_before:,} were there before" if report.answered_before else ""
    print_text(f"{report.asked:,} questions asked{before}: {out}")
    if report.grown is not None:
        by = report.grown
        to = f"{by.fewest:,}" if by.fewest == by.most else f"{by.fewest:,} to {by.most:,}"
        print_text(f"Haystacks grown by {to} sessions; the file has {by.pool:,} for it.")
    print_problems(report.problems)


def print_problems(problems: Sequence[LineProblem]) -> None:
    """Name what was skipped of a file, on standard error."""
    for problem in problems[:_SHOWN_PROBLEMS]:
        print_error(shortened(f"skipped: entry {problem.line}: {problem.reason}", 300))
    if len(problems) > _SHOWN_PROBLEMS:
        print_error(f"… and {len(problems) - _SHOWN_PROBLEMS:,} more (--json names all).")


def print_scores(scores: Scores, title: str) -> None:
    """The table of scores with what was not counted."""
    print_rich(_table(scores, title), *_remarks(scores))


def _table(scores: Scores, title: str) -> Table:
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    table.add_column("type")
    for name in ("questions", *scores.overall.scores):
        table.add_column(name, justify="right")
    for row in scores.rows:
        table.add_row(row.name, *_figures(row, scores))
    table.add_section()
    table.add_row(scores.overall.name, *_figures(scores.overall, scores))
    return table


def _figures(row: Row, scores: Scores) -> list[str]:
    return [f"{row.questions:,}", *(_figure(row, name) for name in scores.overall.scores)]


def _figure(row: Row, metric: str) -> str:
    """The mean, and its interval below it where there is one: side by side they would be too wide for a terminal."""
    value, interval = row.scores.get(metric), row.intervals.get(metric)
    if value is None:
        return "-"
    return f"{value:.3f}" if interval is None else f"{value:.3f}\n{interval.low:.2f}-{interval.high:.2f}"


def _remarks(scores: Scores) -> list[str]:
    counts = {
        "without evidence in the set": scores.without_evidence,
        "without an answer on purpose": scores.abstention,
        "not in the log": scores.unanswered,
        "in the log and not in the set": scores.unknown,
    }
    left_out = [f"{count:,} {what}" for what, count in counts.items() if count]
    remarks = [f"Not counted: {'; '.join(left_out)}."] if left_out else []
    for name, spread in scores.timings.items():
        remarks.append(f"{name}: p50 {spread.p50:.1f}, p95 {spread.p95:.1f}")
    return remarks
