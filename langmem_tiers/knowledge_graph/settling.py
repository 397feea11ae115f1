"""What each of several relations, of which one holds at a time, ends by: out of what was said of all of them. Pure.

Nothing here depends on the order in which they were said, but for what is equal otherwise: of that the last one counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from itertools import zip_longest
from typing import Literal, NamedTuple

# Earlier than any moment that can be stored: what holds since nobody knows when comes first.
_UNKNOWN = -(2**63)
_NEVER = 2**63


class Stated(NamedTuple):
    """A relation as it was said; times in milliseconds.

    `start` is None where nobody knows since when, `end` where it was not said that it ended. `value` is what it leads
    to: two with the same value do not contradict each other.
    """

    number: int
    value: Hashable
    start: int | None
    end: int | None
    start_said: bool
    authority: int


class Settled(NamedTuple):
    """What becomes of a relation: when it ends, and what made it so, where that was another one.

    One that holds at no time ends where it starts; of one that holds since nobody knows when there is no such time,
    and `believed` is False.
    """

    end: int | None
    reason: Literal["succeeded", "contradicted", "outranked", "repeated"] | None = None
    cause: int | None = None
    believed: bool = True


def settle(group: Iterable[Stated]) -> dict[int, Settled]:
    """The effective end of each relation of a group, by its number; no two of them hold at once.

    1. Of those that start at once, that of the highest authority holds, then that said last; the others at no time.
    2. What starts within a time that a higher authority gave both ends of holds at no time.
    3. Each of the others ends where it was said to, or where the next one starts, whatever its value.
    """
    holding, settled = _holding(list(group))
    holding.sort(key=_start)
    for here, following in zip_longest(holding, holding[1:]):
        settled[here.number] = _ended(here, following)
    return settled


def _ended(here: Stated, following: Stated | None) -> Settled:
    if following is None or _start(following) >= _end(here):
        return Settled(here.end)
    return Settled(following.start, "succeeded", following.number)


def _holding(group: Sequence[Stated]) -> tuple[list[Stated], dict[int, Settled]]:
    """The relations that hold at some time, and what becomes of the others, decided from the highest authority down."""
    by_authority: defaultdict[int, list[Stated]] = defaultdict(list)
    for each in group:
        by_authority[each.authority].append(each)
    holding: list[Stated] = []
    first_at: dict[int, Stated] = {}
    gone: dict[int, Settled] = {}
    for authority in sorted(by_authority, reverse=True):
        level = by_authority[authority]
        outranked = _outranked(level, [each for each in holding if _both_said(each)])
        for each in sorted(level, key=lambda each: -each.number):
            other = first_at.get(_start(each))
            over = outranked.get(each.number)
            if other is not None:
                gone[each.number] = _displaced(each, other, "contradicted")
            elif over is not None:
                gone[each.number] = _displaced(each, over, "outranked")
            else:
                first_at[_start(each)] = each
                holding.append(each)
    return holding, gone


def _displaced(each: Stated, by: Stated, why: Literal["contradicted", "outranked"]) -> Settled:
    """What becomes of one that holds at no time because another one does."""
    return Settled(each.start, "repeated" if by.value == each.value else why, by.number, each.start is not None)


def _outranked(level: Sequence[Stated], above: Sequence[Stated]) -> dict[int, Stated]:
    """Which relations start within one of those above, and within which: of several the one that starts last."""
    found: dict[int, Stated] = {}
    waiting = sorted(above, key=_start, reverse=True)
    around: list[Stated] = []
    for each in sorted(level, key=_start):
        start = _start(each)
        while waiting and _start(waiting[-1]) <= start:
            around.append(waiting.pop())
        around = [other for other in around if _end(other) > start]
        if around:
            found[each.number] = around[-1]
    return found


def _both_said(each: Stated) -> bool:
    return each.start is not None and each.start_said and each.end is not None


def _start(each: Stated) -> int:
    return _UNKNOWN if each.start is None else each.start


def _end(each: Stated) -> int:
    return _NEVER if each.end is None else each.end
