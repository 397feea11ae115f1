"""A space as a dream would make it: recall can be asked there, and nothing of it stays."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from langmem_tiers.dream import applying
from langmem_tiers.dream.types import Decision, Material
from langmem_tiers.recall.sources import Columns, Graph, Notes, Similarity, Words
from langmem_tiers.settings import Settings
from langmem_tiers.storage import change_log, embedding_cache, notes
from langmem_tiers.storage.change_log import Moment
from langmem_tiers.storage.store import SpaceStore

if TYPE_CHECKING:
    from langmem_tiers.matching import Held
    from langmem_tiers.storage.drawer_columns import Rows
    from langmem_tiers.storage.embedding_cache import Vectors


@dataclass
class Trial:
    """What recall reads from, within a transaction that will be rolled back.

    Notes and the graph tell what the transaction has written, to it alone. What is kept in memory of drawers is asked
    as of the moment before: a dream changes no drawer, and these follow the log for all, also where it is rolled back.
    """

    store: SpaceStore
    before: Moment
    name: str
    key: str

    def reading(self) -> AbstractContextManager[Connection]:
        """The transaction."""
        return nullcontext(self.before.connection)

    def writing(self, *, durable: bool = True) -> AbstractContextManager[Connection]:
        """The transaction: what is written is rolled back with it."""
        return nullcontext(self.before.connection)

    @property
    def columns(self) -> Columns:
        """The facts of its drawers."""
        return _Before(self.store, self.before)

    @property
    def words(self) -> Words:
        """Its keyword channel."""
        return _Before(self.store, self.before)

    @property
    def vectors(self) -> Similarity | None:
        """Its vector channel."""
        return None if self.store.vectors is None else _BeforeVectors(self.store.vectors, self.before)

    @property
    def notes(self) -> Notes:
        """What would be known in it."""
        return self.store.notes

    @property
    def graph(self) -> Graph:
        """How its graph would be."""
        return self.store.graph


@contextmanager
def trial(
    store: SpaceStore, material: Material, decision: Decision, settings: Settings, vectors: Mapping[str, Vectors]
) -> Iterator[Trial]:
    """The space as a decision would make it, while the block runs; nobody else writes to it meanwhile.

    `vectors` are those of texts that the decision adds: they are found by meaning, as they will be later.

    Raises:
        StorageError: it can not be tried out.
    """
    with store.writing() as connection:
        before = change_log.moment(connection, store.key)
        known = notes.newest(connection, store.key)
        applying.carry_out(connection, store.key, material, decision, settings, material.at)
        _put_vectors(connection, store, known, vectors)
        yield Trial(store, before, store.name, store.key)
        connection.get_transaction().rollback()  # type: ignore[union-attr]


def _put_vectors(connection: Connection, store: SpaceStore, known: int, vectors: Mapping[str, Vectors]) -> None:
    """Give their vectors to the notes that came after `known`."""
    if store.chroma is None or not vectors:
        return
    model = store.chroma.model
    for note in notes.without_vector(connection, store.key, model, [(known + 1, notes.newest(connection, store.key))]):
        if note.text in vectors:
            embedding_cache.put(connection, store.key, model, [note.text_hash], vectors[note.text][None, :])


@dataclass(frozen=True)
class _Before:
    """The drawers of a space and their words, at the moment before."""

    store: SpaceStore
    before: Moment

    def rows(self, moment: Moment, numbers: Collection[int]) -> Rows:
        return self.store.columns.rows(self.before, numbers)

    def holding(self, moment: Moment, terms: Sequence[str]) -> tuple[list[Held], int]:
        return self.store.words.holding(self.before, terms)


@dataclass(frozen=True)
class _BeforeVectors:
    """The vectors of its drawers, at the moment before."""

    index: Similarity
    before: Moment

    def similar(self, moment: Moment, query: Vectors, most: int) -> dict[int, float]:
        return self.index.similar(self.before, query, most)

    def similarities(self, moment: Moment, query: Vectors, drawers: Collection[int]) -> dict[int, float]:
        return self.index.similarities(self.before, query, drawers)

    def nearest_pieces(self, moment: Moment, query: Vectors, drawers: Collection[int]) -> dict[int, tuple[int, int]]:
        return self.index.nearest_pieces(self.before, query, drawers)
