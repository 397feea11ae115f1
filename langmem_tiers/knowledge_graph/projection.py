"""The in-memory graph of an open space, kept in step with the change log and cached in a file.

Views are immutable: a change makes a new view that shares the rest with the previous one, so readers and writers do
not wait for each other, except for the moment in which one reader catches up with the log for all.
"""

from __future__ import annotations

import gc
import logging
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection

from langmem_tiers.errors import StorageError
from langmem_tiers.knowledge_graph import snapshot, view_updates
from langmem_tiers.knowledge_graph.earlier import view_then
from langmem_tiers.knowledge_graph.snapshot import GraphSnapshot, UnusableSnapshot
from langmem_tiers.knowledge_graph.view import GraphView
from langmem_tiers.language import predicates
from langmem_tiers.settings import GraphSettings
from langmem_tiers.storage import change_log, entities, relations
from langmem_tiers.storage.change_log import Change, Moment, ranges
from langmem_tiers.storage.database import Database, writes
from langmem_tiers.storage.errors_border import translated
from langmem_tiers.telemetry.logs import say

log = logging.getLogger(__name__)

FILE = "graph.json"
_KINDS: set[change_log.Kind] = {"entities.changed", "relations.changed"}
# Older views kept for readers that began earlier.
_KEPT = 4
# Bytes of an entity or a relation in memory, with what is found by it.
_ROW = 1_400
# How many changes a missing file counts as lacking.
_ALL = 1 << 40


class _Held(NamedTuple):
    """A view, and the first and last log positions at which it is known to be valid.

    `changes` counts the graph changes that the file does not include yet.
    """

    view: GraphView
    since: int
    upto: int
    changes: int


class _Earlier(NamedTuple):
    """The view of an earlier moment, and the one that it was made of."""

    of: GraphView
    until: int
    view: GraphView


