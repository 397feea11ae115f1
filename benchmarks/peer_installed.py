"""Other memories, where they are installed: those that need neither a language model nor a server.

Each runs with its own ranking, on the same texts, and with the same embedding model where it takes one.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Sequence
from pathlib import Path

from langchain_core.embeddings import Embeddings
from peer_data import PeerTurn

from langmem_tiers.models.embedder import Embedder

# Every message goes through a language model: there is nothing to compare without one.
NEEDS_A_MODEL = {"letta": "letta", "graphiti": "graphiti_core"}


class Mem0:
    """mem0 with `infer=False`: messages are kept as they are, in a Chroma of its own."""

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder)}
        from mem0 import Memory

        self._memory = Memory.from_config(
            {
                "vector_store": {
                    "provider": "chroma",
                    "config": {"collection_name": "bench", "path": str(folder / "c")},
                },
                "embedder": {"provider": "langchain", "config": {"model": _AsLangChain(embedder)}},
                "llm": {"provider": "openai", "config": {"api_key": "never used"}},
                "history_db_path": str(folder / "history.db"),
            }
        )
        asked = inspect.signature(self._memory.search).parameters
        self._new = "top_k" in asked  # since its version 2, users are a filter

    def add_turns(self, turns: Sequence[PeerTurn]) -> None:
        """See `Peer`."""
        for turn in turns:
            self._memory.add(turn.text, user_id="bench", metadata={"turn": turn.message_id}, infer=False)

    def search(self, query: str, k: int) -> list[str]:
        """See `Peer`."""
        limits = {"filters": {"user_id": "bench"}, "top_k": k} if self._new else {"user_id": "bench", "limit": k}
        return [found["metadata"]["turn"] for found in self._memory.search(query, **limits)["results"]]

    def close(self) -> None:
        """Nothing: the folder goes with its files."""


class MemPalace:
    """MemPalace's own search over drawers that are one message each, with its own embedding model."""

    def __init__(self, folder: Path, _embedder: Embedder) -> None:
        from mempalace.palace import get_collection

        self._path = str(folder)
        self._collection = get_collection(self._path, create=True)
        self._ids: dict[str, str] = {}

    def add_turns(self, turns: Sequence[PeerTurn]) -> None:
        """See `Peer`."""
        self._ids = {f"m{number}": turn.message_id for number, turn in enumerate(turns)}
        for (name, _), turn in zip(self._ids.items(), turns, strict=True):
            place = {"wing": "bench", "room": "bench", "source_file": name, "chunk_index": 0}
            self._collection.upsert(ids=[name], documents=[turn.text], metadatas=[place])

    def search(self, query: str, k: int) -> list[str]:
        """See `Peer`."""
        from mempalace.searcher import search_memories

        found = search_memories(query, self._path, n_results=k)
        if "error" in found:
            raise RuntimeError(found["error"])
        return [self._ids[hit["source_file"]] for hit in found["results"]]

    def close(self) -> None:
        """Nothing: the folder goes with its files."""


class _AsLangChain(Embeddings):
    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._embedder.embed_documents(texts).tolist()

    def embed_query(self, text: str) -> list[float]:
        return self._embedder.embed_query(text).tolist()
