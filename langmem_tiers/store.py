"""The open parts of a space (records, vector search and projections), and the open spaces of a memory."""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple, Self
from uuid import uuid4

from filelock import Timeout

from langmem_tiers import private_files
from langmem_tiers.errors import DatabaseLocked, MemoryClosed, NotInAFolder, ServerUnreachable, StorageError
from langmem_tiers.knowledge_graph.projection import FILE as GRAPH_FILE
from langmem_tiers.knowledge_graph.projection import GraphProjection
from langmem_tiers.models.threads import SpareThreads
from langmem_tiers.settings import GraphSettings, RecallSettings, StorageSettings
from langmem_tiers.storage.change_log import Moment, moment
from langmem_tiers.storage.chroma import ChromaIndex
from langmem_tiers.storage.chroma_clearing import withdraw
from langmem_tiers.storage.chroma_client import ChromaServers
from langmem_tiers.storage.chroma_server import ServerNoteVectors, ServerVectors, Shelf
from langmem_tiers.storage.database import Database
from langmem_tiers.storage.drawer_columns import Columns, DrawerColumns, ServerColumns
from langmem_tiers.storage.drawers import newest
from langmem_tiers.storage.embedding_cache import Vectors
from langmem_tiers.storage.entries import Categories
from langmem_tiers.storage.errors_border import translated
from langmem_tiers.storage.folder import DATABASE, mark_space, size, space_folder
from langmem_tiers.storage.index_file import IndexFile, files
from langmem_tiers.storage.keyword import Postings, ServerWords, Words
from langmem_tiers.storage.leases import Lease
from langmem_tiers.storage.migrations import migrate
from langmem_tiers.storage.note_index import NoteHit, Notes, NoteSearch
from langmem_tiers.storage.notes import NoteKind
from langmem_tiers.storage.postgres.server import PostgresRecords
from langmem_tiers.storage.revision_index import RevisionIndex
from langmem_tiers.storage.server_notes import ServerNotes
from langmem_tiers.storage.sqlite_file import SqliteFile
from langmem_tiers.storage.vector_search import VectorIndex, VectorSearch
from langmem_tiers.telemetry.logs import say

log = logging.getLogger(__name__)

# Bytes that an open space takes without its drawers, for connections and their pages; and its Chroma client.
_OPEN, _CHROMA = 4_000_000, 10_000_000
# Files that are open for it, with three connections to its database; and for its Chroma client.
_FILES, _CHROMA_FILES = 8, 14
# So many spaces are closed at once beside those who use others.
_CLOSERS = 2
# Seconds after which whoever holds the right to a task on a server has lost it.
_LONGEST_TASK = 600.0
# Bytes of one on a server without its graph.
_ON_SERVER = 200_000


# Seconds between two looks whether a space may be opened again, should nobody tell.
_LOOKS = 1.0


class AtRest(NamedTuple):
    """How the background left a space: all done up to a position of the log, and more due by the clock or never.

    `ways` names what it works by, `indexed` says whether there is an index file.
    """

    head: int
    ways: str
    indexed: bool
    due: int | None


class Held(NamedTuple):
    """What an open space takes: bytes of memory, with what is mapped from files, and open files."""

    memory: int
    files: int


_NOTHING = Held(0, 0)


class SpaceSizes(NamedTuple):
    """Where a space is kept, and the bytes of its records, Chroma, index file, graph and other files."""

    where: str
    records: int
    chroma: int = 0
    index_file: int = 0
    graph: int = 0
    others: int = 0


