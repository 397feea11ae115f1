"""What the memory asks of an embedder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into L2-normalised float32 vectors of one dimension; a zero vector stays zero.

    `name` is recorded beside the vectors, so it must be the same for the same model in every process.
    Every method may be called from several threads at once.
    """

    @property
    def name(self) -> str:
        """The stable name of the model."""

    def available(self) -> bool:
        """Whether `embed_query` can be called now without a download; never slow, never raises."""

    def prepare(self) -> None:
        """Load the model, downloading it first if need be. May take minutes; repeating it costs nothing.

        Raises:
            EmbeddingUnavailable: it can not be had now.
        """

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of a query, shape (d,).

        Raises:
            EmbeddingUnavailable: the model can not be loaded or reached now.
            InvalidVector: it gave something that is no vector of its dimension.
        """

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of the texts in their order, shape (n, d).

        Raises:
            EmbeddingUnavailable: the model can not be loaded or reached now.
            InvalidVector: it gave something else than one vector of its dimension for each text.
        """
