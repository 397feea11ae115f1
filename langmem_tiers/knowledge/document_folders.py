"""Imports folders of notes, and exports them byte for byte. Symbolic links are never followed."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from langmem_tiers import private_files
from langmem_tiers.clock import Clock, to_millis
from langmem_tiers.errors import InvalidInput, UnreadableFile
from langmem_tiers.knowledge import document_text
from langmem_tiers.knowledge.results import FolderExport, FolderImport, SkippedFile
from langmem_tiers.records import Document
from langmem_tiers.settings import Settings
from langmem_tiers.storage import documents
from langmem_tiers.storage.documents import NewDocument
from langmem_tiers.storage.errors_border import translated
from langmem_tiers.store import SpaceStore

# Files stored per transaction.
_AT_ONCE = 64
# The longest UTF-8 form of a character.
_BYTES_A_CHARACTER = 4
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_HOPELESS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS}
HIDDEN = "it is hidden"
"""The reason why a hidden file is skipped."""
LINK = "it is a symbolic link"
_MEMORY = "it belongs to the memory itself"
_NO_FILE = "it is no regular file"
_ELSEWHERE = "a link or its name would lead out of the folder"


class FolderImporter:
    """One import of a folder into a space."""

    def __init__(self, store: SpaceStore, settings: Settings, clock: Clock, *, memory: Path) -> None:
        self._store = store
        self._memory = memory
        self._settings = settings
        self._clock = clock
        self._report = {name: list[str]() for name in ("added", "changed", "same")}
        self._skipped: list[SkippedFile] = []
        self._claimed: set[str] = set()

    def run(self, source: Path) -> FolderImport:
        """Store the files of a folder, some dozens per transaction, and report on each."""
        most = self._settings.text.max_characters * _BYTES_A_CHARACTER
        files = files_below(source, most=most, but=self._memory)
        while batch := [*islice(files, _AT_ONCE)]:
            self._store_all([made for each in batch if (made := self._made(each)) is not None])
        told = {name: tuple(paths) for name, paths in self._report.items()}
        return FolderImport(**told, skipped=tuple(self._skipped))

    def _made(self, file: tuple[str, bytes] | SkippedFile) -> NewDocument | None:
        """The document for a file, or None if it cannot be stored, with the reason added to the skipped files."""
        if isinstance(file, SkippedFile):
            self._skipped.append(file)
            return None
        path, data = file
        try:
            where = document_text.path(path, self._settings)
            if where not in self._claimed:
                self._claimed.add(where)
                return document_text.of_file(where, data, self._held(where), "import", self._settings)
            reason = "Another file has the same name, with its accents written otherwise."
        except InvalidInput as error:
            reason = error.message
        self._skipped.append(SkippedFile(path=path, reason=reason))
        return None

    def _held(self, path: str) -> Document | None:
        with self._store.reading() as connection:
            return documents.read(connection, self._store.key, path)

    def _store_all(self, new: Iterable[NewDocument]) -> None:
        at = to_millis(self._clock())
        with self._store.writing() as connection:
            for each in new:
                held = documents.read(connection, self._store.key, each.path)
                same = held is not None and document_text.is_same(held, each)
                if not same:
                    documents.put(connection, self._store.key, each, at)
                self._report["same" if same else "added" if held is None else "changed"].append(each.path)


def export_folder(store: SpaceStore, target: Path, *, memory: Path) -> FolderExport:
    """Write every document into a folder."""
    with translated(target):
        private_files.make_folder(target)
    outcomes = {each.path: write_below(target, each.path, each.data, but=memory) for each in _every(store)}
    return FolderExport(
        written=tuple(path for path, outcome in outcomes.items() if outcome is True),
        same=tuple(path for path, outcome in outcomes.items() if outcome is False),
        skipped=tuple(outcome for outcome in outcomes.values() if isinstance(outcome, SkippedFile)),
    )


def _every(store: SpaceStore) -> Iterator[Document]:
    """All documents as of one moment, one at a time."""
    with store.reading() as connection:
        for path in documents.paths(connection, store.key):
            document = documents.read(connection, store.key, path)
            if document is not None:
                yield document


def files_below(folder: Path, *, most: int, but: Path) -> Iterator[tuple[str, bytes] | SkippedFile]:
    """Relative path and bytes of each file below a folder, or why it is skipped.

    Skips hidden files and folders (`.git`), files of more than `most` bytes, and the folder `but`: the memory itself.

    Raises:
        UnreadableFile: the folder does not exist.
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
            yield SkippedFile(path=path, reason=HIDDEN) if each.startswith(".") else read_file(at / each, path, most)
        yield from problems
        problems.clear()
    yield from problems


def write_below(folder: Path, path: str, data: bytes, *, but: Path) -> bool | SkippedFile:
    """Write a file below a folder; True if it was written, or the reason why not.

    Never writes through links, nor below the folder `but`: the memory itself.

    Raises:
        DiskFull, FolderNotWritable: other files could not be written either.
    """
    target = folder.joinpath(*path.split("/"))
    between = (parent for parent in target.parents if parent != folder and parent.is_relative_to(folder))
    climbs = ".." in path.split("/") or not target.is_relative_to(folder)
    if climbs or any(parent.is_symlink() for parent in between):
        return SkippedFile(path=path, reason=_ELSEWHERE)
    if target.resolve().is_relative_to(but.resolve()):
        return SkippedFile(path=path, reason=_MEMORY)
    with translated(folder):
        try:
            return _written(target, data)
        except OSError as error:
            if error.errno in _HOPELESS:
                raise
            return SkippedFile(path=path, reason=f"it cannot be written: {error.strerror or error}")


def _written(target: Path, data: bytes) -> bool:
    """Write a file completely or not at all; a link at its path is replaced, and the link's target left alone."""
    if not target.is_symlink() and target.is_file() and target.read_bytes() == data:
        return False
    private_files.make_folder(target.parent)
    private_files.replace(target, data)
    return True


def _not_entered(folder: Path, but: Path) -> str:
    if folder.name.startswith("."):
        return HIDDEN
    if folder.is_symlink():
        return LINK
    return _MEMORY if folder.resolve() == but.resolve() else ""


def read_file(file: Path, path: str, most: int) -> tuple[str, bytes] | SkippedFile:
    """`path` and the bytes of a regular file, or why it cannot be read; links are not followed."""
    try:
        if file.is_symlink():
            return SkippedFile(path=path, reason=LINK)
        with open(file, "rb", opener=lambda name, flags: os.open(name, flags | _NO_LINKS)) as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                return SkippedFile(path=path, reason=_NO_FILE)
            data = opened.read(most + 1)
    except OSError as error:
        return SkippedFile(path=path, reason=_reason(error))
    if len(data) > most:
        return SkippedFile(path=path, reason=f"it has more than {most:,} bytes")
    return path, data


def _relative(folder: Path, path: str | Path) -> str:
    return Path(path).relative_to(folder).as_posix()


def _reason(error: OSError) -> str:
    return f"it cannot be read: {error.strerror or error}"
