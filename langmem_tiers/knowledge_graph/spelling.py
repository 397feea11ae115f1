"""Names that are spelled like another one, found among very many: by pairs of letters first, and then letter by letter.

The pairs of all names lie in two arrays, about 40 bytes a name, made when a misspelled name is first asked for. What
is named later is compared one by one, until there is so much of it that the arrays are made anew.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Names that may be compared one by one.
_SINGLY = 2_000
# Names that share the most pairs with the one asked for, which are then compared letter by letter.
_CANDIDATES = 200
# Places for pairs of letters: different pairs may share one, which only adds candidates.
_PLACES = 1 << 16
_EDGE = 0x1F


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Names, and for each pair of letters the rows of those that hold it: `rows[starts[pair]:starts[pair + 1]]`."""

    names: Sequence[str]
    lengths: NDArray[np.int32]
    starts: NDArray[np.int64]
    rows: NDArray[np.int32]


class Spellings:
    """The names of one state of the graph; those after it share what was made of the names before."""

    def __init__(
        self, names: Mapping[str, object], before: Spellings | None = None, late: Collection[str] = ()
    ) -> None:
        self._names = names
        self._pairs: _Pairs | None = None if before is None else before._pairs
        self._late: frozenset[str] = frozenset(late) | (frozenset() if before is None else before._late)
        self._lock = threading.Lock()

    def like(self, name: str, *, least: float) -> list[tuple[str, float]]:
        """Names that are spelled like this one, with how like they are, 0 to 1, the likest first."""
        from rapidfuzz import fuzz, process

        found = process.extract(name, self._candidates(name), scorer=fuzz.ratio, score_cutoff=least * 100, limit=20)
        return [(known, score / 100) for known, score, _ in found]

    def _candidates(self, name: str) -> list[str]:
        if len(self._names) <= _SINGLY:
            return list(self._names)
        pairs, late = self._made()
        best = _nearest(pairs, name)
        return [known for known in {*best, *late} if known in self._names]

    def _made(self) -> tuple[_Pairs, frozenset[str]]:
        with self._lock:
            if self._pairs is None or len(self._late) > max(_SINGLY, len(self._names) // 4):
                self._pairs, self._late = _paired(list(self._names)), frozenset()
            return self._pairs, self._late


def _nearest(pairs: _Pairs, name: str) -> list[str]:
    """The names that share the greatest part of their pairs with a name."""
    wanted = np.unique(_codes(name))
    held = np.zeros(len(pairs.names), np.float32)
    for place in wanted.tolist():
        held[pairs.rows[pairs.starts[place] : pairs.starts[place + 1]]] += 1
    share = held / (pairs.lengths + np.float32(len(name) + 1))
    count = min(_CANDIDATES, len(share))
    best = np.argpartition(-share, count - 1)[:count]
    return [pairs.names[row] for row in best.tolist()]


def _paired(names: Sequence[str]) -> _Pairs:
    joined = f"{chr(_EDGE)}{chr(_EDGE).join(names)}{chr(_EDGE)}"
    lengths = np.fromiter(map(len, names), np.int32, len(names)) + 1
    places = _codes_of(joined)
    rows = np.repeat(np.arange(len(names), dtype=np.int32), lengths)
    distinct = np.unique(places.astype(np.int64) * (len(names) + 1) + rows)
    places, rows = np.divmod(distinct, len(names) + 1)
    starts = np.searchsorted(places, np.arange(_PLACES + 1))
    return _Pairs(names, lengths, starts, rows.astype(np.int32))


def _codes(name: str) -> NDArray[np.int64]:
    return _codes_of(f"{chr(_EDGE)}{name}{chr(_EDGE)}")


def _codes_of(text: str) -> NDArray[np.int64]:
    """The place of each pair of letters that follow each other."""
    letters = np.frombuffer(text.encode("utf-32-le"), "<u4").astype(np.int64)
    return (letters[:-1] * 251 + letters[1:]) % _PLACES
