"""Flushing: before a history is compacted, the facts in it are saved, within a ration of calls and seconds.

What is said is tracked, what is not mined yet is mined now, and what came of it is appended to the note of the day.
A turn that the model could not be asked about in time is read by rule now, and by the model later in the background.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout

from langmem_tiers.clock import to_millis
from langmem_tiers.documents import making
from langmem_tiers.errors import InvalidText
from langmem_tiers.knowledge import intake
from langmem_tiers.knowledge.types import Authority, Entry, Landed
from langmem_tiers.llm.ration import RationedAsker
from langmem_tiers.storage import activities, documents, drawers, entries, flushed, mined, rooms
from langmem_tiers.storage.errors_border import translated
from langmem_tiers.storage.flushed import Flushed
from langmem_tiers.telemetry.logs import say
from langmem_tiers.trust import secrets
from langmem_tiers.trust.taint import derived_trust
from langmem_tiers.types import Drawer, Origin, TrackReport, Turn
from langmem_tiers.writing.mining import looking
from langmem_tiers.writing.mining.miner import Miner
from langmem_tiers.writing.mining.prompt import one_line
from langmem_tiers.writing.mining.types import MiningReport, Window
from langmem_tiers.writing.mining.vectors import embed_with

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from langmem_tiers.documents.types import Document
    from langmem_tiers.knowledge.nearby import Embed
    from langmem_tiers.memory import Memory
    from langmem_tiers.settings import FlushSettings, Settings
    from langmem_tiers.space import Space
    from langmem_tiers.storage.embedding_cache import Vectors
    from langmem_tiers.storage.rooms import Room
    from langmem_tiers.storage.store import SpaceStore
    from langmem_tiers.writing.proposals import MiningPath

log = logging.getLogger(__name__)

ACTIVITY = "memory_flushed"
_LOCK = "flush.lock"
_BUSY = "another flush of this space is under way"


@dataclass(frozen=True, kw_only=True, slots=True)
class FlushReport:
    """What a flush did.

    `turns` counts those stored since the conversation was last flushed, `noted` are the ids of the entries that were
    appended to `document`. `mined` says what was found by whom, and what was refused and why. `skipped` says why
    nothing was done but to store the turns; `reason` why the rules did it where there is a model, or why there is no
    note.
    """

    tracked: TrackReport
    turns: int = 0
    noted: tuple[str, ...] = ()
    document: str | None = None
    mined: tuple[MiningReport, ...] = ()
    skipped: str = ""
    reason: str = ""

    @property
    def path(self) -> MiningPath | None:
        """Whether a model had a part in it or the rules alone; None where there was nothing to mine."""
        paths = {report.path for report in self.mined}
        return "model" if "model" in paths else next(iter(paths), None)

    @property
    def calls(self) -> int:
        """The calls of the model that it took."""
        return sum(report.calls for report in self.mined)


def due(settings: FlushSettings, *, messages: int, tokens: Callable[[], int], context_window: int | None) -> bool:
    """Whether a history is about to be compacted: by its messages, or by its share of the context window.

    Args:
        settings: The limits.
        messages: How many there are.
        tokens: Counts all that they hold; called only where it matters.
        context_window: The tokens that the model takes; None if that is not known.
    """
    if messages > settings.messages:
        return True
    return context_window is not None and tokens() > settings.window_share * context_window


def flush(
    space: Space,
    turns: Sequence[Turn],
    *,
    session: str | None = None,
    project: str | None = None,
    agent: str | None = None,
) -> FlushReport:
    """Save what a conversation holds; doing it again saves what is new.

    Where another flush of the space is under way, in this process or another, the turns are stored and nothing else.

    Raises:
        StorageError: what was acknowledged stays; flushing again goes on from there.
    """
    tracked = space.track(turns, session=session, project=project, agent=agent, history=True)
    memory = space.memory
    with memory.use(space.name) as store, _lock(store) as ours:
        report = _Flush.of(memory, store, tracked).run() if ours else FlushReport(tracked=tracked, skipped=_BUSY)
    if report.turns or report.noted:
        memory.wake(space.name)
    return report


@dataclass(frozen=True, kw_only=True)
class _Flush:
    """One flush of one conversation, while nobody else flushes in its space."""

    store: SpaceStore
    settings: Settings
    miner: Miner
    tracked: TrackReport

    @classmethod
    def of(cls, memory: Memory, store: SpaceStore, tracked: TrackReport) -> _Flush:
        asker, settings = memory.asker(store), memory.settings
        calls, seconds = settings.flush.steps, settings.flush.timeout_seconds
        rationed = None if asker is None else RationedAsker(asker, calls=calls, seconds=seconds)
        embed = _while_time(embed_with(memory.embedder_of(store.name)), seconds)
        miner = Miner(store=store, settings=settings, clock=memory.clock, asker=rationed, embed=embed)
        return cls(store=store, settings=settings, miner=miner, tracked=tracked)

    def run(self) -> FlushReport:
        with self.store.reading() as connection:
            room = rooms.of_session(connection, self.store.key, self.tracked.session)
            before = Flushed() if room is None else flushed.read(connection, self.store.key, room.number)
        if room is None:
            return FlushReport(tracked=self.tracked)
        return self._noted(room, before, tuple(self._mined(before)))

    def _mined(self, before: Flushed) -> Iterator[MiningReport]:
        """What is not mined yet is mined; where this was flushed before, turns that fill no window are glanced at."""
        with self.store.reading() as connection:
            waiting = mined.waiting(connection, self.store.key, self.tracked.session)
        for window in (window for room in waiting for window in self.miner.windows(room)):
            # A history may stay as long as it is for some turns: not each of them is worth a call of its own.
            growing = before.place > 0 and len(window.turns) < self.settings.mining.window_turns
            if not growing:
                report = self.miner.mine(window)
            else:
                report = self._glance(window) if window.last_place > before.place else None
            if report is not None:
                yield report

    def _glance(self, window: Window) -> MiningReport | None:
        """Take in what the rules find, and leave the turns to be mined when there are more of them, or a pause."""
        if not window.told:
            return None
        now = self.miner.clock()
        found = looking.by_rule(window, self.settings, now)
        landed = intake.take_in(
            self.store,
            found.proposals,
            authority=Authority.SYSTEM,
            origin=derived_trust(turn.origin for turn in window.told),
            settings=self.settings,
            now=now,
            session=window.session,
            embed=self.miner.embed,
        )
        return _glanced(window, landed)

    def _noted(self, room: Room, before: Flushed, mined_now: tuple[MiningReport, ...]) -> FlushReport:
        """Append what is known of the conversation to the note of the day, and note how far it is flushed.

        One transaction: a flush that is killed is done again, and one that is done appends nothing twice.
        """
        with self.store.reading() as connection:
            nothing_new = room.drawers == before.place and not self._untold(connection, room, before)
        if nothing_new:
            return FlushReport(tracked=self.tracked, mined=mined_now)
        with self.store.writing() as connection:
            note = self._append(connection, self._untold(connection, room, before))
            # Read again: what was said since the mining began may have been mined as well.
            last = (rooms.of_session(connection, self.store.key, room.session) or room).drawers
            report = FlushReport(
                tracked=self.tracked,
                turns=last - before.place,
                noted=note.entries,
                document=note.path,
                mined=mined_now,
                reason=note.reason or next((each.reason for each in mined_now if each.reason), ""),
            )
            newest = entries.newest(connection, self.store.key)
            flushed.put(connection, self.store.key, room.number, Flushed(last, newest))
            at, body = to_millis(self.miner.clock()), _body(report, before.place + 1, last)
            activities.append(connection, self.store.key, ACTIVITY, body, at=at, session=room.session)
        return report

    def _untold(self, connection: Connection, room: Room, before: Flushed) -> list[tuple[Entry, Drawer]]:
        """The active entries that no note tells of yet, each with the first turn it rests on, in order of these."""
        resting = flushed.unnoted(connection, self.store.key, room.number, before)
        found = entries.by_numbers(connection, self.store.key, resting)
        said = drawers.read(connection, self.store.key, set(resting.values()))
        pairs = ((found[number], said[drawer]) for number, drawer in resting.items() if number in found)
        # A line of a note can not carry the flag that an entry carries.
        return [(entry, drawer) for entry, drawer in pairs if entry.active and not entry.flags]

    def _append(self, connection: Connection, told: Sequence[tuple[Entry, Drawer]]) -> _Note:
        """Put a line for each entry into the note of the day, but for those that say what it says already."""
        now = self.miner.clock()
        path = f"memory/{now:%Y-%m-%d}.md"
        held = documents.read(connection, self.store.key, path)
        lines = {entry.id: _line(entry, drawer, self.settings) for entry, drawer in told}
        new = [(entry, lines[entry.id]) for entry, _ in told if held is None or not _says(held, lines[entry.id])]
        if not new:
            return _Note()
        origins: list[Origin] = [entry.origin for entry, _ in new]
        origin = derived_trust(origins if held is None else [*origins, held.origin])
        try:
            text = "\n".join(line for _, line in new)
            made = making.with_more(path, held, text, origin, self.settings)
        except InvalidText as error:
            say(log, logging.WARNING, "flush_without_note", document=path, error=error, reason=error.message)
            return _Note(reason=error.message)
        documents.put(connection, self.store.key, made, to_millis(now))
        return _Note(path=path, entries=tuple(entry.id for entry, _ in new))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Note:
    """What went into the note of the day, or the reason why it can not take anything."""

    path: str | None = None
    entries: tuple[str, ...] = ()
    reason: str = ""


@contextmanager
def _lock(store: SpaceStore) -> Iterator[bool]:
    """Whether this is the only flush of the space, as long as the block lasts; given back also by a crash."""
    lock = FileLock(store.folder / _LOCK)
    with translated(store.folder):
        try:
            lock.acquire(timeout=0)
        except Timeout:
            ours = False
        else:
            ours = True
    try:
        yield ours
    finally:
        lock.release()


def _while_time(embed: Embed, seconds: float) -> Embed:
    """Vectors for so long; then wordings are compared by words."""
    until = monotonic() + seconds

    def in_time(texts: list[str]) -> Vectors | None:
        return embed(texts) if monotonic() < until else None

    return in_time


def _line(entry: Entry, drawer: Drawer, settings: Settings) -> str:
    """When it was said, what it is, and where that stands."""
    line = f"- {drawer.said_at:%Y-%m-%d}: {one_line(entry.content)} [{drawer.pointer}]"
    return line if settings.privacy.derived == "keep" else secrets.mask(line)


def _says(held: Document, line: str) -> bool:
    """Whether a note has this line, be it from another conversation."""
    return line.rpartition(" [")[0] in held.content


def _glanced(window: Window, landed: Landed) -> MiningReport:
    return MiningReport(
        session=window.session,
        first_place=window.first_place,
        last_place=window.last_place,
        path="rule",
        kept=tuple(entry.id for entry in landed.kept),
        merged=tuple(entry.id for entry in landed.merged),
        known=tuple(entry.id for entry in landed.known),
        corrected=landed.corrected,
    )


def _body(report: FlushReport, first_place: int, last_place: int) -> dict[str, Any]:
    """The report as an activity keeps it. Entries by id only: their texts would outlive them here."""
    return {
        "places": [first_place, last_place],
        "noted": list(report.noted),
        "document": report.document,
        "path": report.path,
        "calls": report.calls,
        "reason": report.reason,
    }