class GraphProjection:
    """The graph of one space, with a file if it is given a folder; thread-safe."""

    def __init__(self, folder: Path | None, database: Database, settings: GraphSettings) -> None:
        self.path = None if folder is None else folder / FILE
        self._single = cache(partial(predicates.single_valued, settings=settings))
        self._database = database
        self._space = database.space
        self._held: list[_Held] = []
        self._earlier: _Earlier | None = None
        self._lock = threading.Lock()
        self._writing = threading.Lock()

    def view(self, moment: Moment) -> GraphView:
        """The graph at a moment; within a write transaction, including its own changes."""
        view = (self._unsettled(moment) if writes(moment.connection) else self._at(moment)).view
        return view if moment.until is None else self._earlier_view(view, moment.connection, moment.until)

    def _earlier_view(self, view: GraphView, connection: Connection, until: int) -> GraphView:
        """The graph at an earlier moment; the last one is kept, since a recall asks for it several times."""
        held = self._earlier
        if held is None or held.of is not view or held.until != until:
            held = self._earlier = _Earlier(view, until, view_then(view, connection, self._space, until))
        return held.view

    def bytes_held(self) -> int:
        """How much memory it takes, about; nobody who reads it is waited for."""
        held = self._held
        return _ROW * (len(held[-1].view.entities) + len(held[-1].view.relations)) if held else 0

    def checkpoint(self, least: int = 1) -> bool:
        """Write the graph to its file if that lacks at least `least` changes; returns whether it was written.

        Raises:
            StorageError: it cannot be written.
        """
        if self.path is None:
            return False
        with self._writing, self._database.reading() as connection:
            moment = change_log.moment(connection, self._space)
            if not self._held:  # then the log tells whether there is enough to write
                logged = change_log.read(connection, self._space, after=0, kinds=_KINDS, most=least)
                if len(logged) < least:
                    return False
            held = self._at(moment)
            if held.changes < max(least, 1):
                return False
            mark = change_log.at(connection, self._space, moment.head)
            snapshot.write(self.path, held.view, position=moment.head, mark=mark)
            with self._lock:
                self._held = [each._replace(changes=max(0, each.changes - held.changes)) for each in self._held]
        return True

    def rebuild(self) -> GraphView:
        """Discard the graph and its file, and rebuild both from the records."""
        with self._writing, self._database.reading() as connection:
            moment = change_log.moment(connection, self._space)
            self._delete_file()
            built = self._built(moment)
            with self._lock:
                self._held = [built]
        self.checkpoint()
        return built.view

    def discard(self) -> None:
        """Delete the file, which still holds deleted records; the next checkpoint writes a new one.

        Raises:
            StorageError: it cannot be deleted.
        """
        with self._writing:
            self._delete_file()
            with self._lock:
                self._held = [held._replace(changes=_ALL) for held in self._held]

    def close(self) -> None:
        """Write any changes the file lacks, if the graph was used, and release it."""
        try:
            if self._held:
                self.checkpoint()
        except StorageError as error:
            say(log, logging.WARNING, "graph_not_written", file=self.path, error=error, reason=error)
        with self._lock:
            self._held, self._earlier = [], None

    def _delete_file(self) -> None:
        if self.path is not None:
            with translated(self.path):
                self.path.unlink(missing_ok=True)

    def _at(self, moment: Moment) -> _Held:
        with self._lock:
            if not self._held:
                self._held = [self._opened(moment)]
            newest = self._without_deleted(self._held[-1], self._followed(moment, self._held[-1]))
            if newest.since > self._held[-1].since:
                self._held = [*self._held[1 - _KEPT :], newest]
            else:
                self._held[-1] = newest
            fits = next((each for each in reversed(self._held) if each.since <= moment.head), None)
        return self._built(moment) if fits is None else fits

    def _without_deleted(self, before: _Held, after: _Held) -> _Held:
        """The view; if records were deleted on the way, the file, which still holds them, is deleted at once."""
        if after.view is before.view or not after.view.lost:
            return after
        try:
            self._delete_file()
        except StorageError as error:
            say(log, logging.WARNING, "graph_file_not_deleted", file=self.path, error=error, reason=error)
        return after._replace(changes=_ALL)

    def _unsettled(self, moment: Moment) -> _Held:
        """What a transaction sees before it commits; visible to that transaction only."""
        with self._lock:
            held = [each for each in self._held if each.since <= moment.head]
        return self._followed(moment, held[-1] if held else self._opened(moment))

    def _opened(self, moment: Moment) -> _Held:
        """The graph from its file if that is valid, otherwise from the records; an empty one needs no file."""
        with _no_collecting():
            try:
                kept = self.require_usable(moment)
            except UnusableSnapshot as error:
                say(log, logging.WARNING, "graph_rebuilt", file=self.path, reason=error)
                return self._built(moment)
            if kept is not None:
                view = view_updates.build_view(kept.entities, kept.relations, self._single)
                return _Held(view, kept.position, kept.position, 0)
            built = self._built(moment)
            if not built.view.entities:
                return built._replace(changes=0)
            if self.path is not None:
                say(log, logging.INFO, "graph_rebuilt", file=self.path, reason="it is not there")
            return built

    def require_usable(self, moment: Moment) -> GraphSnapshot | None:
        """The content of the file, if it is intact and belongs to these records; None if there is no file.

        Raises:
            UnusableSnapshot: it is damaged, or belongs to other records.
        """
        kept = None if self.path is None else snapshot.read(self.path)
        if kept is not None and kept.position > moment.head:
            raise UnusableSnapshot(f"it stands at {kept.position}, the records at {moment.head}")
        if kept is not None and kept.mark != change_log.at(moment.connection, self._space, kept.position):
            raise UnusableSnapshot("it was made from other records")
        return kept

    def _built(self, moment: Moment) -> _Held:
        people = entities.every(moment.connection, self._space)
        links = relations.every(moment.connection, self._space)
        return _Held(view_updates.build_view(people, links, self._single), moment.head, moment.head, _ALL)

    def _followed(self, moment: Moment, held: _Held) -> _Held:
        """The held view, brought up to date from the log."""
        if moment.head <= held.upto:
            return held
        news = list(change_log.follow(moment, self._space, after=held.upto, kinds=_KINDS))
        if not news:
            return held._replace(upto=moment.head)
        people, links = _ranges(news, "entities.changed"), _ranges(news, "relations.changed")
        view = view_updates.apply_changes(
            held.view,
            people,
            (row for first, last in people for row in entities.rows(moment.connection, self._space, first, last)),
            links,
            (row for first, last in links for row in relations.rows(moment.connection, self._space, first, last)),
        )
        return _Held(view, news[-1].position, moment.head, held.changes + len(news))


@contextmanager
def _no_collecting() -> Iterator[None]:
    """Pause garbage collection: nothing created here becomes garbage, and scanning it takes longer than creating it."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _ranges(news: Collection[Change], kind: change_log.Kind) -> list[tuple[int, int]]:
    return ranges((change.subject, change.until) for change in news if change.kind == kind)