class SpaceStore(ABC):
    """Everything that is open for a space; `close` releases files, threads and projections.

    `reading()` and `writing()` are the transactions on its records, in which `key` names it; see `Database`.
    """

    index_file: IndexFile | None = None
    chroma: ChromaIndex | None = None
    folder: Path | None = None
    """The folder of its files, None if it is on a server."""
    shelves: tuple[Shelf, ...] = ()
    """Its kinds of vectors on a Chroma server."""

    def __init__(
        self,
        name: str,
        database: Database,
        *,
        model: str | None,
        graph: GraphProjection,
        words: Words,
        columns: Columns,
        vectors: VectorIndex | None,
        notes: Notes,
    ) -> None:
        self.name = name
        self.writable = True
        self.model = model
        self.database = database
        self.key = database.space
        self.reading = database.reading
        self.writing = database.writing
        self.vectors = vectors
        self.words = words
        self.columns = columns
        self.notes = notes
        self.revisions = RevisionIndex(self.key)
        self.categories = Categories(self.key)
        self.purging = threading.Lock()
        """Held while the bytes of deleted records are erased."""
        self.at_rest: AtRest | None = None
        """How the background has left it since it was opened; None before it came, and while there is more to do."""
        self.graph = graph

    def search_notes(
        self,
        moment: Moment,
        terms: Sequence[str],
        vector: Vectors | None,
        most: int,
        kinds: Collection[NoteKind],
        *,
        settings: RecallSettings = RecallSettings(),  # noqa: B008 - a frozen value
    ) -> list[NoteHit]:
        """What `notes` finds; while the server of their vectors does not answer, by words only, which is logged."""
        try:
            return self.notes.search(moment, terms, vector, most, kinds, settings=settings)
        except ServerUnreachable as error:
            if vector is None:  # it is the database that does not answer
                raise
            say(log, logging.WARNING, "searched_by_words", space=self.name, error=error, reason=error)
        return self.notes.search(moment, terms, None, most, kinds, settings=settings)

    def for_reading(self) -> Self:
        """The same store for somebody who may only read them; it is not closed by itself."""
        view = copy(self)
        view.writable, view.database = False, self.database.for_reading()
        view.writing = view.database.writing
        return view

    @abstractmethod
    def held(self) -> Held:
        """What it takes while it is open, about."""

    @abstractmethod
    def reset_index(self) -> None:
        """Forget what is in memory of the drawers: it is read again."""

    @abstractmethod
    def exclusively(self, task: str) -> AbstractContextManager[bool]:
        """Hold the right to a task during the block; False if somebody else has it. A crash gives it up."""

    @abstractmethod
    def sizes(self) -> SpaceSizes:
        """How many bytes it takes, and where."""

    def withdraw_vectors(self) -> bool:
        """Remove the vectors of what was deleted from servers at once; False if only the background can tell.

        Raises:
            ServerUnreachable: one does not answer.
        """
        return True

    @property
    def in_folder(self) -> FolderStore:
        """The same, for what is done to the files of a space.

        Raises:
            NotInAFolder: it has none.
        """
        raise NotInAFolder(f"The space {self.name!a} is on a server, and has no files here.")

    def close(self) -> None:
        """Release everything; Chroma is marked as closed cleanly, and the graph is written to its file.

        Raises:
            DatabaseLocked, DiskFull: Chroma could not be marked, and will be rebuilt; everything is released.
        """
        with ExitStack() as last_to_first:
            last_to_first.callback(self.database.close)
            if self.chroma is not None:
                last_to_first.callback(self.chroma.close)
            last_to_first.callback(self.graph.close)


class FolderStore(SpaceStore):
    """A space in a folder of its own, with a SQLite file and projections in files beside it."""

    folder: Path
    index_file: IndexFile
    words: Postings
    columns: DrawerColumns
    vectors: VectorSearch | None

    def __init__(
        self, memory: Path, name: str, settings: StorageSettings, *, model: str | None, graph: GraphSettings
    ) -> None:
        self.folder = space_folder(memory, name)
        database = SqliteFile(self.folder / DATABASE, settings)
        try:
            migrate(database)
            mark_space(self.folder, name)
        except BaseException:
            database.close()
            raise
        key, self.index_file, vectors = database.space, IndexFile(self.folder, database, model), None
        if model is not None:
            exact_below, least = settings.exact_below, settings.chroma_above
            self.chroma = ChromaIndex(self.folder, database, model, least=least, exact_below=exact_below)
            vectors = VectorSearch(key, model, self.chroma, self.index_file, exact_below=exact_below)
        super().__init__(
            name,
            database,
            model=model,
            graph=GraphProjection(self.folder, database, graph),
            words=Postings(key),
            columns=DrawerColumns(key, self.index_file),
            vectors=vectors,
            notes=NoteSearch(key, model),
        )
        self.file = database

    @property
    def in_folder(self) -> FolderStore:
        """The store itself."""
        return self

    @contextmanager
    def exclusively(self, task: str) -> Iterator[bool]:
        """Hold the right to a task during the block, by a lock on a file."""
        lock = private_files.lock(self.folder / f"{task}.lock")
        with translated(self.folder):
            try:
                lock.acquire(timeout=0)
            except Timeout:
                ours = False
            else:
                ours = True
        try:
            yield ours
        finally:
            lock.release()

    def sizes(self) -> SpaceSizes:
        """How many bytes its files take."""
        of_index = sum(size(file) for file in files(self.folder))
        known = (self.database.size(), size(self.folder / "chroma"), of_index, size(self.folder / GRAPH_FILE))
        return SpaceSizes(str(self.folder), *known, others=max(0, size(self.folder) - sum(known)))

    def held(self) -> Held:
        """What it takes while it is open, about."""
        drawers = self.words.bytes_held() + self.columns.bytes_held()
        drawers += 0 if self.vectors is None else self.vectors.bytes_held()
        memory = _OPEN + drawers + self.graph.bytes_held()
        if self.chroma is not None and self.chroma.owned:
            return Held(memory + _CHROMA, _FILES + _CHROMA_FILES)
        return Held(memory, _FILES)

    def write_index_file(self, stop: Callable[[], bool] = lambda: False) -> None:
        """Write the drawers in memory, or else those in the records, to the file that the next process maps.

        Raises:
            WritingStopped: `stop` said so.
            StorageError: it cannot be written.
        """
        with self.reading() as connection:
            now = moment(connection, self.key)
            with self.index_file.writing(now, newest(connection, self.key), stop) as writer:
                self.columns.write(now, writer)
                if self.vectors is not None:
                    self.vectors.write(now, writer)
        if self.vectors is not None:
            with self.reading() as connection:
                self.vectors.reopen(moment(connection, self.key))

    def reset_index(self) -> None:
        """Forget what is in memory of the drawers: it is read again, from the file or the records."""
        self.columns.reset()
        if self.vectors is not None:
            self.vectors.reset()


