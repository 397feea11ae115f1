"""Taking in a folder of notes, and giving it out again with the same bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from langmem_tiers.clock import Clock, to_millis
from langmem_tiers.documents import folder, making
from langmem_tiers.documents.types import Document, FolderExport, FolderImport, SkippedFile
from langmem_tiers.errors import InvalidInput
from langmem_tiers.settings import Settings
from langmem_tiers.storage import documents
from langmem_tiers.storage.documents import NewDocument
from langmem_tiers.storage.store import SpaceStore

# Files that are stored in one transaction.
_AT_ONCE = 64
# The longest UTF-8 form of a character.
_BYTES_A_CHARACTER = 4


class FolderIntake:
    """One import of a folder into a space."""

    def __init__(self, store: SpaceStore, settings: Settings, clock: Clock, *, memory: Path) -> None:
        self._store = store
        self._memory = memory
        self._settings = settings
        self._clock = clock
        self._added: list[str] = []
        self._changed: list[str] = []
        self._same: list[str] = []
        self._skipped: list[SkippedFile] = []
        self._claimed: set[str] = set()

    def take(self, source: Path) -> FolderImport:
        """Store the files of a folder, some dozens in a transaction, and say what became of each."""
        most = self._settings.text.max_characters * _BYTES_A_CHARACTER
        files = folder.files(source, most=most, but=self._memory)
        while batch := [*islice(files, _AT_ONCE)]:
            self._store_all([made for each in batch if (made := self._made(each)) is not None])
        return FolderImport(
            added=tuple(self._added),
            changed=tuple(self._changed),
            same=tuple(self._same),
            skipped=tuple(self._skipped),
        )

    def _made(self, file: tuple[str, bytes] | SkippedFile) -> NewDocument | None:
        """The document of a file; None, and the reason among the skipped, where it can not be one."""
        if isinstance(file, SkippedFile):
            self._skipped.append(file)
            return None
        path, data = file
        try:
            return making.of_file(self._claim(path), data, self._settings)
        except InvalidInput as error:
            self._skipped.append(SkippedFile(path=path, reason=error.message))
            return None

    def _claim(self, path: str) -> str:
        where = making.path(path, self._settings)
        if where in self._claimed:
            raise InvalidInput("Another file has the same name, with its accents written otherwise.")
        self._claimed.add(where)
        return where

    def _store_all(self, new: Iterable[NewDocument]) -> None:
        at = to_millis(self._clock())
        with self._store.writing() as connection:
            for each in new:
                held = documents.read(connection, self._store.key, each.path)
                if held is not None and making.is_same(held, each):
                    self._same.append(each.path)
                    continue
                documents.put(connection, self._store.key, each, at)
                (self._added if held is None else self._changed).append(each.path)


def give(store: SpaceStore, target: Path, *, memory: Path) -> FolderExport:
    """Write every document into a folder."""
    folder.prepare(target)
    outcomes = {each.path: folder.write(target, each.path, each.data, but=memory) for each in _every(store)}
    return FolderExport(
        written=tuple(path for path, outcome in outcomes.items() if outcome is True),
        same=tuple(path for path, outcome in outcomes.items() if outcome is False),
        skipped=tuple(outcome for outcome in outcomes.values() if isinstance(outcome, SkippedFile)),
    )


def _every(store: SpaceStore) -> Iterator[Document]:
    """Every document of one moment, one at a time."""
    with store.reading() as connection:
        for path in documents.paths(connection, store.key):
            document = documents.read(connection, store.key, path)
            if document is not None:
                yield document
