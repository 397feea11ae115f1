"""Where a relation lands that is said: with one that says so already, or as a new one. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from langmem_tiers.knowledge.types import Authority
from langmem_tiers.knowledge_graph.nesting import Spans
from langmem_tiers.knowledge_graph.types import RelationOutcome
from langmem_tiers.knowledge_graph.view import FOREVER


class Said(NamedTuple):
    """What is said of a relation's time; in milliseconds, None where it is not known or still holds."""

    start: int | None
    end: int | None
    start_said: bool
    authority: int


class Held(NamedTuple):
    """A relation that is believed: when it holds, and what was said of that.

    `over` is the authority of the one that made it hold at no time, None where it does hold. `hidden` are the times at
    which one that lies within it holds instead.
    """

    number: int
    start: int | None
    end: int | None
    start_said: bool
    end_said: int | None
    authority: int
    over: int | None = None
    hidden: Spans = ()

    def holds(self, at: int | None) -> bool:
        """Whether it holds at a moment; None is before all moments."""
        if self.over is not None:
            return False
        begun = self.start is None or (at is not None and self.start <= at)
        if not begun or not (self.end is None or at is None or at < self.end):
            return False
        when = -FOREVER if at is None else at
        return not any(first <= when < behind for first, behind in self.hidden)


class Landing(NamedTuple):
    """What becomes of it: the relation that it lands with, None for a new one, and its start and stated end then."""

    outcome: RelationOutcome
    number: int | None
    start: int | None
    start_said: bool
    end: int | None


def land(said: Said, same: Sequence[Held], others: Sequence[Held], now: int) -> Landing:
    """Where it lands among those believed that say the same, and `others` that exclude it.

    What is said without any time, while something is known of it, holds since now at the latest: it does not change
    what was so before.
    """
    if said.start is None and said.end is None:
        holding = _latest(each for each in same if each.holds(now))
        if holding is not None:
            return _known(holding)
        said = _since_now(said, (*same, *others), now)
    if said.start is None and said.end is not None:
        return _until(said, said.end, same) or _new(said)
    return _within(said, same) or _made_void(said, same) or _moved(said, same, others) or _new(said)


def _since_now(said: Said, known: Sequence[Held], now: int) -> Said:
    """What is said without any time, from now on if something known began before."""
    if any(each.over is None and _before(each.start, now) for each in known):
        return said._replace(start=now, start_said=False)
    return said


def _within(said: Said, same: Sequence[Held]) -> Landing | None:
    """It was known to hold then; it may be news that it ended, or since when, or that it does still."""
    here = _latest(each for each in same if each.holds(said.start))
    if here is None:
        return None
    if here.start is None and said.start_said:
        end = here.end_said if said.end is None else said.end
        return Landing("moved", here.number, said.start, True, end)
    if _is_still(said, here):
        return Landing("moved", here.number, here.start, here.start_said, None)
    return _known(here) if said.end in {None, here.end_said} else _ended(here, said.end)


def _is_still(said: Said, here: Held) -> bool:
    """Whether somebody says that it holds since later than was known, and still, of what was said to have ended.

    What the memory finds says no such thing: messages are read again, and those of before the end, too.
    """
    since_later = said.start_said and said.start != here.start and said.end is None and here.end_said is not None
    return since_later and said.authority >= max(here.authority, Authority.AGENT)


def _until(said: Said, end: int, same: Sequence[Held]) -> Landing | None:
    """Nobody says since when, only until when: this is the end of the last one that began before."""
    here = _latest(each for each in same if each.over is None and _before(each.start, end - 1))
    if here is None:
        return None
    return _known(here) if said.end == here.end_said else _ended(here, end)


def _made_void(said: Said, same: Sequence[Held]) -> Landing | None:
    """It was said before, and somebody of higher authority said otherwise."""
    void = (each for each in same if each.over is not None and each.over > said.authority)
    here = _latest(each for each in void if each.start == said.start)
    return None if here is None else _known(here)


def _moved(said: Said, same: Sequence[Held], others: Sequence[Held]) -> Landing | None:
    """It held since earlier than was known, with nothing else that began between."""
    later = [each for each in same if each.over is None and not _before(each.start, said.start)]
    here = min(later, key=_place, default=None)
    if here is None or here.start is None or not _may_move(said, here):
        return None
    if said.end is not None and said.end < here.start:
        return None
    if any(_between(each, said.start, here.start) for each in others):
        return None
    end = said.end if said.end is not None else here.end_said
    return Landing("moved", here.number, said.start, said.start_said, end)


def _may_move(said: Said, here: Held) -> bool:
    return not here.start_said or (said.start_said and said.authority >= here.authority)


def _between(each: Held, start: int | None, end: int) -> bool:
    """Whether one began from `start` on and before `end`, or was said to hold at `start` and to end after it.

    What began before, and of which nobody said when it ended, ended when this one began.
    """
    if each.over is not None:
        return False
    if not _before(each.start, start) or each.start == start:
        return each.start is None or each.start < end
    return each.end_said is not None and (start is None or each.end_said > start)


def _known(here: Held) -> Landing:
    return Landing("known", here.number, here.start, here.start_said, here.end_said)


def _ended(here: Held, end: int | None) -> Landing:
    return Landing("ended", here.number, here.start, here.start_said, end)


def _new(said: Said) -> Landing:
    return Landing("added", None, said.start, said.start_said, said.end)


def _before(start: int | None, at: int | None) -> bool:
    """Whether a start is not behind a moment; None is before all moments."""
    return start is None or (at is not None and start <= at)


def _latest(found: Iterable[Held]) -> Held | None:
    return max(found, key=_place, default=None)


def _place(each: Held) -> tuple[int, int]:
    return (-(2**63) if each.start is None else each.start, each.number)
