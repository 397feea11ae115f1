"""Any LangChain `Embeddings` as an embedder of the memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from langmem_tiers.errors import EmbeddingUnavailable, InvalidVector
from langmem_tiers.models.provider_errors import is_away, loggable, without_quotes

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings


def unit(rows: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    """The rows, which must be finite, shape (n, d), normalised to length 1; rows of zeros stay zero."""
    if rows.size == 0:
        return rows.astype(np.float32)
    largest = np.abs(rows).max(axis=1, keepdims=True)
    # Scaled by the largest component first: the squares of huge or tiny components do not fit a float.
    scaled = rows / np.where(largest == 0, 1, largest)
    length = np.linalg.norm(scaled, axis=1, keepdims=True)
    return (scaled / np.where(length == 0, 1, length)).astype(np.float32)


# How much of an error's message goes into ours.
_MESSAGE = 300

Given = TypeVar("Given")
Result = TypeVar("Result")


class LangChainEmbedder:
    """Checks and normalises the output of a LangChain `Embeddings`, and translates its failures.

    `name` defaults to the class with its model and dimensions, such as `OpenAIEmbeddings:text-embedding-3-small`.
    The dimension of the first vector holds for the lifetime of the object.
    """

    def __init__(self, embeddings: Embeddings, *, name: str | None = None) -> None:
        self.name = name or _name_of(embeddings)
        self._embeddings = embeddings
        self._dimension: int | None = None

    def available(self) -> bool:
        """True: whether a provider answers is seen by calling it."""
        return True

    def prepare(self) -> None:
        """Nothing to load."""

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of `text`, shape (d,).

        Raises:
            EmbeddingUnavailable: the provider failed.
            InvalidVector: it returned no finite vector of its dimension.
        """
        vector: NDArray[np.float32] = self._checked([self._call(self._embeddings.embed_query, text)])[0]
        return vector

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of `texts`, shape (n, d). Without texts, the provider is not called.

        Raises:
            EmbeddingUnavailable: the provider failed.
            InvalidVector: it returned something else than one finite vector of its dimension for each text.
        """
        if not texts:
            return np.zeros((0, self._dimension or 0), dtype=np.float32)
        given = self._call(self._embeddings.embed_documents, list(texts))
        return self._checked(self._rows(given, len(texts)))

    def _call(self, method: Callable[[Given], Result], given: Given) -> Result:
        try:
            return method(given)
        # Each provider has its own exceptions without a common base: whatever its call raises is foreign, and is
        # translated to one type with its cause. None of this package's code runs inside the call.
        except (Exception, SystemExit) as error:
            sent = [given] if isinstance(given, str) else given
            said = without_quotes(error, sent, _MESSAGE)  # type: ignore[arg-type]
            told = f"The embedder {self.name} failed"
            raise EmbeddingUnavailable(
                f"{told}: {said}.", loggable=f"{told}: {loggable(error)}.", away=is_away(error)
            ) from error

    def _rows(self, given: Any, expected: int) -> list[Any]:
        try:
            rows = list(given)
        except TypeError as error:
            raise self._invalid(f"{type(given).__name__} instead of a list of vectors") from error
        if len(rows) != expected:
            raise self._invalid(f"{len(rows)} vectors for {expected} texts")
        return rows

    def _checked(self, rows: list[Any]) -> NDArray[np.float32]:
        vectors = [self._vector(index, row) for index, row in enumerate(rows)]
        # Of the first texts one may be poisonous: the dimension is that of most of them.
        self._dimension = self._dimension or Counter(map(len, vectors)).most_common(1)[0][0]
        for index, vector in enumerate(vectors):
            if len(vector) != self._dimension:
                raise self._invalid(f"{len(vector)} instead of {self._dimension} dimensions at index {index}")
        return unit(np.stack(vectors))

    def _vector(self, index: int, row: Any) -> NDArray[np.float64]:
        try:
            vector = np.asarray(row, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise self._invalid(f"something that is not numbers at index {index}") from error
        if vector.ndim != 1 or not vector.size:
            raise self._invalid(f"an array of shape {vector.shape} instead of a vector at index {index}")
        if not np.isfinite(vector).all():
            raise self._invalid(f"NaN or infinite numbers at index {index}")
        return vector

    def _invalid(self, what: str) -> InvalidVector:
        return InvalidVector(f"The embedder {self.name} gave {what}.")


def _name_of(embeddings: object) -> str:
    models = (getattr(embeddings, attribute, None) for attribute in ("model", "model_name"))
    model = next((model for model in models if isinstance(model, str) and model), None)
    dimensions = getattr(embeddings, "dimensions", None)
    parts = [type(embeddings).__name__, model, dimensions if isinstance(dimensions, int) else None]
    return ":".join(str(part) for part in parts if part is not None)
