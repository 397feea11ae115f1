"""Files and folders that only their owner can read, and what is refused in their place: links, and what others own.

Modes are given when something is made, never by the umask: that belongs to the whole process and all its threads.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

from filelock import FileLock

from langmem_tiers.errors import ForeignFolder, LinkRefused

_FOLDER, _FILE = 0o700, 0o600
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_WRITE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_AS_IT_IS = getattr(os, "O_BINARY", 0)
# A link is not followed, and a pipe does not wait for somebody to write into it.
_CAREFULLY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | _AS_IT_IS
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | _AS_IT_IS
_HAS_OWNERS = hasattr(os, "geteuid")
_ROOT = 0
# Seconds after which an unfinished file counts as abandoned.
_ABANDONED = 600
_making = threading.Lock()


# Making.


def create(file: Path) -> IO[bytes]:
    """A new file, open for writing.

    Raises:
        FileExistsError: something is there, even if it is a link that leads nowhere.
    """
    return os.fdopen(os.open(file, _NEW, _FILE), "wb")


def create_empty(file: Path) -> None:
    """Make an empty file unless there is one: a database that SQLite begins in it, and its logs, have its mode.

    Closing a file takes SQLite's locks on it from the whole process, so nobody of this process may open it meanwhile.
    """
    with _making:
        try:
            create(file).close()
        except FileExistsError:
            return


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it that are missing; one that is there stays as it is."""
    missing = list(takewhile(lambda each: not os.path.lexists(each), (folder, *folder.parents)))
    for each in reversed(missing):
        each.mkdir(mode=_FOLDER, exist_ok=True)
    try:
        folder.mkdir(mode=_FOLDER, exist_ok=True)
    except FileExistsError:  # no folder
        if folder.is_symlink():
            raise _link(folder) from None
        raise


def replace(file: Path, data: bytes) -> None:
    """Write a file completely or not at all; a link in its place is replaced, a file of that name keeps its mode."""
    fresh = file.with_name(f".{file.name[:60]}.{uuid4().hex}")
    try:
        with create(fresh) as stream:
            stream.write(data)
        keep_mode(file, fresh)
        fresh.replace(file)
    finally:
        fresh.unlink(missing_ok=True)


