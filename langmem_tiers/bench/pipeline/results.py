"""Scores of answers: by type, over types, over all; what was not counted is told by id."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from langmem_tiers.bench.pipeline.audit import Audit
from langmem_tiers.bench.pipeline.call_log import Fields
from langmem_tiers.bench.pipeline.matching import abstains, contains, exact, token_f1

ACCURACY = "accuracy"
_RUBRICS = frozenset({"single-session-preference"})
_WORD_METRICS: Mapping[str, Callable[[str, str], float]] = {"exact": exact, "token F1": token_f1, "contains": contains}


@dataclass(frozen=True, kw_only=True, slots=True)
class QaRow:
    """The means over one type of questions."""

    name: str
    questions: int
    scores: Mapping[str, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class QaScores:
    """The table of a set of answers.

    With a judge, `official` is true and the rows hold accuracy as LongMemEval's own script counts it: questions without
    an answer count in their type, and have the row `abstention` besides. Without one, words are compared, and those
    questions count in `abstention` alone. `task_averaged` is the mean over the types.

    Not counted: `failed` questions, which the reader did not answer; `unjudged` ones, where the judge gave no verdict;
    those that the `audit` names; `rubrics`, which no comparison of words can score.
    """

    metric: str
    official: bool
    rows: tuple[QaRow, ...]
    overall: QaRow
    task_averaged: Mapping[str, float]
    abstention: QaRow | None
    failed: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()
    rubrics: tuple[str, ...] = ()
    audit: Audit | None = None


def judged_scores(answers: Iterable[Fields], verdicts: Mapping[str, bool], judge: str, audit: Audit | None) -> QaScores:
    """The accuracy of answers by the verdicts of a judge."""
    given, failed = _given(answers, audit)
    judged = [line for line in given if _id(line) in verdicts]
    scored = [(line, {ACCURACY: float(verdicts[_id(line)])}) for line in judged]
    rows = _rows(scored)
    return QaScores(
        metric=f"Accuracy, judged by {judge}",
        official=True,
        rows=rows,
        overall=_row("all", [scores for _, scores in scored]),
        task_averaged=_averaged(rows),
        abstention=_abstention([scores for line, scores in scored if line.get("abstention")]),
        failed=failed,
        unjudged=tuple(_id(line) for line in given if _id(line) not in verdicts),
        audit=audit,
    )


def matched_scores(answers: Iterable[Fields], audit: Audit | None) -> QaScores:
    """Scores of answers by their words."""
    given, failed = _given(answers, audit)
    without = [line for line in given if line.get("abstention")]
    rubrics = [line for line in given if not line.get("abstention") and line["question_type"] in _RUBRICS]
    others = [line for line in given if not line.get("abstention") and line["question_type"] not in _RUBRICS]
    scored = [(line, _by_words(line)) for line in others]
    rows = _rows(scored)
    return QaScores(
        metric="Words compared",
        official=False,
        rows=rows,
        overall=_row("all", [scores for _, scores in scored]),
        task_averaged=_averaged(rows),
        abstention=_abstention([{"abstains": abstains(str(line["hypothesis"]))} for line in without]),
        failed=failed,
        rubrics=tuple(map(_id, rubrics)),
        audit=audit,
    )


def _given(answers: Iterable[Fields], audit: Audit | None) -> tuple[list[Fields], tuple[str, ...]]:
    """The answers that count, and the ids of those that the reader failed to give."""
    excluded = frozenset(audit.excluded if audit else ())
    counted = [line for line in answers if _id(line) not in excluded]
    return [line for line in counted if "error" not in line], tuple(_id(line) for line in counted if "error" in line)


def _by_words(line: Fields) -> dict[str, float]:
    said, gold = str(line["hypothesis"]), str(line["answer"])
    return {name: metric(said, gold) for name, metric in _WORD_METRICS.items()}


def _rows(scored: Sequence[tuple[Fields, Mapping[str, float]]]) -> tuple[QaRow, ...]:
    by_type: dict[str, list[Mapping[str, float]]] = defaultdict(list)
    for line, scores in scored:
        by_type[str(line["question_type"])].append(scores)
    return tuple(_row(name, group) for name, group in sorted(by_type.items()))


def _row(name: str, scored: Sequence[Mapping[str, float]]) -> QaRow:
    means = {metric: fmean(scores[metric] for scores in scored) for metric in (scored[0] if scored else ())}
    return QaRow(name=name, questions=len(scored), scores=means)


def _averaged(rows: Sequence[QaRow]) -> dict[str, float]:
    return {metric: fmean(row.scores[metric] for row in rows) for metric in (rows[0].scores if rows else ())}


def _abstention(scored: Sequence[Mapping[str, float]]) -> QaRow | None:
    return _row("abstention", scored) if scored else None


def _id(line: Fields) -> str:
    return str(line["question_id"])