class ServerStore(SpaceStore):
    """A space on a server. Nothing of it is kept here but its graph."""

    database: PostgresRecords

    def __init__(
        self,
        name: str,
        database: PostgresRecords,
        *,
        model: str | None,
        graph: GraphSettings,
        chroma: ChromaServers | None,
    ) -> None:
        vectors = note_vectors = None
        if model is not None:
            vectors = ServerVectors(database, model, chroma)
            note_vectors = ServerNoteVectors(database, model, chroma)
        self.shelves = tuple(each for each in (vectors, note_vectors) if each is not None)
        self._chroma_servers = chroma
        super().__init__(
            name,
            database,
            model=model,
            graph=GraphProjection(None, database, graph),
            words=ServerWords(database.space),
            columns=ServerColumns(database.space),
            vectors=vectors,
            notes=ServerNotes(database.space, note_vectors),
        )

    def held(self) -> Held:
        """What it takes while it is open, about; connections are the server's."""
        return Held(_ON_SERVER + self.graph.bytes_held(), 0)

    def reset_index(self) -> None:
        """Nothing: nothing of the drawers is in memory."""

    def withdraw_vectors(self) -> bool:
        """Remove the vectors of what was deleted from the Chroma servers."""
        return withdraw(self.database, self._chroma_servers)

    @contextmanager
    def exclusively(self, task: str) -> Iterator[bool]:
        """Hold the right to a task during the block, by a lease that lapses after some minutes."""
        lease = Lease(self.database, task, uuid4().hex, _LONGEST_TASK)
        fence = lease.acquire()
        try:
            yield fence is not None
        finally:
            if fence is not None:
                lease.release(fence)

    def sizes(self) -> SpaceSizes:
        """How many bytes its rows take."""
        return SpaceSizes(self.database.where, self.database.size())


