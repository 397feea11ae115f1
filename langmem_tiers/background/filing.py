"""The filing pass: closets for new drawers, and wings for names that keep coming up. No model is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from langmem_tiers.clock import Clock, to_millis
from langmem_tiers.palace.topics import RECENT, ClosetDecision, decide_closets
from langmem_tiers.palace.wings import KnownWing, decide_wing, recurring_names
from langmem_tiers.storage import change_log, closets, rooms
from langmem_tiers.storage.change_log import Change
from langmem_tiers.storage.database import Database
from langmem_tiers.storage.rooms import Room

CURSOR = "file"
# Drawers filed between two commits.
_BATCH = 512
# A name is looked for in so many rooms; more would make the pass grow with the memory.
_ROOMS_LOOKED_AT = 50


@dataclass(frozen=True)
class FilingPass:
    """Files the drawers of one space."""

    database: Database
    clock: Clock

    def step(self) -> bool:
        """File the next drawers of the log; False when all are filed."""
        with self.database.writing() as connection:
            space = self.database.space
            old = change_log.cursor(connection, space, CURSOR)
            news = _take(change_log.read(connection, space, after=old, kinds={"drawers.added"}, most=_BATCH))
            if not news:
                return False
            touched: set[int] = set()
            for change in news:
                touched |= closets.rooms_of(connection, space, change.subject, change.until)
            for room in sorted(touched):
                _file_room(connection, space, room)
            self._raise_wings(connection, touched)
            change_log.move_cursor(connection, space, CURSOR, old=old, new=news[-1].position)
        return True

    def _raise_wings(self, connection: Connection, touched: set[int]) -> None:
        """Give a wing to names that recur, and move rooms of the general wing that speak of one there."""
        space, now = self.database.space, to_millis(self.clock())
        wings = {wing.number: wing for wing in rooms.every_wing(connection, space)}
        general = {number for number, wing in wings.items() if wing.kind == "general"}
        unfiled = [room for room in rooms.every(connection, space) if room.wing in general]
        looked_at = unfiled[-_ROOMS_LOOKED_AT:]
        if not touched & {room.number for room in looked_at}:
            return
        texts = {room.number: closets.user_texts(connection, space, room.number) for room in looked_at}
        known = [KnownWing(number=w.number, name=w.name, kind=w.kind, aliases=w.aliases) for w in wings.values()]
        known += self._new_wings(connection, space, list(texts.values()), known, now)
        for room in looked_at:
            _refile(connection, space, room, texts[room.number], known, now)

    def _new_wings(
        self,
        connection: Connection,
        space: str,
        sessions: Sequence[Sequence[str]],
        known: Sequence[KnownWing],
        now: int,
    ) -> list[KnownWing]:
        made = []
        for name in recurring_names(sessions, known=known):
            number = rooms.open_wing(connection, space, slug=name.slug, name=name.name, kind="subject", at=now)
            made.append(KnownWing(number=number, name=name.name, kind="subject"))
        return made


def pending(database: Database) -> int:
    """How many drawers wait to be filed."""
    with database.reading() as connection:
        old = change_log.cursor(connection, database.space, CURSOR)
        news = change_log.read(connection, database.space, after=old, kinds={"drawers.added"}, most=1_000_000)
    return sum(change.until - change.subject + 1 for change in news)


def _take(news: Sequence[Change]) -> list[Change]:
    taken: list[Change] = []
    total = 0
    for change in news:
        taken.append(change)
        total += change.until - change.subject + 1
        if total >= _BATCH:
            break
    return taken


def _file_room(connection: Connection, space: str, room: int) -> None:
    waiting = closets.unfiled(connection, space, room)
    if not waiting:
        return
    last = closets.last_of(connection, space, room, recent=RECENT)
    decisions = decide_closets(waiting, last)
    number = last.number if last else None
    for run in _runs(decisions):
        if run[0].opens or number is None:
            number = closets.open_closet(connection, space, room, run[-1].name)
        elif run[-1].name:
            closets.rename(connection, space, number, run[-1].name)
        closets.put(connection, space, number, [decision.turn for decision in run])


def _runs(decisions: Sequence[ClosetDecision]) -> list[list[ClosetDecision]]:
    """Decisions that belong to one closet, together."""
    runs: list[list[ClosetDecision]] = []
    for decision in decisions:
        if decision.opens or not runs:
            runs.append([])
        runs[-1].append(decision)
    return runs


def _refile(
    connection: Connection, space: str, room: Room, texts: Sequence[str], known: Sequence[KnownWing], now: int
) -> None:
    decision = decide_wing(texts, project=None, agent=None, known=known)
    if decision.known is not None and decision.known != room.wing:
        rooms.refile(connection, space, room.number, decision.known)
        change_log.append(connection, space, "room.refiled", room.number, until=decision.known, at=now)
