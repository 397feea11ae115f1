"""The records of a space in one SQLite file."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from sqlalchemy import Connection, Dialect, Engine, PoolProxiedConnection, Table, create_engine
from sqlalchemy.engine import URL
from sqlalchemy.util import LRUCache

from langmem_tiers import private_files
from langmem_tiers.errors import StorageError
from langmem_tiers.settings import StorageSettings
from langmem_tiers.storage import functions, seals, sqlite_recorder
from langmem_tiers.storage.database import ENGINE, SPACE_NAME, WRITES, Database
from langmem_tiers.storage.errors_border import hides_interrupt, translated
from langmem_tiers.storage.folder import gone
from langmem_tiers.storage.fts5 import FtsTable
from langmem_tiers.storage.schema import HERE
from langmem_tiers.storage.sqlite_pool import SqlitePool
from langmem_tiers.storage.write_queue import HURRIED, queue_of

# Compiled statements kept: more than the package has.
_STATEMENTS = 2000
# Pages copied between two reports on a backup: 16 MB.
_PAGES = 4096
# Bytes that the write-ahead log keeps once it is folded into the file; otherwise it stays as long as it ever was.
_LOG_KEPT = 16 << 20
# Pages of it after which it is folded: SQLite's own number.
_LOG_FOLDED = 1000
# Seconds between two tries to get a lock.
_PAUSE = 0.005
# Marks the file as ours, so that someone else's database is never migrated: "LMTi" in ASCII.
APPLICATION_ID = 0x4C4D5469


_SIZES = """
SELECT coalesce(made.tbl_name, pages.name), sum(pages.pgsize)
FROM dbstat('main', 1) AS pages LEFT JOIN sqlite_schema AS made ON made.name = pages.name
GROUP BY 1
"""


class _SqliteWays:
    """What SQLite does in its own way."""

    def __init__(self) -> None:
        self.keyword = cache(FtsTable)

    recording = staticmethod(sqlite_recorder.recording)

    def note_shown(self, connection: Connection, others: Collection[str]) -> None:
        """Nothing: a look into the file tells."""

    def drop_shown(self, connection: Connection, other: str) -> None:
        """Nothing."""

    def sizes(self, connection: Connection) -> Sequence[Any]:
        """Each table with the bytes of its pages and those of its indexes; nothing if this SQLite cannot tell."""
        if not connection.exec_driver_sql("SELECT sqlite_compileoption_used('ENABLE_DBSTAT_VTAB')").scalar():
            return []
        return connection.exec_driver_sql(_SIZES).all()


_WAYS = _SqliteWays()


class SqliteFile(Database):
    """The records of one space in a file.

    `writing()` takes the write lock immediately (BEGIN IMMEDIATE: a deferred transaction that upgrades cannot wait for
    the lock). Writers of one process queue up first, so the busy timeout only has to cover other processes.
    """

    def __init__(self, path: Path, settings: StorageSettings) -> None:
        self.path = path
        self._path = str(path)
        self.space = HERE
        self._settings = settings
        self._engine = _engine(path, settings)
        self.writers = queue_of(path.resolve())
        self._file: tuple[int, int] | None = None
        self._spaces: tuple[int, int] | None = None
        self._gone = threading.Event()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that sees one moment of the records."""
        with translated(self.path), self._engine.connect() as connection:
            _wait_for_locks(connection.connection, self._settings.busy_timeout)
            with connection.begin():
                self._require_there()
                yield connection

    @contextmanager
    def writing(self, *, durable: bool = True, hurried: bool = False) -> Iterator[Connection]:
        """A connection whose changes are committed together; see `Database.writing`."""
        self._require_writable()
        durable = durable and not hurried
        with (
            self.writers.turn(hurried=hurried) as turn,
            translated(self.path),
            self._engine.connect() as any_connection,
        ):
            connection = any_connection.execution_options(**{WRITES: True})
            with _discarded_if_stopped(connection), _cursor(connection) as cursor:
                _seal_what_is_written(connection, seals.EVERYTHING if durable else seals.NOTES)
                _wait_for_locks(connection.connection, 0)
                with self._locked(cursor.execute, durable=durable, hurried=hurried), connection.begin():
                    turn.begun = True
                    yield connection
                    self._require_there()

    @contextmanager
    def _locked(self, execute: Callable[[str], Any], *, durable: bool, hurried: bool) -> Iterator[None]:
        """Take the write lock; afterwards, commits of the connection wait for the disk again."""
        try:
            patience = self._settings.busy_timeout
            self._begin_writing(execute, min(patience, HURRIED) if hurried else patience, durable=durable)
            yield
        except Exception:
            self._wait_for_disk(execute, durable=durable)
            raise
        self._wait_for_disk(execute, durable=durable)

    def _wait_for_disk(self, execute: Callable[[str], Any], *, durable: bool) -> None:
        if not durable:
            execute(f"PRAGMA wal_autocheckpoint={_LOG_FOLDED}")
            execute(f"PRAGMA synchronous={self._settings.synchronous}")

    def _begin_writing(self, execute: Callable[[str], Any], patience: float, *, durable: bool) -> None:
        """Take the write lock; a commit that is not `durable` waits for the disk only where that keeps what is older.

        SQLite syncs the header of the write-ahead log when it writes one, since over an older log it must not be lost.
        The log of a space that was just opened is empty: a header lost there costs that commit alone. So nothing is
        synced, nor folded into the file, which would need that.
        """
        if not durable and self._log_is_empty():
            execute("PRAGMA synchronous=OFF")
            execute("PRAGMA wal_autocheckpoint=0")
            _insist(execute, "BEGIN IMMEDIATE", patience)
            if self._log_is_empty():
                return
            execute("ROLLBACK")  # another process was faster
        if not durable:
            execute("PRAGMA synchronous=NORMAL")
        _insist(execute, "BEGIN IMMEDIATE", patience)

    def _log_is_empty(self) -> bool:
        try:
            return os.stat(f"{self._path}-wal").st_size == 0  # noqa: PTH116 - twice as fast
        except FileNotFoundError:
            return True

    def _require_there(self) -> None:
        """Refuse to go on with a deleted file: open connections would keep reading and writing it unseen."""
        file = _identity(self._path)
        if self._file is None and file is not None:
            self._file, self._spaces = file, _identity(str(self.path.parent.parent))
        elif file is None or file != self._file:
            raise self._deleted()

    def _deleted(self) -> StorageError:
        """Why there is no going on: the whole memory is gone, or only this space, which may then be begun anew."""
        if self._spaces is None or _identity(str(self.path.parent.parent)) != self._spaces:
            return gone(self.path.parent)
        self._gone.set()
        return StorageError(
            f"The space in {self.path.parent} was deleted since it was opened.",
            way_out="Nothing was stored. Repeat the call: it is opened anew, empty if nobody put it back.",
        )

    @property
    def is_gone(self) -> bool:
        """Whether the space was found deleted."""
        return self._gone.is_set()

    def backup(self, target: Path, advance: Callable[[int, int], None] | None = None) -> None:
        """Copy the whole database to `target`, as it is at one moment, while others keep writing.

        Args:
            target: The new file; it needs no write-ahead log beside it.
            advance: Called with the bytes that are copied and all there are.
        """
        source = sqlite3.connect(self.path, timeout=self._settings.busy_timeout, isolation_level=None)
        with translated(target), closing(source):
            private_files.create_empty(target)
            # The snapshot of this transaction is what is copied; otherwise every write of others would begin it anew.
            source.execute("BEGIN")
            size = source.execute("SELECT page_size FROM pragma_page_size").fetchone()[0]
            source.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            with closing(sqlite3.connect(target, isolation_level=None)) as copy:
                step = None if advance is None else _steps(advance, size)
                source.backup(copy, pages=_PAGES, progress=step)
                copy.execute("PRAGMA journal_mode=DELETE")

    def rewrite(self) -> bool:
        """Write the whole file anew, without free pages and remains of deleted rows, and empty the write-ahead log.

        Returns whether the log is empty: not while another connection reads an earlier moment.

        Raises:
            DatabaseLocked, DiskFull: the file is as it was.
        """
        with self.writers.turn() as turn, translated(self.path):
            connection = sqlite3.connect(self.path, timeout=self._settings.busy_timeout, isolation_level=None)
            try:
                connection.execute("PRAGMA secure_delete=ON")
                _vacuum(connection)
                turn.begun = True
                busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                connection.close()
        return not busy

    def empty_log(self) -> bool:
        """Fold the write-ahead log into the file, and empty it; False while another connection reads an earlier moment.

        Raises:
            DatabaseLocked, DiskFull: it is as it was.
        """
        with self.writers.turn() as turn, translated(self.path):
            connection = sqlite3.connect(self.path, timeout=self._settings.busy_timeout, isolation_level=None)
            try:
                turn.begun = True
                busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                connection.close()
        return not busy

    def size(self) -> int:
        """Bytes on disk, with the write-ahead log."""
        files = (self.path, self.path.with_name(self.path.name + "-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def close(self) -> None:
        """Close every connection; the last one folds the write-ahead log into the file."""
        self.writers.later.wait()
        self._engine.dispose()


def _vacuum(connection: sqlite3.Connection) -> None:
    """Write the file anew; if that fails, the log gives back what it took meanwhile."""
    try:
        connection.execute("VACUUM")
    except sqlite3.OperationalError as error:
        # Whoever holds the lock would be waited for once more.
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
            with suppress(sqlite3.Error):
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        raise


@contextmanager
def _discarded_if_stopped(connection: Connection) -> Iterator[None]:
    """Close the connection for good if the block is stopped from outside, as by Ctrl-C.

    That comes between any two instructions, also while commits do not wait for the disk, or a transaction has begun
    that SQLAlchemy does not know of yet.
    """
    try:
        yield
    except BaseException as error:
        if not isinstance(error, Exception) or hides_interrupt(error):
            connection.invalidate()
        raise


@contextmanager
def _cursor(connection: Connection) -> Iterator[sqlite3.Cursor]:
    """A cursor of the driver, closed in any case: with a statement that was refused, it would keep the file open."""
    cursor: Any = connection.connection.cursor()
    try:
        yield cursor
    finally:
        # SQLAlchemy closes a connection whose commit is stopped by Ctrl-C; then no cursor of it can be closed.
        if not connection.invalidated:
            cursor.close()


def _seal_what_is_written(connection: Connection, tables: Sequence[Table]) -> None:
    """Once for each connection, as soon as the file has seals; all of them take longer than what a recall writes."""
    pooled = connection.connection
    sealed = pooled.info.setdefault("sealed", set())
    if not sealed.issuperset(tables):
        raw: Any = pooled.driver_connection
        if seals.keep(raw, tables):
            sealed.update(tables)


def _steps(advance: Callable[[int, int], None], page: int) -> Callable[[int, int, int], None]:
    """What sqlite3 is to call after each step of a backup."""

    def step(_status: int, left: int, total: int) -> None:
        advance((total - left) * page, total * page)

    return step


@cache
def _shared() -> tuple[Dialect, LRUCache[Any, Any]]:
    """The dialect and the compiled statements of all engines.

    `create_engine` gives each engine its own, so every space that is opened would compile every statement again: that
    took longer than running them.
    """
    template = create_engine("sqlite://")
    with template.connect():  # the dialect learns from the first connection what this SQLite can do
        pass
    template.dispose()
    # Not as an event of the engine: with one, SQLAlchemy looks for listeners at every statement.
    template.dialect.do_begin = _begin  # type: ignore[assignment, method-assign]
    return template.dialect, LRUCache(_STATEMENTS)


def _begin(connection: PoolProxiedConnection) -> None:
    """Begin a snapshot, unless the lock for writing was taken: then the transaction has begun."""
    raw: Any = connection.driver_connection
    if not raw.in_transaction:
        raw.execute("BEGIN")


def _engine(path: Path, settings: StorageSettings) -> Engine:
    def connected() -> Any:
        connection = sqlite3.connect(path, timeout=settings.busy_timeout, check_same_thread=False)
        try:
            _prepare(connection, settings)
        except BaseException:
            connection.close()
            raise
        return connection

    dialect, compiled = _shared()
    return Engine(
        SqlitePool(connected, dialect=dialect),
        dialect,
        URL.create("sqlite", database=str(path)),
        execution_options={"compiled_cache": compiled, ENGINE: _WAYS, SPACE_NAME: HERE},
        hide_parameters=True,  # otherwise a database error quotes the stored values, in tracebacks too
    )


def _prepare(connection: sqlite3.Connection, settings: StorageSettings) -> None:
    # The driver's own transaction handling would turn IMMEDIATE into DEFERRED.
    connection.isolation_level = None
    seals.register(connection)
    functions.register(connection)
    with closing(connection.cursor()) as cursor:
        # The journal mode is written into the file, so leave someone else's file alone.
        is_ours = cursor.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
        if is_ours or cursor.execute("SELECT count(*) = 0 FROM sqlite_schema").fetchone()[0]:
            _use_wal(cursor, settings.busy_timeout)
        cursor.execute(f"PRAGMA synchronous={settings.synchronous}")
        cursor.execute("PRAGMA secure_delete=ON")
        cursor.execute("PRAGMA cell_size_check=ON")
        cursor.execute(f"PRAGMA journal_size_limit={_LOG_KEPT}")
        cursor.execute("PRAGMA cache_size=-16000")
        # Not mapped: whoever cuts the file off while it is mapped ends the process.
        cursor.execute("PRAGMA mmap_size=0")


def _wait_for_locks(connection: PoolProxiedConnection, patience: float) -> None:
    """Have SQLite itself wait that many seconds for a lock, as those who read do.

    It tries more and more rarely: of those who wait for the write lock, who waits longest would lose to those who come
    last, until it times out. So writers do not let it wait.
    """
    if connection.info.get("patience") != patience:
        raw: Any = connection.driver_connection
        raw.execute(f"PRAGMA busy_timeout={int(patience * 1000)}")
        connection.info["patience"] = patience


def _use_wal(cursor: sqlite3.Cursor, patience: float) -> None:
    """Switch to the write-ahead log. SQLite's busy timeout does not cover two processes creating a file at once."""
    _insist(cursor.execute, "PRAGMA journal_mode=WAL", patience)


def _identity(path: str) -> tuple[int, int] | None:
    """Which file or folder is there: another one in its place has another identity. None if there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116 - twice as fast, at each transaction
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _insist(execute: Callable[[str], Any], statement: str, patience: float) -> None:
    """Execute a statement, again and again while another connection holds the lock, but no longer than `patience`."""
    deadline = monotonic() + patience
    while True:
        try:
            execute(statement)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or monotonic() >= deadline:
                raise
            sleep(_PAUSE)
        else:
            return
