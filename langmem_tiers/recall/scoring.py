"""Scoring: from the signals of a drawer to one calibrated score, and the small bounded factors on top.

The score estimates how likely it is that what the query asks for was said in the session of a drawer: the logistic
function of a weighted sum of signals. Each function is pure; the weights are settings.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from langmem_tiers.settings import RecallSettings

_DAY = 86_400_000
# Platt's scaling (1999) of the weighted sum to the probability that the session holds the answer.
_SLOPE, _OFFSET = 0.5, -6.6
# Beyond this, an exponential is too large for a float; a score says 0 or 1 long before.
_FAR = 700.0


def matched(keyword: float | None, vector: float | None, settings: RecallSettings) -> float:
    """One match of a drawer, 0 to 1, from its channels; None is a channel that could not judge it.

    A drawer that one channel alone could judge keeps that channel's own scale: one that has no vector yet, or any
    when the words of the query are nowhere.
    """
    weighted = ((keyword, settings.keyword_weight), (vector, settings.vector_weight))
    judged = [(max(score, 0.0), weight) for score, weight in weighted if score is not None]
    total = sum(weight for _, weight in judged)
    if total == 0:
        return max((score for score, _ in judged), default=0.0)
    return sum(score * weight for score, weight in judged) / total


def score(signals: Mapping[str, float], factors: Mapping[str, float], settings: RecallSettings) -> float:
    """The estimate, 0 to 1, that a drawer with these signals holds what is asked for; factors multiply its odds."""
    total = sum(weight * signals.get(name, 0.0) for name, weight in settings.weights.items())
    doubt = -_SLOPE * total - _OFFSET
    odds = math.prod(factors.values())
    return odds / (odds + math.exp(min(max(doubt, -_FAR), _FAR)))


def factors(*, own: bool, origin: str, age: int, settings: RecallSettings) -> dict[str, float]:
    """The factors of a drawer by name; `age` in milliseconds, negative ages count as none."""
    half_lives = max(age, 0) / _DAY / settings.recency_half_life_days
    return {
        "own_space": settings.own_space_boost if own else 1.0,
        "recency": 1.0 + settings.recency_weight * 0.5**half_lives,
        "trust": settings.trust.get(origin, min(settings.trust.values(), default=1.0)),
    }
