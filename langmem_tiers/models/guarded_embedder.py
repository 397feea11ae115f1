"""The embedder for recall and the background: usage is counted, calls have a deadline, and failures cause a pause."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from langmem_tiers import replies
from langmem_tiers.errors import EmbeddingUnavailable, InvalidVector
from langmem_tiers.models.embedder import Embedder
from langmem_tiers.models.rest import Rest
from langmem_tiers.models.threads import SpareThreads, Stop, finished, in_thread
from langmem_tiers.telemetry import otel
from langmem_tiers.telemetry.logs import say

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

log = logging.getLogger(__name__)

EMBED_SOURCE = "memory_embed"
"""What embedding is booked under."""

Count = Callable[[Sequence[str], bool], None]
"""Told of each call: the texts, and whether it failed."""
QueryVector = tuple["NDArray[np.float32] | None", str | None]
"""The vector of a query, or None and a note that says why there is none."""
_Embed = Callable[[], "NDArray[np.float32]"]


# Seconds that the background waits for a batch: long ones take a while on a small machine.
_LONGEST_BATCH = 600.0


@dataclass(frozen=True, kw_only=True)
class _Watched:
    """An embedder whose calls are counted, and abandoned if they take too long: a hanging call keeps its own thread."""

    inner: Embedder
    seconds: float
    batch_seconds: float
    stop: Stop
    count: Count | None = None

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.inner.name

    def available(self) -> bool:
        """Whether it can be used now without a download."""
        return self.inner.available()

    def prepare(self) -> None:
        """Load the model, however long that takes."""
        self.inner.prepare()

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of a query."""
        return self._counted([text], partial(self.inner.embed_query, text), self.seconds)

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of the texts."""
        return self._counted(texts, partial(self.inner.embed_documents, texts), self.batch_seconds)

    def _counted(self, texts: Sequence[str], embed: _Embed, seconds: float) -> NDArray[np.float32]:
        count = self.count or (lambda *_: None)
        try:
            with otel.step("embed") as span:
                about = {"gen_ai.operation.name": "embeddings", "gen_ai.request.model": self.name}
                span.note({**about, **otel.named({"texts": len(texts)})})
                vectors = self._in_time(embed, seconds)
                span.note({"gen_ai.embeddings.dimension.count": vectors.shape[-1]})
        except (EmbeddingUnavailable, InvalidVector):
            count(texts, True)
            raise
        count(texts, False)
        return vectors

    @property
    def runs_here(self) -> bool:
        """Whether it runs in this process and cannot hang."""
        return getattr(self.inner, "runs_here", False)

    def _in_time(self, embed: _Embed, seconds: float) -> NDArray[np.float32]:
        if self.runs_here:
            return embed()
        running = in_thread(embed)
        if not finished(running, seconds, self.stop):
            why = "was left, as the memory is being closed" if self.stop() else f"timed out after {seconds:g} s"
            raise EmbeddingUnavailable(f"The embedder {self.name} {why}.")
        try:
            return running.result()
        except SystemExit as error:
            raise EmbeddingUnavailable(f"The embedder {self.name} failed: SystemExit: {error}.") from error


_FIRST_PAUSE, _LONGEST_PAUSE = 5.0, 300.0


class GuardedEmbedder:
    """Knows whether the embedder is usable, warns once if it is not, and pauses longer after each failure.

    `inner` is for the background: it waits long for many texts. `prompt` is for callers that someone waits for.
    """

    def __init__(
        self, inner: _Watched, prompt: _Watched, rest: Rest | None = None, threads: SpareThreads | None = None
    ) -> None:
        self.inner = inner
        self.prompt = prompt
        self._rest = rest or Rest(_FIRST_PAUSE, _LONGEST_PAUSE)
        self._threads = threads or SpareThreads(os.cpu_count() or 1, "langmem-tiers-query")
        self._begun: WeakValueDictionary[str, Future[QueryVector]] = WeakValueDictionary()

    @classmethod
    def of(cls, embedder: Embedder, seconds: float, stop: Stop) -> GuardedEmbedder:
        """The embedder, treated as unavailable if it takes longer; `stop` says when nobody waits any more."""
        watched = _Watched(inner=embedder, seconds=seconds, batch_seconds=_LONGEST_BATCH, stop=stop)
        return cls(watched, replace(watched, batch_seconds=seconds))

    def counted(self, count: Count) -> GuardedEmbedder:
        """The same embedder and health; `count` is called with the usage of what goes through it."""
        return GuardedEmbedder(
            replace(self.inner, count=count), replace(self.prompt, count=count), self._rest, self._threads
        )

    @property
    def resting(self) -> float:
        """Seconds until the next attempt makes sense, 0 if it is usable."""
        return self._rest.left(monotonic())

    def begin(self, text: str) -> Future[QueryVector] | None:
        """`query` in another thread: a model that runs in this process leaves the interpreter to others meanwhile.

        The same again for a text whose vector somebody still holds or waits for. None if no thread is free, or another
        computer is asked, which takes too long for that to save anything.
        """
        if not self.inner.runs_here:
            return None
        begin = self._threads.begin_computing if replies.alone() else self._threads.begin
        begun = self._begun.get(text) or begin(partial(self.query, text))
        if begun is not None:
            self._begun[text] = begun
        return begun

    def close(self) -> None:
        """End the threads of `begin`."""
        self._threads.close()

    def query(self, text: str) -> QueryVector:
        """The vector of a query, or None and the reason; never downloads, and never waits for a pause to end."""
        if self.resting:
            return None, f"vectors: {self._rest.reason}"
        if not self.inner.available():
            return None, "vectors: the embedding model is not there yet"
        try:
            return self.inner.embed_query(text), None
        except (EmbeddingUnavailable, InvalidVector) as error:
            self.failed(error)
            return None, f"vectors: {error.message}"

    def failed(self, error: EmbeddingUnavailable | InvalidVector) -> None:
        """Record a failure: one warning, and a longer pause each time."""
        if self.inner.stop():
            return  # the call was skipped because of that
        level, model = self._rest.failed(monotonic(), error.message), self.inner.name
        reason = getattr(error, "loggable", None) or error
        say(log, level, "embedding_unavailable", recall="keywords_only", model=model, error=error, reason=reason)

    def works(self) -> None:
        """Record a success: the next failure is news again."""
        if self._rest.works():
            say(log, logging.INFO, "embedding_available", model=self.inner.name)


class NoEmbedder:
    """Keyword search only, as requested."""

    def query(self, text: str) -> QueryVector:
        """No vector, and nothing to complain about."""
        return None, None

    def begin(self, text: str) -> Future[QueryVector]:
        """The same."""
        found: Future[QueryVector] = Future()
        found.set_result(self.query(text))
        return found
