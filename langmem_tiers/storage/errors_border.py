"""The single place where database and file errors become this package's errors; bugs pass through unchanged."""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.exc import DBAPIError

from langmem_tiers.errors import (
    DatabaseDamaged,
    DatabaseLocked,
    DiskFull,
    FolderNotWritable,
    InvalidText,
    LinkRefused,
    MemoryTiersError,
    StorageError,
    TooManyFiles,
)
from langmem_tiers.wording import beginning

# Primary result codes of SQLite (https://www.sqlite.org/rescode.html) and what they mean to a user.
_BY_CODE: dict[int, tuple[type[StorageError], str]] = {
    sqlite3.SQLITE_BUSY: (DatabaseLocked, "The memory is locked by another process"),
    sqlite3.SQLITE_LOCKED: (DatabaseLocked, "The memory is locked by another transaction"),
    sqlite3.SQLITE_FULL: (DiskFull, "The disk is full"),
    sqlite3.SQLITE_READONLY: (FolderNotWritable, "The memory is read-only"),
    sqlite3.SQLITE_PERM: (FolderNotWritable, "The memory may not be opened"),
    sqlite3.SQLITE_CANTOPEN: (FolderNotWritable, "The memory cannot be opened"),
    sqlite3.SQLITE_CORRUPT: (DatabaseDamaged, "The database is damaged"),
    sqlite3.SQLITE_NOTADB: (DatabaseDamaged, "The file is not a database"),
    sqlite3.SQLITE_CONSTRAINT: (DatabaseDamaged, "The records contradict each other"),
    sqlite3.SQLITE_IOERR: (StorageError, "Reading or writing failed"),
}

# Bytes of a path: SQLite's 512, less those of what it appends for its own files beside it.
_LONGEST_PATH = 504

# Messages of SQLite and its driver, without an error code, when stored bytes are not what was written.
_SIGNS_OF_DAMAGE = (
    "Could not decode to UTF-8",
    "no such table",
    "no such column",
    "has no column named",
    "malformed",
    "unsupported file format",
    "error in tokenizer",
    "error in tokenize directive",
)

# What the driver makes of any exception inside of a Python function that SQLite called. Ours raise none, so it was the
# handler of a signal, which Python runs in the main thread, between any two of its instructions.
_INTERRUPTED = "user-defined function raised exception"

_BY_ERRNO: dict[int, tuple[type[StorageError], str]] = {
    errno.ENOSPC: (DiskFull, "The disk is full"),
    errno.EDQUOT: (DiskFull, "The disk quota is used up"),
    errno.EMFILE: (TooManyFiles, "No further file can be opened by this process"),
    errno.ENFILE: (TooManyFiles, "No further file can be opened on this machine"),
    errno.EACCES: (FolderNotWritable, "The folder may not be written"),
    errno.EPERM: (FolderNotWritable, "The folder may not be written"),
    errno.EROFS: (FolderNotWritable, "The file system is read-only"),
    errno.ELOOP: (LinkRefused, "It is a symbolic link"),
    errno.ENOTDIR: (FolderNotWritable, "A part of the path is a file"),
}


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Translate what goes wrong with `path` inside the block into this package's errors, keeping the cause.

    Raises:
        KeyboardInterrupt: Ctrl-C came while SQLite was in a function of ours, or at a commit; the driver hides the one,
            SQLAlchemy the other.
    """
    try:
        yield
    except AssertionError as error:
        if hides_interrupt(error):
            raise KeyboardInterrupt from error
        raise
    except (DBAPIError, sqlite3.Error) as error:
        if _INTERRUPTED in str(error) and threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt from error
        known = _known(getattr(error, "orig", error), path)
        if known is None:
            raise
        raise _named(known, path, error) from error
    except MemoryTiersError:  # of the block itself; some are an OSError as well
        raise
    except UnicodeEncodeError as error:
        # The driver rejects it before SQLite sees it: a session, a message id or a name.
        raise InvalidText(f"{beginning(error.object, 80)!a} holds a lone surrogate.") from error
    except UnicodeDecodeError as error:
        # The driver cannot even read SQLite's message about a damaged schema.
        raise _named((DatabaseDamaged, "The database is damaged"), path, error) from error
    except OSError as error:
        known = _BY_ERRNO.get(error.errno or 0, (StorageError, "Reading or writing failed"))
        raise _named(known, path, error) from error


def hides_interrupt(error: Exception) -> bool:
    """Whether this is what SQLAlchemy says of a transaction whose end Ctrl-C stopped."""
    return isinstance(error, AssertionError) and isinstance(error.__context__, KeyboardInterrupt)


def _known(error: BaseException | None, path: Path) -> tuple[type[StorageError], str] | None:
    if any(sign in str(error) for sign in _SIGNS_OF_DAMAGE):
        return DatabaseDamaged, "The database is damaged"
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return (_why_no_file(path) if code == sqlite3.SQLITE_CANTOPEN else None) or _BY_CODE.get(code)


def _why_no_file(path: Path) -> tuple[type[StorageError], str] | None:
    """What keeps SQLite from opening this file, or this process from opening any, which SQLite does not tell."""
    if len(os.fsencode(path)) > _LONGEST_PATH:
        return StorageError, f"The path has more than the {_LONGEST_PATH} bytes that SQLite can open; use a shorter one"
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return _BY_ERRNO.get(error.errno or 0)
    return None


def _named(known: tuple[type[StorageError], str], path: Path, cause: Exception) -> StorageError:
    kind, what = known
    reason = getattr(cause, "orig", cause)
    return kind(f"{what}: {path} ({reason}).")
