"""Peers that always run: our own memory, plain Chroma, LangGraph's store, and two references of a few lines."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from peer_data import PeerTurn, as_turn

from langmem_tiers import Memory, Settings
from langmem_tiers.bench.asking import verbatim
from langmem_tiers.language.words import STOPWORDS, words
from langmem_tiers.models.embedder import Embedder
from langmem_tiers.models.minilm import DIMENSION

BATCH = 1000


class Peer(Protocol):
    """A memory under test, in a folder of its own."""

    def add_turns(self, turns: Sequence[PeerTurn]) -> None:
        """Store messages; they can be found when this returns."""

    def search(self, query: str, k: int) -> list[str]:
        """The ids of about `k` messages, best first; a hit in a session counts for the session."""

    def close(self) -> None:
        """Let go of files and threads."""


class Ours:
    """langmem-tiers with default settings, asked outside of any session; ranks as receipts have them."""

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        self._memory = Memory.open(
            folder / "memory", embedder=embedder, background=False, settings=verbatim(Settings())
        )
        self._space = self._memory.space("bench")
        self._ids: dict[int, str] = {}

    def add_turns(self, turns: Sequence[PeerTurn]) -> None:
        """See `Peer`."""
        for session, told in groupby(turns, key=lambda turn: turn.session):
            self._space.track([as_turn(turn) for turn in told], session=session).raise_rejected()
        self._space.flush()
        self._ids = {drawer.number: str(drawer.message_id) for drawer in self._space.drawers()}

    def search(self, query: str, k: int) -> list[str]:
        """See `Peer`."""
        recalled = self._space.recall(query, threshold=0, keep_receipt=False)
        return [self._ids[candidate.drawer] for candidate in recalled.receipt.candidates[:k]]

    def close(self) -> None:
        """See `Peer`."""
        self._memory.close()


class PlainChroma:
    """One document a message, cosine, the nearest first: what a few lines with Chroma give."""

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        import chromadb
        from chromadb.config import Settings

        self._embedder = embedder
        client = chromadb.PersistentClient(str(folder / "chroma"), settings=Settings(anonymized_telemetry=False))
        self._collection = client.create_collection(
            "turns", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )

    def add_turns(self, turns: Sequence[PeerTurn]) -> None:
        """See `Peer`."""
        vectors = self._embedder.embed_documents([turn.text for turn in turns])
        for start in range(0, len(turns), BATCH):
            some = turns[start : start + BATCH]
            self._collection.add(
                ids=[turn.message_id for turn in some],
                embeddings=vectors[start : start + BATCH],
                documents=[turn.text for turn in some],
            )

    def search(self, query: str, k: int) -> list[str]:
        """See `Peer`."""
        vector = self._embedder.embed_query(query)
        return self._collection.query(query_embeddings=vector[np.newaxis, :], n_results=k, include=[])["ids"][0]

    def close(self) -> None:
        """Nothing: the folder goes with its files."""


class LangGraphStore:
    """LangGraph's InMemoryStore with an index, which LangMem's tools work on, too: exact cosine, nothing on disk."""

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        from langgraph.store.memory import InMemoryStore

        def embed(texts: Sequence[str]) -> list[list[float]]:
            if len(texts) == 1:
                return [embedder.embed_query(texts[0]).tolist()]
            return embedder.embed_documents(texts).tolist()

        self._store = InMemoryStore(index={"dims": DIMENSION, "embed": embed, "fields": ["text"]})

    def add_turns(self, turns: Sequence[PeerTurn]) -> None:
        """See `Peer`."""
        from langgraph.store.base import PutOp

        self._store.batch([PutOp(("turns",), turn.message_id, {"text": turn.text}) for turn in turns])

    def search(self, query: str, k: int) -> list[str]:
        """See `Peer`."""
        return [item.key for item in self._store.search(("turns",), query=query, limit=k)]

    def close(self) -> None:
        """Nothing: it is in memory."""


class SessionWords:
    """A reference: BM25 over whole sessions, by SQLite's FTS5, and no vectors."""

    def __init__(self, folder: Path, _embedder: Embedder) -> None:
        self._connection = sqlite3.connect(folder / "words.db")
        self._connection.execute("CREATE VIRTUAL TABLE sessions USING fts5(content, tokenize='porter unicode61')")
        self._first: dict[int, str] = {}

    def add_turns(self, turns: Sequence[PeerTurn]) -> None:
        """See `Peer`."""
        told: dict[str, list[PeerTurn]] = defaultdict(list)
        for turn in turns:
            told[turn.session].append(turn)
        with self._connection:
            for number, session in enumerate(told.values(), 1):
                content = "\n".join(turn.text for turn in session)
                self._connection.execute("INSERT INTO sessions (rowid, content) VALUES (?, ?)", (number, content))
                self._first[number] = session[0].message_id

    def search(self, query: str, k: int) -> list[str]:
        """See `Peer`."""
        return list(self.scores(query))[:k]

    def scores(self, query: str) -> dict[str, float]:
        """By the first message of each session: its BM25 score, best first."""
        asked = " OR ".join(f'"{word}"' for word in words(query) if word not in STOPWORDS)
        if not asked:
            return {}
        ranked = "SELECT rowid, -rank FROM sessions WHERE sessions MATCH ? ORDER BY rank"
        return {self._first[number]: score for number, score in self._connection.execute(ranked, (asked,))}

    def close(self) -> None:
        """See `Peer`."""
        self._connection.close()


class HalfAndHalf:
    """A reference: half the BM25 of a session, half the cosine of its nearest message, each by its largest."""

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        self._words = SessionWords(folder, embedder)
        self._embedder = embedder
        self._vectors: Any = np.zeros((0, DIMENSION))
        self._sessions: list[str] = []

    def add_turns(self, turns: Sequence[PeerTurn]) -> None:
        """See `Peer`."""
        self._words.add_turns(turns)
        self._vectors = self._embedder.embed_documents([turn.text for turn in turns])
        first: dict[str, str] = {}
        self._sessions = [first.setdefault(turn.session, turn.message_id) for turn in turns]

    def search(self, query: str, k: int) -> list[str]:
        """See `Peer`."""
        nearest: dict[str, float] = {}
        for session, similarity in zip(self._sessions, self._vectors @ self._embedder.embed_query(query), strict=True):
            nearest[session] = max(nearest.get(session, 0.0), float(similarity))
        scores: dict[str, float] = defaultdict(float)
        for channel in (self._words.scores(query), nearest):
            largest = max(channel.values(), default=0.0) or 1.0
            for session, score in channel.items():
                scores[session] += score / largest / 2
        return sorted(scores, key=lambda session: -scores[session])[:k]

    def close(self) -> None:
        """See `Peer`."""
        self._words.close()
