"""Embedders by name, such as `openai:text-embedding-3-small`, made by LangChain's `init_embeddings`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langmem_tiers import providers

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

_USUAL = ("openai", "ollama", "google_genai")
# Texts come in pieces that any model takes. Cutting them again would need OpenAI's tables from the network, and send
# numbers in place of text, which most other servers do not understand.
_OPTIONS: dict[str, dict[str, Any]] = {
    "openai": {"check_embedding_ctx_length": False},
    "azure_openai": {"check_embedding_ctx_length": False},
}


def named(name: str) -> Embeddings:
    """The embeddings of a name; nothing is asked or downloaded yet.

    Raises:
        MissingExtra: `langchain` or the provider's package is not installed.
        InvalidSettings: nobody is known to provide it, or the provider's client refuses it, such as without a key.
    """
    return providers.made(name, _embeddings, kind="embedder", usual=_USUAL)


def _embeddings(name: str) -> Embeddings:
    from langchain.embeddings import init_embeddings

    options = _OPTIONS.get(name.partition(":")[0], {})
    found: Any = init_embeddings(name, **options)
    return found  # type: ignore[no-any-return]
