"""Folders on disk: the memory folder with its marker file, and one folder per space."""

from __future__ import annotations

import glob
import json
import logging
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from filelock import Timeout

from langmem_tiers import private_files
from langmem_tiers.errors import (
    DatabaseDamaged,
    DatabaseLocked,
    FolderNotWritable,
    ForeignFolder,
    LinkRefused,
    NewerSchema,
    NotAMemoryFolder,
    StorageError,
)
from langmem_tiers.naming import folder_name
from langmem_tiers.settings_layers import FILE
from langmem_tiers.storage.errors_border import translated
from langmem_tiers.telemetry.logs import say

log = logging.getLogger(__name__)

_MARK = "langmem-tiers.json"
_SPACE_MARK = "space.json"
DATABASE = "memory.db"
CHROMA_LOCK = "chroma.lock"
"""Held by the process that has the Chroma folder of a space open."""
DRAFT_LOCK = "draft.lock"
"""Held by the process that prepares something in a folder beside its place."""
MOVED_AWAY = "moved_away"
"""In the folder of a restore: the name that the memory has got in whose place the restored one is to be."""
_RESTORING = 60.0  # seconds
_FORMAT = 1
# What a host may place in a folder before its first memory, besides the folder of prompts that the settings name.
_BEFORE_THE_FIRST_RUN = {FILE, "directives"}
# What must be no link and nobody else's; a settings file may be a link to one that is managed elsewhere.
_OWN = {_MARK, "spaces", "deleted", "backups.json"}
# Bytes of the largest marker.
_LARGEST_MARK = 1 << 16
_OF_THE_SYSTEM = {".DS_Store", "Thumbs.db", "desktop.ini", "lost+found", ".gitkeep"}


def resolved(path: Path) -> Path:
    """The folder that a path leads to, by links or not; where something is, it must be nobody else's.

    Raises:
        ForeignFolder: another user owns it, or others may write to it.
        NotAMemoryFolder: links lead round in a circle.
    """
    folder = Path(os.path.realpath(path))
    with translated(folder):
        if folder.is_symlink():
            raise NotAMemoryFolder(f"{path} is a link that leads round in a circle.")
        if folder.is_dir():
            private_files.require_own(folder)
    return folder


def draft_name(target: Path) -> str:
    """How folders begin in which a process prepares what it will put in a place."""
    return f".{target.name[:60]}."


def put_back(folder: Path) -> None:
    """Undo a restore that was killed when it had moved a memory away, and the restored one was not in its place yet."""
    if os.path.lexists(folder):
        return
    for note in folder.parent.glob(f"{glob.escape(draft_name(folder))}*/{MOVED_AWAY}"):
        with suppress(ForeignFolder):  # somebody else's, in a folder that all may write to
            private_files.require_own(note.parent)
            _put_back(note, folder)


def _put_back(note: Path, folder: Path) -> None:
    with private_files.lock(note.with_name(DRAFT_LOCK), timeout=_RESTORING):
        kept = folder.with_name(private_files.read(note, most=_LARGEST_MARK).decode())
        if (note.parent / "memory").is_dir() and (kept / _MARK).is_file() and not os.path.lexists(folder):
            kept.replace(folder)
        note.unlink()


def open_memory_folder(path: Path, *, prompts: str) -> Path:
    """Create or recognise a memory folder; `prompts` is where prompts of its own are, as the settings say.

    Raises:
        NotAMemoryFolder: it is a file, or holds something else.
        LinkRefused, ForeignFolder: it belongs to another user, or holds a link where the memory has its own.
        FolderNotWritable, DiskFull: it cannot be created.
        NewerSchema: its layout was made by a newer version.
    """
    with translated(path):
        put_back(path)
        if path.exists() and not path.is_dir():
            raise NotAMemoryFolder(f"{path} is a file.")
        mark = path / _MARK
        if os.path.lexists(mark):
            private_files.secure(path, _OWN)
            _check(mark)
            sweep_deleted(path)
        # Checked again: another process may be creating the memory right now.
        elif path.exists() and _holds_other_things(path, prompts) and not mark.exists():
            raise NotAMemoryFolder(f"{path} holds other things and no memory.")
        else:
            private_files.make_folder(path)
            private_files.secure(path, _OWN)
            _write_mark(mark, {"format": _FORMAT})
    return path


def own_folder(memory: Path, name: str) -> Path:
    """A folder that the settings name: relative to the memory folder, at home with `~`, or absolute."""
    return memory / os.path.expanduser(name)  # noqa: PTH111 - never fails


def space_folder(memory: Path, name: str) -> Path:
    """The folder of a space, created if it is new.

    Raises:
        StorageError: the memory's folder is gone; nothing is written into another one in its place.
        LinkRefused, ForeignFolder: there is a link in it, or something of another user.
        DatabaseDamaged: the space existed before, and its database is gone.
    """
    folder = memory / "spaces" / folder_name(name)
    require_there(memory)
    with translated(folder):
        private_files.make_folder(folder)
        private_files.secure_itself(folder.parent)
        private_files.secure(folder)
        database = folder / DATABASE
        lost = (folder / _SPACE_MARK).exists() and not (database.exists() and database.stat().st_size)
    if lost:
        raise DatabaseDamaged(
            f"The database of {name} is gone: {database} is missing or empty.",
            way_out=f"Put a backup in its place, or delete {folder} to begin anew.",
        )
    with translated(database):
        private_files.create_empty(database)
    return folder


