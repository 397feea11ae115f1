"""One open space: its records, its vector search, and its projections: Chroma and the graph."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from sqlalchemy import Connection

from langmem_tiers.knowledge_graph.projection import GraphProjection
from langmem_tiers.settings import GraphSettings, StorageSettings
from langmem_tiers.storage.chroma_index import ChromaIndex
from langmem_tiers.storage.database import Database
from langmem_tiers.storage.drawer_columns import DrawerColumns
from langmem_tiers.storage.folder import DATABASE, mark_space, space_folder
from langmem_tiers.storage.migrations import migrate
from langmem_tiers.storage.note_index import NoteSearch
from langmem_tiers.storage.postings import Postings
from langmem_tiers.storage.vector_search import VectorSearch


class SpaceStore:
    """Everything that is open of a space; `close` lets go of files, threads and projections."""

    def __init__(
        self, memory: Path, name: str, settings: StorageSettings, *, model: str | None, graph: GraphSettings
    ) -> None:
        self.name = name
        self.folder = space_folder(memory, name)
        self.database = Database(self.folder / DATABASE, settings)
        self.key = self.database.space
        try:
            migrate(self.database)
            mark_space(self.folder, name)
        except BaseException:
            self.database.close()
            raise
        self.chroma = None if model is None else ChromaIndex(self.folder, self.database, model)
        self.vectors = self._search(settings, model)
        self.words = Postings(self.key)
        self.columns = DrawerColumns(self.key)
        self.notes = NoteSearch(self.key, model)
        self.graph = GraphProjection(self.folder, self.database, graph)

    def reading(self) -> AbstractContextManager[Connection]:
        """A snapshot of the records."""
        return self.database.reading()

    def writing(self, *, durable: bool = True) -> AbstractContextManager[Connection]:
        """A transaction on the records; see `Database.writing`."""
        return self.database.writing(durable=durable)

    def close(self) -> None:
        """Let go of everything; Chroma is noted as left clean, and the graph is written to its file."""
        self.graph.close()
        if self.chroma is not None:
            self.chroma.close()
        self.database.close()

    def _search(self, settings: StorageSettings, model: str | None) -> VectorSearch | None:
        if self.chroma is None or model is None:
            return None
        return VectorSearch(self.key, model, self.chroma, exact_below=settings.exact_below)
