"""Flushing: saves the facts in a history before it is compacted, within a budget of calls and seconds.

New turns are tracked, unmined ones are mined now, and the results are appended to the daily note. Turns the model
could not be asked about in time are mined by rule now, and by the model later in the background.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any

from langmem_tiers.clock import to_millis
from langmem_tiers.errors import InvalidText
from langmem_tiers.knowledge import document_text
from langmem_tiers.knowledge.neighbours import embed_with
from langmem_tiers.knowledge.preferences import needs_permission
from langmem_tiers.language.characters import one_line
from langmem_tiers.models.asker import RationedAsker
from langmem_tiers.records import Entry, MiningReport
from langmem_tiers.storage import activities, documents, drawers, entries, progress, rooms
from langmem_tiers.storage.progress import Flushed
from langmem_tiers.telemetry.logs import say
from langmem_tiers.trust import secrets
from langmem_tiers.trust.taint import derived_trust
from langmem_tiers.types import Drawer, Origin, TrackReport, Turn
from langmem_tiers.writing.mining import Miner
from langmem_tiers.writing.tracking import Conversation, track

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from langmem_tiers.context import SpaceContext
    from langmem_tiers.knowledge.neighbours import Embed
    from langmem_tiers.records import Document, MiningPath
    from langmem_tiers.settings import FlushSettings, Settings
    from langmem_tiers.storage.embedding_cache import Vectors
    from langmem_tiers.storage.rooms import Room
    from langmem_tiers.store import SpaceStore

log = logging.getLogger(__name__)

ACTIVITY = "memory_flushed"
_TASK = "flush"
_OFF = "tracking is off"
_BUSY = "another flush of this space is under way"


@dataclass(frozen=True, kw_only=True, slots=True)
class FlushReport:
    """The result of a flush.

    `turns` counts those stored since the conversation was last flushed, `noted` are the ids of the entries appended
    to `document`. `mined` reports what was found, by which path, and what was refused. `skipped` says why turns were
    only stored; `reason` why the rules were used although there is a model, or why there is no note.
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
        """Whether a model took part, or the rules alone; None if there was nothing to mine."""
        paths = {report.path for report in self.mined}
        return "model" if "model" in paths else next(iter(paths), None)

    @property
    def calls(self) -> int:
        """The number of model calls."""
        return sum(report.calls for report in self.mined)


def due(settings: FlushSettings, *, messages: int, tokens: Callable[[], int], context_window: int | None) -> bool:
    """Whether a history is about to be compacted, judged by its messages or its share of the context window.

    Args:
        settings: The limits.
        messages: The number of messages.
        tokens: Counts their tokens; called only if needed.
        context_window: The model's maximum number of tokens, None if unknown.
    """
    if messages > settings.messages:
        return True
    return context_window is not None and tokens() > settings.window_share * context_window


def flush(
    context: SpaceContext,
    turns: Sequence[Turn],
    *,
    session: str | None = None,
    project: str | None = None,
    agent: str | None = None,
    task: str | None = None,
) -> FlushReport:
    """Save the content of a conversation; repeating it saves what is new.

    If the space is already being flushed, by this process or another, turns are stored and nothing else.

    Raises:
        StorageError: acknowledged data is kept; flushing again continues from there.
    """
    context = context.of_agent(agent)
    if not context.settings.tracks:
        return FlushReport(tracked=TrackReport(session=session or ""), skipped=_OFF)
    conversation = Conversation(session=session, project=project, agent=context.agent, task=task, history=True)
    tracked = track(context, turns, conversation)
    with context.open() as store, store.exclusively(_TASK) as ours:
        report = _Flush.of(context, store, tracked).run() if ours else FlushReport(tracked=tracked, skipped=_BUSY)
    if report.turns or report.noted:
        context.wake()
    return report


