"""What each of several relations, of which one holds at a time, ends by: out of what was said of all of them. Pure.

Nothing here depends on the order in which they were said, but for what is equal otherwise: of that the last one counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

# Earlier than any moment that can be stored: what holds since nobody knows when comes first.
_UNKNOWN = -(2**63)
_NEVER = 2**63


class Stated(NamedTuple):
    """A relation as it was said; times in milliseconds.

    `start` is None where nobody knows since when, `end` where it was not said that it ended. `value` is what it leads
    to: two with the same value do not contradict each other. `stay` says that its end was said with it, as of a stay
    that is told of as a whole; what was open at first and ended later is none. `places` are the ends at which it
    excludes others, of which each excludes only those that share one.
    """

    number: int
    value: Hashable
    start: int | None
    end: int | None
    start_said: bool
    authority: int
    stay: bool = False
    places: tuple[Hashable, ...] = (None,)


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
    """The effective end of each relation of a group, by its number.

    1. Of those that start at once, that of the highest authority holds, then that said last; the others at no time.
       A stay that ends before the other one does holds beside it.
    2. What starts within a time that a higher authority gave both ends of holds at no time.
    3. Each of the others ends where it was said to, or where the next one starts that ends it, whatever its value. A
       stay that lies within its time does not: it is nested, and the one around it holds again behind it. But where
       one that is not nested begins at the end of the stay, that is a change and no return.

    Of those that hold at a moment, by these ends, the one that began last counts; see `nesting`.
    """
    holding, settled = _holding(list(group))
    holding.sort(key=_place)
    at_place: defaultdict[Hashable, list[Stated]] = defaultdict(list)
    for each in holding:
        for place in each.places:
            at_place[place].append(each)
    enders = [_enders(line) for line in at_place.values()]
    for here in holding:
        ends = [each[here.number] for each in enders if here.number in each]
        settled[here.number] = _ended(here, min(ends, key=_place, default=None))
    return settled


def _ended(here: Stated, following: Stated | None) -> Settled:
    if following is None or _start(following) >= _end(here):
        return Settled(here.end)
    return Settled(following.start, "succeeded", following.number)


def _enders(line: Sequence[Stated]) -> dict[int, Stated]:
    """Of relations in order, of which one counts at a time, what ends each of them, where something does."""
    begins: defaultdict[int, list[Stated]] = defaultdict(list)
    for each in line:
        begins[_start(each)].append(each)
    found = {}
    for place, here in enumerate(line):
        ender = _ender(here, line, place + 1, begins)
        if ender is not None:
            found[here.number] = ender
    return found


def _ender(here: Stated, line: Sequence[Stated], place: int, begins: Mapping[int, Sequence[Stated]]) -> Stated | None:
    """The first one behind a relation that ends it: one that is not nested in it, or that leads to such a one."""
    passed: set[int] = set()
    for index in range(place, len(line)):
        each = line[index]
        if _start(each) >= _end(here):
            return None
        if _start(each) > _start(here) and _leads_out(each, here, begins, passed):
            return each
    return None


def _leads_out(each: Stated, around: Stated, begins: Mapping[int, Sequence[Stated]], passed: set[int]) -> bool:
    """Whether one, or what begins at its end, and so on, is not nested in another; those that are go to `passed`."""
    waiting = [each]
    while waiting:
        one = waiting.pop()
        if not _nested(one, around):
            return True
        if one.number not in passed:
            passed.add(one.number)
            waiting += begins.get(_end(one), ())
    return False


def _nested(each: Stated, around: Stated) -> bool:
    return each.stay and each.end is not None and each.end < _end(around)


def _holding(group: Sequence[Stated]) -> tuple[list[Stated], dict[int, Settled]]:
    """The relations that hold at some time, and what becomes of the others, decided from the highest authority down."""
    by_authority: defaultdict[int, list[Stated]] = defaultdict(list)
    for each in group:
        by_authority[each.authority].append(each)
    holding: list[Stated] = []
    starting: defaultdict[tuple[Hashable, int], list[Stated]] = defaultdict(list)
    gone: dict[int, Settled] = {}
    for authority in sorted(by_authority, reverse=True):
        level = by_authority[authority]
        outranked = _outranked(level, [each for each in holding if _both_said(each)])
        for each in sorted(level, key=lambda each: -each.number):
            there = [other for place in each.places for other in starting[place, _start(each)]]
            other = next((other for other in there if _excludes(other, each)), None)
            over = outranked.get(each.number)
            if other is not None:
                gone[each.number] = _displaced(each, other, "contradicted")
            elif over is not None:
                gone[each.number] = _displaced(each, over, "outranked")
            else:
                for place in each.places:
                    starting[place, _start(each)].append(each)
                holding.append(each)
    return holding, gone


def _excludes(one: Stated, other: Stated) -> bool:
    """Whether of two that start at once only one can hold: neither is a stay within the other."""
    return not (_nested(one, other) or _nested(other, one))


def _displaced(each: Stated, by: Stated, why: Literal["contradicted", "outranked"]) -> Settled:
    """What becomes of one that holds at no time because another one does."""
    return Settled(each.start, "repeated" if by.value == each.value else why, by.number, each.start is not None)


def _outranked(level: Sequence[Stated], above: Sequence[Stated]) -> dict[int, Stated]:
    """Which relations start within one of those above, and within which: of several the one that starts last."""
    found: dict[int, Stated] = {}
    waiting = sorted(above, key=_place, reverse=True)
    around: list[Stated] = []
    for each in sorted(level, key=_start):
        start = _start(each)
        while waiting and _start(waiting[-1]) <= start:
            around.append(waiting.pop())
        around = [other for other in around if _end(other) > start]
        over = next((other for other in reversed(around) if not {*other.places}.isdisjoint(each.places)), None)
        if over is not None:
            found[each.number] = over
    return found


def _both_said(each: Stated) -> bool:
    return each.start is not None and each.start_said and each.end is not None


def _place(each: Stated) -> tuple[int, int]:
    """What starts earlier comes first, and of those that start at once the one around the others."""
    return _start(each), -_end(each)


def _start(each: Stated) -> int:
    return _UNKNOWN if each.start is None else each.start


def _end(each: Stated) -> int:
    return _NEVER if each.end is None else each.end
