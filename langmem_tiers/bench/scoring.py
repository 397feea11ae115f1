"""Answers of a retrieval, and recall, MRR and NDCG by question type."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from math import ceil, log2
from pathlib import Path
from statistics import fmean

import numpy as np

from langmem_tiers.bench.datasets import Gold
from langmem_tiers.bench.logs import no_answer, read_lines

RESAMPLES = 1000


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfidenceInterval:
    """The range of the mean in 95 % of the resamples."""

    low: float
    high: float


def interval(values: Sequence[float], *, resamples: int = RESAMPLES, seed: int = 0) -> ConfidenceInterval:
    """The 95 % interval of the mean of at least one value, by percentiles; the same for the same seed.

    Example:
        >>> interval([1.0, 1.0, 1.0])
        Interval(low=1.0, high=1.0)
    """
    drawn = np.random.default_rng(seed).integers(0, len(values), size=(resamples, len(values)))
    means = np.asarray(values, dtype=np.float64)[drawn].mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return ConfidenceInterval(low=float(low), high=float(high))


# A session of a question's own conversation by its number, or one that was added to it by its name.
Session = int | str


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """What was retrieved for one question: sessions and messages, best first, and how long it took.

    A session that was added to the question's own conversation is a text, and never in the gold. `turns` is None where
    a log does not name messages.
    """

    question_id: str
    sessions: Sequence[Session]
    turns: Sequence[str | None] | None = None
    timings: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Spread:
    """The median and the 95th percentile of some times."""

    p50: float
    p95: float


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreRow:
    """The means over one type of questions. A metric that the data has no gold for is left out of `scores`.

    `intervals` are those of the means, where they were asked for.
    """

    name: str
    questions: int
    scores: Mapping[str, float]
    intervals: Mapping[str, ConfidenceInterval] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Scores:
    """The table: a row for each question type in alphabetical order, the row of all, and what was not counted.

    `without_evidence` and `abstention` questions are in the log, but have nothing to be found; `unanswered` ones have
    gold and are not in the log; `unknown` ones are in the log and not in the data.
    """

    rows: tuple[ScoreRow, ...]
    overall: ScoreRow
    without_evidence: int
    abstention: int
    unanswered: int
    unknown: int
    timings: Mapping[str, Spread]


def recall_any(ranked: Sequence[Hashable], gold: AbstractSet[Hashable], k: int) -> float:
    """1 when any of the gold is among the first `k`, else 0."""
    return float(any(one in gold for one in distinct(ranked)[:k]))


def recall_all(ranked: Sequence[Hashable], gold: AbstractSet[Hashable], k: int) -> float:
    """1 when all of the gold is among the first `k`, else 0."""
    return float(gold <= set(distinct(ranked)[:k]))


def share_found(ranked: Sequence[Hashable], gold: AbstractSet[Hashable], k: int) -> float:
    """The share of the gold that is among the first `k`."""
    return len(gold & set(distinct(ranked)[:k])) / len(gold)


def reciprocal_rank(ranked: Sequence[Hashable], gold: AbstractSet[Hashable]) -> float:
    """1 / the place of the first gold one; 0 when there is none."""
    return next((1 / place for place, one in enumerate(distinct(ranked), 1) if one in gold), 0.0)


def ndcg(ranked: Sequence[Hashable], gold: AbstractSet[Hashable], k: int) -> float:
    """Normalised discounted cumulative gain at `k` with binary relevance (Järvelin and Kekäläinen 2002)."""
    gain = sum(1 / log2(place + 1) for place, one in enumerate(distinct(ranked)[:k], 1) if one in gold)
    best = sum(1 / log2(place + 1) for place in range(1, min(len(gold), k) + 1))
    return gain / best


def distinct(ranked: Iterable[Hashable]) -> list[Hashable]:
    """`ranked` without repetitions."""
    return list(dict.fromkeys(ranked))


Metric = Callable[[Answered, Gold], float]
METRICS: Mapping[str, Metric] = {
    "recall_any@5": lambda answer, gold: recall_any(answer.sessions, gold.sessions, 5),
    "recall_any@10": lambda answer, gold: recall_any(answer.sessions, gold.sessions, 10),
    "recall_all@5": lambda answer, gold: recall_all(answer.sessions, gold.sessions, 5),
    "recall_all@10": lambda answer, gold: recall_all(answer.sessions, gold.sessions, 10),
    "R@1": lambda answer, gold: recall_any(answer.sessions, gold.sessions, 1),
    "MRR": lambda answer, gold: reciprocal_rank(answer.sessions, gold.sessions),
    "NDCG@10": lambda answer, gold: ndcg(answer.sessions, gold.sessions, 10),
}
TURN_METRICS: Mapping[str, Metric] = {
    "turn R@10": lambda answer, gold: share_found(answer.turns or (), gold.turns, 10),
}


def score(answers: Iterable[Answered], golds: Iterable[Gold], *, resamples: int = 0) -> Scores:
    """The table of a log against its gold; with `resamples`, each mean has its bootstrap interval over questions."""
    answered = {answer.question_id: answer for answer in answers}
    known = {gold.question_id: gold for gold in golds}
    in_log = [gold for name, gold in known.items() if name in answered]
    counted = [gold for gold in in_log if gold.sessions and not gold.abstention]
    by_type: dict[str, list[Gold]] = defaultdict(list)
    for gold in counted:
        by_type[gold.question_type].append(gold)
    times: dict[str, list[float]] = defaultdict(list)
    for answer in answered.values():
        for name, value in answer.timings.items():
            times[name].append(value)
    return Scores(
        rows=tuple(_row(name, group, answered, resamples) for name, group in sorted(by_type.items())),
        overall=_row("all", counted, answered, resamples),
        without_evidence=sum(not gold.sessions and not gold.abstention for gold in in_log),
        abstention=sum(gold.abstention for gold in in_log),
        unanswered=len(known) - len(in_log),
        unknown=len(answered.keys() - known.keys()),
        timings={name: spread(values) for name, values in times.items()},
    )


def _row(name: str, golds: Sequence[Gold], answered: Mapping[str, Answered], resamples: int) -> ScoreRow:
    pairs = [(answered[gold.question_id], gold) for gold in golds]
    with_turns = [(answer, gold) for answer, gold in pairs if gold.turns and answer.turns is not None]
    values = {metric: [of(*pair) for pair in pairs] for metric, of in METRICS.items() if pairs}
    values |= {metric: [of(*pair) for pair in with_turns] for metric, of in TURN_METRICS.items() if with_turns}
    return ScoreRow(
        name=name,
        questions=len(pairs),
        scores={metric: fmean(each) for metric, each in values.items()},
        intervals={metric: interval(each, resamples=resamples) for metric, each in values.items() if resamples},
    )


def spread(values: Iterable[float]) -> Spread:
    """Median and 95th percentile of at least one value, by nearest rank."""
    ordered = sorted(values)
    return Spread(p50=_nearest(ordered, 50), p95=_nearest(ordered, 95))


def _nearest(ordered: Sequence[float], percent: int) -> float:
    return ordered[max(0, ceil(len(ordered) * percent / 100) - 1)]


_TIMINGS = ("recall_ms", "embed_ms")


@dataclass(frozen=True, kw_only=True, slots=True)
class RetrievalAnswer:
    """What was retrieved for one question, best first.

    `sessions` of the question's own conversation are numbers; one that was added to it has a name. `drawers` are
    numbers within the question's space, `turns` the message ids of the same drawers. `recall_ms` is the whole recall,
    `embed_ms` the embedding of the question within it. `others` counts the sessions that were added, None where the
    conversation was not to be grown.
    """

    question_id: str
    question_type: str
    sessions: tuple[Session, ...]
    drawers: tuple[int, ...]
    turns: tuple[str | None, ...]
    recall_ms: float
    embed_ms: float
    verdict: str
    abstention: bool = False
    others: int | None = None

    def as_fields(self) -> dict[str, object]:
        """The fields of its line in the log."""
        fields: dict[str, object] = {
            "question_id": self.question_id,
            "question_type": self.question_type,
            "sessions": self.sessions,
            "drawers": self.drawers,
            "recall_ms": round(self.recall_ms, 3),
            "embed_ms": round(self.embed_ms, 3),
            "turns": self.turns,
            "verdict": self.verdict,
        }
        if self.abstention:
            fields["abstention"] = True
        if self.others is not None:
            fields["others"] = self.others
        return fields


def read_answers(path: Path) -> Iterator[Answered]:
    """The answers in a log, as the scorer needs them.

    Raises:
        UnreadableFile: the log cannot be opened, or a line is no answer.
    """
    for number, line in enumerate(read_lines(path), 1):
        sessions, turns = line.get("sessions"), line.get("turns")
        if not isinstance(sessions, list):
            raise no_answer(path, number)
        yield Answered(
            question_id=str(line["question_id"]),
            sessions=sessions,
            turns=turns if isinstance(turns, list) else None,
            timings={name: value for name in _TIMINGS if isinstance(value := line.get(name), int | float)},
        )
