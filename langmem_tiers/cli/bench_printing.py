"""How the steps of a benchmark tell what they did. No business logic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from langmem_tiers.cli.terminal import print_error, print_rich, print_text, safe, shortened

if TYPE_CHECKING:
    from rich.table import Table

    from langmem_tiers.bench.pipeline.answering import Answers
    from langmem_tiers.bench.pipeline.calls import Usage
    from langmem_tiers.bench.pipeline.download import Downloaded
    from langmem_tiers.bench.pipeline.ingest import Ingested
    from langmem_tiers.bench.pipeline.judging import Graded
    from langmem_tiers.bench.pipeline.results import Audit, QaRow, QaScores
    from langmem_tiers.bench.retrieval import RunReport
    from langmem_tiers.bench.scoring import Row, Scores
    from langmem_tiers.transfer.records import LineProblem

_NAMED = 10
_SHOWN_PROBLEMS = 20


def print_downloaded(done: Downloaded) -> None:
    """Say what is there now."""
    how = "Fetched" if done.fetched else "There already"
    print_text(f"{how}: {done.path}, {done.bytes:,} bytes, SHA-256 {done.sha256}")


def print_ingested(done: Ingested) -> None:
    """Say what was stored."""
    before = f", {done.before:,} were stored before" if done.before else ""
    print_text(
        f"{done.conversations:,} conversations with {done.messages:,} messages stored in {done.seconds:,.0f} s{before}."
    )
    print_problems(done.problems)


def print_retrieved(done: RunReport) -> None:
    """Say what was asked."""
    before = f", {done.answered_before:,} were asked before" if done.answered_before else ""
    print_text(f"{done.asked:,} questions asked of the memory{before}.")
    print_problems(done.problems)


def print_answers(done: Answers) -> None:
    """Say what the reader did."""
    before = f", {done.before:,} were there before" if done.before else ""
    print_text(f"{done.asked:,} questions given to the reader{before}.")
    if done.without_gold:
        print_error(f"{len(done.without_gold):,} have no gold answer and were left out: {_names(done.without_gold)}")
    if done.failed:
        print_error(
            f"The reader failed on {len(done.failed):,}: {_names(done.failed)}. The log says why; run this step again"
            " to ask them again."
        )
    _print_usage(done.usage)


def print_graded(done: Graded, title: str) -> None:
    """Print the table of scores, what was not counted, and what the judge took."""
    scores = done.scores
    print_text(f"{title}\n{scores.metric}{'' if scores.official else ': this is not the official metric'}")
    print_rich(_table(scores))
    for line in _remarks(scores):
        print_text(line)
    if scores.unjudged:
        print_error(
            f"The judge gave no verdict on {len(scores.unjudged):,}, which are not counted: {_names(scores.unjudged)}."
            " Run this step again to ask it again."
        )
    if done.usage is not None:
        _print_usage(done.usage)


def _table(scores: QaScores) -> Table:
    from rich.table import Table

    table = Table()
    table.add_column("type")
    metrics = [*scores.overall.scores]
    for name in ("questions", *metrics):
        table.add_column(name, justify="right")
    for row in scores.rows:
        table.add_row(safe(row.name), *_figures(row, metrics))
    table.add_section()
    table.add_row("all", *_figures(scores.overall, metrics))
    averaged = (f"{scores.task_averaged[metric]:.3f}" for metric in metrics)
    table.add_row("mean of the types", f"{len(scores.rows)} types", *averaged)
    return table


def _figures(row: QaRow, metrics: Sequence[str]) -> list[str]:
    return [f"{row.questions:,}", *(f"{row.scores[metric]:.3f}" for metric in metrics)]


def _remarks(scores: QaScores) -> list[str]:
    remarks = []
    if scores.abstention is not None:
        figures = ", ".join(f"{name} {value:.3f}" for name, value in scores.abstention.scores.items())
        counted = "counted above, too" if scores.official else "not counted above"
        remarks.append(f"Questions without an answer ({scores.abstention.questions:,}, {counted}): {figures}")
    if scores.failed:
        remarks.append(f"Not counted: {len(scores.failed):,} that the reader failed on: {_names(scores.failed)}")
    if scores.rubrics:
        remarks.append(f"Not counted: {len(scores.rubrics):,} with a rubric for an answer, which needs a judge.")
    return remarks + ([] if scores.audit is None else _audited(scores.audit))


def _audited(audit: Audit) -> list[str]:
    excluded = _names(audit.excluded, most=len(audit.excluded)) or "none"
    others = {"about evidence only": audit.citation_only, "about questions not asked here": audit.elsewhere}
    rest = "; ".join(f"{count:,} {what}" for what, count in others.items() if count)
    return [
        f"Left out for wrong gold answers, {len(audit.excluded):,}: {excluded}",
        *([f"Other entries of that list: {rest}."] if rest else []),
    ]


def _print_usage(usage: Usage) -> None:
    untold = f" ({usage.untold:,} calls did not tell)" if usage.untold else ""
    cost = "" if usage.cost is None else f", cost {usage.cost:,.4f}"
    print_text(
        f"{usage.source}: {usage.calls:,} calls, {usage.prompt_tokens:,} tokens in, "
        f"{usage.completion_tokens:,} out{untold}{cost}"
    )


def _names(names: Sequence[str], most: int = _NAMED) -> str:
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return shortened(", ".join(names[:most]), 100_000) + more


def print_problems(problems: Sequence[LineProblem]) -> None:
    """Name what was skipped of a file, on standard error."""
    for problem in problems[:_SHOWN_PROBLEMS]:
        print_error(shortened(f"skipped: entry {problem.line}: {problem.reason}", 300))
    if len(problems) > _SHOWN_PROBLEMS:
        print_error(f"… and {len(problems) - _SHOWN_PROBLEMS:,} more (--json names all).")


def print_scores(scores: Scores, title: str) -> None:
    """The table of scores with what was not counted."""
    print_rich(_recall_table(scores, title), *_recall_remarks(scores))


def _recall_table(scores: Scores, title: str) -> Table:
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    table.add_column("type")
    for name in ("questions", *scores.overall.scores):
        table.add_column(name, justify="right")
    for row in scores.rows:
        table.add_row(row.name, *_recall_figures(row, scores))
    table.add_section()
    table.add_row(scores.overall.name, *_recall_figures(scores.overall, scores))
    return table


def _recall_figures(row: Row, scores: Scores) -> list[str]:
    return [f"{row.questions:,}", *(_recall_figure(row, name) for name in scores.overall.scores)]


def _recall_figure(row: Row, metric: str) -> str:
    """The mean, and its interval below it where there is one: side by side they would be too wide for a terminal."""
    value, interval = row.scores.get(metric), row.intervals.get(metric)
    if value is None:
        return "-"
    return f"{value:.3f}" if interval is None else f"{value:.3f}\n{interval.low:.2f}-{interval.high:.2f}"


def _recall_remarks(scores: Scores) -> list[str]:
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
