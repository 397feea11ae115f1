"""An embedder that tells what it embeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from langmem_tiers.embeddings.base import Embedder
from langmem_tiers.errors import EmbeddingUnavailable, InvalidVector
from langmem_tiers.telemetry import figures, tracing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SOURCE = "memory_embed"
"""What embedding is booked under."""

Count = Callable[[Sequence[str], bool], None]
"""Told of each call: the texts, and whether it failed."""


class CountingEmbedder:
    """The same embedder; every call is told to `count`."""

    def __init__(self, inner: Embedder, count: Count) -> None:
        self._inner = inner
        self._count = count

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._inner.name

    def available(self) -> bool:
        """Whether it can be used now without a download."""
        return self._inner.available()

    def prepare(self) -> None:
        """Load the model."""
        self._inner.prepare()

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of a query."""
        return self._told([text], lambda: self._inner.embed_query(text))

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of the texts."""
        return self._told(texts, lambda: self._inner.embed_documents(texts))

    def _told(self, texts: Sequence[str], embed: Callable[[], NDArray[np.float32]]) -> NDArray[np.float32]:
        try:
            with tracing.step("embed") as span:
                figures.embedding(span, self.name, len(texts))
                vectors = embed()
                figures.embedding(span, self.name, len(texts), vectors.shape[-1])
        except (EmbeddingUnavailable, InvalidVector):
            self._count(texts, True)
            raise
        self._count(texts, False)
        return vectors
