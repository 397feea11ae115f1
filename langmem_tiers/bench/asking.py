"""Storing a conversation through the track node and asking its questions through the real recall path."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from langmem_tiers.bench.datasets import BenchQuestion, Case, session_number
from langmem_tiers.bench.scoring import RetrievalAnswer, Session
from langmem_tiers.errors import StorageError
from langmem_tiers.settings import Settings
from langmem_tiers.transfer import import_conversations
from langmem_tiers.types import TrackReport

if TYPE_CHECKING:
    from langchain_core.messages import AnyMessage

    from langmem_tiers.memory import Memory
    from langmem_tiers.models.embedder import Embedder
    from langmem_tiers.space import Space
    from langmem_tiers.transfer.importing import Track


def through_track_node(memory: Memory) -> Track:
    """A function that passes the messages of a session to `track_node` and returns the node's report.

    A message that the memory refuses is in the report; any other fault is raised.
    """
    from langmem_tiers.graphs.track import TrackNode

    class Overheard(TrackNode):
        """Keeps the report with its refused messages; the node itself would raise the first of them."""

        def _tell(self, report: TrackReport) -> None:
            self.report = report

    def track(messages: list[AnyMessage], *, space: str, session: str) -> TrackReport:
        node = Overheard(memory, name="track", space=space, on_error="raise", messages_key="messages")
        node.report = TrackReport(session=session)
        node.invoke({"messages": messages}, {"configurable": {"thread_id": session}})
        return node.report

    return track


def verbatim(settings: Settings) -> Settings:
    """The same settings with mining, episodes, graph, dreams and knowledge turned off.

    Whether they have run by the time of a question would depend on how long a run takes.
    """
    quiet = {
        name: getattr(settings, name).model_copy(update={"enabled": False}) for name in ("mining", "graph", "dream")
    }
    said = settings.recall.model_copy(update={"knowledge": 0})
    return settings.model_copy(update={**quiet, "recall": said})


_SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors (
    model  TEXT NOT NULL,
    hash   BLOB NOT NULL,  -- SHA-256 of the text
    vector BLOB NOT NULL,  -- float32, as it came from the model
    PRIMARY KEY (model, hash)
)
"""
_BUSY_SECONDS = 60
_VARIABLES = 500  # of one statement


