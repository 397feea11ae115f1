"""Embedding: computes the vectors of new drawers' chunks and of notes; safe to repeat, and in two processes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from sqlalchemy import Connection

from langmem_tiers.clock import Clock, to_millis
from langmem_tiers.errors import EmbeddingUnavailable, InvalidVector
from langmem_tiers.models.embedder import Embedder
from langmem_tiers.models.guarded_embedder import GuardedEmbedder, NoEmbedder
from langmem_tiers.models.text_vectors import TextVectors
from langmem_tiers.storage import change_log, drawers, embedding_cache, notes
from langmem_tiers.storage.change_log import Change, Kind
from langmem_tiers.storage.database import Database
from langmem_tiers.telemetry.logs import say
from langmem_tiers.writing.turns import embedded_text

log = logging.getLogger(__name__)

# Batches that a caller waits for; the rest is left to the background.
_AT_ONCE = 2
# Batches whose texts the background reads at once: those of one length share a batch, so that less of it is padding.
_AHEAD = 4

Ranges = Sequence[tuple[int, int]]


class EmbedderAway(Exception):
    """The embedder is unavailable; pending texts are retried later."""


class Text(NamedTuple):
    """A text without a vector, and the record it belongs to, as numbered in the log."""

    text_hash: bytes
    text: str
    owner: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class TextSource:
    """A source of texts: which log entries announce new texts, and which say that they have vectors.

    Attributes:
        cursor: What the cursors of this source begin with: each model has its own, so that a new one is embedded beside
            the old.
        added: The kind of change that tells of new texts.
        embedded: The kind of change that tells that they have their vectors.
        refused: Logs that the embedder refuses a text, and why.
        missing: The texts of these ranges that have no vector of a model.
        held: Those of some texts, by hash, that are still there.
    """

    cursor: str
    added: Kind
    embedded: Kind
    refused: Callable[[Text, str], None]
    missing: Callable[[Connection, str, str, Ranges], list[Text]]
    held: Callable[[Connection, str, Mapping[bytes, Text]], Collection[bytes]]

    def cursor_name(self, model: str) -> str:
        """The name of a model's cursor."""
        return f"{self.cursor}{model}"

    def behind(self, connection: Connection, space: str, model: str, *, most: int = 10_000) -> list[Change]:
        """Changes that have not been processed yet."""
        after = change_log.cursor(connection, space, self.cursor_name(model))
        return change_log.read(connection, space, after=after, kinds={self.added}, most=most)


def _missing_chunks(connection: Connection, space: str, model: str, ranges: Ranges) -> list[Text]:
    return [
        Text(chunk.text_hash, embedded_text(chunk.speaker, chunk.text), {"drawer": chunk.drawer})
        for first, last in ranges
        for chunk in embedding_cache.missing(connection, space, model, first, last)
    ]


def _missing_notes(connection: Connection, space: str, model: str, ranges: Ranges) -> list[Text]:
    found = notes.without_vector(connection, space, model, ranges)
    return [Text(note.text_hash, note.text, {"kind": note.kind, "ref": note.ref}) for note in found]


def _held_by_drawers(connection: Connection, space: str, texts: Mapping[bytes, Text]) -> Collection[bytes]:
    """The texts that some drawer still has: one may be forgotten while its text is embedded."""
    there = drawers.existing(connection, space, {text.owner["drawer"] for text in texts.values()})
    gone = [text_hash for text_hash, text in texts.items() if text.owner["drawer"] not in there]
    again = embedding_cache.held(connection, space, gone) if gone else set()
    return {text_hash for text_hash in texts if text_hash not in gone or text_hash in again}


DRAWERS = TextSource(
    cursor="embed:",
    added="drawers.added",
    embedded="drawers.embedded",
    refused=lambda text, why: say(log, logging.WARNING, "drawer_not_embedded", **text.owner, reason=why),
    missing=_missing_chunks,
    held=_held_by_drawers,
)
NOTES = TextSource(
    cursor="notes:",
    added="notes.changed",
    embedded="notes.embedded",
    refused=lambda text, why: say(log, logging.WARNING, "note_not_embedded", **text.owner, reason=why),
    missing=_missing_notes,
    held=lambda connection, space, texts: notes.held(connection, space, texts.keys()),
)
SOURCES: Mapping[str, TextSource] = MappingProxyType({"drawers": DRAWERS, "notes": NOTES})


