"""Embedding: computes the vectors of new drawers' chunks and of notes; safe to repeat, and in two processes."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from math import ceil
from types import MappingProxyType
from typing import Any, NamedTuple

from sqlalchemy import Connection

from langmem_tiers.clock import Clock, to_millis
from langmem_tiers.errors import EmbeddingUnavailable, InvalidVector
from langmem_tiers.models.embedder import Embedder
from langmem_tiers.models.guarded_embedder import GuardedEmbedder, NoEmbedder
from langmem_tiers.models.text_vectors import EmbedsDocuments, TextVectors
from langmem_tiers.models.threads import in_thread
from langmem_tiers.storage import change_log, drawers, embedding_cache, notes
from langmem_tiers.storage.change_log import Change, Kind
from langmem_tiers.storage.database import Database
from langmem_tiers.storage.embedding_cache import Vectors
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

    def after(self, connection: Connection, space: str, position: int, *, most: int = 10_000) -> list[Change]:
        """Changes that tell of new texts, after a position of the log."""
        return change_log.read(connection, space, after=position, kinds={self.added}, most=most)

    def behind(self, connection: Connection, space: str, model: str, *, most: int = 10_000) -> list[Change]:
        """Those that have not been processed yet."""
        return self.unread(connection, space, model, most=most)[1]

    def unread(self, connection: Connection, space: str, model: str, *, most: int = 10_000) -> tuple[int, list[Change]]:
        """The same, with the position of the log up to which the model is done, if there are any."""
        return change_log.unread(connection, space, self.cursor_name(model), kinds={self.added}, most=most)


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


class _Stopped(Exception):
    """What waits for the embedder is not begun any more."""


class _Beside:
    """The embedder in other threads, one call at a time, in the order in which they were asked for.

    One that runs in this process gets the next call before it is done with the last, so that it never waits.
    """

    def __init__(self, embedder: Embedder, stop: Callable[[], bool]) -> None:
        self.name = embedder.name
        self._embedder = embedder
        self._stop = stop
        self._closed = False
        self._begun: deque[Future[Vectors]] = deque(maxlen=2 if getattr(embedder, "runs_here", False) else 1)

    def begin(self, texts: Sequence[str]) -> Callable[[], Vectors]:
        """Ask for the vectors of texts; the result waits for them, or raises what the embedder raised."""
        before = self._begun[0] if len(self._begun) == self._begun.maxlen else None
        begun = in_thread(partial(self._embed, texts, before))
        self._begun.append(begun)
        return begun.result

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """The vectors of texts."""
        return self.begin(texts)()

    def close(self) -> None:
        """Wait for the calls that run; what comes after them is not begun."""
        self._closed = True
        wait(self._begun)

    def _embed(self, texts: Sequence[str], before: Future[Vectors] | None) -> Vectors:
        if before is not None:
            wait([before])
        if self._closed or self._stop():
            raise _Stopped
        return self._embedder.embed_documents(texts)


class _Block(NamedTuple):
    """Changes of the log that come next, after the position `old`, and their texts without a vector."""

    old: int
    news: Sequence[Change]
    texts: Sequence[Text]


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
        block = self._next()
        if block is None:
            return False
        for batch in self._batches(block.texts):
            self._note_refused(batch, self._vectors(batch, self.embedder).embed(_by_hash(batch)))
            if stop():
                return True  # finished batches are kept; the cursor waits for the rest
        self._finish(block)
        return True

    def run(self, stop: Callable[[], bool], *, meanwhile: Callable[[], object], kept: Callable[[], object]) -> None:
        """Embed everything, so that the embedder does not wait for what comes before and after its batches.

        Args:
            stop: Checked after each batch, and before the embedder begins one.
            meanwhile: Called for each batch while the embedder works on that or on the one before.
            kept: Called whenever the vectors of a batch are stored.

        Raises:
            EmbeddingUnavailable, InvalidVector: as for `step`.
        """
        with closing(_Beside(self.embedder, stop)) as beside, suppress(_Stopped):
            before: Callable[[], object] | None = None
            for begun in self._begun(beside):
                meanwhile()
                if before is not None:
                    before()
                    kept()
                before = begun
                if stop():
                    break
            if before is not None:
                before()
                kept()

    def _begun(self, beside: _Beside) -> Iterator[Callable[[], object]]:
        """Has one batch after the other embedded; each result stores its vectors, once they are there."""
        handed: set[bytes] = set()  # texts that may come again before their vectors are stored
        block = self._next()
        while block is not None:
            fresh = [text for text in block.texts if text.text_hash not in handed]
            handed.update(text.text_hash for text in fresh)
            *others, last = self._batches(fresh) or [()]
            for batch in others:
                yield self._begin(batch, beside)
            yield self._begin(last, beside, partial(self._finish, block))
            block = self._next(block.news[-1].position)

    def _begin(
        self, batch: Sequence[Text], beside: _Beside, then: Callable[[], object] = lambda: None
    ) -> Callable[[], object]:
        vectors = self._vectors(batch, beside)
        texts = vectors.waiting(_by_hash(batch))
        computed = beside.begin(list(texts.values())) if texts else None

        def end() -> None:
            if computed is not None:
                self._note_refused(batch, vectors.store(texts, computed))
            then()

        return end

    def _next(self, after: int | None = None) -> _Block | None:
        """The next changes after a position of the log, or after those that are done; None if there are none."""
        space, model = self.database.space, self.embedder.name
        with self.database.reading() as connection:
            if after is None:
                old, unread = self.source.unread(connection, space, model)
            else:
                old, unread = after, self.source.after(connection, space, after)
            news = change_log.first_drawers(unread, self.batch * self.ahead)
            if not news:
                return None
            return _Block(old, news, self.source.missing(connection, space, model, _ranges(news)))

    def _batches(self, texts: Iterable[Text]) -> list[Sequence[Text]]:
        """Each text once, those of similar length together."""
        waiting = sorted({text.text_hash: text for text in texts}.values(), key=lambda text: len(text.text))
        # Of about the same size: few texts keep no core busy.
        size = ceil(len(waiting) / ceil(len(waiting) / self.batch)) if waiting else 1
        return [waiting[start : start + size] for start in range(0, len(waiting), size)]

    def _vectors(self, batch: Sequence[Text], embedder: EmbedsDocuments) -> TextVectors:
        space, source, texts = self.database.space, self.source, {text.text_hash: text for text in batch}
        return TextVectors(
            self.database,
            embedder,
            lambda connection, hashes: source.held(connection, space, {each: texts[each] for each in hashes}),
        )

    def _note_refused(self, batch: Sequence[Text], faults: Mapping[bytes, str]) -> None:
        for text in batch:
            if text.text_hash in faults:
                self.source.refused(text, faults[text.text_hash])

    def _finish(self, block: _Block) -> None:
        space, model, news = self.database.space, self.embedder.name, block.news
        with self.database.writing() as connection:
            cursor = self.source.cursor_name(model)
            if not change_log.move_cursor(connection, space, cursor, old=block.old, new=news[-1].position):
                return  # another process was faster, and has logged the same
            at = to_millis(self.clock())
            for first, last in _ranges(news):
                change_log.append(connection, space, self.source.embedded, first, until=last, detail=model, at=at)


@dataclass(frozen=True, kw_only=True)
class EmbedJob:
    """Computes the vectors of a space, following the log.

    Attributes:
        beside: Does some other work while the embedder computes; told when to stop.
    """

    database: Database
    embedder: GuardedEmbedder
    clock: Clock
    batch: int
    beside: Callable[[Callable[[], bool]], object]
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
                each.run(stop, meanwhile=partial(self.beside, stop), kept=self.embedder.works)
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
    """How many drawers are waiting for vectors of a model; not those of an unfinished block that have theirs."""
    with database.reading() as connection:
        return drawers_waiting(connection, database.space, model)


def drawers_waiting(connection: Connection, space: str, model: str) -> int:
    """The same, in a transaction that is open."""
    news = DRAWERS.behind(connection, space, model, most=1_000_000)
    return embedding_cache.waiting(connection, space, model, _ranges(news))


def pending_notes(database: Database, model: str) -> int:
    """How many texts of notes are waiting for their vectors of a model."""
    with database.reading() as connection:
        news = NOTES.behind(connection, database.space, model, most=1_000_000)
        return len(notes.without_vector(connection, database.space, model, _ranges(news)))


def _by_hash(texts: Iterable[Text]) -> dict[bytes, str]:
    return {each.text_hash: each.text for each in texts}


def _ranges(news: Iterable[Change]) -> list[tuple[int, int]]:
    return change_log.ranges((change.subject, change.until) for change in news)
