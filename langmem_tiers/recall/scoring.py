"""Scoring: from the signals of a drawer to one calibrated score, and the small bounded factors on top.

The score estimates how likely it is that what the query asks for was said in the session of a drawer: the logistic
function of a weighted sum of signals. Each function is pure, for one drawer or for the columns of many; the weights are
settings.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from langmem_tiers.matching import Values
from langmem_tiers.settings import RecallSettings

_DAY = 86_400_000
# Platt's scaling (1999) of the weighted sum to the probability that the session holds the answer.
_SLOPE, _OFFSET = 0.5, -6.6
# Beyond this, an exponential is too large for a float; a score says 0 or 1 long before.
_FAR = 700.0


def score(signals: Mapping[str, Values], factors: Mapping[str, Values], settings: RecallSettings) -> Values:
    """The estimate, 0 to 1, that a drawer with these signals holds what is asked for; factors multiply its odds."""
    total: Values = 0.0
    for name, weight in settings.weights.items():
        total = total + weight * signals.get(name, 0.0)
    odds: Values = 1.0
    for factor in factors.values():
        odds = odds * factor
    estimate: Values = odds / (odds + np.exp(np.clip(-_SLOPE * total - _OFFSET, -_FAR, _FAR)))
    return estimate


def factors(*, own: bool, trust: Values, age: Values, settings: RecallSettings) -> dict[str, Values]:
    """The factors of a drawer by name; `age` in milliseconds, negative ages count as none."""
    half_lives = np.maximum(age, 0) / _DAY / settings.recency_half_life_days
    return {
        "own_space": settings.own_space_boost if own else 1.0,
        "recency": 1.0 + settings.recency_weight * 0.5**half_lives,
        "trust": trust,
    }


def trust(origin: str, settings: RecallSettings) -> float:
    """The factor for where a drawer comes from; an origin that the settings do not name has the least."""
    return settings.trust.get(origin, min(settings.trust.values(), default=1.0))
