"""Where the spaces of a memory are kept: in a folder, or on servers, one or several.

Nothing else asks which it is, but for what is done to files: a space on servers has none (`SpaceStore.folder`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

from langmem_tiers.errors import InvalidInput, StorageError
from langmem_tiers.settings import GraphSettings, Settings, StorageSettings
from langmem_tiers.storage import folder, forgetting
from langmem_tiers.storage.chroma_clearing import SpaceClearing
from langmem_tiers.storage.chroma_client import ChromaServers
from langmem_tiers.storage.database import Database
from langmem_tiers.storage.postgres.server import Part, PostgresServer
from langmem_tiers.storage.postgres.work_queue import SpaceQueue, SpreadQueue
from langmem_tiers.storage.spread import chosen
from langmem_tiers.storage.sqlite_file import SqliteFile
from langmem_tiers.store import FolderStore, ServerStore, SpaceStore
from langmem_tiers.types import Health


class Backend(ABC):
    """The place of a memory. `where` names it in messages."""

    where: str
    queue: SpaceQueue | None = None
    """What several processes share their background work by, None if each does that of the spaces it uses."""
    unerased: tuple[str, ...] = ()
    """What of deleted records stays a while where nothing here can erase it, each with what to do about it."""

    def is_at(self, other: Backend) -> bool:
        """Whether another one is the same place."""
        return self.where == other.where

    def require_there(self) -> None:
        """Check that the place is still there, if that can be told without waiting.

        Raises:
            StorageError: it is gone.
        """
        return

    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The names of all spaces, sorted.

        Raises:
            StorageError: the place is gone.
        """

    @abstractmethod
    def has(self, name: str) -> bool:
        """Whether a space of this name exists; never begins one.

        Raises:
            StorageError: the place is gone.
        """

    @abstractmethod
    def open(self, name: str, *, model: str | None, graph: GraphSettings) -> SpaceStore:
        """Open a space, which is begun if there is none.

        Raises:
            StorageError: it cannot be opened.
        """

    @abstractmethod
    def records(self, name: str) -> AbstractContextManager[Database]:
        """The records of a space that is there, and nothing else of it."""

    @abstractmethod
    def onlookers(self, name: str) -> tuple[str, ...]:
        """The spaces whose receipts may show something of this one, sorted; also of one that is not there any more."""

    def may_show(self, name: str, other: str) -> bool:
        """Whether the receipts of an onlooker still may; a quick look.

        Raises:
            StorageError: they cannot be read.
        """
        return True

    @abstractmethod
    def delete(self, name: str) -> bool:
        """Delete a space from the place; False if there was none.

        Raises:
            DatabaseLocked: another process has it open. Nothing was deleted.
            ServerUnreachable: the server of its vectors does not answer, or was not named; its records are still there.
        """

    @abstractmethod
    def analyze(self) -> None:
        """Have the place look at how much it holds, after very much came at once: a database plans by that."""

    @abstractmethod
    def health(self) -> Health:
        """Whether what it consists of answers."""

    @abstractmethod
    def close(self) -> None:
        """Release what is open."""


class FolderBackend(Backend):
    """A folder on this machine, with a folder for each space."""

    def __init__(self, path: Path, settings: StorageSettings) -> None:
        self.path = path
        self.where = str(path)
        self._settings = settings

    def require_there(self) -> None:
        """Check that the folder was neither moved nor deleted."""
        folder.require_there(self.path)

    def names(self) -> tuple[str, ...]:
        """The names of all spaces, sorted."""
        self.require_there()
        return folder.space_names(self.path)

    def has(self, name: str) -> bool:
        """Whether a space of this name exists."""
        self.require_there()
        return folder.has_space(self.path, name)

    def open(self, name: str, *, model: str | None, graph: GraphSettings) -> SpaceStore:
        """Open a space."""
        return FolderStore(self.path, name, self._settings, model=model, graph=graph)

    @contextmanager
    def records(self, name: str) -> Iterator[Database]:
        """The database file of a space."""
        database = SqliteFile(self._database(name), self._settings)
        try:
            yield database
        finally:
            database.close()

    def onlookers(self, name: str) -> tuple[str, ...]:
        """All others."""
        return tuple(each for each in self.names() if each != name)

    def may_show(self, name: str, other: str) -> bool:
        """Whether the receipts in the file name the other space."""
        return forgetting.file_names_space(self._database(name), other)

    def _database(self, name: str) -> Path:
        return folder.space_folder(self.path, name) / folder.DATABASE

    def delete(self, name: str) -> bool:
        """Delete the folder of a space."""
        return folder.delete_space(self.path, name)

    def analyze(self) -> None:
        """Nothing: the plans of a file do not depend on that."""

    def health(self) -> Health:
        """Whether the folder can be read."""
        problems = _failures([lambda: folder.look_at(self.path)])
        return Health(records=not problems, vectors=True, problems=problems)

    def close(self) -> None:
        """Nothing: each space closes its own files."""


