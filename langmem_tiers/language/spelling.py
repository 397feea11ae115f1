"""Finding similarly spelled names among very many: first by letter pairs, then letter by letter.

The letter pairs of all names are kept in two arrays, about 40 bytes a name, built on the first lookup of a misspelled
name. Names added later are compared one by one, until there are enough of them to rebuild the arrays.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Names that may be compared one by one.
_SINGLY = 2_000
# Names sharing the most pairs with the query, which are then compared letter by letter.
_CANDIDATES = 200
# Slots for letter pairs: different pairs may share one, which only adds candidates.
_PLACES = 1 << 16
_EDGE = "\x1f"


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Names, and for each letter pair the rows of the names with it: `rows[starts[pair]:starts[pair + 1]]`."""

    names: Sequence[str]
    lengths: NDArray[np.int32]
    starts: NDArray[np.int64]
    rows: NDArray[np.int32]


class Spellings:
    """The names in one state of the graph; later states share the arrays built for the earlier names."""

    def __init__(
        self, names: Mapping[str, object], before: Spellings | None = None, late: Collection[str] = ()
    ) -> None:
        self._names = names
        self._pairs: _Pairs | None = None if before is None else before._pairs
        self._late: frozenset[str] = frozenset(late) | (frozenset() if before is None else before._late)
        self._lock = threading.Lock()

    def like(self, name: str, *, least: float) -> list[tuple[str, float]]:
        """Names spelled like this one, with their similarity, 0 to 1, the most similar first."""
        # Heavy, and opening a memory needs no names.
        from rapidfuzz import fuzz, process

        found = process.extract(name, self._candidates(name), scorer=fuzz.ratio, score_cutoff=least * 100, limit=20)
        return [(known, score / 100) for known, score, _ in found]

    def _candidates(self, name: str) -> list[str]:
        if len(self._names) <= _SINGLY:
            return sorted(self._names)  # the same order in every process, for names that are equally similar
        pairs, late = self._made()
        best = _nearest(pairs, name)
        return sorted(known for known in {*best, *late} if known in self._names)

    def _made(self) -> tuple[_Pairs, frozenset[str]]:
        with self._lock:
            if self._pairs is None or len(self._late) > max(_SINGLY, len(self._names) // 4):
                self._pairs, self._late = _paired(list(self._names)), frozenset()
            return self._pairs, self._late


def _nearest(pairs: _Pairs, name: str) -> list[str]:
    """The names that share the largest part of their pairs with a name."""
    wanted = np.unique(_codes(f"{_EDGE}{name}{_EDGE}"))
    held = np.zeros(len(pairs.names), np.float32)
    for place in wanted.tolist():
        held[pairs.rows[pairs.starts[place] : pairs.starts[place + 1]]] += 1
    share = held / (pairs.lengths + np.float32(len(name) + 1))
    count = min(_CANDIDATES, len(share))
    best = np.argpartition(-share, count - 1)[:count]
    return [pairs.names[row] for row in best.tolist()]


def _paired(names: Sequence[str]) -> _Pairs:
    joined = f"{_EDGE}{_EDGE.join(names)}{_EDGE}"
    lengths = np.fromiter(map(len, names), np.int32, len(names)) + 1
    places = _codes(joined)
    rows = np.repeat(np.arange(len(names), dtype=np.int32), lengths)
    distinct = np.unique(places.astype(np.int64) * (len(names) + 1) + rows)
    places, rows = np.divmod(distinct, len(names) + 1)
    starts = np.searchsorted(places, np.arange(_PLACES + 1))
    return _Pairs(names, lengths, starts, rows.astype(np.int32))


def _codes(text: str) -> NDArray[np.int64]:
    """The slot of each pair of adjacent letters."""
    letters = np.frombuffer(text.encode("utf-32-le"), "<u4").astype(np.int64)
    return (letters[:-1] * 251 + letters[1:]) % _PLACES
