"""Tracking: every turn not stored yet becomes one verbatim drawer, in one transaction."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Connection

from langmem_tiers.clock import require_aware, to_millis
from langmem_tiers.embeddings.chunking import split
from langmem_tiers.errors import InvalidInput, InvalidText, TextTooLong
from langmem_tiers.palace.tags import tags
from langmem_tiers.palace.wings import KnownWing, decide_wing
from langmem_tiers.settings import Settings
from langmem_tiers.storage import change_log, drawers, keyword, rooms
from langmem_tiers.storage.database import Database
from langmem_tiers.storage.drawers import NewDrawer
from langmem_tiers.storage.rooms import Room
from langmem_tiers.types import RejectedTurn, TrackReport, Turn
from langmem_tiers.writing.indexing import keyword_row

# Sessions that nobody named are called this and the millisecond they began; see `_unnamed_session`.
UNNAMED = "unnamed-"
# Drawers one change of the log covers at most, so that background passes commit in small steps.
_DRAWERS_A_CHANGE = 128


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """Where turns belong: the session (None: the current unnamed one), and what it is about if that is known."""

    session: str | None
    project: str | None = None
    agent: str | None = None


def track(
    database: Database, turns: Sequence[Turn], conversation: Conversation, *, settings: Settings, now: datetime
) -> TrackReport:
    """Store the turns that are not stored yet.

    Turns that can not be stored are reported in `rejected`; the others are stored all together or not at all.

    Raises:
        StorageError: nothing was stored; repeating the call stores nothing twice.
    """
    accepted, rejected = _prepare(turns, settings, now)
    with database.writing() as connection:
        intake = _Intake(connection, database.space, conversation, to_millis(now), settings)
        return intake.take(accepted, rejected)


@dataclass
class _Plan:
    """Drawers to store, and by message id: wordings that stand again, and drawers that are replaced."""

    new: list[NewDrawer] = field(default_factory=list)
    taken_back: dict[str, int] = field(default_factory=dict)
    replaced: dict[str, int] = field(default_factory=dict)


class _Intake:
    """One tracking transaction."""

    def __init__(
        self, connection: Connection, space: str, conversation: Conversation, now: int, settings: Settings
    ) -> None:
        self._connection = connection
        self._space = space
        self._conversation = conversation
        self._now = now
        self._session = conversation.session or self._unnamed_session(settings.sessions.idle_minutes)

    def take(self, accepted: Sequence[NewDrawer], rejected: Sequence[RejectedTurn]) -> TrackReport:
        plan = self._plan(accepted)
        numbers = self._store(plan.new) if plan.new else []
        stored = {drawer.message_id: number for drawer, number in zip(plan.new, numbers, strict=True)}
        self._reinstate(plan.taken_back, accepted)
        for message_id, old in plan.replaced.items():
            self._supersede(old, by=(stored | plan.taken_back)[message_id])
        return TrackReport(
            session=self._session,
            stored=tuple(numbers),
            revised=tuple(sorted(plan.replaced.values())),
            known=len(accepted) - len(plan.new),
            rejected=tuple(rejected),
        )

    def _plan(self, accepted: Sequence[NewDrawer]) -> _Plan:
        """What to do for each message by its last wording in this call."""
        last = {drawer.message_id: drawer for drawer in accepted}
        known = drawers.known_turns(self._connection, self._space, self._session, last)
        plan = _Plan()
        for message_id, drawer in last.items():
            versions = known.get(message_id, {})
            same = versions.get(drawer.content_hash)
            if same is None:
                plan.new.append(drawer)
            elif not same.stands:
                plan.taken_back[message_id] = same.drawer
            for version in versions.values():
                if version.stands and version is not same:
                    plan.replaced[message_id] = version.drawer
        return plan

    def _reinstate(self, taken_back: dict[str, int], accepted: Sequence[NewDrawer]) -> None:
        """An edit was taken back: the earlier wording stands again, and is indexed again."""
        wordings = {drawer.message_id: drawer for drawer in accepted}
        for message_id, number in taken_back.items():
            drawer = wordings[message_id]
            drawers.reinstate(self._connection, self._space, number)
            keyword.add(self._connection, [keyword_row(number, drawer.content, drawer.tags)])
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


def content_hash(text: str) -> bytes:
    """The key under which equal texts are recognised."""
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def embedded_text(speaker: str | None, piece: str) -> str:
    """The text that stands for a chunk in vector space: a named speaker belongs to what was said."""
    return f"{speaker}: {piece}" if speaker else piece


def _prepare(turns: Iterable[Turn], settings: Settings, now: datetime) -> tuple[list[NewDrawer], list[RejectedTurn]]:
    accepted: list[NewDrawer] = []
    rejected: list[RejectedTurn] = []
    seen: Counter[bytes] = Counter()
    for turn in turns:
        try:
            drawer = _new_drawer(turn, settings, now, seen)
        except InvalidInput as error:
            rejected.append(RejectedTurn(turn=turn, error=error))
        else:
            accepted.append(drawer)
    return accepted, rejected


def _new_drawer(turn: Turn, settings: Settings, now: datetime, seen: Counter[bytes]) -> NewDrawer:
    text = _storable(turn.content, settings.text.max_characters)
    said_at = require_aware(turn.said_at, "time of the turn") if turn.said_at else now
    digest = content_hash(text)
    for given, what in ((turn.message_id, "message id"), (turn.speaker, "speaker")):
        _require_unicode(given or "", what)
    who_said_what = content_hash(f"{turn.role}\0{turn.speaker or ''}\0{text}")
    seen[who_said_what] += 1
    spans = split(text, settings.text.chunk_characters)
    pieces = ((start, stop, content_hash(embedded_text(turn.speaker, text[start:stop]))) for start, stop in spans)
    return NewDrawer(
        # Without an id from the caller, who said what and how often it came stand in for one.
        message_id=turn.message_id or f"~{who_said_what.hex()}-{seen[who_said_what]}",
        role=turn.role,
        origin=turn.origin or turn.role,
        speaker=turn.speaker,
        content=text,
        content_hash=digest,
        tags=tags(text, speaker=turn.speaker, said_at=said_at),
        said_at=to_millis(said_at),
        chunks=tuple(pieces),
    )


def _storable(text: str, most: int) -> str:
    if not text.strip():
        raise InvalidText("The turn has no text.", way_out="Leave turns without text out.")
    if len(text) > most:
        raise TextTooLong(f"The turn has {len(text):,} characters; the limit is {most:,}.")
    _require_unicode(text, "text")
    return text


def _require_unicode(text: str, what: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidText(f"The turn's {what} holds a lone surrogate at character {error.start}.") from None