class ServerBackend(Backend):
    """A PostgreSQL database for the records; vectors are on Chroma servers."""

    queue: SpaceQueue
    unerased = (
        "the servers' own files hold the bytes until they use that room again; of PostgreSQL's, VACUUM frees it",
    )

    def __init__(self, server: PostgresServer, chroma: ChromaServers | None) -> None:
        self.where = server.where
        self.queue = server.queue
        self.prefix = server.prefix
        self._server = server
        self._chroma = chroma

    def is_at(self, other: Backend) -> bool:
        """Whether another one has its spaces in the same place of the same database."""
        return isinstance(other, ServerBackend) and super().is_at(other) and self.prefix == other.prefix

    def names(self) -> tuple[str, ...]:
        """The names of all spaces, sorted."""
        return self._server.names()

    def has(self, name: str) -> bool:
        """Whether a space of this name exists."""
        return self._server.has(name)

    def open(self, name: str, *, model: str | None, graph: GraphSettings) -> SpaceStore:
        """Open a space."""
        return ServerStore(name, self._server.records(name), model=model, graph=graph, chroma=self._chroma)

    @contextmanager
    def records(self, name: str) -> Iterator[Database]:
        """The rows of a space."""
        yield self._server.records(name)

    def onlookers(self, name: str) -> tuple[str, ...]:
        """Those that noted so."""
        return tuple(each for each in self._server.onlookers(name) if each != name)

    def delete(self, name: str) -> bool:
        """Delete the vectors of a space, and then all its rows."""
        return self._server.delete(name, SpaceClearing(self._chroma))

    def analyze(self) -> None:
        """Have the database analyze its tables."""
        self._server.analyze()

    def health(self) -> Health:
        """Whether the database and the Chroma servers answer."""
        records = _failures([self._server.ask])
        vectors = () if self._chroma is None else _failures(self._chroma.asking())
        return Health(records=not records, vectors=not vectors, problems=records + vectors)

    def close(self) -> None:
        """Close every connection."""
        self._server.close()
        if self._chroma is not None:
            self._chroma.close()


class SpreadBackend(Backend):
    """Several databases as one place: a hash of its name says which of them a space is in."""

    unerased = ServerBackend.unerased

    def __init__(self, parts: Sequence[ServerBackend]) -> None:
        self._parts = tuple(parts)
        self.where = ", ".join(each.where for each in parts)
        self.queue = SpreadQueue([each.queue for each in parts])

    def names(self) -> tuple[str, ...]:
        """The names of all spaces, sorted."""
        return tuple(sorted(name for each in self._parts for name in each.names()))

    def has(self, name: str) -> bool:
        """Whether a space of this name exists."""
        return self._of(name).has(name)

    def open(self, name: str, *, model: str | None, graph: GraphSettings) -> SpaceStore:
        """Open a space."""
        return self._of(name).open(name, model=model, graph=graph)

    def records(self, name: str) -> AbstractContextManager[Database]:
        """The rows of a space."""
        return self._of(name).records(name)

    def onlookers(self, name: str) -> tuple[str, ...]:
        """Those of each database."""
        return tuple(sorted(other for each in self._parts for other in each.onlookers(name)))

    def delete(self, name: str) -> bool:
        """Delete a space."""
        return self._of(name).delete(name)

    def analyze(self) -> None:
        """Have each database analyze its tables."""
        for each in self._parts:
            each.analyze()

    def health(self) -> Health:
        """Whether all databases and Chroma servers answer."""
        found = [each.health() for each in self._parts]
        problems = dict.fromkeys(problem for each in found for problem in each.problems)
        return Health(
            records=all(each.records for each in found),
            vectors=all(each.vectors for each in found),
            problems=tuple(problems),
        )

    def close(self) -> None:
        """Close every connection."""
        for each in self._parts:
            each.close()

    def _of(self, name: str) -> ServerBackend:
        return chosen(name, self._parts)


def _failures(asked: Iterable[Callable[[], None]]) -> tuple[str, ...]:
    """What goes wrong when each is asked."""
    found: list[str] = []
    for ask in asked:
        try:
            ask()
        except StorageError as error:
            found.append(error.message)
    return tuple(found)


def in_folder(path: Path, settings: Settings) -> Backend:
    """The memory in a folder; a new folder is made.

    Raises:
        StorageError: it cannot be used.
    """
    return FolderBackend(folder.open_memory_folder(path, prompts=settings.directives), settings.storage)


def on_servers(addresses: Sequence[str], chroma: Sequence[str], settings: Settings) -> Backend:
    """The memory in PostgreSQL databases and, for its vectors, on Chroma servers; a new schema is made.

    Raises:
        StorageError: one of them cannot be used.
        MissingExtra: the driver is not installed.
        InvalidInput: one is no address, or named twice.
    """
    for several in (addresses, chroma):
        if len(set(several)) < len(several):
            raise InvalidInput("A server is named twice.", way_out="Name each of them once.")
    vectors = ChromaServers(chroma) if chroma else None
    with ExitStack() as opened:
        parts: list[ServerBackend] = []
        for number, address in enumerate(addresses, start=1):
            part = Part(number, len(addresses))
            parts.append(ServerBackend(PostgresServer(address, settings.storage, part=part), vectors))
            opened.callback(parts[-1].close)
        opened.pop_all()
    return parts[0] if len(parts) == 1 else SpreadBackend(parts)
