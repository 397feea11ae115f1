"""`langmem-tiers bench`: how much of what it should find, recall finds on public conversation sets."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from langmem_tiers.cli.progress import progress
from langmem_tiers.cli.target import JsonFlag, target_of
from langmem_tiers.cli.terminal import as_data, print_error, print_json, print_rich, print_text, shortened

if TYPE_CHECKING:
    from rich.table import Table

    from langmem_tiers.bench.retrieval import RunReport
    from langmem_tiers.bench.scoring import Row, Scores
    from langmem_tiers.settings import Settings

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
        typer.Option("--keep", help="Leave the memories in the work folder, and use those left there as they are."),
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Ask every question of a set through the real recall path, and log what came back, one line a question."""
    from langmem_tiers.bench.retrieval import Run, run_retrieval

    target = target_of(context, json=json)
    run = Run(
        dataset=dataset.value,
        data=data,
        out=out,
        work=work or out.parent / "work",
        settings=_settings(settings),
        limit=limit,
        jobs=jobs,
        vectors=not keyword_only,
        keep=keep,
    )
    with progress("Questions", shown=not target.json) as advance:
        report = run_retrieval(run, on_progress=advance)
    if target.json:
        print_json({"out": out, **as_data(report)})
    else:
        _print_run(report, out)


def score(
    context: typer.Context,
    log: Annotated[Path, typer.Argument(metavar="OUT.jsonl", help="What `bench retrieval` wrote.")],
    *,
    dataset: DatasetOption,
    data: DataOption,
    json: JsonFlag = False,
) -> None:
    """Score a log against the set's own labels: recall, R@1, MRR and NDCG by question type.

    recall_any: any of the gold sessions is among the first k distinct sessions; recall_all: all of them are.
    turn R@10: the share of the gold messages among the first 10 drawers.
    """
    from langmem_tiers.bench.datasets import read_gold
    from langmem_tiers.bench.log import read_answers
    from langmem_tiers.bench.scoring import score as scores_of

    target = target_of(context, json=json)
    answers = list(read_answers(log))
    scores = scores_of(answers, read_gold(dataset.value, data))
    if target.json:
        print_json({"dataset": dataset.value, "log": log, **as_data(scores)})
    else:
        print_rich(_table(scores, f"{dataset.value}: {log}"), *_remarks(scores))


def _settings(path: Path | None) -> Settings:
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
    for problem in report.problems[:_SHOWN_PROBLEMS]:
        print_error(shortened(f"skipped: entry {problem.line}: {problem.reason}", 300))
    if len(report.problems) > _SHOWN_PROBLEMS:
        print_error(f"… and {len(report.problems) - _SHOWN_PROBLEMS:,} more (--json names all).")


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
    found = (row.scores.get(name) for name in scores.overall.scores)
    return [f"{row.questions:,}", *("-" if value is None else f"{value:.3f}" for value in found)]


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
