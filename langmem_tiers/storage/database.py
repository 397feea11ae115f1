"""The records of a space, whatever engine keeps them: two kinds of transaction, and what engines do in own ways."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from copy import copy
from typing import Any, Protocol, Self, cast

from sqlalchemy import Connection

from langmem_tiers.errors import READ_ONLY, ReadOnlyForMembers
from langmem_tiers.storage.write_queue import WriteQueue

# What a connection carries: the engine's own ways, the space, and whether it writes.
ENGINE, SPACE_NAME, WRITES = "engine", "space", "immediate"


class Database(ABC):
    """The records of one space.

    `reading()` gives a snapshot, `writing()` holds the lock of the space and commits at the end of the block. No
    transaction is held while a model or an embedder works.
    """

    space: str
    """What the column `space` of its rows holds."""
    writers: WriteQueue
    """Its writers in this process."""
    connections: Connections | None = None
    """What its connections are taken from; None where each space has its own."""

    _writable = True

    def for_reading(self) -> Self:
        """The same records for somebody who may only read them: `writing` is refused."""
        view = copy(self)
        view._writable = False
        return view

    @property
    def is_gone(self) -> bool:
        """Whether the space was found deleted, so that whoever wants it next has to open it anew."""
        return False

    @abstractmethod
    def reading(self) -> AbstractContextManager[Connection]:
        """A connection that sees one moment of the records.

        Raises:
            StorageError: they cannot be read, or the space was deleted or replaced since it was opened.
        """

    def beside(self, connection: Connection) -> AbstractContextManager[Connection]:
        """A connection that sees the records as of now, for whoever is in a transaction on another space.

        It is the same one if it leads here: whoever held one while waiting for a second could wait for somebody who
        does the same. The other space is not seen during the block; after an error, the transaction is to be ended.

        Raises:
            StorageError: they cannot be read, or the space was deleted or replaced since it was opened.
        """
        return self.reading()

    @abstractmethod
    def writing(self, *, durable: bool = True, hurried: bool = False) -> AbstractContextManager[Connection]:
        """A connection whose changes are committed together at the end of the block, or not at all.

        A commit that is not `durable` survives a crash of the process, but the latest may be lost on power failure:
        fine for notes about recalls, never for memories.
        Of those notes only receipts hold texts, so no others are sealed then.
        One that is `hurried` waits for the lock for no longer than `HURRIED`, and is not durable.

        Raises:
            DatabaseLocked, DiskFull, FolderNotWritable, DatabaseDamaged, ServerUnreachable: nothing was written.
            StorageError: the space was deleted or replaced since it was opened.
            ReadOnlyForMembers: it is a view for reading.
        """

    @abstractmethod
    def size(self) -> int:
        """Bytes on disk."""

    def rewrite(self) -> bool:
        """Erase the remains of deleted rows, unless a server does so by itself; False if that has to wait."""
        return True

    def empty_log(self) -> bool:
        """Erase those in the log of what was written too; False if that has to wait."""
        return True

    @abstractmethod
    def close(self) -> None:
        """Release what it holds."""

    def _require_writable(self) -> None:
        if not self._writable:
            raise ReadOnlyForMembers(READ_ONLY)


class Connections(Protocol):
    """Connections of which there are so many that those who need several at the same time wait for each other."""

    where: str

    def several(self, number: int) -> AbstractContextManager[None]:
        """Let this thread, which has none yet, take so many during the block; others do that before or after it.

        Raises:
            ServerBusy: its turn did not come in time.
            StorageError: there are never so many.
        """


@contextmanager
def room_for(databases: Sequence[Database]) -> Iterator[None]:
    """Have the right to begin a transaction on each of several databases during the block, and do no more in it.

    Whoever held one while waiting for the next could wait for somebody who does the same.

    Raises:
        ServerBusy: there was no room in time.
        StorageError: there are never so many connections.
    """
    wanted = Counter(each.connections for each in databases if each.connections is not None)
    with ExitStack() as stack:
        if wanted.total() > 1:
            for connections in sorted(wanted, key=lambda each: each.where):  # in the same order for all
                stack.enter_context(connections.several(wanted[connections]))
        yield


class SqlEngine(Protocol):
    """What an engine does in its own way; everything else is the same statements for all."""

    def keyword(self, table: str) -> Any:
        """The `KeywordIndex` that is kept in this table."""

    def recording(self, connection: Connection, space: str) -> AbstractContextManager[list[Any]]:
        """Records which rows change during the block, as `ChangedRecord`s."""

    def note_shown(self, connection: Connection, others: Collection[str]) -> None:
        """Note that receipts of the space show something of these others, if that is how such receipts are found."""

    def drop_shown(self, connection: Connection, other: str) -> None:
        """Note that no receipt of the space shows anything of another one any more."""

    def sizes(self, connection: Connection) -> Sequence[Any]:
        """The tables of a space with the bytes that they take; none where that cannot be told."""


def engine_of(connection: Connection) -> SqlEngine:
    """The engine behind a connection."""
    return cast("SqlEngine", connection.get_execution_options()[ENGINE])


def space_of(connection: Connection) -> str:
    """The space that a connection was opened for."""
    return str(connection.get_execution_options()[SPACE_NAME])


def writes(connection: Connection) -> bool:
    """Whether a connection is in a writing transaction."""
    return bool(connection.get_execution_options().get(WRITES))
