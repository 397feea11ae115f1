"""The embedder of a memory as recall and the background see it: it may be away for a while, and comes back."""

from __future__ import annotations

import logging
import threading
from time import monotonic
from typing import TYPE_CHECKING

from langmem_tiers.embeddings.base import Embedder
from langmem_tiers.embeddings.counting import Count, CountingEmbedder
from langmem_tiers.embeddings.deadline import punctual
from langmem_tiers.errors import EmbeddingUnavailable, InvalidVector
from langmem_tiers.llm.threads import Stop
from langmem_tiers.telemetry.logs import say

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

log = logging.getLogger(__name__)

_FIRST_PAUSE, _LONGEST_PAUSE = 5.0, 300.0


class _Health:
    """Whether an embedder works, and how long it is left alone."""

    def __init__(self) -> None:
        self.pause, self.again_at, self.warned, self.reason = _FIRST_PAUSE, 0.0, False, ""
        self.lock = threading.Lock()


class GuardedEmbedder:
    """Knows whether the embedder can be used now, warns once when it can not, and waits longer after each failure.

    `inner` is for the background: it waits long for many texts. `prompt` is for whoever somebody waits for.
    """

    def __init__(self, inner: Embedder, prompt: Embedder, stop: Stop, health: _Health | None = None) -> None:
        self.inner = inner
        self.prompt = prompt
        self._stop = stop
        self._health = health or _Health()

    @classmethod
    def of(cls, embedder: Embedder, seconds: float, stop: Stop) -> GuardedEmbedder:
        """The embedder, which is away where it takes more seconds; `stop` says when nobody waits any more."""
        return cls(punctual(embedder, seconds, stop), punctual(embedder, seconds, stop, batch_seconds=seconds), stop)

    def counted(self, count: Count) -> GuardedEmbedder:
        """The same, in the same health; what is embedded through it is told to `count`."""
        inner, prompt = CountingEmbedder(self.inner, count), CountingEmbedder(self.prompt, count)
        return GuardedEmbedder(inner, prompt, self._stop, self._health)

    @property
    def resting(self) -> float:
        """Seconds until the next attempt makes sense, 0 when it can be used."""
        return max(0.0, self._health.again_at - monotonic())

    def query(self, text: str) -> tuple[NDArray[float32] | None, str | None]:
        """The vector of a query, or None and the reason; never downloads, and waits for no pause to end."""
        if self.resting:
            return None, f"vectors: {self._health.reason}"
        if not self.inner.available():
            return None, "vectors: the embedding model is not there yet"
        try:
            return self.inner.embed_query(text), None
        except (EmbeddingUnavailable, InvalidVector) as error:
            self.failed(error)
            return None, f"vectors: {error.message}"

    def failed(self, error: EmbeddingUnavailable | InvalidVector) -> None:
        """Note a failure: one warning, and a longer pause each time."""
        if self._stop():
            return  # the call was left because of that
        health = self._health
        with health.lock:
            if monotonic() >= health.again_at:  # else one that was asked at the same time has failed first
                health.again_at = monotonic() + health.pause
                health.pause = min(health.pause * 2, _LONGEST_PAUSE)
            level = logging.DEBUG if health.warned else logging.WARNING
            health.warned = True
            health.reason = error.message
        model = self.inner.name
        reason = getattr(error, "loggable", None) or error
        say(log, level, "embedding_unavailable", recall="keywords_only", model=model, error=error, reason=reason)

    def works(self) -> None:
        """Note a success: the next failure is news again."""
        health = self._health
        with health.lock:
            failed = health.warned
            health.pause, health.again_at, health.warned = _FIRST_PAUSE, 0.0, False
        if failed:
            say(log, logging.INFO, "embedding_available", model=self.inner.name)


class NoEmbedder:
    """Keyword search only, as asked for."""

    def query(self, text: str) -> tuple[None, None]:
        """No vector, and nothing to complain about."""
        return None, None