def drop_abandoned(file: Path) -> None:
    """Delete what processes left that were killed while they wrote a file anew, as `.NAME.…` beside it."""
    for left in file.parent.glob(f".{file.name}.*"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _ABANDONED:
                left.unlink()


def sync_folder(folder: Path) -> None:
    """Make a rename survive a power failure; systems that cannot sync folders do not need it."""
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def keep_mode(file: Path, fresh: Path) -> None:
    """Give a new file the mode of the one that it is to replace, if that is a file."""
    if file.is_file() and not file.is_symlink():
        shutil.copymode(file, fresh)


def lock(file: Path, **how: Any) -> FileLock:
    """A lock in a file that only its owner can open.

    Raises:
        LinkRefused: a link is in its place.
    """
    if file.is_symlink():
        raise _link(file)
    return FileLock(file, mode=_FILE, **how)


# Reading.


def read(file: Path, *, most: int | None = None) -> bytes:
    """The bytes of a file; `most` + 1 of them if there are more than that.

    Raises:
        LinkRefused: it is a link.
        OSError: it is not there, or cannot be read; ValueError: it is no file.
    """
    with open_carefully(file) as opened:
        return opened.read() if most is None else opened.read(most + 1)


def open_carefully(file: Path) -> IO[bytes]:
    """A file, open for reading.

    Raises:
        LinkRefused: it is a link.
        OSError: it is not there, or cannot be read; ValueError: it is no file.
    """
    if file.is_symlink():
        raise _link(file)
    opened = open(file, "rb", opener=lambda name, flags: os.open(name, flags | _CAREFULLY))  # noqa: SIM115 - the caller's
    if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
        opened.close()
        raise ValueError(f"{file} is no file")
    return opened


# Checking what is there.


def secure(folder: Path, names: Iterable[str] | None = None) -> None:
    """Check a folder with the named files and folders in it, by default all below it, and keep others out of them.

    What this user owns loses the rights of all others, what is not named in the folder, too. What is gone meanwhile was
    a draft of another process.

    Raises:
        LinkRefused: there is a link.
        ForeignFolder: another user owns it, or others may write to it and that cannot be changed.
    """
    secure_itself(folder)
    with os.scandir(folder) as found_there:
        entries = list(found_there)
    for each in entries:
        with suppress(FileNotFoundError):
            found = each.stat(follow_symlinks=False)
            if names is None and stat.S_ISDIR(found.st_mode):
                secure(Path(each.path))
            elif names is None or each.name in names:
                _own(each.path, found)
            elif _is_mine(found):
                _close(each.path, stat.S_IMODE(found.st_mode))


def secure_itself(folder: Path) -> None:
    """The same for a folder alone: who cannot enter it reaches nothing below it.

    Raises:
        LinkRefused, ForeignFolder: as for `secure`.
    """
    _own(folder, folder.lstat())


def require_trusted(file: Path) -> None:
    """Check that nobody but this user or the administrator decides what a file says; it may be reached by a link.

    Raises:
        ForeignFolder: another user owns it, or others may write to what a link leads to.
    """
    if not _HAS_OWNERS or not file.is_symlink():
        return
    found = file.stat()
    if found.st_uid not in (os.geteuid(), _ROOT) or found.st_mode & _WRITE_BY_OTHERS:
        raise ForeignFolder(
            f"{file} is a link to {file.resolve()}, which other users may change.",
            way_out="Make that file yours (chown, chmod go-w), or put the file itself in the place of the link.",
        )


def open_to_others(folder: Path) -> list[Path]:
    """What is below a folder that others may read or write, where that could not be changed."""
    if not _HAS_OWNERS:
        return []
    return [path for path, mode in _modes(folder) if mode & _OTHERS]


def tighten(folder: Path) -> None:
    """Take the rights of others from what another library has made below a folder of ours."""
    if _HAS_OWNERS:
        for path, mode in _modes(folder):
            _close(path, mode)


def _modes(folder: Path) -> Iterator[tuple[Path, int]]:
    """The modes of a folder and all below it, except of links."""
    for here, _, files in os.walk(folder):
        for path in (Path(here), *(Path(here, each) for each in files)):
            with suppress(FileNotFoundError):  # a draft that got its name meanwhile
                mode = path.lstat().st_mode
                if not stat.S_ISLNK(mode):
                    yield path, stat.S_IMODE(mode)


def require_own(path: Path | str, found: os.stat_result | None = None) -> None:
    """Check that no other user has a say in a folder or file; nothing is changed.

    Raises:
        ForeignFolder: another user owns it; or the administrator does, and others may write to it.
    """
    found = os.lstat(path) if found is None else found
    if not _HAS_OWNERS or found.st_uid == os.geteuid():
        return
    if found.st_uid != _ROOT:
        whose = f"(uid {found.st_uid}; this process is uid {os.geteuid()})"
        raise ForeignFolder(f"{path} belongs to another user {whose}.")
    if found.st_mode & _WRITE_BY_OTHERS:
        raise ForeignFolder(f"{path} belongs to the administrator, and others may write to it.")


def _own(path: Path | str, found: os.stat_result) -> None:
    if stat.S_ISLNK(found.st_mode):
        raise _link(path)
    require_own(path, found)
    if _is_mine(found):
        _close(path, stat.S_IMODE(found.st_mode))


def _is_mine(found: os.stat_result) -> bool:
    return _HAS_OWNERS and found.st_uid == os.geteuid() and not stat.S_ISLNK(found.st_mode)


def _close(path: Path | str, mode: int) -> None:
    """Take the rights of others; by name, as to open and close a database would cost SQLite its locks."""
    if not mode & _OTHERS:
        return
    try:
        Path(path).chmod(mode & ~_OTHERS)
    except FileNotFoundError:
        return
    except OSError as error:
        # Read-only, or a file system without modes (FAT, some network drives): the doctor tells what others can read.
        if error.errno not in (errno.EPERM, errno.EACCES, errno.EROFS, errno.ENOTSUP):
            raise


def _link(path: Path | str) -> LinkRefused:
    return LinkRefused(f"{path} is a symbolic link.")
