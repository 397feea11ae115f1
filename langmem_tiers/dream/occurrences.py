"""How often something shows: in different turns, and what is asked for calmly once in a task. Pure.

Whoever writes a letter with the assistant asks for it to be shorter three times, and means that letter. So what is
asked without annoyance counts once for each task: what is said in one session without a pause after which that counts
as ended. What annoys counts in every turn: the user would rather not have said it again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta
from types import MappingProxyType

from langmem_tiers.dream.types import Material, Sentiment
from langmem_tiers.settings import Settings

THRESHOLDS: Mapping[Sentiment, int] = MappingProxyType({"very_irritated": 1, "mildly_frustrated": 2, "casual": 3})
"""How often a preference has to show, by how the user felt (RockBot)."""

Task = tuple[str, int]
"""A session, and which of its tasks."""
_STRONGEST: tuple[Sentiment, ...] = tuple(sorted(THRESHOLDS, key=lambda sentiment: THRESHOLDS[sentiment]))


class Occurrences:
    """Counts how often something shows that the user said in these drawers."""

    def __init__(self, material: Material, settings: Settings) -> None:
        self._felt = {signal.drawer: signal.sentiment for signal in material.signals}
        self._tasks = _tasks(material, timedelta(minutes=settings.sessions.idle_minutes))

    def once(self, drawer: int) -> int | Task:
        """What a turn counts once for: its task where it is calm, else itself."""
        return self._tasks.get(drawer, drawer) if self._feeling(drawer) == "casual" else drawer

    def count(self, drawers: Collection[int], sentiment: Sentiment) -> int:
        """How often it shows at least as strongly as that."""
        least = THRESHOLDS[sentiment]
        return len({self.once(each) for each in drawers if THRESHOLDS[self._feeling(each)] <= least})

    def strongest(self, drawers: Collection[int]) -> Sentiment | None:
        """The strongest feeling that it shows with often enough; None where it does not."""
        return next((each for each in _STRONGEST if self.count(drawers, each) >= THRESHOLDS[each]), None)

    def _feeling(self, drawer: int) -> Sentiment:
        return self._felt.get(drawer, "casual")


def _tasks(material: Material, pause: timedelta) -> dict[int, Task]:
    """The task of each drawer."""
    signals = ((signal.session, signal.at, signal.drawer) for signal in material.signals)
    turns = ((turn.session, turn.said_at, turn.drawer) for turn in material.turns)
    found: dict[int, Task] = {}
    session, last, place = None, None, 0
    for each, at, drawer in sorted({*signals, *turns}):
        if each != session:
            session, place = each, 0
        elif last is not None and at - last >= pause:
            place += 1
        last = at
        found[drawer] = (each, place)
    return found


def firsts(drawers: Iterable[int], occurrences: Occurrences) -> list[int]:
    """The first drawer of each time that something shows, in their order."""
    found: dict[int | Task, int] = {}
    for drawer in drawers:
        found.setdefault(occurrences.once(drawer), drawer)
    return list(found.values())
