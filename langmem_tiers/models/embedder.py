"""The embedder interface, and resolving the `embedder` argument: the default model, any LangChain one, or none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from langmem_tiers.errors import InvalidSettings

if TYPE_CHECKING:
    import numpy as np
    from langchain_core.embeddings import Embeddings
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
        """Load the model, downloading it first if necessary. May take minutes; repeating it costs nothing.

        Raises:
            EmbeddingUnavailable: it is not available now.
        """

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of a query, shape (d,).

        Raises:
            EmbeddingUnavailable: the model cannot be loaded or reached now.
            InvalidVector: the result is not a vector of its dimension.
        """

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of the texts in their order, shape (n, d).

        Raises:
            EmbeddingUnavailable: the model cannot be loaded or reached now.
            InvalidVector: the result is not one vector of its dimension for each text.
        """


def resolve(embedder: Embedder | Embeddings | str | None) -> Embedder | None:
    """The embedder for an argument; None or "none" means keyword search only. Loads and downloads nothing.

    Raises:
        InvalidSettings: it is none of these, or a name of no known provider.
        MissingExtra: it is a name, and a package for it is not installed.
    """
    if embedder is None or (isinstance(embedder, str) and embedder == "none"):
        return None
    if isinstance(embedder, str) and embedder == "minilm":
        from langmem_tiers.models.minilm import MiniLM

        return MiniLM()
    given: Any = embedder
    if isinstance(embedder, str) and ":" in embedder:
        from langmem_tiers.models.providers import init_embedder

        given = init_embedder(embedder)
    # A class has the methods too, and would fail at the first text.
    if isinstance(given, Embedder) and not isinstance(given, type):
        return given
    methods = (getattr(given, name, None) for name in ("embed_query", "embed_documents"))
    if isinstance(given, type) or not all(map(callable, methods)):
        raise InvalidSettings(
            f"{embedder!r} is no embedder.",
            way_out="Give 'minilm', a name such as 'openai:text-embedding-3-small', a LangChain Embeddings object, or "
            "None or 'none' for keyword search only.",
        )
    from langmem_tiers.models.langchain_embedder import LangChainEmbedder

    return LangChainEmbedder(given)
