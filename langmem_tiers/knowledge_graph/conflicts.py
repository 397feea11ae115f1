"""Decides which of several conflicting relations holds at which time, from what was stated about all of them. Pure.

Two homes, employers or birthdays of one person conflict: only one holds at a time. Every relation has two times: when
it holds, and when the memory came to believe it. A `VersionRow` is one belief: from `recorded_at` to `until` the
relation was believed to hold from `valid_from` to `valid_to`.

A new statement goes through `place` (does it say something new, and for which time?) and then `resolve_intervals`
(where does each relation of the group end now?). A stay may be nested in a longer one: "I have lived in Lisbon since
2015", "in 2017 I lived in Faro". Both are right, and while the inner one holds the outer one does not;
`nested_intervals` finds those. Times are UTC milliseconds.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from langmem_tiers.knowledge_graph.types import RelationOutcome
from langmem_tiers.records import DISPLACING, Authority
from langmem_tiers.storage.relations import RelationRow, VersionRow

FOREVER = 1 << 62
# Beyond any moment that can be stored.
_UNKNOWN, _NEVER = -(2**63), 2**63

Spans = tuple[tuple[int, int], ...]
"""Disjoint times in order, each from one moment on and before another."""


class Interval(NamedTuple):
    """The time of one relation: as stated, and as it results from the other relations of its group.

    `start` is None if unknown, `stated_end` if no end was stated. `fact` identifies the statement: intervals of one
    fact do not contradict each other. `slots` are the places it takes, such as the two ends of a marriage: it only
    excludes intervals that share one. `bounded` means that its end was stated together with its start, as for a stay;
    only such intervals can be nested in others.

    `end`, `reason` and `cause` are computed from the group. An interval that never holds ends where it starts; if its
    start is unknown there is no such moment, and it is not `believed`. `void_by` is the authority that made it void,
    `hidden` are the times at which a nested interval holds instead.

    An `authority` below 0 is that of a tool's result; `told` is what the user said, or what was found in what was said:
    no tool's result takes its place.
    """

    number: int
    fact: Hashable
    start: int | None
    stated_end: int | None
    start_stated: bool
    authority: int
    bounded: bool = False
    told: bool = False
    slots: tuple[Hashable, ...] = (None,)
    end: int | None = None
    reason: Literal["succeeded", "contradicted", "outranked", "repeated"] | None = None
    cause: int | None = None
    believed: bool = True
    void_by: int | None = None
    hidden: Spans = ()

    def holds(self, at: int | None) -> bool:
        """Whether it holds at a moment; None is before all moments."""
        if (
            self.void_by is not None
            or not self.begun(at)
            or (self.end is not None and at is not None and at >= self.end)
        ):
            return False
        when = -FOREVER if at is None else at
        return not any(first <= when < behind for first, behind in self.hidden)

    def begun(self, at: int | None) -> bool:
        """Whether it starts at or before a moment."""
        return self.start is None or (at is not None and self.start <= at)

    @property
    def first(self) -> int:
        """Its start as a number; an unknown start sorts first."""
        return _UNKNOWN if self.start is None else self.start

    @property
    def last(self) -> int:
        """Its stated end as a number; no end sorts last."""
        return _NEVER if self.stated_end is None else self.stated_end


# Placing a new statement.


class Placement(NamedTuple):
    """What a statement does: add an interval, confirm a known one, or change its start or end."""

    outcome: RelationOutcome
    interval: Interval


def place(new: Interval, known: Iterable[Interval], now: int) -> Placement:
    """Find the place of a new interval among the believed ones of its group.

    A statement without dates, if something is already known, holds from now on at the latest: it does not change the
    past. A tool's result does not move the beginning of what was told.
    """
    group = list(known)
    placed = _placed(new, group, now)
    here = next((each for each in group if each.number == placed.interval.number), None)
    if new.authority < 0 and placed.outcome == "moved" and here is not None and here.told:
        return Placement("known", here)
    return placed


def _placed(new: Interval, group: Sequence[Interval], now: int) -> Placement:
    same = [each for each in group if each.fact == new.fact]
    others = [each for each in group if each.fact != new.fact and not {*each.slots}.isdisjoint(new.slots)]
    if new.start is None and new.stated_end is None:
        holding = _latest(each for each in same if each.holds(now))
        if holding is not None:
            return Placement("known", holding)
        if any(each.void_by is None and each.begun(now) for each in (*same, *others)):
            new = new._replace(start=now, start_stated=False)
    if new.start is None and new.stated_end is not None:  # only its end is stated, so it is that of the latest one
        last = _latest(each for each in same if each.void_by is None and each.begun(new.stated_end - 1))
        return Placement("added", new) if last is None else _ended(last, new.stated_end)
    known_already = _within_known(new, same) or _overruled(new, same) or _moved_back(new, same, others)
    return known_already or Placement("added", new)


def _within_known(new: Interval, same: Sequence[Interval]) -> Placement | None:
    """It was known to hold then; the news may be its start, its end, or that it still holds."""
    here = _latest(each for each in same if each.holds(new.start))
    if here is None:
        return None
    if here.start is None and new.start_stated:
        end = here.stated_end if new.stated_end is None else new.stated_end
        return Placement("moved", here._replace(start=new.start, start_stated=True, stated_end=end))
    holds_again = new.start_stated and new.start != here.start and new.stated_end is None
    # Never by what the memory itself found, since old messages are read again, too.
    if holds_again and here.stated_end is not None and new.authority >= max(here.authority, Authority.AGENT):
        return Placement("moved", here._replace(stated_end=None))
    return _ended(here, new.stated_end)


def _overruled(new: Interval, same: Sequence[Interval]) -> Placement | None:
    """It was stated before, and overruled by a higher authority."""
    void = (each for each in same if each.void_by is not None and each.void_by > new.authority)
    here = _latest(each for each in void if each.start == new.start)
    return None if here is None else Placement("known", here)


def _moved_back(new: Interval, same: Sequence[Interval], others: Sequence[Interval]) -> Placement | None:
    """A known interval began earlier than thought, if nothing else began in between."""
    later = [each for each in same if each.void_by is None and not each.begun(new.start)]
    here = min(later, key=lambda each: (each.first, each.number), default=None)
    if here is None or here.start is None:
        return None
    if here.start_stated and not (new.start_stated and new.authority >= here.authority):
        return None
    if new.stated_end is not None and new.stated_end < here.start:
        return None
    if any(_lies_between(each, new.start, here.start) for each in others):
        return None
    end = here.stated_end if new.stated_end is None else new.stated_end
    return Placement("moved", here._replace(start=new.start, start_stated=new.start_stated, stated_end=end))


def _lies_between(each: Interval, start: int | None, end: int) -> bool:
    """Whether one begins at or after `start` and before `end`, or was stated to hold at `start` and end later.

    One that began before, without a stated end, ended when this one began.
    """
    if each.void_by is not None:
        return False
    if not each.begun(start) or each.start == start:
        return each.start is None or each.start < end
    return each.stated_end is not None and (start is None or each.stated_end > start)


def _ended(here: Interval, end: int | None) -> Placement:
    if end in {None, here.stated_end}:
        return Placement("known", here)
    return Placement("ended", here._replace(stated_end=end))


def _latest(found: Iterable[Interval]) -> Interval | None:
    return max(found, key=lambda each: (each.first, each.number), default=None)


# Resolving a group.


def resolve_intervals(group: Iterable[Interval]) -> dict[int, Interval]:
    """The intervals of a group by number, each with the end, reason and cause that result from the others.

    1. Of intervals with the same start, the one of highest authority holds, then the latest statement; the others are
       void. A stay that ends before the other one is kept beside it.
    2. An interval that starts within the stated bounds of one of higher authority is void, and so is a tool's result
       that starts after what was told and before its stated end.
    3. Each of the rest ends at its stated end or at the start of the next one, whatever that states. A stay within it
       does not end it: it is nested, and the outer one holds again afterwards. But if an interval that is not nested
       begins where the stay ends, that is a change and not a return.

    The order of statements only counts where all else is equal: then the latest wins.
    """
    holding, resolved = _decide_starts(list(group))
    holding.sort(key=_outer_first)
    by_slot: defaultdict[Hashable, list[Interval]] = defaultdict(list)
    for each in holding:
        for slot in each.slots:
            by_slot[slot].append(each)
    enders = [_enders(line) for line in by_slot.values()]
    for here in holding:
        following = min((each[here.number] for each in enders if here.number in each), key=_outer_first, default=None)
        if following is None or following.first >= here.last:
            resolved[here.number] = here._replace(end=here.stated_end, reason=None, cause=None, believed=True)
        else:
            resolved[here.number] = here._replace(
                end=following.start, reason="succeeded", cause=following.number, believed=True
            )
    return resolved


def _decide_starts(group: Sequence[Interval]) -> tuple[list[Interval], dict[int, Interval]]:
    """Those that hold at some time, and those that are void, decided from the highest authority down."""
    by_authority: defaultdict[int, list[Interval]] = defaultdict(list)
    for each in group:
        by_authority[each.authority].append(each)
    holding: list[Interval] = []
    starting: defaultdict[tuple[Hashable, int], list[Interval]] = defaultdict(list)
    gone: dict[int, Interval] = {}
    for authority in sorted(by_authority, reverse=True):
        level = by_authority[authority]
        bounded = [each for each in holding if _excludes(each, authority)]
        outranked = _outranked(level, bounded) if bounded else {}
        for each in sorted(level, key=lambda each: -each.number):
            there = (other for slot in each.slots for other in starting[slot, each.first])
            rival = next((other for other in there if not (_nested(each, other) or _nested(other, each))), None)
            if rival is not None:
                gone[each.number] = _void(each, rival, "contradicted")
            elif (over := outranked.get(each.number)) is not None:
                gone[each.number] = _void(each, over, "outranked")
            else:
                for slot in each.slots:
                    starting[slot, each.first].append(each)
                holding.append(each)
    return holding, gone


def _excludes(each: Interval, authority: int) -> bool:
    """Whether an interval is not ended by one of lower authority that starts within it."""
    if authority < 0 and each.told:
        return True
    return each.start_stated and None not in (each.start, each.stated_end)


def _void(each: Interval, by: Interval, why: Literal["contradicted", "outranked"]) -> Interval:
    reason: Literal["repeated", "contradicted", "outranked"] = "repeated" if by.fact == each.fact else why
    return each._replace(end=each.start, reason=reason, cause=by.number, believed=each.start is not None)


def displaces(by: Interval, here: Interval) -> bool:
    """Whether one makes another void that starts with it, by its authority or as the later statement."""
    return (
        (by.authority, by.number) > (here.authority, here.number)
        and by.start == here.start
        and not {*by.slots}.isdisjoint(here.slots)
        and not (_nested(here, by) or _nested(by, here))
    )


def _outranked(level: Sequence[Interval], above: Sequence[Interval]) -> dict[int, Interval]:
    """Those that start within one of higher authority, each with that one; of several, the one that starts last."""
    found: dict[int, Interval] = {}
    waiting = sorted(above, key=_outer_first, reverse=True)
    around: list[Interval] = []
    for each in sorted(level, key=lambda each: each.first):
        while waiting and waiting[-1].first <= each.first:
            around.append(waiting.pop())
        around = [other for other in around if other.last > each.first]
        over = next((other for other in reversed(around) if not {*other.slots}.isdisjoint(each.slots)), None)
        if over is not None:
            found[each.number] = over
    return found


def _enders(line: Sequence[Interval]) -> dict[int, Interval]:
    """What ends each interval of a slot, if anything; `line` is sorted."""
    begins: defaultdict[int, list[Interval]] = defaultdict(list)
    for each in line:
        begins[each.first].append(each)
    found = {}
    for place, here in enumerate(line):
        ender = _ender(here, line, place + 1, begins)
        if ender is not None:
            found[here.number] = ender
    return found


def _ender(
    here: Interval, line: Sequence[Interval], place: int, begins: Mapping[int, Sequence[Interval]]
) -> Interval | None:
    """The first interval after this one that ends it: one that is not nested in it, or leads out of it."""
    passed: set[int] = set()
    for index in range(place, len(line)):
        each = line[index]
        if each.first >= here.last:
            return None
        if each.first > here.first and _leads_out(each, here, begins, passed):
            return each
    return None


def _leads_out(each: Interval, around: Interval, begins: Mapping[int, Sequence[Interval]], passed: set[int]) -> bool:
    """Whether one, or what begins at its end, and so on, is not nested in `around`; adds nested ones to `passed`."""
    waiting = [each]
    while waiting:
        one = waiting.pop()
        if not _nested(one, around):
            return True
        if one.number not in passed:
            passed.add(one.number)
            waiting += begins.get(one.last, ())
    return False


def _nested(each: Interval, around: Interval) -> bool:
    return each.bounded and each.stated_end is not None and each.stated_end < around.last


def _outer_first(each: Interval) -> tuple[int, int]:
    return each.first, -each.last


# Nested intervals.


def nested_intervals(group: Iterable[tuple[int, VersionRow]]) -> dict[int, Spans]:
    """The relations with others nested in them, by number, with the times of the nested ones.

    Of two with the same start, the one with the earlier stated end is nested, whatever ended it since.
    """
    found: dict[int, Spans] = {}
    held = [
        (number, *bounds(version), FOREVER if version.stated_to is None else version.stated_to)
        for number, version in group
    ]
    ordered = sorted(
        (each for each in held if each[1] < each[2]),
        key=lambda each: (each[1], -each[3], -each[2], each[0]),
    )
    for index, (number, _, end, _) in enumerate(ordered):
        inner = []
        for _, start, other_end, _ in ordered[index + 1 :]:
            if start >= end:
                break
            inner.append((start, min(other_end, end)))
        if inner:
            found[number] = united(inner)
    return found


def united(spans: Iterable[tuple[int, int]]) -> Spans:
    """The same times, sorted, with touching spans joined."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return tuple(found)