@dataclass(frozen=True, kw_only=True)
class _Flush:
    """One flush of one conversation, while no one else flushes its space."""

    store: SpaceStore
    settings: Settings
    miner: Miner
    tracked: TrackReport

    @classmethod
    def of(cls, context: SpaceContext, store: SpaceStore, tracked: TrackReport) -> _Flush:
        asker, settings = context.asker(store), context.settings
        calls, seconds = settings.flush.steps, settings.flush.timeout_seconds
        rationed = None if asker is None else RationedAsker(asker, calls=calls, seconds=seconds)
        embed = _while_time(embed_with(context.embedder), seconds)
        miner = Miner(context=context, store=store, asker=rationed, embed=embed)
        return cls(store=store, settings=settings, miner=miner, tracked=tracked)

    def run(self) -> FlushReport:
        with self.store.reading() as connection:
            room = rooms.of_session(connection, self.store.key, self.tracked.session)
            before = Flushed() if room is None else progress.flushed_upto(connection, self.store.key, room.number)
        if room is None:
            return FlushReport(tracked=self.tracked)
        return self._noted(room, before, tuple(self._mined(before)))

    def _mined(self, before: Flushed) -> Iterator[MiningReport]:
        """Mine what was not mined yet; after an earlier flush, turns that fill no window are only mined by rule."""
        with self.store.reading() as connection:
            waiting = progress.unmined(connection, self.store.key, self.tracked.session)
        for window in (window for room in waiting for window in self.miner.windows(room)):
            # A history may stay as long as this for some turns, and not every turn is worth a model call.
            growing = before.place > 0 and len(window.turns) < self.settings.mining.window_turns
            if not growing:
                report = self.miner.mine(window)
            else:
                report = self.miner.glance(window) if window.last_place > before.place else None
            if report is not None:
                yield report

    def _noted(self, room: Room, before: Flushed, mined_now: tuple[MiningReport, ...]) -> FlushReport:
        """Append the conversation's new entries to the daily note, and record how far it is flushed.

        One transaction: a killed flush is repeated, and a completed one appends nothing twice.
        """
        with self.store.reading() as connection:
            nothing_new = room.drawers == before.place and not self._untold(connection, room, before)
        if nothing_new:
            return FlushReport(tracked=self.tracked, mined=mined_now)
        with self.store.writing() as connection:
            note = self._append(connection, self._untold(connection, room, before))
            # Read again: turns stored since mining began may have been mined as well.
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
            progress.note_flushed(connection, self.store.key, room.number, Flushed(last, newest))
            at, body = to_millis(self.miner.context.clock()), _body(report, before.place + 1, last)
            activities.append(connection, self.store.key, ACTIVITY, body, at=at, session=room.session)
        return report

    def _untold(self, connection: Connection, room: Room, before: Flushed) -> list[tuple[Entry, Drawer]]:
        """Active entries not in any note yet, with the first turn each rests on, in the order of these turns."""
        resting = progress.unnoted(connection, self.store.key, room.number, before)
        found = entries.by_numbers(connection, self.store.key, resting)
        said = drawers.read(connection, self.store.key, set(resting.values()))
        pairs = ((found[number], said[drawer]) for number, drawer in resting.items() if number in found)
        # A line in a note cannot say that an entry is flagged, or waits for the user.
        fit = ((entry, drawer) for entry, drawer in pairs if not entry.flags and not needs_permission(entry.metadata))
        return [(entry, drawer) for entry, drawer in fit if entry.active]

    def _append(self, connection: Connection, told: Sequence[tuple[Entry, Drawer]]) -> _Note:
        """Append a line for each entry to the daily note, unless the note already has it."""
        now = self.miner.context.clock()
        path = f"memory/{now:%Y-%m-%d}.md"
        held = documents.read(connection, self.store.key, path)
        lines = {entry.id: _line(entry, drawer, self.settings) for entry, drawer in told}
        new = [(entry, lines[entry.id]) for entry, _ in told if held is None or not _says(held, lines[entry.id])]
        if not new:
            return _Note()
        origins: list[Origin] = [entry.origin for entry, _ in new]
        origin = derived_trust(origins)
        try:
            text = "\n".join(line for _, line in new)
            made = document_text.with_more(path, held, text, origin, self.settings)
        except InvalidText as error:
            say(log, logging.WARNING, "flush_without_note", document=path, error=error, reason=error.message)
            return _Note(reason=error.message)
        documents.put(connection, self.store.key, made, to_millis(now))
        return _Note(path=path, entries=tuple(entry.id for entry, _ in new))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Note:
    """What was appended to the daily note, or why nothing could be."""

    path: str | None = None
    entries: tuple[str, ...] = ()
    reason: str = ""


def _while_time(embed: Embed, seconds: float) -> Embed:
    """Embed until the time is up; after that, wordings are compared by words."""
    until = monotonic() + seconds

    def in_time(texts: list[str]) -> Vectors | None:
        return embed(texts) if monotonic() < until else None

    return in_time


def _line(entry: Entry, drawer: Drawer, settings: Settings) -> str:
    """An entry's line in the daily note: date, text and pointer."""
    line = f"- {drawer.said_at:%Y-%m-%d}: {one_line(entry.content)} [{drawer.pointer}]"
    return line if settings.privacy.derived == "keep" else secrets.mask(line)


def _says(held: Document, line: str) -> bool:
    """Whether a note already has this line, from any conversation."""
    return line.rpartition(" [")[0] in held.content


def _body(report: FlushReport, first_place: int, last_place: int) -> dict[str, Any]:
    """The activity record of the report. Entries by id only: their texts would outlive them here."""
    return {
        "places": [first_place, last_place],
        "noted": list(report.noted),
        "document": report.document,
        "path": report.path,
        "calls": report.calls,
        "reason": report.reason,
    }