class CachedEmbedder:
    """`inner`, with the vectors of documents kept in the SQLite file `path`.

    Queries always go to the model, so that their time is the real one. Several processes may share the file: at
    worst, one text is embedded twice.
    """

    def __init__(self, inner: Embedder, path: Path) -> None:
        self._inner = inner
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        with self._connected() as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(_SCHEMA)

    @property
    def name(self) -> str:
        """The name of the inner model."""
        return self._inner.name

    def available(self) -> bool:
        """Whether the inner model can be used now."""
        return self._inner.available()

    def prepare(self) -> None:
        """Load the inner model."""
        self._inner.prepare()

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of a query, from the model."""
        return self._inner.embed_query(text)

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of the texts, from the file where it has them, else from the model."""
        if not texts:
            return self._inner.embed_documents(texts)
        hashes = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        vectors = self._known(hashes)
        missing = {digest: text for digest, text in zip(hashes, texts, strict=True) if digest not in vectors}
        if missing:
            made = dict(zip(missing, self._inner.embed_documents(list(missing.values())), strict=True))
            self._keep(made)
            vectors.update(made)
        return np.stack([vectors[digest] for digest in hashes])

    def _known(self, hashes: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        found: dict[bytes, NDArray[np.float32]] = {}
        with self._connected() as connection:
            for start in range(0, len(hashes), _VARIABLES):
                some = hashes[start : start + _VARIABLES]
                marks = ",".join("?" * len(some))
                query = f"SELECT hash, vector FROM vectors WHERE model = ? AND hash IN ({marks})"
                rows = connection.execute(query, (self.name, *some))
                found.update((digest, np.frombuffer(vector, dtype=np.float32)) for digest, vector in rows)
        return found

    def _keep(self, vectors: Mapping[bytes, NDArray[np.float32]]) -> None:
        rows = [(self.name, digest, vector.astype(np.float32).tobytes()) for digest, vector in vectors.items()]
        with self._connected() as connection, connection:
            connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        # A connection of its own for every call: embedders are called from any thread.
        with closing(sqlite3.connect(self._path, timeout=_BUSY_SECONDS)) as connection:
            yield connection


_ALL_TOKENS = 1_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """How cases are measured.

    `work` is the folder for their memories; with `keep` these stay there, and a later run takes them as they are. With
    `address`, they are spaces of a memory on servers instead, its vectors on `chroma`. Without `vectors`, recall goes
    by keywords alone. `embeddings` is the file of vectors made before, by default `embeddings.db` in the work folder.
    """

    work: Path
    settings: Settings = field(default_factory=Settings)
    vectors: bool = True
    keep: bool = False
    embeddings: Path | None = None
    address: str | None = None
    chroma: str | None = None

    def embedder(self) -> Embedder | None:
        """The model with its cache, one for each process; None without vectors."""
        return _embedder(self.embeddings or self.work / "embeddings.db") if self.vectors else None


@cache
def _embedder(cache_file: Path) -> Embedder:
    from langmem_tiers.models.minilm import MiniLM

    return CachedEmbedder(MiniLM(), cache_file)


def ask_case(case: Case, plan: Plan, embedder: Embedder | None) -> Iterator[RetrievalAnswer]:
    """The answers to the questions of a case, one after the other.

    Raises:
        StorageError: the conversation could not be stored whole.
    """
    with stored(case, plan, embedder) as space:
        turns = {drawer.number: drawer.message_id for drawer in space.drawers()}
        for question in case.questions:
            yield ask(space, question, turns, session_number)


@contextmanager
def stored(case: Case, plan: Plan, embedder: Embedder | None) -> Iterator[Space]:
    """A space that holds the conversation of a case; a kept one that is complete is used as it is.

    Raises:
        StorageError: the conversation could not be stored whole.
    """
    from langmem_tiers.memory import Memory

    with ExitStack() as opened:
        plan.work.mkdir(parents=True, exist_ok=True)
        if plan.address is not None:
            place: str | Path = plan.address
        elif plan.keep:
            place = plan.work / "kept" / hashlib.sha256(case.space.encode()).hexdigest()[:16]
        else:
            place = Path(opened.enter_context(TemporaryDirectory(prefix="memory-", dir=plan.work)))
        how: dict[str, Any] = {"settings": verbatim(plan.settings), "background": False}
        memory = opened.enter_context(Memory.open(place, chroma=plan.chroma, embedder=embedder, **how))
        if plan.address is not None and not plan.keep:
            opened.callback(memory.delete_space, case.space, confirm=True)
        space, rejected = memory.space(case.space), 0
        if space.stats().drawers != sum(len(session.messages) for session in case.sessions):
            track = through_track_node(memory)
            rejected = len(import_conversations(case.sessions, track=track, space=case.space).rejected)
        finish(space, rejected)
        yield space


def ask(
    space: Space, question: BenchQuestion, turns: Mapping[int, str | None], number_of: Callable[[str], Session]
) -> RetrievalAnswer:
    """Ask one question through the real recall path; the answer holds everything recall considered, best first."""
    started = perf_counter()
    recalled = space.recall(
        question.text,
        now=question.asked_at,
        as_of=question.until,
        threshold=0,
        token_budget=_ALL_TOKENS,
        keep_receipt=False,
    )
    elapsed = (perf_counter() - started) * 1000
    receipt = recalled.receipt
    found = [candidate for candidate in receipt.candidates if candidate.verdict != "outside_dates"]
    return RetrievalAnswer(
        question_id=question.question_id,
        question_type=question.question_type,
        sessions=tuple(dict.fromkeys(number_of(candidate.session) for candidate in found)),
        drawers=tuple(candidate.drawer for candidate in found),
        turns=tuple(turns.get(candidate.drawer) for candidate in found),
        recall_ms=elapsed,
        embed_ms=receipt.timings.get("embed", 0.0),
        verdict=receipt.verdict,
        abstention=question.abstention,
    )


def finish(space: Space, rejected: int) -> None:
    """Finish filing and embedding; `rejected` is the number of messages refused during the import.

    Raises:
        StorageError: messages were refused, or have no vectors.
    """
    done = space.flush()
    if rejected or not done:
        pending = space.stats().pending
        raise StorageError(
            f"{space.name} is not whole: {rejected} messages refused, {pending} without vectors.",
            way_out="Run `langmem-tiers doctor` on it: a measurement over a part would mislead.",
        )
