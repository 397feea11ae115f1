"""The documents of a space: writing, reading and searching them, and folders of them on disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from langmem_tiers import arguments
from langmem_tiers.clock import to_millis
from langmem_tiers.documents import excerpt, making, paths, transfer
from langmem_tiers.documents.rendering import render
from langmem_tiers.documents.transfer import FolderIntake
from langmem_tiers.documents.types import Document, DocumentHit, DocumentSummary, FolderExport, FolderImport
from langmem_tiers.errors import TextChanged
from langmem_tiers.storage import change_log, dreams
from langmem_tiers.storage import documents as rows
from langmem_tiers.storage.documents import NewDocument
from langmem_tiers.twins import twin
from langmem_tiers.types import Origin
from langmem_tiers.writing.storable import known_origin, storable

if TYPE_CHECKING:
    from langmem_tiers.settings import Settings
    from langmem_tiers.space import Space


class Documents:
    """Notes as in an agent's folder: `MEMORY.md`, `memory/2026-03-02.md`, and whatever else is put there.

    Markdown (`.md`) is searched by paragraphs, as soon as it is written by its words and soon by its meaning; all other
    files are kept. Paths are relative and joined by '/'. Each method has a twin named `a…` that does the same in a
    thread.

    Where `version` is given, a change is made only if that version stands (0: there is no such document).

    Example:
        >>> documents.append("memory/2026-03-02.md", "The launch moved to Friday.").searched
        True
    """

    def __init__(self, space: Space) -> None:
        self._space = space

    def __repr__(self) -> str:
        return f"Documents({self._space.name!r})"

    def write(self, path: str, text: str, *, version: int | None = None, origin: Origin = "user") -> Document:
        """Let a document hold this text, verbatim; it is made if there is none. The same text again changes nothing.

        Raises:
            InvalidPath: no document can be there.
            TextTooLong: the text is longer than `Settings.text.max_characters`.
            SecretRefused: it or the path holds a secret, and `Settings.privacy.derived` refuses these.
            TextChanged: another version than `version` stands.
        """
        where = making.path(path, self._settings)
        new = making.of_text(where, storable(text, "document", self._settings), known_origin(origin), self._settings)
        return self._change(where, lambda _: new, version)

    def append(self, path: str, text: str, *, origin: Origin = "user") -> Document:
        """Add text at the end of a document, on a line of its own; the document is made if there is none.

        It reads and writes in one transaction: nothing that others append meanwhile is lost.

        Raises:
            InvalidText: the document is no text.
            InvalidPath, TextTooLong, SecretRefused: as for `write`.
        """
        where, added = making.path(path, self._settings), storable(text, "document", self._settings)
        by = known_origin(origin)
        return self._change(where, lambda held: making.with_more(where, held, added, by, self._settings), None)

    def read(self, path: str) -> Document | None:
        """A document, None when there is none.

        Raises:
            InvalidPath: none can be there.
        """
        where = self._held_at(path)
        with self._space.memory.use(self._space.name) as store, store.reading() as connection:
            return rows.read(connection, store.key, where)

    def list(self, prefix: str = "") -> tuple[DocumentSummary, ...]:
        """What there is under paths that begin with `prefix`, such as "memory/", in the order of paths."""
        begins = arguments.text(prefix, "prefix")
        with self._space.memory.use(self._space.name) as store, store.reading() as connection:
            return tuple(rows.summaries(connection, store.key, begins))

    def delete(self, path: str, *, version: int | None = None) -> bool:
        """Delete a document with everything that was made of it; False when there was none.

        Raises:
            InvalidPath: none can be there.
            TextChanged: another version than `version` stands.
        """
        where, read = self._held_at(path), arguments.optional_whole(version, "version", least=0)
        with self._space.memory.use(self._space.name) as store, store.writing() as connection:
            held = rows.read(connection, store.key, where)
            _require(read, held, where)
            if held is not None:
                rows.drop(connection, store.key, where, to_millis(self._space.memory.clock()))
                dreams.forget(connection, store.key, [where])
        return held is not None

    def memory_md(self, tokens: int | None = None) -> str:
        """`MEMORY.md`, else `memory.md`, as far as it fits; empty where there is neither.

        A longer one ends behind a paragraph, with a note of how much is left out.

        Args:
            tokens: Most tokens with the note, instead of `Settings.documents.prompt_tokens`.
        """
        return self._memory_md(tokens, self._space.memory.count_tokens)

    def prompt_block(self, tokens: int | None = None) -> str:
        """`memory_md` for a system prompt, fenced and escaped; `tokens` hold for the whole block."""
        count = self._space.memory.count_tokens
        return render(self._memory_md(tokens, lambda text: count(render(text))))

    def search(self, query: str, *, limit: int = 5) -> tuple[DocumentHit, ...]:
        """The pieces of Markdown documents that fit a query best, by words and, where it can be, by meaning.

        Raises:
            InvalidInput: `query` is no text, or `limit` below 1.
            InvalidVector: the embedder's vectors are not of the length of those stored.
        """
        from langmem_tiers.recall.query import parse

        asked, most = parse(arguments.any_text(query, "query"), 0), arguments.whole(limit, "limit", least=1)
        vector, _ = self._space.memory.embedder_of(self._space.name).query(asked.text) if asked.text else (None, None)
        with self._space.memory.use(self._space.name) as store, store.reading() as connection:
            now = change_log.moment(connection, store.key)
            settings = self._settings.recall
            hits = store.notes.search(now, asked.terms, vector, most, {"document"}, settings=settings)
        return tuple(DocumentHit(path=hit.ref, ordinal=hit.ordinal, text=hit.text, score=hit.score) for hit in hits)

    def import_folder(self, folder: str | Path) -> FolderImport:
        """Take in a folder of notes; what it does not hold stays. Importing it again changes nothing.

        Each file keeps its bytes, so that `export_folder` gives the same files; secrets are masked where the settings
        say so. Symbolic links, hidden files, and files that can not be read or stored are skipped, and said why.

        Raises:
            UnreadableFile: there is no such folder.
            StorageError: the files before it are stored; importing again goes on from there.
        """
        memory, source = self._space.memory, arguments.path(folder, "folder")
        with memory.use(self._space.name) as store:
            report = FolderIntake(store, self._settings, memory.clock, memory=memory.path).take(source)
        memory.wake(self._space.name)
        return report

    def export_folder(self, folder: str | Path) -> FolderExport:
        """Write every document into a folder, which is made if there is none; other files in it stay.

        Nothing is written through symbolic links.

        Raises:
            StorageError: the folder can not be written; some files may be.
        """
        destination = arguments.path(folder, "folder")
        with self._space.memory.use(self._space.name) as store:
            return transfer.give(store, destination, memory=self._space.memory.path)

    awrite = twin(write)
    aappend = twin(append)
    aread = twin(read)
    alist = twin(list)
    adelete = twin(delete)
    amemory_md = twin(memory_md)
    aprompt_block = twin(prompt_block)
    asearch = twin(search)
    aimport_folder = twin(import_folder)
    aexport_folder = twin(export_folder)

    @property
    def _settings(self) -> Settings:
        return self._space.memory.settings

    def _held_at(self, path: str) -> str:
        """Where `write` puts what is written to a path."""
        masked = self._settings.privacy.derived == "mask"
        return making.path(path, self._settings) if masked else paths.clean(path)

    def _change(self, path: str, make: Callable[[Document | None], NewDocument], version: int | None) -> Document:
        read = arguments.optional_whole(version, "version", least=0)
        with self._space.memory.use(self._space.name) as store, store.writing() as connection:
            held = rows.read(connection, store.key, path)
            new = make(held)
            if held is not None and making.is_same(held, new):
                return held
            _require(read, held, path)
            stored = rows.put(connection, store.key, new, to_millis(self._space.memory.clock()))
        self._space.memory.wake(self._space.name)
        return stored

    def _memory_md(self, tokens: int | None, count: Callable[[str], int]) -> str:
        given = arguments.optional_whole(tokens, "tokens", least=0)
        most = self._settings.documents.prompt_tokens if given is None else given
        with self._space.memory.use(self._space.name) as store, store.reading() as connection:
            found = [rows.read(connection, store.key, path) for path in paths.MEMORY]
        document = next((each for each in found if each is not None and each.searched), None)
        return "" if document is None else excerpt.beginning(document.content, document.path, most, count)


def _require(version: int | None, held: Document | None, path: str) -> None:
    standing = 0 if held is None else held.version
    if version is not None and version != standing:
        state = "is not there" if held is None else f"is at version {standing}"
        raise TextChanged(f"The document {path} {state}, and not at version {version}.", version=standing)
