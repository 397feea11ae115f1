"""An embedder that may hang: whoever waits for it waits no longer than they may."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from langmem_tiers.embeddings.base import Embedder
from langmem_tiers.errors import EmbeddingUnavailable
from langmem_tiers.llm.threads import Stop, finished, in_thread

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Seconds that the background waits for a batch: long ones take a while on a small machine.
_LONGEST_BATCH = 600.0


class PunctualEmbedder:
    """The same embedder; a call that is not over in time, or when `stop` says so, is given up: it runs on by itself."""

    def __init__(self, inner: Embedder, seconds: float, stop: Stop, *, batch_seconds: float = _LONGEST_BATCH) -> None:
        self._inner = inner
        self._seconds = seconds
        self._stop = stop
        self._batch_seconds = batch_seconds

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._inner.name

    def available(self) -> bool:
        """Whether it can be used now without a download."""
        return self._inner.available()

    def prepare(self) -> None:
        """Load the model, however long that takes."""
        self._inner.prepare()

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of a query.

        Raises:
            EmbeddingUnavailable: it did not come in time.
        """
        return self._in_time(partial(self._inner.embed_query, text), self._seconds)

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of the texts.

        Raises:
            EmbeddingUnavailable: they did not come in time.
        """
        return self._in_time(partial(self._inner.embed_documents, texts), self._batch_seconds)

    def _in_time(self, call: Callable[[], NDArray[np.float32]], seconds: float) -> NDArray[np.float32]:
        running = in_thread(call)
        if finished(running, seconds, self._stop):
            return running.result()
        why = "was left, as the memory is being closed" if self._stop() else f"timed out after {seconds:g} s"
        raise EmbeddingUnavailable(f"The embedder {self.name} {why}.")


def punctual(embedder: Embedder, seconds: float, stop: Stop, *, batch_seconds: float = _LONGEST_BATCH) -> Embedder:
    """The embedder with a deadline; one that runs in this process by itself, and can not hang, as it is."""
    if getattr(embedder, "runs_here", False):
        return embedder
    return PunctualEmbedder(embedder, seconds, stop, batch_seconds=batch_seconds)
