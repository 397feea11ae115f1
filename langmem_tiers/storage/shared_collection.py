"""Vectors of several spaces in one Chroma collection, where a search finds those of one space before all others.

To a vector's own numbers come one for each space that the collection has room for, of which that of its own space is
not zero. So any two vectors of one space are nearer to each other than to any of another, and among them the order is
that of their own numbers: no filter is needed, which takes Chroma up to six times as long as the search, and equal
vectors of many spaces, which cut HNSW's graph in parts, are apart (docs/scaling.md#chroma).
"""

from __future__ import annotations

import numpy as np

from langmem_tiers.storage.embedding_cache import Vectors

SPACES = 8
"""How many spaces share a collection, each in a seat of its own, while they are small."""
# The square of what is added. A cosine of -1 within a space becomes 1/3, one of 1 between two spaces as well.
_APART = 2.0


def seated(vectors: Vectors, seat: int, *, asked: bool = False) -> Vectors:
    """Vectors of length 1, or zeros, as rows, with the numbers that set their space apart; `asked` for queries."""
    beside = np.zeros((len(vectors), SPACES + 2), np.float32)
    beside[:, seat] = _APART**0.5
    # Zeros have a direction now, and are to be like nothing as before.
    beside[~vectors.any(axis=1), SPACES + asked] = 1.0
    return np.hstack([vectors, beside])


def similarity(distance: float) -> float:
    """The cosine similarity of two vectors of one space by their distance in the collection."""
    return (1.0 - distance) * (1.0 + _APART) - _APART
