"""The embedder of a memory as recall and the background see it: it may be away for a while, and comes back."""

from __future__ import annotations

import logging
import threading
from time import monotonic
from typing import TYPE_CHECKING

from langmem_tiers.embeddings.base import Embedder
from langmem_tiers.errors import EmbeddingUnavailable, InvalidVector

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

log = logging.getLogger(__name__)

_FIRST_PAUSE, _LONGEST_PAUSE = 5.0, 300.0


class GuardedEmbedder:
    """Knows whether the embedder can be used now, warns once when it can not, and waits longer after each failure."""

    def __init__(self, embedder: Embedder) -> None:
        self.inner = embedder
        self._pause = _FIRST_PAUSE
        self._again_at = 0.0
        self._warned = False
        self._reason = ""
        self._lock = threading.Lock()

    @property
    def resting(self) -> float:
        """Seconds until the next attempt makes sense, 0 when it can be used."""
        return max(0.0, self._again_at - monotonic())

    def query(self, text: str) -> tuple[NDArray[float32] | None, str | None]:
        """The vector of a query, or None and the reason; never downloads and never waits for a pause to end."""
        if self.resting:
            return None, f"vectors: {self._reason}"
        if not self.inner.available():
            return None, "vectors: the embedding model is not there yet"
        try:
            return self.inner.embed_query(text), None
        except (EmbeddingUnavailable, InvalidVector) as error:
            self.failed(error)
            return None, f"vectors: {error.message}"

    def failed(self, error: EmbeddingUnavailable | InvalidVector) -> None:
        """Note a failure: one warning, and a longer pause each time."""
        with self._lock:
            self._again_at = monotonic() + self._pause
            self._pause = min(self._pause * 2, _LONGEST_PAUSE)
            level = logging.DEBUG if self._warned else logging.WARNING
            self._warned = True
            self._reason = error.message
        log.log(level, "embedding_unavailable recall=keywords_only reason=%s", error)

    def works(self) -> None:
        """Note a success: the next failure is news again."""
        with self._lock:
            self._pause, self._again_at, self._warned = _FIRST_PAUSE, 0.0, False


class NoEmbedder:
    """Keyword search only, as asked for."""

    def query(self, text: str) -> tuple[None, None]:
        """No vector, and nothing to complain about."""
        return None, None
