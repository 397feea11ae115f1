"""The embedding pass: every chunk of every new drawer gets its vector; safe to run twice, and in two processes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sqlalchemy import Connection

from langmem_tiers.background.text_vectors import TextVectors
from langmem_tiers.clock import Clock, to_millis
from langmem_tiers.embeddings.base import Embedder
from langmem_tiers.storage import change_log, embedding_cache
from langmem_tiers.storage.change_log import Change
from langmem_tiers.storage.database import Database
from langmem_tiers.storage.embedding_cache import ChunkText
from langmem_tiers.telemetry.logs import say
from langmem_tiers.writing.pieces import embedded_text

log = logging.getLogger(__name__)

_CURSOR = "embed:"


def cursor_name(model: str) -> str:
    """Each model has a cursor of its own: a new one is embedded beside the old."""
    return f"{_CURSOR}{model}"


@dataclass(frozen=True)
class EmbeddingPass:
    """Embeds the drawers of one space, about `batch` chunks between two commits."""

    database: Database
    embedder: Embedder
    clock: Clock
    batch: int

    def idle(self) -> bool:
        """Is there nothing to embed?"""
        return pending(self.database, self.embedder.name) == 0

    def step(self, stop: Callable[[], bool]) -> bool:
        """Embed the next drawers of the log; False when all are done. After each batch `stop` is asked.

        Raises:
            EmbeddingUnavailable: the model can not be reached; the cursor stays where it is.
            InvalidVector: no text gets a usable vector; the cursor stays where it is.
        """
        name = cursor_name(self.embedder.name)
        with self.database.reading() as connection:
            old = change_log.cursor(connection, self.database.space, name)
            added = change_log.read(connection, self.database.space, after=old, kinds={"drawers.added"})
            news = change_log.first_drawers(added, self.batch)
        if not news:
            return False
        for batch in self._batches(news):
            self._embed(batch)
            if stop():
                return True  # what is embedded is kept; the cursor waits for the rest
        self._finish(name, old, news)
        return True

    def _batches(self, news: Sequence[Change]) -> Iterator[list[ChunkText]]:
        with self.database.reading() as connection:
            waiting = [
                chunk
                for first, last in _ranges(news)
                for chunk in embedding_cache.missing(connection, self.database.space, self.embedder.name, first, last)
            ]
        distinct = list({chunk.text_hash: chunk for chunk in waiting}.values())
        for start in range(0, len(distinct), self.batch):
            yield distinct[start : start + self.batch]

    def _embed(self, batch: Sequence[ChunkText]) -> None:
        vectors = TextVectors(self.database, self.embedder, wanted=_all)
        faults = vectors.embed({chunk.text_hash: _text(chunk) for chunk in batch})
        for chunk in batch:
            if chunk.text_hash in faults:
                reason = faults[chunk.text_hash].message
                say(log, logging.WARNING, "drawer_not_embedded", drawer=chunk.drawer, reason=reason)

    def _finish(self, name: str, old: int, news: Sequence[Change]) -> None:
        with self.database.writing() as connection:
            space = self.database.space
            if not change_log.move_cursor(connection, space, name, old=old, new=news[-1].position):
                return  # another process was faster; its log entries say the same
            at = to_millis(self.clock())
            for first, last in _ranges(news):
                change_log.append(
                    connection, space, "drawers.embedded", first, until=last, detail=self.embedder.name, at=at
                )


def embedded_by(database: Database) -> list[str]:
    """The models that drawers of a space have vectors of."""
    with database.reading() as connection:
        return [name.removeprefix(_CURSOR) for name in change_log.cursors_named(connection, database.space, _CURSOR)]


def pending(database: Database, model: str) -> int:
    """How many drawers wait for their vectors of a model."""
    with database.reading() as connection:
        return change_log.drawers_behind(connection, database.space, cursor_name(model))


def _ranges(news: Sequence[Change]) -> list[tuple[int, int]]:
    """The drawers that changes cover, as runs without gaps."""
    starts = [news[0].subject] + [right.subject for left, right in pairwise(news) if right.subject != left.until + 1]
    stops = [left.until for left, right in pairwise(news) if right.subject != left.until + 1] + [news[-1].until]
    return list(zip(starts, stops, strict=True))


def _all(_connection: Connection, hashes: Collection[bytes]) -> Collection[bytes]:
    """Drawers are never deleted while they wait."""
    return hashes


def _text(chunk: ChunkText) -> str:
    return embedded_text(chunk.speaker, chunk.text)
