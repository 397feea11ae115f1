"""Tracking: stores every new turn as one verbatim drawer, in one transaction."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Connection

from langmem_tiers import arguments
from langmem_tiers.clock import to_millis
from langmem_tiers.errors import InvalidInput
from langmem_tiers.palace.wings import decide_wing
from langmem_tiers.settings import Settings
from langmem_tiers.storage import change_log, closets, drawers, keyword, rooms, tombstones
from langmem_tiers.storage.database import Database
from langmem_tiers.storage.drawers import NewDrawer, Version
from langmem_tiers.storage.forgotten import Spoken, forgotten_among
from langmem_tiers.storage.rooms import Before, Room
from langmem_tiers.storage.trips import one_trip
from langmem_tiers.telemetry import otel
from langmem_tiers.telemetry.logs import say
from langmem_tiers.types import TrackReport, Turn
from langmem_tiers.writing import turns as incoming
from langmem_tiers.writing.branches import abandoned, forks_of
from langmem_tiers.writing.history_matching import Utterance, match_history
from langmem_tiers.writing.passing_on import LOOKED_BACK, with_origins
from langmem_tiers.writing.turns import IncomingTurn, new_drawer

if TYPE_CHECKING:
    from langmem_tiers.context import SpaceContext

log = logging.getLogger(__name__)

# Unnamed sessions are called this plus the millisecond they began; see `_unnamed_session`.
UNNAMED = "unnamed-"
# Maximum drawers per change in the log, so that background jobs commit in small steps.
_DRAWERS_A_CHANGE = 128
# How many replies missing from the client's history a session may hold and still be recognised.
_REPLIES_BESIDE = 50


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """Where turns belong: the session (None: the current unnamed one), with project, agent and task if known.

    A session stays in its first project until another is named. A `history` is a conversation as its host holds it,
    whose ids may be new each time; `seen` is the last drawer there was when it was read, None if that is unknown.
    """

    session: str | None
    project: str | None = None
    agent: str | None = None
    task: str | None = None
    history: bool = False
    seen: int | None = None


def track(context: SpaceContext, turns: Sequence[Turn], conversation: Conversation) -> TrackReport:
    """Store the turns that are not stored yet, and have the background look at them.

    Turns that cannot be stored are reported in `rejected`; the others are stored all together or not at all. A call
    that brings nothing new writes nothing, and waits for nobody.

    Raises:
        StorageError: nothing was stored; repeating the call stores nothing twice.
        InvalidInput: `turns` holds something else than turns.
    """
    began = perf_counter()
    with otel.step("track", context.name) as span:
        with context.open() as store:
            report = _store(store.database, turns, conversation, settings=context.settings, now=context.now)
        counts: dict[str, Any] = {
            "stored": len(report.stored),
            "revised": len(report.revised),
            "known": report.known,
            "rejected": len(report.rejected),
        }
        span.note(otel.named(counts))
    spent = round((perf_counter() - began) * 1000, 3)
    say(log, logging.DEBUG, "tracked", space=context.name, **counts, ms=spent)
    if report.stored or report.revised:
        context.wake()
    return report


def _store(
    database: Database, turns: Sequence[Turn], conversation: Conversation, *, settings: Settings, now: datetime
) -> TrackReport:
    if isinstance(turns, Turn):
        raise InvalidInput("A single turn is no list of turns.", way_out="Put it in a list: track([turn]).")
    given = arguments.several(turns, "turns", "langmem_tiers.Turn")
    accepted, rejected = incoming.read(given, settings.text, now, masked=settings.privacy.drawers == "mask")
    space = database.space
    with database.reading() as connection:
        plan = _Tracker(connection, space, conversation, now, settings).plan(accepted)
    numbers: list[int] = []
    if plan.touched:
        # Analysing a text takes longer than storing it, so it is done before taking the write lock.
        prepared = {each.message_id: new_drawer(each, settings.text) for each in plan.touched}
        with database.writing() as connection:
            before = rooms.before(connection, space, plan.session)
            if before.head != plan.head:  # another process wrote before the lock was taken
                plan = _Tracker(connection, space, conversation, now, settings).plan(accepted)
                before = rooms.before(connection, space, plan.session)
            tracker = _Tracker(connection, space, conversation, now, settings, session=plan.session)
            numbers = tracker.carry_out(plan, prepared, before)
    return TrackReport(
        session=plan.session,
        stored=tuple(numbers),
        revised=tuple(sorted(plan.replaced.values())),
        left=tuple(sorted(plan.left)),
        known=len(accepted) - len(plan.new),
        rejected=tuple(rejected),
    )


class KnownHistory(NamedTuple):
    """What a session holds: its last drawer, and the ids of turns of a history stored under other ids, to these."""

    last: int | None
    stored_as: dict[str, str]


def known_history(
    database: Database, turns: Sequence[Turn], conversation: Conversation, *, settings: Settings, now: datetime
) -> KnownHistory:
    """What the session of a history holds now."""
    accepted, _ = incoming.read(turns, settings.text, now, masked=settings.privacy.drawers == "mask")
    with database.reading() as connection:
        return _Tracker(connection, database.space, conversation, now, settings).known_history(accepted)


@dataclass(kw_only=True)
class _Plan:
    """What to do in a session: turns to store, and by message id the drawers that stand again or are replaced.

    `line` are the message ids of the conversation in order, `known` the drawers of those that are stored. `left` are
    the drawers of a branch that the conversation has left, each with the message that took their place. It holds for as
    long as `head` is the newest change of the log.
    """

    session: str
    head: int
    new: list[IncomingTurn] = field(default_factory=list)
    taken_back: list[IncomingTurn] = field(default_factory=list)
    again: dict[str, int] = field(default_factory=dict)
    replaced: dict[str, int] = field(default_factory=dict)
    line: Sequence[str] = ()
    known: Mapping[str, int] = field(default_factory=dict)
    left: Mapping[int, str] = field(default_factory=dict)

    @property
    def touched(self) -> list[IncomingTurn]:
        return [*self.new, *self.taken_back]


class _Tracker:
    """Reads or changes a conversation within one transaction."""

    def __init__(
        self,
        connection: Connection,
        space: str,
        conversation: Conversation,
        now: datetime,
        settings: Settings,
        *,
        session: str | None = None,
    ) -> None:
        self._connection = connection
        self._space = space
        self._conversation = conversation
        self._now = to_millis(now)
        self._text = settings.text
        self._session = session or conversation.session or self._unnamed_session(settings.sessions.idle_minutes)

    def plan(self, accepted: Sequence[IncomingTurn]) -> _Plan:
        """What to do with each message, using its last wording in this call."""
        last = {each.message_id: each for each in accepted}
        with one_trip(self._connection) as trip:
            trip.ask(drawers.known_turns, self._connection, self._space, self._session, last)
            trip.ask(tombstones.secret_of, self._connection, self._space)
            if any(each.turn.role == "user" for each in accepted):
                trip.ask(self._said_last, None)
        stored = drawers.known_turns(self._connection, self._space, self._session, last)
        known = stored.versions
        for message_id in forgotten_among(self._connection, self._space, self._session, self._news(last, known)):
            del last[message_id]
        elsewhere = self._stored_elsewhere(list(last.values()), stored)
        found = {message_id: turn.drawer for message_id, turn in elsewhere.items()}
        plan = _Plan(session=self._session, head=stored.head, line=list(last), known=found)
        for message_id, each in last.items():
            if message_id in elsewhere:
                continue
            versions = known.get(message_id, {})
            same = versions.get(each.content_hash)
            if same is not None:
                found[message_id] = same.drawer
            if same is None:
                plan.new.append(each)
            elif not same.stands:
                plan.taken_back.append(each)
                plan.again[message_id] = same.drawer
            for version in versions.values():
                if version.stands and version is not same:
                    plan.replaced[message_id] = version.drawer
        if self._conversation.history and plan.touched:
            plan.left = self._left(plan)
        plan.new = with_origins(plan.new, list(last.values()), lambda each: self._said_before(each, plan))
        return plan

    def _said_before(self, each: IncomingTurn, plan: _Plan) -> Iterator[drawers.Spoken]:
        """What was said last in the session before a turn, or before the wording that it replaces; read lazily."""
        yield from self._said_last(plan.replaced.get(each.message_id))

    def _said_last(self, before: int | None) -> list[drawers.Spoken]:
        """The last turns of the session, those before a drawer if one is given."""
        return drawers.said_last(self._connection, self._space, self._session, before=before, most=LOOKED_BACK)

    def _news(self, last: Mapping[str, IncomingTurn], known: Mapping[str, Mapping[bytes, Version]]) -> list[Spoken]:
        """The turns that may have to be stored, as they are recognised if they were forgotten."""
        history = self._conversation.history
        return [
            Spoken(
                each.message_id,
                each.turn.role,
                each.content_hash,
                again=history,
                said_at=None if each.turn.said_at is None else to_millis(each.said_at),
            )
            for message_id, each in last.items()
            if message_id not in known
        ]

    def _left(self, plan: _Plan) -> dict[int, str]:
        """The drawers of a branch that the conversation has left, each with the message that took their place."""
        forks = forks_of(plan.line, {each.message_id for each in plan.touched}, plan.known, plan.replaced)
        at = (self._connection, self._space, self._session)
        if not forks or not drawers.followed(*at, forks):
            return {}
        # To edit a message, or to return to a branch, is to leave whatever there is.
        seen = None if plan.again or plan.replaced else self._conversation.seen
        asked = {each.message_id for each in plan.touched if each.turn.role == "user"}
        return abandoned(forks, drawers.tree(*at), {*plan.known.values()}, seen=seen, asked=asked)

    def known_history(self, accepted: Sequence[IncomingTurn]) -> KnownHistory:
        """What the session of a history holds."""
        last = {each.message_id: each for each in accepted}
        stored = drawers.known_turns(self._connection, self._space, self._session, last)
        elsewhere = self._stored_elsewhere(list(last.values()), stored)
        sent_again = {message_id: turn.message_id for message_id, turn in elsewhere.items()}
        return KnownHistory(stored.last, sent_again)

    def carry_out(self, plan: _Plan, prepared: Mapping[str, NewDrawer], before: Before) -> list[int]:
        """Carry out a plan made in this transaction; returns the numbers of the new drawers."""
        # Another process may have changed the plan before the lock was taken.
        made = {each.message_id: prepared.get(each.message_id) or new_drawer(each, self._text) for each in plan.touched}
        stored = {each.message_id: before.last_drawer + 1 + place for place, each in enumerate(plan.new)}
        if plan.new:
            self._file([made[message_id] for message_id in stored], before, _follows(plan, stored))
        for message_id, number in plan.again.items():
            self._reinstate(number, made[message_id])
        standing = plan.again | stored
        for message_id, old in plan.replaced.items():
            self._supersede(old, by=standing[message_id])
        for old, message_id in plan.left.items():
            self._supersede(old, by=standing[message_id])
        return [*stored.values()]

    def _stored_elsewhere(
        self, given: Sequence[IncomingTurn], stored: drawers.KnownTurns
    ) -> dict[str, drawers.Standing]:
        known = stored.versions
        new = next((place for place, each in enumerate(given) if each.message_id not in known), None)
        if new is None or not self._conversation.history or _nothing_follows(given[:new], stored):
            return {}
        held = self._comparable(given, known, new)
        places = {turn.drawer: place for place, turn in enumerate(held)}
        standing: dict[int, int | None] = {}
        for place, each in enumerate(given):
            if each.message_id in known:
                version = known[each.message_id].get(each.content_hash)
                standing[place] = None if version is None else places.get(version.drawer)
        sent = [Utterance(each.turn.role, each.content_hash) for each in given]
        said = [Utterance(turn.role, turn.content_hash) for turn in held]
        found = match_history(sent, said, standing)
        return {given[place].message_id: held[other] for place, other in found.items()}

    def _comparable(
        self, given: Sequence[IncomingTurn], known: Mapping[str, Mapping[bytes, Version]], new: int
    ) -> list[drawers.Standing]:
        """The stored turns that the history, from its first new turn on, can be matched with."""
        if not new:
            most = 2 * len(given) + _REPLIES_BESIDE
            return drawers.standing(self._connection, self._space, self._session, most=most)
        since = min(version.drawer for version in known[given[new - 1].message_id].values())
        return drawers.standing(self._connection, self._space, self._session, since=since)

    def _file(self, new: Sequence[NewDrawer], before: Before, follows: Sequence[int | None]) -> None:
        """Put new drawers into the session's room, numbered from the last drawer on."""
        numbers = drawers.put(
            self._connection,
            self._space,
            new,
            follows=follows,
            session=self._session,
            room=self._room(new, before.room),
            place=1 if before.room is None else before.room.drawers + 1,
            number=before.last_drawer + 1,
            project=self._conversation.project or (None if before.room is None else before.room.project),
            task=self._conversation.task,
            at=self._now,
        )
        rows = (
            keyword.drawer_words(number, drawer.content, drawer.tags)
            for number, drawer in zip(numbers, new, strict=True)
        )
        keyword.drawers.add(self._connection, rows)
        self._log_added(numbers)

    def _reinstate(self, number: int, drawer: NewDrawer) -> None:
        """Make an earlier wording, or a turn of an earlier branch, current again, and index it if it is filed."""
        drawers.reinstate(self._connection, self._space, number)
        ((_, category),) = closets.categories_of(self._connection, self._space, [number])
        keyword.drawers.add(self._connection, [keyword.drawer_words(number, drawer.content, drawer.tags, category)])
        self._log_added([number])
        change_log.append(self._connection, self._space, "revisions.changed", number, at=self._now)

    def _supersede(self, old: int, *, by: int) -> None:
        chunks = drawers.supersede(self._connection, self._space, old, by=by)
        keyword.drawers.remove(self._connection, [old])
        change_log.append(self._connection, self._space, "drawer.superseded", old, until=chunks, at=self._now)

    def _log_added(self, numbers: Sequence[int]) -> None:
        for start in range(0, len(numbers), _DRAWERS_A_CHANGE):
            run = numbers[start : start + _DRAWERS_A_CHANGE]
            change_log.append(self._connection, self._space, "drawers.added", run[0], until=run[-1], at=self._now)

    def _room(self, new: Sequence[NewDrawer], room: Room | None) -> int:
        """The number of the session's room for these drawers, created if needed in its wing."""
        said = [drawer.said_at for drawer in new]
        taken = {"drawers": len(new), "first": min(said), "last": max(said), "at": self._now}
        if room is not None:
            rooms.touch(self._connection, self._space, room, **taken)
            return room.number
        project, agent = self._conversation.project, self._conversation.agent
        wing = self._wing([drawer.content for drawer in new], project=project, agent=agent)
        subject = {"session": self._session, "wing": wing, "project": project, "agent": agent}
        return rooms.open_room(self._connection, self._space, **subject, **taken)  # type: ignore[arg-type]

    def _wing(self, texts: Sequence[str], *, project: str | None, agent: str | None) -> int:
        known = rooms.every_wing(self._connection, self._space)
        wing = decide_wing(texts, project=project, agent=agent, known=known)
        subject = {"slug": wing.slug, "name": wing.name, "kind": wing.kind}
        return wing.number or rooms.open_wing(self._connection, self._space, at=self._now, **subject)

    def _unnamed_session(self, idle_minutes: float) -> str:
        """The current unnamed conversation, or a new one after a period of inactivity."""
        room = rooms.latest_unnamed(self._connection, self._space, UNNAMED)
        if room and room.ended_at is None and self._now - room.touched_at < idle_minutes * 60_000:
            return room.session
        return f"{UNNAMED}{self._now}"


def _nothing_follows(known: Sequence[IncomingTurn], stored: drawers.KnownTurns) -> bool:
    """Whether the session ends with the last of these turns as it is sent: so what follows it is new."""
    if not known:
        return not stored.last
    versions = stored.versions[known[-1].message_id]
    return {each: version.drawer for each, version in versions.items()} == {known[-1].content_hash: stored.last}


def _follows(plan: _Plan, stored: Mapping[str, int]) -> list[int | None]:
    """The drawer of the turn before each new one."""
    numbers = {**plan.known, **stored}
    before = dict(zip(plan.line[1:], plan.line, strict=False))
    return [numbers[before[message_id]] if message_id in before else None for message_id in stored]
