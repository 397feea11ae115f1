"""Calibration: whether scores are probabilities, and the scaling that would make them so. Pure functions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_STEPS = 100
_CLOSE = 1e-9


@dataclass(frozen=True, kw_only=True, slots=True)
class Scaling:
    """The probability of a weighted sum is the logistic function of `slope` times the sum plus `offset`."""

    slope: float
    offset: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Bin:
    """The scores from `low` up to `high`: how many, their mean, and the share that was right."""

    low: float
    high: float
    count: int
    predicted: float
    right: float


def platt(sums: Floats, right: Floats, known: Floats | None = None, weights: Floats | None = None) -> Scaling:
    """The most likely scaling (Platt 1999, with his softened targets), by Newton's method.

    `right` is 1 or 0 for each sum. `known` are log-odds that are added as they are; `weights` say how much each counts.
    """
    given = np.zeros(len(sums)) if known is None else known
    counts = np.ones(len(sums)) if weights is None else weights
    positive = right.sum()
    targets = np.where(right > 0, (positive + 1) / (positive + 2), 1 / (len(right) - positive + 2))
    middle, width = sums.mean(), sums.std() or 1.0
    design = np.stack([(sums - middle) / width, np.ones(len(sums))], axis=1)
    found = np.zeros(2)
    for _ in range(_STEPS):
        predicted = logistic(design @ found + given)
        slopes = design.T @ (counts * (targets - predicted))
        bends = (design * (counts * predicted * (1 - predicted))[:, None]).T @ design
        step = np.linalg.solve(bends + 1e-9 * np.eye(2), slopes)
        found += step
        if abs(step).max() < _CLOSE:
            break
    slope = found[0] / width
    return Scaling(slope=float(slope), offset=float(found[1] - slope * middle))


def logistic(values: Floats) -> Floats:
    """The logistic function; what is beyond a float is as good as 0 or 1."""
    scaled: Floats = 1 / (1 + np.exp(-np.clip(values, -700, 700)))
    return scaled


def reliability(scores: Floats, right: Floats, edges: tuple[float, ...]) -> Iterator[Bin]:
    """The scores between each two edges, the last edge included; empty bins are left out."""
    bins = np.clip(np.searchsorted(edges, scores, side="right") - 1, 0, len(edges) - 2)
    for number in np.unique(bins).tolist():
        held = bins == number
        yield Bin(
            low=edges[number],
            high=edges[number + 1],
            count=int(held.sum()),
            predicted=float(scores[held].mean()),
            right=float(right[held].mean()),
        )


def calibration_error(bins: list[Bin]) -> float:
    """Expected calibration error: how far predictions are off, each bin by the number of its scores."""
    total = sum(one.count for one in bins)
    return sum(one.count * abs(one.predicted - one.right) for one in bins) / total
