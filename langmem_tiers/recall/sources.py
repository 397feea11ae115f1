"""What recall reads from: spaces, and a moment of each."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from sqlalchemy import Connection

from langmem_tiers.storage.change_log import Moment, moment

if TYPE_CHECKING:
    from langmem_tiers.knowledge_graph.view import GraphView
    from langmem_tiers.matching import Held
    from langmem_tiers.settings import RecallSettings
    from langmem_tiers.storage.drawer_columns import Rows
    from langmem_tiers.storage.embedding_cache import Vectors
    from langmem_tiers.storage.note_index import NoteHit


class Similarity(Protocol):
    """The vector channel of a space."""

    def similar(self, moment: Moment, query: Vectors, most: int) -> dict[int, float]:
        """The nearest drawers with their cosine similarity, best first."""

    def similarities(self, moment: Moment, query: Vectors, drawers: Collection[int]) -> dict[int, float]:
        """The cosine similarity of these drawers, where they have a vector."""

    def nearest_pieces(self, moment: Moment, query: Vectors, drawers: Collection[int]) -> dict[int, tuple[int, int]]:
        """Start and stop of the piece of each drawer that is nearest to the query, where it has a vector."""


class Words(Protocol):
    """The keyword channel of a space."""

    def holding(self, moment: Moment, terms: Sequence[str]) -> tuple[list[Held], int]:
        """For each term the drawers that hold it; and how many drawers there are."""


class Columns(Protocol):
    """What ranking needs to know of the drawers of a space."""

    def rows(self, moment: Moment, numbers: Collection[int]) -> Rows:
        """Those of these drawers that stand, in this order."""


class Notes(Protocol):
    """What is known in a space, beside what was said."""

    def search(
        self, moment: Moment, terms: Sequence[str], vector: Vectors | None, most: int, *, settings: RecallSettings
    ) -> list[NoteHit]:
        """The best notes, best first."""


class Graph(Protocol):
    """The knowledge graph of a space."""

    def view(self, moment: Moment) -> GraphView:
        """The graph at a moment."""


class Source(Protocol):
    """A space that recall reads from; `key` is what its rows are kept under."""

    name: str
    key: str

    def reading(self) -> AbstractContextManager[Connection]:
        """A snapshot of its records."""

    @property
    def columns(self) -> Columns:
        """The facts of its drawers."""

    @property
    def words(self) -> Words:
        """Its keyword channel."""

    @property
    def vectors(self) -> Similarity | None:
        """Its vector channel, None where there is no embedder."""

    @property
    def notes(self) -> Notes:
        """What is known in it."""

    @property
    def graph(self) -> Graph:
        """Who is spoken of in it, and how they relate."""


class OwnSource(Source, Protocol):
    """The space that a recall is made for: the only one that is written to."""

    def writing(self, *, durable: bool = True) -> AbstractContextManager[Connection]:
        """A transaction on its records."""


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """One moment of a source."""

    name: str
    key: str
    own: bool
    moment: Moment
    columns: Columns
    words: Words
    vectors: Similarity | None
    notes: Notes
    graph: Graph

    @property
    def connection(self) -> Connection:
        """What its records are read with."""
        return self.moment.connection


@contextmanager
def snapshots(sources: Sequence[Source]) -> Iterator[list[Snapshot]]:
    """A moment of each source, the first being the space itself."""
    with ExitStack() as stack:
        yield [
            Snapshot(
                name=source.name,
                key=source.key,
                own=position == 0,
                moment=moment(stack.enter_context(source.reading()), source.key),
                columns=source.columns,
                words=source.words,
                vectors=source.vectors,
                notes=source.notes,
                graph=source.graph,
            )
            for position, source in enumerate(sources)
        ]
