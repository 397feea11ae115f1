"""Fusion: the scores of the channels on one scale, and the small bounded factors on top.

Each function is pure; the weights are settings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping

from langmem_tiers.settings import RecallSettings

Scores = Mapping[int, float]
_DAY = 86_400_000
# Constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009).
_RRF = 60
# BM25 score at which a one-word query counts as half matched; it grows with the words asked for.
_HALF_MATCHED = 2.0


def normalised(scores: Scores, how: str, terms: int, *, among: Collection[int] | None = None) -> dict[int, float]:
    """BM25 scores on a scale of 0 to 1, in the same order; the scale is that of the drawers in `among`, if given."""
    measured = {drawer: score for drawer, score in scores.items() if among is None or drawer in among}
    scaled = _NORMALISATIONS[how](measured, terms)
    return {drawer: scaled.get(drawer, 1.0) for drawer in scores}


def fused(keyword: float | None, vector: float | None, settings: RecallSettings) -> float:
    """One score of a drawer from its channels; None is a channel that could not judge it.

    A drawer that one channel alone could judge keeps that channel's own scale: one that has no vector yet, or any
    when the words of the query are nowhere.
    """
    weighted = ((keyword, settings.keyword_weight), (vector, settings.vector_weight))
    judged = [(max(score, 0.0), weight) for score, weight in weighted if score is not None]
    total = sum(weight for _, weight in judged)
    if total == 0:
        return max((score for score, _ in judged), default=0.0)
    return sum(score * weight for score, weight in judged) / total


def factors(*, own: bool, origin: str, age: int, settings: RecallSettings) -> dict[str, float]:
    """The factors of a drawer by name; `age` in milliseconds, negative ages count as none."""
    half_lives = max(age, 0) / _DAY / settings.recency_half_life_days
    return {
        "own_space": settings.own_space_boost if own else 1.0,
        "recency": 1.0 + settings.recency_weight * 0.5**half_lives,
        "trust": settings.trust.get(origin, min(settings.trust.values(), default=1.0)),
    }


def _by_largest(scores: Scores, _terms: int) -> dict[int, float]:
    largest = max(scores.values(), default=0.0)
    return {drawer: score / largest if largest > 0 else 0.0 for drawer, score in scores.items()}


def _by_saturation(scores: Scores, terms: int) -> dict[int, float]:
    half = _HALF_MATCHED * math.sqrt(max(terms, 1))
    return {drawer: max(score, 0.0) / (max(score, 0.0) + half) for drawer, score in scores.items()}


def _by_rank(scores: Scores, _terms: int) -> dict[int, float]:
    ranked = sorted(scores, key=lambda drawer: -scores[drawer])
    return {drawer: (_RRF + 1) / (_RRF + 1 + rank) for rank, drawer in enumerate(ranked)}


_NORMALISATIONS: dict[str, Callable[[Scores, int], dict[int, float]]] = {
    "max": _by_largest,
    "saturation": _by_saturation,
    "rank": _by_rank,
}
