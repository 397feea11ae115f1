"""Embedders: the default model, any LangChain one, or none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from langmem_tiers.embeddings.base import Embedder
from langmem_tiers.embeddings.chunking import split
from langmem_tiers.errors import InvalidSettings

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

__all__ = ["Embedder", "resolve", "split"]


def resolve(embedder: Embedder | Embeddings | str | None) -> Embedder | None:
    """The embedder that is meant; None or "none" means keyword search only. Loads and downloads nothing.

    Raises:
        InvalidSettings: it is none of these, or a name that nobody is known to provide.
        MissingExtra: it is named, and a package for it is not installed.
    """
    if embedder is None or (isinstance(embedder, str) and embedder == "none"):
        return None
    if isinstance(embedder, str) and embedder == "minilm":
        from langmem_tiers.embeddings.minilm import MiniLM

        return MiniLM()
    if isinstance(embedder, str):
        return _wrap(_named(embedder))
    if isinstance(embedder, type):  # a class has the methods too, and would fail at the first text
        raise _unusable(embedder)
    return _wrap(embedder)


def _named(name: str) -> Embeddings:
    if ":" not in name:
        raise _unusable(name)
    from langmem_tiers.embeddings.named import named

    return named(name)


def _wrap(embedder: Embedder | Embeddings) -> Embedder:
    if isinstance(embedder, Embedder):
        return embedder
    if not all(callable(getattr(embedder, method, None)) for method in ("embed_query", "embed_documents")):
        raise _unusable(embedder)
    from langmem_tiers.embeddings.langchain import LangChainEmbedder

    return LangChainEmbedder(embedder)


def _unusable(given: object) -> InvalidSettings:
    return InvalidSettings(
        f"{given!r} is no embedder.",
        way_out="Give 'minilm', a name such as 'openai:text-embedding-3-small', a LangChain Embeddings object, or None "
        "or 'none' for keyword search only.",
    )
