"""Tracking: every turn not stored yet becomes one verbatim drawer, in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Connection

from langmem_tiers import arguments
from langmem_tiers.clock import to_millis
from langmem_tiers.errors import InvalidInput
from langmem_tiers.palace.wings import KnownWing, decide_wing
from langmem_tiers.settings import Settings
from langmem_tiers.storage import change_log, closets, drawers, keyword, rooms
from langmem_tiers.storage.database import Database
from langmem_tiers.storage.drawers import NewDrawer, Version
from langmem_tiers.storage.rooms import Room
from langmem_tiers.types import RejectedTurn, TrackReport, Turn
from langmem_tiers.writing import resending, wording
from langmem_tiers.writing.indexing import keyword_row
from langmem_tiers.writing.resending import Said
from langmem_tiers.writing.wording import Wording

# Sessions that nobody named are called this and the millisecond they began; see `_unnamed_session`.
UNNAMED = "unnamed-"
# Drawers one change of the log covers at most, so that background passes commit in small steps.
_DRAWERS_A_CHANGE = 128
# How many replies a session may hold that a client does not send again, and still have its history recognised.
_REPLIES_BESIDE = 50


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """Where turns belong: the session (None: the current unnamed one), and what it is about if that is known.

    A `history` is a conversation as its host holds it, whose ids may be new each time.
    """

    session: str | None
    project: str | None = None
    agent: str | None = None
    history: bool = False


def track(
    database: Database, turns: Sequence[Turn], conversation: Conversation, *, settings: Settings, now: datetime
) -> TrackReport:
    """Store the turns that are not stored yet.

    Turns that can not be stored are reported in `rejected`; the others are stored all together or not at all. A call
    that brings nothing new writes nothing, and waits for nobody.

    Raises:
        StorageError: nothing was stored; repeating the call stores nothing twice.
        InvalidInput: `turns` holds something else than turns.
    """
    if isinstance(turns, Turn):
        raise InvalidInput("A single turn is no list of turns.", way_out="Put it in a list: track([turn]).")
    given = arguments.several(turns, "turns", "langmem_tiers.Turn")
    accepted, rejected = wording.read(given, settings.text, now, masked=settings.privacy.drawers == "mask")
    with database.reading() as connection:
        looked_at = _Intake(connection, database.space, conversation, to_millis(now), settings)
        plan = looked_at.plan(accepted)
    if plan.empty:
        return looked_at.report(plan, [], accepted, rejected)
    # Analysing a text takes longer than storing it: that is done before others are kept waiting.
    prepared = {each.message_id: wording.new_drawer(each, settings.text) for each in plan.touched()}
    with database.writing() as connection:
        intake = _Intake(connection, database.space, conversation, to_millis(now), settings)
        return intake.take(accepted, rejected, prepared)


def stored_as(
    database: Database, turns: Sequence[Turn], conversation: Conversation, *, settings: Settings, now: datetime
) -> dict[str, str]:
    """The message ids of turns of a history that are stored under other ids, to these."""
    accepted, _ = wording.read(turns, settings.text, now, masked=settings.privacy.drawers == "mask")
    with database.reading() as connection:
        return _Intake(connection, database.space, conversation, to_millis(now), settings).stored_as(accepted)


@dataclass
class _Plan:
    """Wordings to store or to let stand again, and by message id the drawers that stand again or are replaced."""

    new: list[Wording] = field(default_factory=list)
    taken_back: list[Wording] = field(default_factory=list)
    again: dict[str, int] = field(default_factory=dict)
    replaced: dict[str, int] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        return not self.new and not self.taken_back

    def touched(self) -> list[Wording]:
        return [*self.new, *self.taken_back]


class _Intake:
    """One look at, or change of, a conversation."""

    def __init__(
        self, connection: Connection, space: str, conversation: Conversation, now: int, settings: Settings
    ) -> None:
        self._connection = connection
        self._space = space
        self._conversation = conversation
        self._now = now
        self._text = settings.text
        self._session = conversation.session or self._unnamed_session(settings.sessions.idle_minutes)

    def plan(self, accepted: Sequence[Wording]) -> _Plan:
        """What to do for each message by its last wording in this call."""
        last = {each.message_id: each for each in accepted}
        known = drawers.known_turns(self._connection, self._space, self._session, last)
        elsewhere = self._stored_as(list(last.values()), known)
        plan = _Plan()
        for message_id, each in last.items():
            if message_id in elsewhere:
                continue
            versions = known.get(message_id, {})
            same = versions.get(each.content_hash)
            if same is None:
                plan.new.append(each)
            elif not same.stands:
                plan.taken_back.append(each)
                plan.again[message_id] = same.drawer
            for version in versions.values():
                if version.stands and version is not same:
                    plan.replaced[message_id] = version.drawer
        return plan

    def stored_as(self, accepted: Sequence[Wording]) -> dict[str, str]:
        """The message ids of a history that are stored under other ids, to these."""
        last = {each.message_id: each for each in accepted}
        known = drawers.known_turns(self._connection, self._space, self._session, last)
        return self._stored_as(list(last.values()), known)

    def _stored_as(self, given: Sequence[Wording], known: Mapping[str, Mapping[bytes, Version]]) -> dict[str, str]:
        new = next((place for place, each in enumerate(given) if each.message_id not in known), None)
        if new is None or not self._conversation.history:
            return {}
        held = self._held(given, known, new)
        places = {turn.drawer: place for place, turn in enumerate(held)}
        standing: dict[int, int | None] = {}
        for place, each in enumerate(given):
            if each.message_id in known:
                version = known[each.message_id].get(each.content_hash)
                standing[place] = None if version is None else places.get(version.drawer)
        said = [Said(each.turn.role, each.content_hash) for each in given]
        stored = [Said(turn.role, turn.content_hash) for turn in held]
        found = resending.recognised(said, stored, standing)
        return {given[place].message_id: held[other].message_id for place, other in found.items()}

    def _held(
        self, given: Sequence[Wording], known: Mapping[str, Mapping[bytes, Version]], new: int
    ) -> list[drawers.Standing]:
        """As much of what is stored as the turns from the first new one on can be compared with."""
        if not new:
            most = 2 * len(given) + _REPLIES_BESIDE
            return drawers.standing(self._connection, self._space, self._session, most=most)
        since = min(version.drawer for version in known[given[new - 1].message_id].values())
        return drawers.standing(self._connection, self._space, self._session, since=since)

    def take(
        self, accepted: Sequence[Wording], rejected: Sequence[RejectedTurn], prepared: Mapping[str, NewDrawer]
    ) -> TrackReport:
        """Carry out the plan as it is now that nobody else writes."""
        plan = self.plan(accepted)
        new = [self._drawer(each, prepared) for each in plan.new]
        numbers = self._store(new) if new else []
        for each in plan.taken_back:
            self._reinstate(plan.again[each.message_id], self._drawer(each, prepared))
        standing = plan.again | {each.message_id: number for each, number in zip(plan.new, numbers, strict=True)}
        for message_id, old in plan.replaced.items():
            self._supersede(old, by=standing[message_id])
        return self.report(plan, numbers, accepted, rejected)

    def report(
        self, plan: _Plan, numbers: Sequence[int], accepted: Sequence[Wording], rejected: Sequence[RejectedTurn]
    ) -> TrackReport:
        """What was done."""
        return TrackReport(
            session=self._session,
            stored=tuple(numbers),
            revised=tuple(sorted(plan.replaced.values())),
            known=len(accepted) - len(plan.new),
            rejected=tuple(rejected),
        )

    def _drawer(self, each: Wording, prepared: Mapping[str, NewDrawer]) -> NewDrawer:
        drawer = prepared.get(each.message_id)
        # Another process may have changed the plan between the look and the lock.
        return drawer if drawer is not None else wording.new_drawer(each, self._text)

    def _reinstate(self, number: int, drawer: NewDrawer) -> None:
        """An edit was taken back: the earlier wording stands again, and is indexed again where it is filed."""
        drawers.reinstate(self._connection, self._space, number)
        ((_, category),) = closets.categories_of(self._connection, self._space, [number])
        keyword.add(self._connection, [keyword_row(number, drawer.content, drawer.tags, category)])
        self._log_added([number])

    def _store(self, new: Sequence[NewDrawer]) -> list[int]:
        room = self._room(new)
        place = room.drawers + 1
        keys = {"session": self._session, "room": room.number, "place": place, "at": self._now}
        numbers = drawers.put(self._connection, self._space, new, **keys)  # type: ignore[arg-type]
        rows = (keyword_row(number, drawer.content, drawer.tags) for number, drawer in zip(numbers, new, strict=True))
        keyword.add(self._connection, rows)
        said = [drawer.said_at for drawer in new]
        span = {"first": min(said), "last": max(said), "at": self._now}
        rooms.touch(self._connection, self._space, room, drawers=len(new), **span)
        self._log_added(numbers)
        return numbers

    def _log_added(self, numbers: Sequence[int]) -> None:
        for start in range(0, len(numbers), _DRAWERS_A_CHANGE):
            run = numbers[start : start + _DRAWERS_A_CHANGE]
            change_log.append(self._connection, self._space, "drawers.added", run[0], until=run[-1], at=self._now)

    def _supersede(self, old: int, *, by: int) -> None:
        chunks = drawers.supersede(self._connection, self._space, old, by=by)
        keyword.remove(self._connection, [old])
        change_log.append(self._connection, self._space, "drawer.superseded", old, until=chunks, at=self._now)

    def _room(self, new: Sequence[NewDrawer]) -> Room:
        room = rooms.of_session(self._connection, self._space, self._session)
        if room is not None:
            return room
        subject = {"project": self._conversation.project, "agent": self._conversation.agent}
        wing = self._wing([drawer.content for drawer in new])
        at = min(drawer.said_at for drawer in new)
        return rooms.open_room(self._connection, self._space, session=self._session, wing=wing, at=at, **subject)

    def _wing(self, texts: Sequence[str]) -> int:
        known = [
            KnownWing(number=wing.number, name=wing.name, kind=wing.kind, aliases=wing.aliases)
            for wing in rooms.every_wing(self._connection, self._space)
        ]
        where = self._conversation
        decision = decide_wing(texts, project=where.project, agent=where.agent, known=known)
        if decision.known is not None:
            return decision.known
        subject = {"slug": decision.slug, "name": decision.name, "kind": decision.kind}
        return rooms.open_wing(self._connection, self._space, at=self._now, **subject)

    def _unnamed_session(self, idle_minutes: float) -> str:
        """The unnamed conversation that goes on, or a new one after an idle hour."""
        room = rooms.latest_unnamed(self._connection, self._space, UNNAMED)
        if room and room.ended_at is None and self._now - room.touched_at < idle_minutes * 60_000:
            return room.session
        return f"{UNNAMED}{self._now}"
