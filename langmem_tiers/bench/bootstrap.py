"""How far a mean could be off, had other questions of the same kind been asked: bootstrap intervals (Efron 1979)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 1000


@dataclass(frozen=True, kw_only=True, slots=True)
class Interval:
    """Where the mean lies in 95 % of the resamples."""

    low: float
    high: float


def interval(values: Sequence[float], *, resamples: int = RESAMPLES, seed: int = 0) -> Interval:
    """The 95 % interval of the mean of at least one value, by percentiles; the same for the same seed.

    Example:
        >>> interval([1.0, 1.0, 1.0])
        Interval(low=1.0, high=1.0)
    """
    drawn = np.random.default_rng(seed).integers(0, len(values), size=(resamples, len(values)))
    means = np.asarray(values, dtype=np.float64)[drawn].mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return Interval(low=float(low), high=float(high))
