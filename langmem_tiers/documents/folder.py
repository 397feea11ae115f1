"""Folders of notes on disk: reading what is in them, and writing into them. Symbolic links are never followed."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from langmem_tiers.documents.types import SkippedFile
from langmem_tiers.errors import UnreadableFile
from langmem_tiers.storage.errors_border import translated

_NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_HOPELESS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS}
_HIDDEN = "it is hidden"
_LINK = "it is a symbolic link"
_MEMORY = "it belongs to the memory itself"
_NO_FILE = "it is no regular file"
_ELSEWHERE = "a link would lead out of the folder"


def files(folder: Path, *, most: int, but: Path) -> Iterator[tuple[str, bytes] | SkippedFile]:
    """Relative path and bytes of each file below a folder, or why it is skipped.

    Hidden files and folders (`.git`) are skipped, files of more than `most` bytes, and the folder `but`: the memory.

    Raises:
        UnreadableFile: there is no such folder.
    """
    if not folder.is_dir() or folder.resolve().is_relative_to(but.resolve()):
        raise UnreadableFile(f"{folder} is no folder of notes.", way_out="Name a folder with notes in it.")
    problems: list[SkippedFile] = []

    def note(error: OSError) -> None:
        problems.append(SkippedFile(path=_relative(folder, error.filename), reason=_reason(error)))

    for here, folders, names in os.walk(folder, onerror=note):
        at = Path(here)
        closed = {each: reason for each in sorted(folders) if (reason := _not_entered(at / each, but))}
        yield from (SkippedFile(path=_relative(folder, at / each), reason=why) for each, why in closed.items())
        folders[:] = sorted(set(folders) - closed.keys())
        for each in sorted(names):
            path = _relative(folder, at / each)
            yield SkippedFile(path=path, reason=_HIDDEN) if each.startswith(".") else _read(at / each, path, most)
        yield from problems
        problems.clear()
    yield from problems


def prepare(folder: Path) -> None:
    """Make a folder to write into, if there is none.

    Raises:
        StorageError: it can not be made.
    """
    with translated(folder):
        folder.mkdir(parents=True, exist_ok=True)


def write(folder: Path, path: str, data: bytes, *, but: Path) -> bool | SkippedFile:
    """Write a file below a folder; True where it was not there as it should be, or why it was not written.

    Nothing is written through links, nor below the folder `but`: the memory.

    Raises:
        DiskFull, FolderNotWritable: no further file could be written either.
    """
    target = folder.joinpath(*path.split("/"))
    inside = target.is_relative_to(folder) and not any(parent.is_symlink() for parent in _below(folder, target))
    if not inside:
        return SkippedFile(path=path, reason=_ELSEWHERE)
    if target.resolve().is_relative_to(but.resolve()):
        return SkippedFile(path=path, reason=_MEMORY)
    with translated(folder):
        try:
            return _written(target, data)
        except OSError as error:
            if error.errno in _HOPELESS:
                raise
            return SkippedFile(path=path, reason=f"it can not be written: {error.strerror or error}")


def _below(folder: Path, target: Path) -> list[Path]:
    """The folders between a folder and a file."""
    return [parent for parent in target.parents if parent != folder and parent.is_relative_to(folder)]


def _written(target: Path, data: bytes) -> bool:
    """Write whole or not at all; a link in the file's place is replaced, and what it points to stays as it is."""
    if not target.is_symlink() and target.is_file() and target.read_bytes() == data:
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{uuid4().hex}.tmp")
    try:
        draft.write_bytes(data)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
    return True


def _not_entered(folder: Path, but: Path) -> str:
    if folder.name.startswith("."):
        return _HIDDEN
    if folder.is_symlink():
        return _LINK
    return _MEMORY if folder.resolve() == but.resolve() else ""


def _read(file: Path, path: str, most: int) -> tuple[str, bytes] | SkippedFile:
    try:
        if file.is_symlink():
            return SkippedFile(path=path, reason=_LINK)
        with open(file, "rb", opener=lambda name, flags: os.open(name, flags | _NO_LINKS)) as opened:
            return _content(opened, path, most)
    except OSError as error:
        return SkippedFile(path=path, reason=_reason(error))


def _content(file: BinaryIO, path: str, most: int) -> tuple[str, bytes] | SkippedFile:
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return SkippedFile(path=path, reason=_NO_FILE)
    data = file.read(most + 1)
    if len(data) > most:
        return SkippedFile(path=path, reason=f"it has more than {most:,} bytes")
    return path, data


def _relative(folder: Path, path: str | Path) -> str:
    return Path(path).relative_to(folder).as_posix()


def _reason(error: OSError) -> str:
    return f"it can not be read: {error.strerror or error}"