def covered(spans: Spans, first: int, behind: int) -> bool:
    """Whether spans cover all the time from one moment up to another."""
    place = bisect_right(spans, (first, 1 << 63)) - 1
    return place >= 0 and spans[place][0] <= first and behind <= spans[place][1]


def add_spans(found: dict[int, Spans], more: Mapping[int, Spans]) -> None:
    """Add times to those of the same relations."""
    for number, spans in more.items():
        found[number] = united((*found.get(number, ()), *spans))


# Beliefs at a moment.


def bounds(version: VersionRow) -> tuple[int, int]:
    """Start and end as comparable numbers."""
    start = -FOREVER if version.valid_from is None else version.valid_from
    return start, FOREVER if version.valid_to is None else version.valid_to


def version_at(row: RelationRow, known_at: int | None) -> VersionRow | None:
    """What was believed of a relation at a moment (None: now); None if it was not believed."""
    for version in reversed(row.versions):
        if known_at is None:
            return version if version.until is None else None
        if version.recorded_at <= known_at:
            return version if version.until is None or known_at < version.until else None
    return None


def displaced(row: RelationRow, known_at: int | None) -> VersionRow | None:
    """The version of a relation at a moment (None: now) if another one had displaced it, else None."""
    noted = (each for each in reversed(row.versions) if known_at is None or each.recorded_at <= known_at)
    last = next(noted, None)
    return last if last is not None and last.reason in DISPLACING else None


def contradicted(row: RelationRow, known_at: int | None) -> VersionRow | None:
    """Like `displaced`, but only by a different statement: what was stated twice is shown once."""
    last = displaced(row, known_at)
    return last if last is not None and last.reason != "repeated" else None
