"""Filing: puts new drawers into closets, and gives recurring names wings. Uses no model.

Everything is planned on a snapshot; the transaction that writes the plan is short, since turns wait for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from langmem_tiers import replies
from langmem_tiers.clock import Clock, to_millis
from langmem_tiers.palace.closets import RECENT, ClosetDecision, decide_closets
from langmem_tiers.palace.wings import RecurringName, decide_wing, recurring_names
from langmem_tiers.storage import change_log, closets, drawers, facts, keyword, rooms
from langmem_tiers.storage.change_log import Change
from langmem_tiers.storage.database import Database
from langmem_tiers.storage.rooms import Wing

CURSOR = "file"
# Drawers filed per transaction.
_BATCH = 256
# How many rooms are searched for a name; without a limit the pass would grow with the memory.
_ROOMS_LOOKED_AT = 50
# The newest drawer when the keyword index was last merged; how many there have to be before the first time; and pages
# written in one transaction: some milliseconds, since turns wait.
_MERGED = "keyword.merged"
_FIRST_MERGED = 500
_PAGES = 16


@dataclass(frozen=True, kw_only=True)
class _RoomPlan:
    """The plan for new drawers of a room; `closet` is the one open there."""

    room: int
    closet: int | None
    decisions: Sequence[ClosetDecision]


@dataclass(frozen=True, kw_only=True)
class _WingPlan:
    """Names that get a wing, and the slug of the wing that each room moves to."""

    names: Sequence[RecurringName]
    moves: Sequence[tuple[int, str]]


_NO_WINGS = _WingPlan(names=(), moves=())


@dataclass(frozen=True)
class FileJob:
    """Files the drawers of one space, following the log."""

    database: Database
    clock: Clock
    name: str = "file"

    def due(self, connection: Connection) -> None:
        """Never due by the clock."""

    def step(self, stop: Callable[[], bool]) -> bool:
        """File the next drawers in the log; False when all are filed."""
        if self._file_next():
            return True
        self._merge(stop)
        return False

    def _file_next(self) -> bool:
        with self.database.reading() as connection:
            space = self.database.space
            old, added = change_log.unread(connection, space, CURSOR, kinds={"drawers.added"}, most=_BATCH)
            news = change_log.first_drawers(added, _BATCH)
            if not news:
                return False
            touched = closets.rooms_of(connection, space, news[0].subject, news[-1].until)
            plans = [_plan_room(connection, space, room) for room in sorted(touched)]
            wings = _plan_wings(connection, space) if any(touched.values()) else _NO_WINGS
        self._write(old, news, plans, wings)
        return True

    def _merge(self, stop: Callable[[], bool]) -> None:
        """Merge the keyword index whenever the drawers have doubled: it takes less room, and is searched faster."""
        with self.database.reading() as connection:
            newest = drawers.newest(connection, self.database.space)
            merged = facts.number(connection, self.database.space, _MERGED)
        pages, more = -_PAGES, newest >= 2 * merged + _FIRST_MERGED
        while more and not stop():
            with self.database.writing() as connection:
                more = keyword.drawers.merge(connection, pages)
                if not more:
                    facts.put(connection, self.database.space, _MERGED, str(newest))
            pages = _PAGES

    def _write(self, old: int, news: Sequence[Change], plans: Sequence[_RoomPlan], wings: _WingPlan) -> None:
        with self.database.writing() as connection:
            space, now = self.database.space, to_millis(self.clock())
            if not change_log.move_cursor(connection, space, CURSOR, old=old, new=news[-1].position):
                return  # another process has filed them meanwhile
            _file(connection, space, plans)
            moved = _raise(connection, space, wings, now)
            decisions = [decision for plan in plans if plan.room not in moved for decision in plan.decisions]
            filed = [turn for decision in decisions for turn in decision.turns]
            # The keyword index finds drawers by the names of their wing and their closet too.
            keyword.drawers.categorise(connection, closets.categories_of(connection, space, filed))
            for room in moved:
                keyword.drawers.categorise(connection, closets.categories(connection, space, room))
            for change in news:
                change_log.append(connection, space, "drawers.filed", change.subject, until=change.until, at=now)


def pending(database: Database) -> int:
    """How many drawers are waiting to be filed."""
    with database.reading() as connection:
        return change_log.drawers_behind(connection, database.space, CURSOR)


def _plan_room(connection: Connection, space: str, room: int) -> _RoomPlan:
    last = closets.last_of(connection, space, room, recent=RECENT)
    decisions = decide_closets(replies.between(closets.unfiled(connection, space, room)), last)
    return _RoomPlan(room=room, closet=last.number if last else None, decisions=decisions)


def _plan_wings(connection: Connection, space: str) -> _WingPlan:
    """Plan new wings when a room is opened: the rooms before it are complete by then."""
    wings = rooms.every_wing(connection, space)
    general = {wing.number for wing in wings if wing.kind == "general"}
    looked_at = rooms.newest_in(connection, space, general, _ROOMS_LOOKED_AT)
    said = closets.user_texts(connection, space, [room.number for room in looked_at])
    texts = [said.get(room.number, []) for room in looked_at]
    names = recurring_names(replies.between(texts), known=wings)
    known = [*wings, *(Wing(number=0, slug=each.slug, name=each.name, kind="subject") for each in names)]
    decisions = [decide_wing(said, project=None, agent=None, known=known) for said in replies.between(texts)]
    moves = [(room.number, new.slug) for room, new in zip(looked_at, decisions, strict=True) if new.kind != "general"]
    return _WingPlan(names=names, moves=moves)


def _file(connection: Connection, space: str, plans: Sequence[_RoomPlan]) -> None:
    """Put the drawers of rooms into closets."""
    new = [(plan.room, each.name) for plan in plans for each in plan.decisions if each.opens]
    numbers = iter(closets.open_closets(connection, space, new))
    filed: list[tuple[int, int]] = []
    for plan in plans:
        number = plan.closet
        for each in plan.decisions:
            if each.opens or number is None:
                number = next(numbers)
            elif each.name:
                closets.rename(connection, space, number, each.name)
            filed += [(turn, number) for turn in each.turns]
    closets.put(connection, space, filed)


def _raise(connection: Connection, space: str, wings: _WingPlan, now: int) -> set[int]:
    """Create the new wings and move rooms there; returns the moved rooms."""
    if not wings.names and not wings.moves:
        return set()
    for name in wings.names:
        rooms.open_wing(connection, space, slug=name.slug, name=name.name, kind="subject", at=now)
    numbers = {wing.slug: wing.number for wing in rooms.every_wing(connection, space)}
    moved = [(room, numbers[slug]) for room, slug in wings.moves if slug in numbers]
    for room, wing in moved:
        rooms.refile(connection, space, room, wing)
        change_log.append(connection, space, "room.refiled", room, until=wing, at=now)
    return {room for room, _ in moved}
