"""Sorts entries into batches that keep likely duplicates together, so that a model sees both in one question. Pure.

Entries are compared by their vectors where available, otherwise by their words. `arranged` puts entries into an order
that `batches` then cuts, so that the order can be passed on without the vectors.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from langmem_tiers.language.words import stems
from langmem_tiers.records import Entry

Vectors = NDArray[np.float32]

LONGEST = 12_000
"""Characters of the entries of one batch."""

_NEAR = 0.35
_NEIGHBOURS = 6
_ROWS = 500
_DIMENSION = 512


def arranged(entries: Sequence[Entry], most: int, vectors: Mapping[str, Vectors] | None = None) -> tuple[Entry, ...]:
    """Order the entries so that each run of `most` forms a batch.

    Args:
        entries: The entries, each once.
        most: The size of a batch.
        vectors: Vectors by entry id, where available, of length 1.
    """
    if len(entries) <= most:
        return tuple(entries)
    groups = _groups(_pairs(entries, vectors or {}), len(entries), most)
    return tuple(entries[place] for place in _packed(groups, most))


def batches(entries: Sequence[Entry], most: int) -> Iterator[tuple[Entry, ...]]:
    """Cut arranged entries into batches of at most `most`, limited by the characters that fit into a question."""
    for start in range(0, len(entries), most):
        batch: list[Entry] = []
        for entry in entries[start : start + most]:
            if batch and sum(len(each.content) for each in (*batch, entry)) > LONGEST:
                yield tuple(batch)
                batch = []
            batch.append(entry)
        yield tuple(batch)


def _pairs(entries: Sequence[Entry], vectors: Mapping[str, Vectors]) -> list[tuple[int, int]]:
    """Index pairs of similar entries, most similar first."""
    by_words = _by_words(entries)
    by_meaning = _by_meaning(entries, vectors)
    found: dict[tuple[int, int], float] = {}
    for start in range(0, len(entries), _ROWS):
        near = by_words[start : start + _ROWS] @ by_words.T
        if by_meaning is not None:
            near = np.maximum(near, by_meaning[start : start + _ROWS] @ by_meaning.T)
        for row, similar in enumerate(near, start):
            similar[row] = -1
            for other in np.argsort(-similar, kind="stable")[:_NEIGHBOURS].tolist():
                if similar[other] >= _NEAR:
                    found[min(row, other), max(row, other)] = round(float(similar[other]), 4)
    return sorted(found, key=lambda pair: (-found[pair], pair))


def _by_words(entries: Sequence[Entry]) -> Vectors:
    """A row per entry with weighted words: the rarer a word, the more it counts."""
    said = [stems(entry.content) for entry in entries]
    held = Counter(word for words in said for word in words)
    matrix = np.zeros((len(entries), _DIMENSION), np.float32)
    for row, words in zip(matrix, said, strict=True):
        for word in words:
            row[_column(word)] += np.log1p(len(entries) / held[word])
    return _of_length_1(matrix)


def _by_meaning(entries: Sequence[Entry], vectors: Mapping[str, Vectors]) -> Vectors | None:
    """A row per entry; zeros if its vector is missing or of an unusual length."""
    lengths = Counter(len(vectors[entry.id]) for entry in entries if entry.id in vectors)
    if not lengths:
        return None
    usual = max(lengths, key=lambda length: (lengths[length], length))
    none = np.zeros(usual, np.float32)
    rows = [vectors.get(entry.id, none) for entry in entries]
    return _of_length_1(np.stack([row if len(row) == usual else none for row in rows]).astype(np.float32))


def _of_length_1(matrix: Vectors) -> Vectors:
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    made: Vectors = np.nan_to_num(matrix / np.where(lengths == 0, 1, lengths))
    return made


@cache
def _column(word: str) -> int:
    """The column of a word: the same in every process, unlike `hash`."""
    return int.from_bytes(hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=4).digest()) % _DIMENSION


def _groups(pairs: Sequence[tuple[int, int]], count: int, most: int) -> list[list[int]]:
    """Indices in groups of similar entries, none larger than a batch; larger groups first."""
    group_of = {place: [place] for place in range(count)}
    for one, other in pairs:
        here, there = group_of[one], group_of[other]
        if here is not there and len(here) + len(there) <= most:
            here.extend(there)
            group_of.update(dict.fromkeys(there, here))
    distinct = {id(group): sorted(group) for group in group_of.values()}
    return sorted(distinct.values(), key=lambda group: (-len(group), group))


def _packed(groups: Sequence[list[int]], most: int) -> Iterator[int]:
    """Groups arranged so that none spans two batches, as long as small ones are left to fill the gaps."""
    waiting = list(groups)
    room = most
    while waiting:
        fitting = next((place for place, group in enumerate(waiting) if len(group) <= room), 0)
        taken = waiting.pop(fitting)
        yield from taken
        room = (room - len(taken)) % most or most
