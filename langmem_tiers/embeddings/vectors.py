"""Arithmetic on rows of vectors; no business logic."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def unit(rows: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    """The finite rows, shape (n, d), at length 1; rows of zeros stay zero."""
    if rows.size == 0:
        return rows.astype(np.float32)
    largest = np.abs(rows).max(axis=1, keepdims=True)
    # By the largest component first: the squares of huge or tiny components do not fit a float.
    scaled = rows / np.where(largest == 0, 1, largest)
    length = np.linalg.norm(scaled, axis=1, keepdims=True)
    return (scaled / np.where(length == 0, 1, length)).astype(np.float32)
