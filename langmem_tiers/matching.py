"""How well a text matches a query: the share of its words that it contains, combined with the vectors' similarity.

The share is BM25 with k1 = 0, relative to the score of a text with every word. Without term frequency and length
normalisation it does better on conversations: turns are short, and a long one is no less relevant
(docs/decisions.md). Each function is pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from langmem_tiers.settings import RecallSettings

Numbers = NDArray[np.int64]
Held = tuple[Numbers, Numbers]
"""Records that hold a word in what they say, and those that hold it in the name of their place only; ascending."""
Values = NDArray[np.float64] | float
"""One number a record, or a single one."""

# The weight of a word in a wing or closet name, relative to one that was said.
_PLACE = 0.5
# In a smaller memory, words are weighed as if it had this many records: a word in both of two records is not
# necessarily common.
_FEWEST = 200
# One in so many records is looked at first, for a share that the best ones have at least.
_SOME = 16


@dataclass(frozen=True, slots=True)
class Covered:
    """Records that contain any of the words, ascending, and the share of the query that each covers, from 0 to 1."""

    numbers: Numbers
    shares: NDArray[np.float64]

    def best(self, most: int) -> dict[int, float]:
        """The best records with their shares, best first; newest first among equals."""
        # What the best of some have at least, the best of all have too. So most are left out by one comparison: to sort
        # all, or to look for the least of the best among all, takes longer.
        near = np.flatnonzero(self.shares >= _least_of_best(self.shares[::_SOME], most))
        near = near[self.shares[near] >= _least_of_best(self.shares[near], most)]
        chosen = near[np.lexsort((-self.numbers[near], -self.shares[near]))[:most]]
        return dict(zip(self.numbers[chosen].tolist(), self.shares[chosen].tolist(), strict=True))

    def of(self, wanted: Numbers) -> NDArray[np.float64]:
        """The share of each of these records, 0 for those without any of the words."""
        if not len(self.numbers):
            return np.zeros(len(wanted))
        places = np.searchsorted(self.numbers, wanted).clip(max=len(self.numbers) - 1)
        return np.where(self.numbers[places] == wanted, self.shares[places], 0.0)


def _least_of_best(shares: NDArray[np.float64], most: int) -> float:
    """The least of so many best shares; 0 if there are no more."""
    last = len(shares) - most
    return float(np.partition(shares, last)[last]) if last > 0 else 0.0


def coverage(holding: Sequence[Held], total: int, codes: Sequence[int] = ()) -> Covered:
    """The share of a query that records cover, given the records `holding` each word, out of `total` records.

    Words are weighted by inverse document frequency as in BM25 (Robertson and Zaragoza 2009): rare ones count more.
    `codes` are the places of words such as an order number: who has these has what is asked for, whatever words it is
    asked in.
    """
    covered = _coverage(holding, total)
    held = [holding[place] for place in codes if place < len(holding) and any(map(len, holding[place]))]
    return _at_least(covered, _coverage(held, total)) if held else covered


def _at_least(covered: Covered, least: Covered) -> Covered:
    """What is covered, where the records of `least`, which are among the others, cover no less."""
    shares = covered.shares.copy()
    places = np.searchsorted(covered.numbers, least.numbers)
    shares[places] = np.maximum(shares[places], least.shares)
    return Covered(covered.numbers, shares)


def _coverage(holding: Sequence[Held], total: int) -> Covered:
    weights = [rarity(len(said) + len(place), total) for said, place in holding]
    parts = list(_weighed(holding, weights))
    if not parts:
        return Covered(np.zeros(0, np.int64), np.zeros(0))
    gained = np.zeros(1 + max(int(numbers[-1]) for numbers, _ in parts))
    for numbers, weight in parts:
        gained[numbers] += weight  # a word lists a record once
    held = np.flatnonzero(gained > 0)  # a seventh of what numpy takes for the numbers themselves
    return Covered(held, gained[held] / sum(weights))


def _weighed(holding: Sequence[Held], weights: Sequence[float]) -> Iterator[tuple[Numbers, float]]:
    for (said, place), weight in zip(holding, weights, strict=True):
        if len(said):
            yield said, weight
        if len(place):
            yield place, weight * _PLACE


def rarity(holding: int, total: int) -> float:
    """Inverse document frequency of a word in `holding` of `total` records; positive even for common words."""
    rest = max(total, _FEWEST) - holding
    return float(np.log1p((max(rest, 0) + 0.5) / (holding + 0.5)))


def matched(keyword: Values, vector: Values, settings: RecallSettings) -> Values:
    """The overall score of a record, 0 to 1, from its channels; NaN means that a channel could not score it.

    If only one channel could score a record, its score is kept as it is: a record may have no vector yet, or the
    words of the query may occur nowhere.
    """
    by_words, by_meaning = np.isfinite(keyword), np.isfinite(vector)
    said, meant = np.fmax(keyword, 0.0), np.fmax(vector, 0.0)  # of an unknown score and 0, this takes the 0
    word_weight, meaning_weight = settings.keyword_weight * by_words, settings.vector_weight * by_meaning
    total = word_weight + meaning_weight
    mean: Values = (said * word_weight + meant * meaning_weight) / np.where(total > 0, total, 1.0)
    return np.where(total > 0, mean, np.maximum(said, meant))
