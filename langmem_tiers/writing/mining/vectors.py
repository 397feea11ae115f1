"""Vectors to compare wordings by, as far as the embedder can be used now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from langmem_tiers.embeddings.guard import GuardedEmbedder, NoEmbedder
from langmem_tiers.errors import EmbeddingUnavailable, InvalidVector

if TYPE_CHECKING:
    from langmem_tiers.knowledge.nearby import Embed
    from langmem_tiers.storage.embedding_cache import Vectors


def embed_with(embedder: GuardedEmbedder | NoEmbedder | None) -> Embed:
    """What gives texts their vectors, or None while the embedder is away: wordings are compared by words then."""

    def embed(texts: list[str]) -> Vectors | None:
        if not isinstance(embedder, GuardedEmbedder) or embedder.resting or not embedder.inner.available():
            return None
        try:
            return embedder.prompt.embed_documents(texts)
        except (EmbeddingUnavailable, InvalidVector) as error:
            embedder.failed(error)
            return None

    return embed
