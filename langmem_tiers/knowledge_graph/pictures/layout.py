"""Places boxes joined by lines: near their neighbours, and without overlaps.

Uses stress majorization (Gansner, Koren, North: Graph Drawing by Stress Majorization, 2004); overlapping boxes are
then pushed apart. The result is deterministic.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

Floats: TypeAlias = "np.ndarray[tuple[int, ...], np.dtype[np.float64]]"
Size = tuple[float, float]
Join = tuple[int, int, float]
"""Two boxes, and how far apart they want to stand."""

_ROUNDS = 150
_PUSHES = 400
_GAP = 10.0
# Boxes are wide and low, and so are screens.
_STRETCH = (1.25, 0.85)
_BETWEEN = 50.0
_SEED = 7


def place(sizes: Sequence[Size], joins: Sequence[Join]) -> list[tuple[float, float]]:
    """The centres of boxes, in coordinates from the top left corner of the whole."""
    if not sizes:
        return []
    boxes = np.array(sizes, dtype=float)
    parts: list[tuple[list[int], Floats]] = []
    for part in _parts(len(sizes), joins):
        stand = _majorized(_distances(part, joins)) * _STRETCH
        parts.append((part, _pushed(stand, boxes[part])))
    lows = [(stand - boxes[part] / 2).min(axis=0) for part, stand in parts]
    highs = [(stand + boxes[part] / 2).max(axis=0) for part, stand in parts]
    centres = np.zeros((len(sizes), 2))
    corners = _packed([(float(x), float(y)) for x, y in np.subtract(highs, lows)])
    for (part, stand), low, corner in zip(parts, lows, corners, strict=True):
        centres[part] = stand - low + corner
    return [(float(x), float(y)) for x, y in centres]


def _distances(part: Sequence[int], joins: Sequence[Join]) -> Floats:
    """The distances between all pairs of a connected component along the lines."""
    place_of = {each: place for place, each in enumerate(part)}
    apart = np.full((len(part), len(part)), np.inf)
    np.fill_diagonal(apart, 0)
    for one, other, length in joins:
        if one in place_of:
            ends = place_of[one], place_of[other]
            apart[ends] = apart[ends[::-1]] = min(apart[ends], length)
    for via in range(len(part)):
        np.minimum(apart, apart[:, via, None] + apart[None, via, :], out=apart)
    return apart


def _majorized(apart: Floats) -> Floats:
    count = len(apart)
    if count == 1:
        return np.zeros((1, 2))
    weights = np.divide(1, apart**2, out=np.zeros_like(apart), where=apart > 0)
    pull = np.diag(weights.sum(axis=1)) - weights
    inverse = np.linalg.pinv(pull)
    stand = np.random.default_rng(_SEED).normal(size=(count, 2)) * apart.max() / 4
    for _ in range(_ROUNDS):
        now = np.hypot(*(stand[:, None, :] - stand[None, :, :]).transpose(2, 0, 1))
        ratio = np.divide(weights * apart, now, out=np.zeros_like(now), where=now > 0)
        push = np.diag(ratio.sum(axis=1)) - ratio
        stand = inverse @ (push @ stand)
    return _laid_flat(stand - stand.mean(axis=0))


def _laid_flat(stand: Floats) -> Floats:
    """Rotated so that its longest extent is horizontal."""
    _, _, axes = np.linalg.svd(stand, full_matrices=False)
    if axes.shape != (2, 2):
        return stand
    signs = np.sign(axes[np.arange(2), np.abs(axes).argmax(axis=1)])
    turned: Floats = stand @ (axes * signs[:, None]).T
    return turned


def _pushed(stand: Floats, boxes: Floats) -> Floats:
    """Push overlapping boxes apart along the shorter axis until none overlap."""
    stand = stand.copy()
    room = (boxes[:, None, :] + boxes[None, :, :]) / 2 + _GAP
    upper = np.triu(np.ones((len(boxes), len(boxes)), dtype=bool), 1)
    for round_ in range(_PUSHES):
        between = stand[:, None, :] - stand[None, :, :]
        short = room - np.abs(between)
        over = upper & (short > 0.01).all(axis=2)
        if not over.any():
            break
        for one, other in zip(*np.nonzero(over), strict=True):
            _push(stand, room[one, other], one, other, whole=round_ > _PUSHES // 2)
    return stand


def _push(stand: Floats, room: Floats, one: int, other: int, *, whole: bool) -> None:
    between = stand[one] - stand[other]
    short = room - np.abs(between)
    if (short <= 0).any():
        return
    axis = int(short.argmin())
    way = (short[axis] + 0.02) / 2 * (1.0 if whole else 0.6)
    side = 1.0 if between[axis] > 0 or (between[axis] == 0 and one > other) else -1.0
    stand[one, axis] += side * way
    stand[other, axis] -= side * way


def _parts(count: int, joins: Sequence[Join]) -> list[list[int]]:
    """The connected components, largest first."""
    import networkx as nx

    graph = nx.empty_graph(count)
    graph.add_edges_from((one, other) for one, other, _ in joins)
    return sorted(map(sorted, nx.connected_components(graph)), key=lambda part: (-len(part), part[0]))


def _packed(extents: Sequence[Size]) -> list[Size]:
    """The top left corners of components arranged in rows."""
    area = sum((wide + _BETWEEN) * (high + _BETWEEN) for wide, high in extents)
    widest = max(*(wide for wide, _ in extents), (area * 1.6) ** 0.5)
    corners, left, top, row = [], 0.0, 0.0, 0.0
    for wide, high in extents:
        if left and left + wide > widest:
            left, top, row = 0.0, top + row + _BETWEEN, 0.0
        corners.append((left, top))
        left, row = left + wide + _BETWEEN, max(row, high)
    return corners
