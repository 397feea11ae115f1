"""Of several relations, of which one counts at a time, which one that is: the one that began last. Pure.

One that is told of as a stay lies within the time of another one: "I have lived in Lisbon since 2015", and "in 2017 I
lived in Faro". Both periods are right, and while the inner one holds, the other one does not.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

Spans = tuple[tuple[int, int], ...]
"""Times from one moment on and before another, in order, none of which meet."""


class Held(NamedTuple):
    """When a relation holds, as it is settled."""

    start: int
    end: int
    number: int


def gaps(group: Sequence[Held]) -> dict[int, Spans]:
    """Of the relations of a group those that others lie within, by number, with the times at which these hold."""
    found: dict[int, Spans] = {}
    ordered = sorted((each for each in group if each.start < each.end), key=_place)
    for index, each in enumerate(ordered):
        inner = []
        for other in ordered[index + 1 :]:
            if other.start >= each.end:
                break
            inner.append((other.start, min(other.end, each.end)))
        if inner:
            found[each.number] = united(inner)
    return found


def united(spans: Sequence[tuple[int, int]]) -> Spans:
    """The same times, in order, each once."""
    whole: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if whole and start <= whole[-1][1]:
            whole[-1] = (whole[-1][0], max(whole[-1][1], end))
        else:
            whole.append((start, end))
    return tuple(whole)


def covered(spans: Spans, first: int, behind: int) -> bool:
    """Whether such times leave nothing of the time from one moment on and before another."""
    place = bisect_right(spans, (first, 1 << 63)) - 1
    return place >= 0 and spans[place][0] <= first and behind <= spans[place][1]


def _place(held: Held) -> tuple[int, int, int]:
    return held.start, -held.end, held.number
