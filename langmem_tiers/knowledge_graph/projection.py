"""The graph of an open space: in memory once it is asked for, in step with the log, and kept in a file in between.

What is handed out never changes: a change makes a new view that shares all the rest with the one before, so readers
wait for nobody, and nobody for them, but for the moment in which one of them follows the log for all.
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

from langmem_tiers.errors import StorageError
from langmem_tiers.knowledge_graph import growing, predicates, snapshot
from langmem_tiers.knowledge_graph.snapshot import Snapshot, UnusableSnapshot
from langmem_tiers.knowledge_graph.view import GraphView
from langmem_tiers.settings import GraphSettings
from langmem_tiers.storage import change_log, entities, relations
from langmem_tiers.storage.change_log import Change, Moment
from langmem_tiers.storage.database import Database
from langmem_tiers.storage.errors_border import translated
from langmem_tiers.storage.notes import ranges
from langmem_tiers.telemetry.logs import say

log = logging.getLogger(__name__)

FILE = "graph.json"
_KINDS: set[change_log.Kind] = {"entities.changed", "relations.changed"}
# Views of moments before the newest one, for readers that began earlier.
_KEPT = 4
# Changes that a file lacks which is not there.
_ALL = 1 << 40


class _Held(NamedTuple):
    """A view, and the log positions of the first and the last moment that are known to have it.

    `changes` counts those of the graph that the file does not have yet.
    """

    view: GraphView
    since: int
    upto: int
    changes: int


class GraphProjection:
    """The graph of one space, for any number of threads."""

    def __init__(self, folder: Path, database: Database, settings: GraphSettings) -> None:
        self.path = folder / FILE
        self._single = cache(partial(predicates.single_valued, settings=settings))
        self._database = database
        self._space = database.space
        self._held: list[_Held] = []
        self._lock = threading.Lock()
        self._writing = threading.Lock()

    def view(self, moment: Moment) -> GraphView:
        """The graph at a moment; in a transaction that writes, with what it has written."""
        writes = moment.connection.get_execution_options().get("immediate")
        return (self._unsettled(moment) if writes else self._at(moment)).view

    def checkpoint(self, least: int = 1) -> bool:
        """Write the graph to its file if that lacks at least so many changes; whether it was written.

        Raises:
            StorageError: it can not be written.
        """
        with self._writing, self._database.reading() as connection:
            moment = change_log.moment(connection, self._space)
            if not self._held and not self._logged(moment, least):
                return False
            held = self._at(moment)
            if held.changes < max(least, 1):
                return False
            mark = change_log.at(connection, self._space, moment.head)
            snapshot.write(self.path, held.view, position=moment.head, mark=mark)
            self._written(held)
        return True

    def rebuild(self) -> GraphView:
        """Let go of the graph and its file, and build both anew from the records."""
        with self._writing, self._database.reading() as connection:
            moment = change_log.moment(connection, self._space)
            with translated(self.path):
                self.path.unlink(missing_ok=True)
            built = self._built(moment)
            with self._lock:
                self._held = [built]
        self.checkpoint()
        return built.view

    def discard(self) -> None:
        """Delete the file, which holds what was deleted from the records; the next checkpoint writes another one.

        Raises:
            StorageError: it can not be deleted.
        """
        with self._writing, translated(self.path):
            self.path.unlink(missing_ok=True)
            with self._lock:
                self._held = [held._replace(changes=_ALL) for held in self._held]

    def close(self) -> None:
        """Write down what the file lacks, if the graph was used, and let go of it."""
        try:
            if self._held:
                self.checkpoint()
        except StorageError as error:
            say(log, logging.WARNING, "graph_not_written", file=self.path, error=error, reason=error)
        with self._lock:
            self._held = []

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
        """What was followed to; where records were deleted on the way, the file that holds them still goes at once."""
        if after.view is before.view or not after.view.lost:
            return after
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            say(log, logging.WARNING, "graph_file_not_deleted", file=self.path, error=error, reason=error)
        return after._replace(changes=_ALL)

    def _unsettled(self, moment: Moment) -> _Held:
        """What a transaction sees that may still be undone: it is known to that transaction only."""
        with self._lock:
            held = [each for each in self._held if each.since <= moment.head]
        return self._followed(moment, held[-1] if held else self._opened(moment))

    def _opened(self, moment: Moment) -> _Held:
        """The graph from its file, where that is good, else from the records."""
        with _no_collecting():
            return self._loaded(moment)

    def _loaded(self, moment: Moment) -> _Held:
        try:
            kept = self.require_usable(moment)
        except UnusableSnapshot as error:
            say(log, logging.WARNING, "graph_rebuilt", file=self.path, reason=error)
            return self._built(moment)
        if kept is None:
            return self._first(moment)
        return _Held(growing.built(kept.entities, kept.relations, self._single), kept.position, kept.position, 0)

    def require_usable(self, moment: Moment) -> Snapshot | None:
        """What the file holds, if it is whole and belongs to these records; None where there is none.

        Raises:
            UnusableSnapshot: it does not, or is not as it was written.
        """
        kept = snapshot.read(self.path)
        if kept is not None and kept.position > moment.head:
            raise UnusableSnapshot(f"it stands at {kept.position}, the records at {moment.head}")
        if kept is not None and kept.mark != change_log.at(moment.connection, self._space, kept.position):
            raise UnusableSnapshot("it was made from other records")
        return kept

    def _first(self, moment: Moment) -> _Held:
        """The graph where there is no file; an empty one needs none."""
        built = self._built(moment)
        if built.view.entities:
            say(log, logging.INFO, "graph_rebuilt", file=self.path, reason="it is not there")
            return built
        return built._replace(changes=0)

    def _built(self, moment: Moment) -> _Held:
        people = entities.every(moment.connection, self._space)
        links = relations.every(moment.connection, self._space)
        return _Held(growing.built(people, links, self._single), moment.head, moment.head, _ALL)

    def _followed(self, moment: Moment, held: _Held) -> _Held:
        """What is held, with what the log says happened since."""
        if moment.head <= held.upto:
            return held
        news = list(change_log.follow(moment, self._space, after=held.upto, kinds=_KINDS))
        if not news:
            return held._replace(upto=moment.head)
        people, links = _ranges(news, "entities.changed"), _ranges(news, "relations.changed")
        view = growing.grown(
            held.view,
            people,
            (row for first, last in people for row in entities.rows(moment.connection, self._space, first, last)),
            links,
            (row for first, last in links for row in relations.rows(moment.connection, self._space, first, last)),
        )
        return _Held(view, news[-1].position, moment.head, held.changes + len(news))

    def _logged(self, moment: Moment, least: int) -> bool:
        """Whether the log tells of at least so many changes of the graph."""
        return len(change_log.read(moment.connection, self._space, after=0, kinds=_KINDS, most=least)) == least

    def _written(self, held: _Held) -> None:
        with self._lock:
            self._held = [each._replace(changes=max(0, each.changes - held.changes)) for each in self._held]


@contextmanager
def _no_collecting() -> Iterator[None]:
    """No search for garbage meanwhile: all that is made stays, and looking through it takes longer than making it."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _ranges(news: Collection[Change], kind: change_log.Kind) -> list[tuple[int, int]]:
    return ranges((change.subject, change.until) for change in news if change.kind == kind)
