"""Embedders for measuring: one that is timed, and one that makes document vectors fast enough for 100,000 drawers."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from functools import cache
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from langmem_tiers.models.embedder import Embedder
from langmem_tiers.models.minilm import DIMENSION, MiniLM


class Projection:
    """MiniLM's time for a query, and vectors from a random projection of words.

    Embedding 100,000 documents with the model takes minutes and says nothing about recall. So documents get the mean of
    one pseudo-random vector for each word, in MiniLM's dimension. A query runs through the model in full, its
    vector is thrown away, and the projection of its words is given instead: recall waits as long as it would, and
    compares vectors of one kind.

    `documents_in_full` has documents run through the model, too, for those who measure what goes on beside that.
    """

    name = "projection-384"
    runs_here = MiniLM.runs_here

    def __init__(self) -> None:
        self.documents_in_full = False
        self._model = MiniLM()

    def available(self) -> bool:
        """Whether the model is there."""
        return self._model.available()

    def prepare(self) -> None:
        """Load the model."""
        self._model.prepare()
        _projected("What NumPy loads for the first word is no part of a first recall.")

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of a query."""
        self._model.embed_query(text)
        return _projected(text)

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of the texts."""
        if self.documents_in_full:
            return self._model.embed_documents(texts)
        return np.stack([_projected(text) for text in texts])


class Timed:
    """`inner`, noting the milliseconds of the last query and which threads embedded documents."""

    def __init__(self, inner: Embedder) -> None:
        self.inner = inner
        self.runs_here = getattr(inner, "runs_here", False)
        self.query_ms = 0.0
        self.document_threads: set[threading.Thread] = set()

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.inner.name

    def available(self) -> bool:
        """Whether the model is there."""
        return self.inner.available()

    def prepare(self) -> None:
        """Load the model."""
        self.inner.prepare()

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of a query."""
        started = perf_counter()
        vector = self.inner.embed_query(text)
        self.query_ms = (perf_counter() - started) * 1000
        return vector

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of the texts."""
        self.document_threads.add(threading.current_thread())
        return self.inner.embed_documents(texts)


CHOICES = {"minilm": MiniLM, "projection": Projection}


def prepared(name: str) -> Timed:
    """The embedder of a name, loaded."""
    embedder = Timed(CHOICES[name]())
    embedder.prepare()
    return embedder


def _projected(text: str) -> NDArray[np.float32]:
    words = [word for word in (part.strip(".,?!'").lower() for part in text.split()) if len(word) > 3]
    total = np.sum([_word(word) for word in words or [text]], axis=0)
    return (total / np.linalg.norm(total)).astype(np.float32)


@cache
def _word(word: str) -> NDArray[np.float32]:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8])
    return np.random.default_rng(seed).standard_normal(DIMENSION).astype(np.float32)
