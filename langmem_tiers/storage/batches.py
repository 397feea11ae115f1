"""Long lists of values in parts that fit into one statement. No business logic."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")
# SQLite takes 32,766 variables in a statement by default.
AT_ONCE = 10_000


def batches(items: Collection[T]) -> Iterator[Sequence[T]]:
    """The items in order, as many at once as a statement takes."""
    held = items if isinstance(items, Sequence) else list(items)
    return (held[start : start + AT_ONCE] for start in range(0, len(held), AT_ONCE))