@dataclass(frozen=True)
class Embedding:
    """Embeds the texts of one source in one space, `batch` per transaction, `ahead` of these in order of length."""

    database: Database
    embedder: Embedder
    clock: Clock
    batch: int
    source: TextSource = DRAWERS
    ahead: int = 1

    def idle(self) -> bool:
        """Whether there is nothing to embed."""
        with self.database.reading() as connection:
            return not self.source.behind(connection, self.database.space, self.embedder.name, most=1)

    def step(self, stop: Callable[[], bool]) -> bool:
        """Embed the texts of the next changes in the log; False when all is done. `stop` is checked after each batch.

        Raises:
            EmbeddingUnavailable: the model cannot be reached; the cursor stays where it is.
            InvalidVector: no text gets a usable vector; the cursor stays where it is.
        """
        space, model = self.database.space, self.embedder.name
        with self.database.reading() as connection:
            old = change_log.cursor(connection, space, self.source.cursor_name(model))
            news = change_log.first_drawers(self.source.behind(connection, space, model), self.batch * self.ahead)
            missing = self.source.missing(connection, space, model, _ranges(news)) if news else []
        if not news:
            return False
        waiting = sorted({text.text_hash: text for text in missing}.values(), key=lambda text: len(text.text))
        for start in range(0, len(waiting), self.batch):
            self._embed(waiting[start : start + self.batch])
            if stop():
                return True  # finished batches are kept; the cursor waits for the rest
        self._finish(old, news)
        return True

    def _embed(self, batch: Sequence[Text]) -> None:
        space, source = self.database.space, self.source
        by_hash = {text.text_hash: text for text in batch}
        vectors = TextVectors(
            self.database,
            self.embedder,
            lambda connection, hashes: source.held(connection, space, {each: by_hash[each] for each in hashes}),
        )
        faults = vectors.embed({text.text_hash: text.text for text in batch})
        for text in batch:
            if text.text_hash in faults:
                source.refused(text, faults[text.text_hash])

    def _finish(self, old: int, news: Sequence[Change]) -> None:
        space, model = self.database.space, self.embedder.name
        with self.database.writing() as connection:
            cursor = self.source.cursor_name(model)
            if not change_log.move_cursor(connection, space, cursor, old=old, new=news[-1].position):
                return  # another process was faster, and has logged the same
            at = to_millis(self.clock())
            for first, last in _ranges(news):
                change_log.append(connection, space, self.source.embedded, first, until=last, detail=model, at=at)


@dataclass(frozen=True, kw_only=True)
class EmbedJob:
    """Computes the vectors of a space, following the log."""

    database: Database
    embedder: GuardedEmbedder
    clock: Clock
    batch: int
    name: str = "embed"

    def due(self, connection: Connection) -> None:
        """Never due by the clock."""

    def step(self, stop: Callable[[], bool]) -> bool:
        """Embed all pending texts; False if there were none.

        Raises:
            EmbedderAway: the embedder is unavailable.
        """
        every = [
            Embedding(self.database, self.embedder.inner, self.clock, self.batch, source, _AHEAD)
            for source in SOURCES.values()
        ]
        waiting = [each for each in every if not each.idle()]
        if waiting and self.embedder.resting:
            raise EmbedderAway
        try:
            if waiting:
                self.embedder.inner.prepare()
            for each in waiting:
                while each.step(stop):
                    self.embedder.works()
                    if stop():
                        return True
        except (EmbeddingUnavailable, InvalidVector) as error:
            self.embedder.failed(error)
            raise EmbedderAway from error
        return bool(waiting)


def embed_notes_now(database: Database, embedder: GuardedEmbedder | NoEmbedder, clock: Clock, batch: int) -> None:
    """Embed pending notes for a caller about to search them; without an available embedder they stay pending.

    Raises:
        StorageError: the rest is embedded later.
    """
    if isinstance(embedder, NoEmbedder) or embedder.resting or not embedder.inner.available():
        return
    embedding = Embedding(database, embedder.prompt, clock, batch, NOTES)
    try:
        for _ in range(_AT_ONCE):
            if not embedding.step(lambda: True):
                break
            embedder.works()
    except (EmbeddingUnavailable, InvalidVector) as error:
        embedder.failed(error)


def embedded_by(database: Database) -> list[str]:
    """The models for which drawers of a space have vectors."""
    with database.reading() as connection:
        names = change_log.cursors_named(connection, database.space, DRAWERS.cursor)
        return [name.removeprefix(DRAWERS.cursor) for name in names]


def pending_drawers(database: Database, model: str) -> int:
    """How many drawers are waiting for their vectors of a model."""
    with database.reading() as connection:
        return change_log.drawers_behind(connection, database.space, DRAWERS.cursor_name(model))


def pending_notes(database: Database, model: str) -> int:
    """How many texts of notes are waiting for their vectors of a model."""
    with database.reading() as connection:
        news = NOTES.behind(connection, database.space, model, most=1_000_000)
        return len(notes.without_vector(connection, database.space, model, _ranges(news)))


def _ranges(news: Iterable[Change]) -> list[tuple[int, int]]:
    return change_log.ranges((change.subject, change.until) for change in news)
