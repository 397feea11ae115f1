"""The folder of a sync: its files, its lock, and the state of the last sync, as hashes in `.langmem-tiers/`.

The state stays with this copy of the folder (git ignores it), so that a second clone has one of its own, and an older
commit that is checked out counts as an edit.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import orjson
from filelock import Timeout

from langmem_tiers import private_files
from langmem_tiers.errors import NotASyncFolder, SyncInProgress
from langmem_tiers.json_bounds import is_crowded
from langmem_tiers.knowledge.document_folders import HIDDEN, LINK, files_below, read_file, write_below
from langmem_tiers.knowledge.results import SkippedFile
from langmem_tiers.storage.errors_border import translated
from langmem_tiers.sync import paths
from langmem_tiers.sync.types import SyncProblem

_OWN = ".langmem-tiers"
_STATE = "sync.json"
_LARGEST_STATE = 64 << 20
_FORMAT = 1
_WAIT_SECONDS = 10
_HASH_BYTES = 12


@dataclass(frozen=True, kw_only=True, slots=True)
class Base:
    """How something was at the last sync: where its file was, and hashes of what both sides said.

    `shown` is the hash of the memory's version that a conflict showed, empty without a conflict.
    """

    path: str
    marks: Mapping[str, str] = field(default_factory=dict)
    shown: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Files:
    """The files of a folder by their path in it, and those that cannot be read."""

    data: Mapping[str, bytes]
    problems: Mapping[str, str]


def mark(value: str | bytes | bool | tuple[Any, ...]) -> str:
    """A hash by which two values are told apart."""
    data = value if isinstance(value, bytes) else orjson.dumps(value)
    return hashlib.blake2b(data, digest_size=_HASH_BYTES).hexdigest()


class SyncFolder:
    """A folder on disk that is synced with one space, which `space` names by a hash."""

    def __init__(self, path: Path, *, memory: Path, space: str) -> None:
        self.path = path
        self._memory = memory
        self._space = space

    def require(self, *, init: bool) -> None:
        """Check that the folder was synced with this space before, or is empty, or may be used although it is not.

        Raises:
            NotASyncFolder: it is none of these, a file, or within the memory.
        """
        if self.path.exists() and not self.path.is_dir():
            raise NotASyncFolder(f"{self.path} is a file.")
        if (self.path / _OWN).is_symlink():
            raise NotASyncFolder(f"{self.path / _OWN} is a symbolic link.")
        if self.path.resolve().is_relative_to(self._memory.resolve()):
            raise NotASyncFolder(f"{self.path} belongs to the memory itself.")
        with translated(self.path):
            known = self._state.exists()
            if not known and not init and self.path.exists() and _holds_something(self.path):
                raise NotASyncFolder(
                    f"{self.path} holds other things, and was never synced.",
                    way_out="Name an empty or new folder, or use this one with --init (init=True).",
                )
        if known:
            self.bases()

    def bases(self) -> dict[str, Base]:
        """How everything was at the last sync, by key; empty before the first.

        Raises:
            NotASyncFolder: it was synced with another space, or its state cannot be read.
        """
        with translated(self._state):
            there = self._state.exists()
        if not there:
            return {}
        try:
            with translated(self._state):
                data = private_files.read(self._state, most=_LARGEST_STATE)
            state = {} if is_crowded(data) else orjson.loads(data)
            fits, space = state["format"] == _FORMAT, str(state["space"])
            found = {str(key): _base(held) for key, held in state["items"].items()}
        except (ValueError, KeyError, TypeError, AttributeError):
            fits, space, found = False, self._space, {}
        if space != self._space:
            raise NotASyncFolder(f"{self.path} is synced with another space.")
        if not fits:
            raise NotASyncFolder(
                f"{self._state} cannot be read.",
                way_out="Delete it and sync with --init (init=True): where both sides differ, that asks.",
            )
        return found

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep others from syncing the folder during a block; the folder is made if there is none.

        Raises:
            SyncInProgress: another sync goes on for longer than one would wait for.
            FolderNotWritable: nothing can be written there.
        """
        own = self.path / _OWN
        with translated(self.path):
            private_files.make_folder(own)
            ignored = own / ".gitignore"
            if not ignored.exists():
                private_files.replace(ignored, b"*\n")
            lock = private_files.lock(own / "lock")
            try:
                lock.acquire(timeout=_WAIT_SECONDS)
            except Timeout as error:
                raise SyncInProgress(f"Another sync of {self.path} goes on.") from error
        try:
            yield
        finally:
            lock.release()

    def files(self, *, most: int, most_of_entry: int) -> Files:
        """The files that a sync looks at; those of more than `most` bytes, or that for entries, are problems."""
        data: dict[str, bytes] = {}
        problems: dict[str, str] = {}
        for path, found in self._every(most, most_of_entry):
            if paths.is_backup(path):
                continue
            if isinstance(found, bytes):
                data[path] = found
            elif found != HIDDEN:
                problems[path] = found
        return Files(data=data, problems=problems)

    def write(self, path: str, data: bytes, *, replaces: bytes | None) -> SyncProblem | None:
        """Write a file whole or not at all, if it is still as it was read; else, why not.

        Raises:
            DiskFull, FolderNotWritable: other files could not be written either.
        """
        if problem := self._changed(path, replaces):
            return problem
        outcome = write_below(self.path, path, data, but=self._memory)
        return SyncProblem(path=path, reason=outcome.reason) if isinstance(outcome, SkippedFile) else None

    def move(self, path: str, to: str, *, known: bytes) -> SyncProblem | None:
        """Move a file that is still as it was read to a place where there is none; else, why not.

        Raises:
            FolderNotWritable: it cannot be moved.
        """
        if problem := self._changed(path, known) or self._changed(to, None):
            return problem
        target = self.path / to
        between = (each for each in target.parents if each.is_relative_to(self.path) and each != self.path)
        if ".." in to.split("/") or any(each.is_symlink() for each in between):
            return SyncProblem(path=path, reason="a link or its name would lead out of the folder")
        with translated(target):
            private_files.make_folder(target.parent)
            (self.path / path).rename(target)
        self._prune(path)
        return None

    def remove(self, path: str, *, replaces: bytes) -> SyncProblem | None:
        """Remove a file if it is still as it was read, with the folders that it leaves empty; else, why not.

        Raises:
            FolderNotWritable: it cannot be removed.
        """
        if problem := self._changed(path, replaces):
            return problem
        file = self.path / path
        with translated(file):
            file.unlink()
        self._prune(path)
        return None

    def tidy(self) -> None:
        """Remove the empty folders that copies of conflicts left."""
        top = self.path / paths.CONFLICTS
        if top.is_symlink():
            return
        for here in (Path(each) for each, _, _ in os.walk(top, topdown=False)):
            with translated(here):
                if not any(here.iterdir()):
                    here.rmdir()

    def claim(self) -> None:
        """Record before the first sync that the folder is this space's, so that one that is cut off can be repeated."""
        with translated(self._state):
            known = self._state.exists()
        if not known:
            self.save({})

    def save(self, bases: Mapping[str, Base]) -> None:
        """Record how everything is now; nothing is written if it is recorded already."""
        items = {key: asdict(bases[key]) for key in sorted(bases)}
        state = {"format": _FORMAT, "space": self._space, "items": items}
        data = orjson.dumps(state, option=orjson.OPT_INDENT_2)
        with translated(self._state):
            if not self._state.exists() or self._state.read_bytes() != data:
                private_files.replace(self._state, data)

    @property
    def _state(self) -> Path:
        return self.path / _OWN / _STATE

    def _every(self, most: int, most_of_entry: int) -> Iterator[tuple[str, bytes | str]]:
        identity = self.path / paths.IDENTITY
        if identity.is_symlink() or identity.exists():
            yield _told(read_file(identity, paths.IDENTITY, most), "")
        for top in (paths.KNOWLEDGE, paths.NOTES, paths.CONFLICTS):
            folder = self.path / top
            if folder.is_symlink():
                yield top, LINK
            elif folder.is_dir():
                limit = most_of_entry if top == paths.KNOWLEDGE else most
                for found in files_below(folder, most=limit, but=self._memory):
                    yield _told(found, f"{top}/")
            elif folder.exists():
                yield top, "it is no folder"

    def _prune(self, path: str) -> None:
        """Remove the folders that a file left empty."""
        above = (self.path / path).parents
        with translated(self.path):
            for parent in (each for each in above if each.is_relative_to(self.path) and each != self.path):
                if any(parent.iterdir()):
                    break
                parent.rmdir()

    def _changed(self, path: str, known: bytes | None) -> SyncProblem | None:
        """Why a file must not be replaced: it is not as it was read."""
        file = self.path / path
        try:
            now = None if file.is_symlink() or not file.exists() else file.read_bytes()
        except OSError as error:
            return SyncProblem(path=path, reason=f"it cannot be read: {error.strerror or error}")
        if now == known and not file.is_symlink():
            return None
        return SyncProblem(path=path, reason="it was changed just now: sync again")


def _told(found: tuple[str, bytes] | SkippedFile, prefix: str) -> tuple[str, bytes | str]:
    path, what = (found.path, found.reason) if isinstance(found, SkippedFile) else found
    return f"{prefix}{path}", what


def _holds_something(folder: Path) -> bool:
    return any(not each.name.startswith(".") for each in folder.iterdir())


def _base(held: Mapping[str, Any]) -> Base:
    marks = {str(name): str(value) for name, value in held["marks"].items()}
    return Base(path=str(held["path"]), marks=marks, shown=str(held["shown"]))
