"""Many records at once out of columns: a recall makes hundreds, and one call for each took longer than the search."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import repeat
from typing import Any, TypeVar

Record = TypeVar("Record")
Row = TypeVar("Row", bound=tuple[Any, ...])


def tuples(kind: type[Row], columns: Mapping[str, Iterable[Any]]) -> Iterator[Row]:
    """Named tuples of a kind, given all its fields in their order."""
    return map(tuple.__new__, repeat(kind), zip(*columns.values(), strict=False))


def records(kind: type[Record], count: int, columns: Mapping[str, Iterable[Any]]) -> tuple[Record, ...]:
    """So many records of a dataclass with slots, given all its fields: what its `__init__` would make of each."""
    made = tuple(map(object.__new__, repeat(kind, count)))
    for name, values in columns.items():
        deque(map(getattr(kind, name).__set__, made, values), maxlen=0)
    return made