def mark_space(folder: Path, name: str) -> None:
    """Write the marker of a space with its name, once its database exists."""
    with translated(folder):
        mark = folder / _SPACE_MARK
        if not mark.exists() or _name_in(mark) is None:
            _write_mark(mark, {"space": name})


def require_there(memory: Path) -> None:
    """Check that the folder of an open memory is still there.

    Raises:
        StorageError: it is gone, or cannot be read.
    """
    with translated(memory):
        if not (memory / _MARK).exists():
            raise gone(memory)


def gone(folder: Path) -> StorageError:
    """The error for an open memory whose files were deleted or replaced."""
    return StorageError(
        f"The folder {folder} is gone, or is not the one that was opened.",
        way_out="Nothing was stored. Put it back, or name another one, and open the memory again.",
    )


def has_space(memory: Path, name: str) -> bool:
    """Whether a space of this name exists; never creates one."""
    return (memory / "spaces" / folder_name(name) / _SPACE_MARK).exists()


def look_at(memory: Path) -> None:
    """Check that a memory folder is there and can be read.

    Raises:
        StorageError: it cannot.
    """
    with translated(memory):
        next(memory.iterdir(), None)


def space_names(memory: Path) -> tuple[str, ...]:
    """The names of all spaces in a memory folder, sorted."""
    with translated(memory):
        names = [_name_in(mark) for mark in _space_marks(memory)]
    return tuple(sorted(name for name in names if name is not None))


def unreadable_spaces(memory: Path) -> tuple[Path, ...]:
    """The folders of spaces whose marker cannot be read, or names a space that belongs elsewhere."""
    with translated(memory):
        return tuple(mark.parent for mark in _space_marks(memory) if _name_in(mark) is None)


_LEAVING = "deleted"


def delete_space(memory: Path, name: str) -> bool:
    """Remove the folder of a space from disk; False if there was none.

    It is moved out of the way first, so that at no moment there is half a space; see `sweep_deleted`.

    Raises:
        DatabaseLocked: another process has the space open. Nothing was deleted.
        FolderNotWritable: it cannot be deleted.
    """
    folder = memory / "spaces" / folder_name(name)
    if not folder.exists():
        return False
    leaving = memory / _LEAVING / uuid4().hex
    with translated(folder):
        lock = private_files.lock(folder / CHROMA_LOCK)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise DatabaseLocked(
                f"The space {name!a} is open in another process.",
                way_out="Close it there, and repeat the call. Nothing was deleted.",
            ) from None
        try:
            private_files.make_folder(leaving.parent)
            folder.rename(leaving)
        finally:
            lock.release()
    sweep_deleted(memory)
    if leaving.exists():
        raise FolderNotWritable(f"The space {name!a} is gone from the memory, but {leaving} could not be removed.")
    return True


def sweep_deleted(memory: Path) -> None:
    """Remove the folders of deleted spaces that are still there: a process was killed while it deleted them."""
    leaving = memory / _LEAVING
    if leaving.exists():
        # Another process may do the same now; what is left goes at the next open.
        shutil.rmtree(leaving, ignore_errors=True)


def size(path: Path) -> int:
    """Bytes of a file, or of the files in a folder and below; one that is not there, or goes meanwhile, has none."""
    total = 0
    for file in (path, *path.rglob("*")):
        with suppress(FileNotFoundError):
            total += file.stat().st_size if file.is_file() else 0
    return total


def _holds_other_things(path: Path, prompts: str) -> bool:
    ours = (_MARK, f".{_MARK}", f".{FILE}")
    known = {*_OF_THE_SYSTEM, *_BEFORE_THE_FIRST_RUN, *_first_part(path, own_folder(path, prompts))}
    return any(item.name not in known and not item.name.startswith(ours) for item in path.iterdir())


def _first_part(path: Path, below: Path) -> tuple[str, ...]:
    """The name in a folder of what is below it; nothing of what is elsewhere."""
    here, there = (Path(os.path.normpath(each)) for each in (path, below))
    return there.relative_to(here).parts[:1] if there.is_relative_to(here) else ()


def _write_mark(mark: Path, content: dict[str, object]) -> None:
    """Write it atomically: no crash and no other process opening the folder may leave or see half of it."""
    private_files.replace(mark, (json.dumps(content, ensure_ascii=False) + "\n").encode())


def _space_marks(memory: Path) -> list[Path]:
    return sorted((memory / "spaces").glob(f"*/{_SPACE_MARK}"))


def _name_in(mark: Path) -> str | None:
    try:
        name = str(_read_mark(mark)["space"])
        fits = folder_name(name) == mark.parent.name
    except (ValueError, KeyError, TypeError, RecursionError, LinkRefused):
        fits = False
    if not fits:
        say(log, logging.WARNING, "unreadable_space_mark_skipped", file=mark)
        return None
    return name


def _read_mark(mark: Path) -> Any:
    return json.loads(private_files.read(mark, most=_LARGEST_MARK).decode())


def _check(mark: Path) -> None:
    try:
        layout = _read_mark(mark)["format"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise NotAMemoryFolder(f"{mark} cannot be read as the mark of a memory.") from error
    if not isinstance(layout, int) or layout > _FORMAT:
        raise NewerSchema(f"{mark.parent} has layout {layout}; this version knows up to {_FORMAT}.")
