"""The pass that gives notes their vectors; safe to run twice, and in two processes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from langmem_tiers.background.text_vectors import TextVectors
from langmem_tiers.clock import Clock, to_millis
from langmem_tiers.embeddings.base import Embedder
from langmem_tiers.embeddings.guard import GuardedEmbedder, NoEmbedder
from langmem_tiers.errors import EmbeddingUnavailable, InvalidVector
from langmem_tiers.storage import change_log, notes
from langmem_tiers.storage.change_log import Change
from langmem_tiers.storage.database import Database
from langmem_tiers.storage.notes import Note
from langmem_tiers.telemetry.logs import say

log = logging.getLogger(__name__)

# Batches that a caller waits for: more is left to the background.
_AT_ONCE = 2


def cursor_name(model: str) -> str:
    """Each model has a cursor of its own: a new one is embedded beside the old."""
    return f"notes:{model}"


@dataclass(frozen=True)
class NotingPass:
    """Embeds the notes of one space, about `batch` texts between two commits."""

    database: Database
    embedder: Embedder
    clock: Clock
    batch: int

    def idle(self) -> bool:
        """Is there nothing to embed?"""
        with self.database.reading() as connection:
            return not _behind(connection, self.database.space, self.embedder.name, most=1)

    def step(self, stop: Callable[[], bool]) -> bool:
        """Embed the next notes of the log; False when all are done. After each batch `stop` is asked.

        Raises:
            EmbeddingUnavailable: the model can not be reached; the cursor stays where it is.
            InvalidVector: no text gets a usable vector; the cursor stays where it is.
        """
        space, model = self.database.space, self.embedder.name
        with self.database.reading() as connection:
            old = change_log.cursor(connection, space, cursor_name(model))
            news = change_log.first_drawers(_behind(connection, space, model), self.batch)
            waiting = notes.without_vector(connection, space, model, _ranges(news))
        if not news:
            return False
        for start in range(0, len(waiting), self.batch):
            self._embed(waiting[start : start + self.batch])
            if stop():
                return True  # what is embedded is kept; the cursor waits for the rest
        self._finish(old, news)
        return True

    def _embed(self, batch: Sequence[Note]) -> None:
        vectors = TextVectors(self.database, self.embedder, self._held)
        faults = vectors.embed({note.text_hash: note.text for note in batch})
        for note in batch:
            if note.text_hash in faults:
                reason = faults[note.text_hash].message
                say(log, logging.WARNING, "note_not_embedded", kind=note.kind, ref=note.ref, reason=reason)

    def _held(self, connection: Connection, hashes: Collection[bytes]) -> set[bytes]:
        return notes.held(connection, self.database.space, hashes)

    def _finish(self, old: int, news: Sequence[Change]) -> None:
        space, model = self.database.space, self.embedder.name
        with self.database.writing() as connection:
            if not change_log.move_cursor(connection, space, cursor_name(model), old=old, new=news[-1].position):
                return  # another process was faster; its log entries say the same
            at = to_millis(self.clock())
            for first, last in _ranges(news):
                change_log.append(connection, space, "notes.embedded", first, until=last, detail=model, at=at)


def embed_due(database: Database, embedder: GuardedEmbedder | NoEmbedder, clock: Clock, batch: int) -> None:
    """Embed what waits now, for a caller that asks for it next; without an embedder at hand it goes on waiting.

    Raises:
        StorageError: what is not embedded yet is embedded later.
    """
    if isinstance(embedder, NoEmbedder) or embedder.resting or not embedder.inner.available():
        return
    due = NotingPass(database, embedder.prompt, clock, batch)
    try:
        for _ in range(_AT_ONCE):
            if not due.step(lambda: True):
                break
            embedder.works()
    except (EmbeddingUnavailable, InvalidVector) as error:
        embedder.failed(error)


def pending(database: Database, model: str) -> int:
    """How many texts of notes wait for their vectors of a model."""
    with database.reading() as connection:
        news = _behind(connection, database.space, model, most=1_000_000)
        return len(notes.without_vector(connection, database.space, model, _ranges(news)))


def _behind(connection: Connection, space: str, model: str, *, most: int = 10_000) -> list[Change]:
    """Changes of notes that have not been followed yet."""
    after = change_log.cursor(connection, space, cursor_name(model))
    return change_log.read(connection, space, after=after, kinds={"notes.changed"}, most=most)


def _ranges(news: Iterable[Change]) -> list[tuple[int, int]]:
    return notes.ranges((change.subject, change.until) for change in news)
