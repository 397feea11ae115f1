"""Session evidence: several modest hits in one session count for more than one lucky hit.

The best match of a session lifts all of its drawers, and so do, less, the three that follow it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from heapq import nlargest

# Matches behind the best one that support it.
_SUPPORTING = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """What speaks for a session: its best match, and the mean of the next three (those that are missing count 0)."""

    best: float = 0.0
    support: float = 0.0


def evidence(matches: Iterable[tuple[int, float]]) -> dict[int, Evidence]:
    """The evidence for each room, from the matches of its drawers.

    Example:
        >>> evidence([(7, 0.6), (7, 0.3), (8, 0.9)])[7]
        Evidence(best=0.6, support=0.1)
    """
    by_room: dict[int, list[float]] = defaultdict(list)
    for room, match in matches:
        by_room[room].append(match)
    return {room: _of_one(values) for room, values in by_room.items()}


def _of_one(values: list[float]) -> Evidence:
    best, *others = nlargest(1 + _SUPPORTING, values)
    return Evidence(best=best, support=sum(others) / _SUPPORTING)
