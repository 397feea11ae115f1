"""How the steps of a benchmark tell what they did. No business logic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from langmem_tiers.cli.terminal import figures, print_error, print_problems, shortened, wrapped
from langmem_tiers.wording import safe

if TYPE_CHECKING:
    from rich.console import RenderableType

    from langmem_tiers.bench.pipeline.answering import Answers
    from langmem_tiers.bench.pipeline.calls import CallUsage
    from langmem_tiers.bench.pipeline.download import Downloaded
    from langmem_tiers.bench.pipeline.ingest import IngestedConversations
    from langmem_tiers.bench.pipeline.judging import Graded
    from langmem_tiers.bench.pipeline.results import QaRow, QaScores
    from langmem_tiers.bench.retrieval import RunReport
    from langmem_tiers.bench.scoring import ScoreRow, Scores
    from langmem_tiers.transfer.records import LineProblem

    Lines = Iterator[RenderableType]

_NAMED = 10


def download_lines(done: Downloaded) -> Lines:
    """The file that is there now."""
    how = "Fetched" if done.fetched else "There already"
    yield f"{how}: {done.path}, {done.bytes:,} bytes, SHA-256 {done.sha256}"


def ingest_lines(done: IngestedConversations) -> Lines:
    """What was stored."""
    counts = f"{done.conversations:,} conversations with {done.messages:,} messages"
    before = f", {done.before:,} were stored before" if done.before else ""
    yield f"{counts} stored in {done.seconds:,.0f} s{before}."
    print_skipped(done.problems)


def retrieve_lines(done: RunReport) -> Lines:
    """What was asked."""
    before = f", {done.answered_before:,} were asked before" if done.answered_before else ""
    yield f"{done.asked:,} questions asked of the memory{before}."
    print_skipped(done.problems)


def print_skipped(problems: Sequence[LineProblem]) -> None:
    """Name the skipped parts of a file on standard error."""
    print_problems([f"skipped: entry {problem.line}: {problem.reason}" for problem in problems])


def answers_lines(done: Answers) -> Lines:
    """What the reader did."""
    before = f", {done.before:,} were there before" if done.before else ""
    yield f"{done.asked:,} questions given to the reader{before}."
    if done.without_gold:
        print_error(f"{len(done.without_gold):,} have no gold answer and were left out: {_names(done.without_gold)}")
    if done.failed:
        print_error(
            f"The reader failed on {len(done.failed):,}: {_names(done.failed)}. The log says why; run this step again"
            " to ask them again."
        )
    yield _usage_line(done.usage)


def graded_lines(done: Graded, title: str) -> Lines:
    """The table of scores, what was not counted, and the usage of the judge."""
    scores = done.scores
    yield f"{title}\n{scores.metric}{'' if scores.official else ': this is not the official metric'}"
    metrics = [*scores.overall.scores]
    table = figures("type", "questions", *metrics)
    for row in scores.rows:
        table.add_row(safe(row.name), *_figures(row, metrics))
    table.add_section()
    table.add_row("all", *_figures(scores.overall, metrics))
    averaged = (f"{scores.task_averaged[metric]:.3f}" for metric in metrics)
    table.add_row("mean of the types", f"{len(scores.rows)} types", *averaged)
    yield table
    yield from _remarks(scores)
    if scores.unjudged:
        print_error(
            f"The judge gave no verdict on {len(scores.unjudged):,}, which are not counted: {_names(scores.unjudged)}."
            " Run this step again to ask it again."
        )
    if done.usage is not None:
        yield _usage_line(done.usage)


def _figures(row: QaRow, metrics: Sequence[str]) -> list[str]:
    return [f"{row.questions:,}", *(f"{row.scores[metric]:.3f}" for metric in metrics)]


def _remarks(scores: QaScores) -> Iterator[str]:
    if scores.abstention is not None:
        means = ", ".join(f"{name} {value:.3f}" for name, value in scores.abstention.scores.items())
        counted = "counted above, too" if scores.official else "not counted above"
        yield f"Questions without an answer ({scores.abstention.questions:,}, {counted}): {means}"
    if scores.failed:
        yield f"Not counted: {len(scores.failed):,} that the reader failed on: {_names(scores.failed)}"
    if scores.rubrics:
        yield f"Not counted: {len(scores.rubrics):,} with a rubric for an answer, which needs a judge."
    if audit := scores.audit:
        excluded = _names(audit.excluded, most=len(audit.excluded)) or "none"
        yield f"Left out for wrong gold answers, {len(audit.excluded):,}: {excluded}"
        others = {"about evidence only": audit.citation_only, "about questions not asked here": audit.elsewhere}
        if rest := [f"{count:,} {what}" for what, count in others.items() if count]:
            yield f"Other entries of that list: {'; '.join(rest)}."


def _usage_line(usage: CallUsage) -> str:
    tokens = f"{usage.prompt_tokens:,} tokens in, {usage.completion_tokens:,} out"
    untold = f" ({usage.untold:,} calls did not tell)" if usage.untold else ""
    cost = "" if usage.cost is None else f", cost {usage.cost:,.4f}"
    return f"{usage.source}: {usage.calls:,} calls, {tokens}{untold}{cost}"


def _names(names: Sequence[str], most: int = _NAMED) -> str:
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return shortened(", ".join(names[:most]), 100_000) + more


def scores_lines(scores: Scores, title: str) -> Lines:
    """The table of a retrieval's scores, and what was not counted."""
    metrics = [*scores.overall.scores]
    table = figures("type", "questions", *metrics, title=title)
    for row in (*scores.rows, scores.overall):
        if row is scores.overall:
            table.add_section()
        table.add_row(row.name, f"{row.questions:,}", *(_mean(row, name) for name in metrics))
    yield table
    counts = {
        "without evidence in the set": scores.without_evidence,
        "without an answer on purpose": scores.abstention,
        "not in the log": scores.unanswered,
        "in the log and not in the set": scores.unknown,
    }
    if left_out := [f"{count:,} {what}" for what, count in counts.items() if count]:
        yield wrapped(f"Not counted: {'; '.join(left_out)}.")
    for name, spread in scores.timings.items():
        yield f"{name}: p50 {spread.p50:.1f}, p95 {spread.p95:.1f}"


def _mean(row: ScoreRow, metric: str) -> str:
    """A mean, with its interval below it if there is one: side by side they would be too wide for a terminal."""
    value, interval = row.scores.get(metric), row.intervals.get(metric)
    if value is None:
        return "-"
    return f"{value:.3f}" if interval is None else f"{value:.3f}\n{interval.low:.2f}-{interval.high:.2f}"
