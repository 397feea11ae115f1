"""The gate that says nothing: what a threshold keeps out, and what it costs.

For each threshold: how often small talk and questions without an answer get no block, and how often questions with an
answer still get a session that holds it. Either each item has to reach the threshold, or the best one opens the block
and the others need a quarter of it.

Then whether scores are probabilities: of candidates that recall scores 0.3, three of ten should stand in a session
with the answer; and the scaling of the weighted sum that would make it so.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Literal

import numpy as np
from calibration import Floats, Scaling, calibration_error, platt, reliability
from kept import KeptSet, add_arguments, ask, candidates, sets
from reporting import Row, parser, report, say
from small_talk import MESSAGES

from langmem_tiers import Space
from langmem_tiers.bench.datasets import BenchQuestion, Case, Gold, session_number
from langmem_tiers.recall import rendering
from langmem_tiers.settings import RecallSettings
from langmem_tiers.types import Candidate, RecalledItem

Kind = Literal["small talk", "unanswerable", "adversarial", "answerable"]
THRESHOLDS = (0, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
# The share of the threshold that items need which do not open the block.
RULES = {"each item": 1.0, "the best item": 0.25}
WITHOUT_ANSWER: tuple[Kind, ...] = ("small talk", "unanswerable", "adversarial")
EDGES = (0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """One message, with the items of a block without a threshold, best first: their scores, tokens and sessions."""

    kind: Kind
    scores: Sequence[float]
    tokens: Sequence[int]
    sessions: Sequence[int]
    gold: frozenset[int] = frozenset()
    heading: int = 0

    def block(self, opening: float, least: float) -> int:
        """How many items a block has if its best has to reach `opening` and each `least`: the first of them."""
        if not self.scores or self.scores[0] < opening:
            return 0
        return sum(score >= least for score in self.scores)

    def block_tokens(self, items: int) -> int:
        """Tokens of a block of so many items, 0 of none."""
        return self.heading + sum(self.tokens[:items]) if items else 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """One candidate of a question with an answer: its weighted sum, factors as log-odds, and if its session is gold."""

    total: float
    known: float
    score: float
    right: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """All that was asked of a set, and the candidates of its questions."""

    name: str
    asked: list[Asked]
    judged: list[Judged]


def main() -> None:
    arguments = parser(__doc__ or "", "nothing_gate")
    add_arguments(arguments)
    chosen = arguments.parse_args()
    measured = [measure(kept) for kept in sets(chosen)]
    out: Path = chosen.out
    report("What a threshold keeps out, and what it costs (%)", [row for one in measured for row in curve(one)], out)
    rows = [row for one in measured for row in bins(one)]
    report("Scores as probabilities (%)", rows, out.with_stem(f"{out.stem}_reliability"))
    report("Scaling that the data asks for", scalings(measured), out.with_stem(f"{out.stem}_scaling"))


def measure(kept: KeptSet) -> Measured:
    say(f"asking the memories of {kept.name}; those that are not in {kept.work} yet are stored first")
    gold = kept.gold()
    measured = Measured(name=kept.name, asked=[], judged=[])
    for case, space in kept.memories(adversarial=True):
        for question in (*case.questions, *small_talk(case)):
            _ask(kept, space, question, gold.get(question.question_id), measured)
    return measured


def small_talk(case: Case) -> list[BenchQuestion]:
    """The messages as if they were sent when the first question of the case was asked."""
    return [
        replace(first, question_id="", question_type="small talk", text=text, abstention=True)
        for first in case.questions[:1]
        for text in MESSAGES
    ]


def _ask(kept: KeptSet, space: Space, question: BenchQuestion, gold: Gold | None, measured: Measured) -> None:
    sessions = frozenset() if gold is None or question.abstention else gold.sessions
    if not sessions and not question.abstention:
        return  # a question whose evidence is not known tells nothing
    recalled = ask(space, question)
    heading = space.memory.count_tokens(rendering.render([""]))
    measured.asked.append(_asked(question, recalled.items, sessions, heading))
    if sessions:
        settings = space.memory.settings.recall
        measured.judged.extend(_judged(one, sessions, settings) for one in candidates(recalled))


def _asked(question: BenchQuestion, items: Sequence[RecalledItem], gold: frozenset[int], heading: int) -> Asked:
    kinds: dict[str, Kind] = {"small talk": "small talk", "adversarial": "adversarial"}
    otherwise: Kind = "unanswerable" if question.abstention else "answerable"
    return Asked(
        kind=kinds.get(question.question_type, otherwise),
        scores=[item.score for item in items],
        tokens=[item.tokens for item in items],
        sessions=[session_number(item.drawer.session) for item in items],
        gold=gold,
        heading=heading,
    )


def _judged(candidate: Candidate, gold: frozenset[int], settings: RecallSettings) -> Judged:
    return Judged(
        total=sum(weight * candidate.signals.get(name, 0.0) for name, weight in settings.weights.items()),
        known=math.log(math.prod(candidate.factors.values())),
        score=candidate.score,
        right=session_number(candidate.session) in gold,
    )


def curve(measured: Measured) -> Iterator[Row]:
    """A row for each rule and threshold."""
    for name, share in RULES.items():
        for threshold in THRESHOLDS:
            blocks = [(one, one.block(threshold, share * threshold)) for one in measured.asked]
            answerable = [(one, items) for one, items in blocks if one.kind == "answerable"]
            yield {
                "set": measured.name,
                "opened by": name,
                "threshold": f"{threshold:g}",
                **{f"{kind}: no block": _empty(blocks, kind) for kind in WITHOUT_ANSWER},
                "any gold shown": _percent(not one.gold.isdisjoint(one.sessions[:items]) for one, items in answerable),
                "all shown": _percent(one.gold <= set(one.sessions[:items]) for one, items in answerable),
                "items": fmean(items for _, items in answerable),
                "tokens": fmean(one.block_tokens(items) for one, items in answerable),
            }


def bins(measured: Measured) -> Iterator[Row]:
    """A row for each bin of scores, and the expected calibration error in the last."""
    scores, right = _column(measured.judged, "score"), _column(measured.judged, "right")
    found = list(reliability(scores, right, EDGES))
    for one in found:
        yield _bin(measured.name, f"{one.low:g} to {one.high:g}", one.count, one.predicted, one.right)
    off = f"error {100 * calibration_error(found):.1f}"
    yield {**_bin(measured.name, "all", len(scores), scores.mean(), right.mean()), "off": off}


def _bin(name: str, scores: str, count: int, predicted: float, right: float) -> Row:
    return {
        "set": name,
        "score": scores,
        "candidates": count,
        "mean score": 100 * predicted,
        "in a gold session": 100 * right,
        "off": f"{100 * (predicted - right):+.1f}",
    }


def scalings(measured: Sequence[Measured]) -> list[Row]:
    """The scaling for each set, for all candidates, and with each set counting the same."""
    rows = [_scaling(one.name, platt(*_sums(one.judged))) for one in measured]
    together = [judged for one in measured for judged in one.judged]
    shares = np.concatenate([np.full(len(one.judged), len(together) / len(one.judged)) for one in measured])
    return [
        *rows,
        _scaling("all", platt(*_sums(together))),
        _scaling("all, sets count the same", platt(*_sums(together), shares / len(measured))),
    ]


def _scaling(name: str, found: Scaling) -> Row:
    return {"set": name, "slope": f"{found.slope:.3f}", "offset": f"{found.offset:.3f}"}


def _sums(judged: Iterable[Judged]) -> tuple[Floats, Floats, Floats]:
    held = list(judged)
    return _column(held, "total"), _column(held, "right"), _column(held, "known")


def _column(judged: Sequence[Judged], name: str) -> Floats:
    return np.array([getattr(one, name) for one in judged], dtype=np.float64)


def _empty(blocks: Sequence[tuple[Asked, int]], kind: Kind) -> float | str:
    """The share of messages of a kind without a block; a dash where the set has none."""
    of_kind = [items == 0 for one, items in blocks if one.kind == kind]
    return _percent(of_kind) if of_kind else "-"


def _percent(values: Iterable[bool]) -> float:
    return 100 * fmean(map(float, values))


if __name__ == "__main__":
    main()
