"""The keyword signal: how much of what a query asks for, weighed by rarity, a drawer holds.

This is BM25 with k1 = 0, as a share of what a drawer with every word would score. Without term frequency and length
normalisation it does better on conversations: turns are short, and a long one is not less to the point
(docs/decisions.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Held = tuple[Numbers, Numbers]
"""Drawers that hold a word in what was said, and those that hold it in the name of their place only; ascending."""

# What a word counts in the name of a place, as a share of one that was said.
_PLACE = 0.5
# In a smaller memory words are weighed as in one of so many drawers: that both of two drawers hold a word does not make
# it a common one.
_FEWEST = 200


@dataclass(frozen=True, slots=True)
class Covered:
    """Drawers that hold any of the words, ascending, and the share of the query that each covers, between 0 and 1."""

    drawers: Numbers
    shares: NDArray[np.float64]

    def best(self, most: int) -> dict[int, float]:
        """The best drawers, best first; of equals the newest."""
        last = len(self.shares) - most
        least = np.partition(self.shares, last)[last] if last > 0 else 0.0
        near = np.flatnonzero(self.shares >= least)  # a sort of all would take longer than finding them
        chosen = near[np.lexsort((-self.drawers[near], -self.shares[near]))[:most]]
        return dict(zip(self.drawers[chosen].tolist(), self.shares[chosen].tolist(), strict=True))

    def of(self, wanted: Numbers) -> NDArray[np.float64]:
        """The share of each of these drawers, 0 for those that hold none of the words."""
        if not len(self.drawers):
            return np.zeros(len(wanted))
        places = np.searchsorted(self.drawers, wanted).clip(max=len(self.drawers) - 1)
        return np.where(self.drawers[places] == wanted, self.shares[places], 0.0)


def coverage(holding: Sequence[Held], total: int) -> Covered:
    """The share of a query that drawers cover, from the drawers `holding` each of its words, of `total` drawers.

    A word counts by its inverse document frequency as in BM25 (Robertson and Zaragoza 2009): the rarer, the more.
    """
    weights = [rarity(len(said) + len(place), total) for said, place in holding]
    parts = list(_weighed(holding, weights))
    if not parts:
        return Covered(np.zeros(0, np.int64), np.zeros(0))
    gained = np.zeros(1 + max(int(numbers[-1]) for numbers, _ in parts))
    for numbers, weight in parts:
        gained[numbers] += weight  # a word names a drawer once
    drawers = np.flatnonzero(gained)
    return Covered(drawers, gained[drawers] / sum(weights))


def _weighed(holding: Sequence[Held], weights: Sequence[float]) -> Iterator[tuple[Numbers, float]]:
    for (said, place), weight in zip(holding, weights, strict=True):
        if len(said):
            yield said, weight
        if len(place):
            yield place, weight * _PLACE


def rarity(holding: int, total: int) -> float:
    """Inverse document frequency of a word that `holding` of `total` drawers have; positive also for common words."""
    rest = max(total, _FEWEST) - holding
    return float(np.log1p((max(rest, 0) + 0.5) / (holding + 0.5)))