@dataclass
class _Slot:
    """A space, opened by the first caller; others wait for it. `held` is what it took when it was last used.

    `users` has something of each call that works with it: unlike in a number, that is there or is not, wherever Ctrl-C
    stops the call.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    store: SpaceStore | None = None
    users: set[object] = field(default_factory=set)
    held: Held = _NOTHING


class OpenSpaces:
    """Hands out open spaces that take at most so much together, or more while more are in use.

    One space stays open, however large it is. The others are closed by a thread, so that nobody waits for their files;
    `leave` is called with each before that.
    """

    def __init__(
        self, open_space: Callable[[str], SpaceStore], most: Held, *, leave: Callable[[SpaceStore], None]
    ) -> None:
        self._open_space = open_space
        self._leave = leave
        self._most = most
        self._slots: OrderedDict[str, _Slot] = OrderedDict()
        self._gone: list[_Slot] = []  # found deleted, and still in use
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._kept_closed: set[str] = set()
        self._closing: set[str] = set()
        self._closers = SpareThreads(_CLOSERS, "langmem-tiers-closing")
        self._closed = False

    @contextmanager
    def use(self, name: str) -> Iterator[SpaceStore]:
        """The open space, kept open during the block.

        Raises:
            MemoryClosed: `close` was called.
        """
        slot, user = _Slot(), object()
        try:
            with self._lock:  # not `_changed`, which Ctrl-C can leave locked: its `__enter__` is Python
                self._wait_while_closed(name)
                self.require_open()
                slot = self._slots.setdefault(name, slot)
                self._slots.move_to_end(name)
                slot.users.add(user)
            with slot.lock:
                if slot.store is None:
                    slot.store = self._open_space(name)
            yield slot.store
        finally:
            slot.users.discard(user)  # before anything else, as a second Ctrl-C may come here
            with self._lock:
                self._changed.notify_all()
                gone = self._drop_gone(name, slot)
                if self._slots.get(name) is not slot:
                    pass  # it was dropped, perhaps by another thread, as nobody used it any more
                elif slot.store is not None:
                    slot.held = slot.store.held()
                elif not slot.users:
                    self._slots.pop(name)
                idle = [*gone, *self._drop_idle()]
                self._closing.update(store.name for store in idle)
            self._close_behind(idle)

    @contextmanager
    def closed(self, name: str, patience: float) -> Iterator[None]:
        """Keep a space closed during the block; whoever wants it waits until the end of it.

        Raises:
            DatabaseLocked: somebody in this process works with it for longer than `patience` seconds.
            MemoryClosed: `close` was called.
        """
        with self._lock:
            self._wait_while_closed(name)
            self.require_open()
            self._kept_closed.add(name)
        try:
            slot = self._left_by_all(name, patience)
            if slot is not None and slot.store is not None:
                slot.store.close()
            yield
        finally:
            self._kept_closed.discard(name)
            with self._lock:
                self._changed.notify_all()

    def _wait_while_closed(self, name: str) -> None:
        """Wait, with the lock held, while a space is kept closed or being closed."""
        while name in self._kept_closed or name in self._closing:
            self._changed.wait(_LOOKS)

    def is_kept_closed(self, name: str) -> bool:
        """Whether a space is being kept closed: whoever works with it should come to an end."""
        return name in self._kept_closed

    def _left_by_all(self, name: str, patience: float) -> _Slot | None:
        """The slot of a space, once nobody uses it; it is no longer among those that are open."""
        with self._lock:
            if not self._changed.wait_for(lambda: not self._slots.get(name, _Slot()).users, patience):
                raise DatabaseLocked(f"The space {name!a} is in use.", way_out="Wait for that, and repeat the call.")
            return self._slots.pop(name, None)

    def opened(self) -> list[SpaceStore]:
        """The spaces that are open; they may be closed at any time."""
        with self._lock:
            return [slot.store for slot in self._slots.values() if slot.store is not None]

    def finish_writing(self) -> None:
        """Wait for what is still to be written, such as receipts of recalls that were answered before that."""
        for store in self.opened():
            store.database.writers.later.wait()

    def close(self) -> None:
        """Close all spaces; those in use are closed when they are released."""
        with self._lock:
            self._closed = True
            idle = self._drop_idle()
        self._closers.close()
        self._close_all(idle)

    def require_open(self) -> None:
        """Check that `close` was not called.

        Raises:
            MemoryClosed: it was.
        """
        if self._closed:
            raise MemoryClosed("This memory is closed.")

    def _drop_gone(self, name: str, slot: _Slot) -> list[SpaceStore]:
        """Have the next one open a space anew that was found deleted; returns those that nobody uses any more."""
        if self._slots.get(name) is slot and slot.store is not None and slot.store.database.is_gone:
            self._gone.append(self._slots.pop(name))
        left = [each for each in self._gone if not each.users]
        self._gone = [each for each in self._gone if each.users]
        return [each.store for each in left if each.store is not None]

    def _drop_idle(self) -> list[SpaceStore]:
        """Evict the least recently used idle spaces until the others are small enough; all, once it is closed."""
        memory = sum(slot.held.memory for slot in self._slots.values())
        files_open = sum(slot.held.files for slot in self._slots.values())
        dropped: list[SpaceStore] = []
        for name, slot in list(self._slots.items()):
            fits = memory <= self._most.memory and files_open <= self._most.files
            if not self._closed and (fits or len(self._slots) == 1):
                break
            if not slot.users:
                del self._slots[name]
                memory -= slot.held.memory
                files_open -= slot.held.files
                if slot.store is not None:
                    dropped.append(slot.store)
        return dropped

    def _close_behind(self, stores: Iterable[SpaceStore]) -> None:
        """Have each closed in another thread; here if none is free."""
        for store in stores:
            if self._closers.begin(partial(self._closed_behind, store)) is None:
                self._closed_behind(store)

    def _closed_behind(self, store: SpaceStore) -> None:
        try:
            self._close_all([store])
        except Exception as error:  # noqa: BLE001 - nobody takes what this thread raises; what is left is found next time
            why = error if isinstance(error, StorageError) else None
            say(log, logging.WARNING, "space_not_closed", space=store.name, error=error, reason=why, trace=why is None)
        finally:
            self._closing.discard(store.name)
            with self._lock:
                self._changed.notify_all()

    def _close_all(self, stores: Iterable[SpaceStore]) -> None:
        """Close each, even if closing another one fails."""
        with ExitStack() as closing:
            for store in stores:
                closing.callback(store.close)
                closing.callback(self._leave, store)
