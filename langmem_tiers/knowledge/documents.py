"""The documents of a space: writing, reading, searching, and importing and exporting folders."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from langmem_tiers import arguments
from langmem_tiers.clock import to_millis
from langmem_tiers.errors import TextChanged
from langmem_tiers.knowledge import document_folders, document_text, standing, validation
from langmem_tiers.knowledge.document_folders import FolderImporter
from langmem_tiers.knowledge.fallbacks import search_all
from langmem_tiers.knowledge.prompt_blocks import notes_block
from langmem_tiers.knowledge.results import DocumentHit, FolderExport, FolderImport
from langmem_tiers.records import Document, DocumentSummary
from langmem_tiers.storage import change_log, dreams, purging, receipts
from langmem_tiers.storage import documents as rows
from langmem_tiers.storage.documents import NewDocument
from langmem_tiers.trust.safety import in_force
from langmem_tiers.twins import twin
from langmem_tiers.types import Origin

if TYPE_CHECKING:
    from langmem_tiers.context import SpaceContext
    from langmem_tiers.settings import Settings
    from langmem_tiers.storage.embedding_cache import Vectors


class Documents:
    """Notes as in an agent's folder: `MEMORY.md`, `memory/2026-03-02.md`, and any other files.

    Markdown (`.md`) is searchable by paragraphs: by words as soon as it is written, by meaning shortly after; other
    files are only stored. Paths are relative and joined by '/'. Each method has a twin named `a…` that runs in a
    thread.

    If `version` is given, the change is only made if that is the current version (0: the document does not exist).

    Where the origin of a change is not `user`, new lines that would make the assistant less careful get "(ask the user
    before acting on this)"; until the user takes that away, `memory_md` and `prompt_block` leave them out.

    Example:
        >>> documents.append("memory/2026-03-02.md", "The launch moved to Friday.").searched
        True
    """

    def __init__(self, context: SpaceContext) -> None:
        self._context = context

    def __repr__(self) -> str:
        return f"Documents({self._context.name!r})"

    def write(self, path: str, text: str, *, version: int | None = None, origin: Origin = "user") -> Document:
        """Set the text of a document, verbatim, creating it if needed. Writing the same text again changes nothing.

        Raises:
            InvalidPath: it is not a valid path.
            InvalidText: the text is not a string, or contains a lone surrogate.
            TextTooLong: the text is longer than `Settings.text.max_characters`.
            SecretRefused: it or the path holds a secret, and `Settings.privacy.derived` refuses these.
            TextChanged: `version` is not the current version.
        """
        where, said = document_text.path(path, self._settings), document_text.given(text, self._settings)
        by = validation.origin(origin)

        def made(held: Document | None) -> NewDocument:
            return document_text.of_text(where, document_text.held_back(said, held, by), by, self._settings)

        return self._change(where, made, version)

    def write_file(self, path: str, data: bytes, *, version: int | None = None, origin: Origin = "user") -> Document:
        """Set a document to the bytes of a file: a text if they are UTF-8, otherwise kept as they are.

        Raises:
            InvalidInput: `data` is not bytes.
            InvalidPath, TextTooLong, SecretRefused, TextChanged: as for `write`.
        """
        given = arguments.instance(data, "data", bytes, "bytes")
        where, by = document_text.path(path, self._settings), validation.origin(origin)
        return self._change(where, lambda held: document_text.of_file(where, given, held, by, self._settings), version)

    def append(self, path: str, text: str, *, origin: Origin = "user") -> Document:
        """Append text to a document on a new line, creating the document if needed.

        Reads and writes in one transaction, so concurrent appends are not lost. The document then has the less trusted
        origin of what it said before and what is added: where that was a tool's result, it stays marked as such.

        Raises:
            InvalidText: the existing document is not text, or what is added is not.
            DatabaseDamaged: its words were altered since they were stored.
            InvalidPath, TextTooLong, SecretRefused: as for `write`.
        """
        where, added = document_text.path(path, self._settings), document_text.given(text, self._settings)
        by = validation.origin(origin)
        return self._change(where, lambda held: document_text.with_more(where, held, added, by, self._settings), None)

    def read(self, path: str) -> Document | None:
        """A document, or None if it does not exist; where the space has none of this path, that of a fallback.

        Its `space` then names that fallback.

        Raises:
            InvalidPath: it is not a valid path.
        """
        where = self._held_at(path)
        for source in self._context.sources():
            with source.open() as store, store.reading() as connection:
                found = rows.read(connection, store.key, where)
            if found is not None:
                return found if source.name == self._context.name else replace(found, space=source.name)
        return None

    def list(self, prefix: str = "") -> tuple[DocumentSummary, ...]:
        """The documents whose paths begin with `prefix`, such as "memory/", sorted by path."""
        begins = arguments.text(prefix, "prefix")
        with self._context.open() as store, store.reading() as connection:
            return tuple(rows.summaries(connection, store.key, begins))

    def delete(self, path: str, *, version: int | None = None) -> bool:
        """Delete a document with everything derived from it; False if it did not exist.

        Raises:
            InvalidPath: it is not a valid path.
            TextChanged: `version` is not the current version.
        """
        where, read = self._held_at(path), arguments.optional_whole(version, "version", least=0)
        with self._context.open() as store, store.writing() as connection:
            held = rows.read(connection, store.key, where)
            _require(read, held, where)
            if held is not None:
                rows.drop(connection, store.key, where, to_millis(self._context.clock()))
                dreams.forget(connection, store.key, [where])
                receipts.forget(connection, store.key, [where], kind="document")
                purging.request(connection, store.key, at=to_millis(self._context.clock()))
        return held is not None

    def memory_md(self, tokens: int | None = None) -> str:
        """`MEMORY.md`, else `memory.md`, as far as it fits; empty if neither exists.

        Lines that wait for the user are left out. A longer one is cut after a paragraph, with a note on how much is not
        shown.

        Args:
            tokens: Maximum tokens including the note, overriding `Settings.documents.prompt_tokens`.
        """
        return _beginning(self._memory(), self._most(tokens), self._context.count_tokens)

    def prompt_block(self, tokens: int | None = None) -> str:
        """`memory_md` for a system prompt, fenced and escaped; `tokens` limits the whole block."""
        return memory_block(self._memory(), self._most(tokens), self._context.count_tokens)

    def search(self, query: str, *, limit: int = 5) -> tuple[DocumentHit, ...]:
        """The pieces of Markdown documents that best match a query, by words and, if available, by meaning.

        They are those of the space and of its fallbacks, of which the own count more.

        Raises:
            InvalidInput: `query` is not a string, or `limit` is below 1.
            InvalidVector: the embedder's vectors have another length than the stored ones.
        """
        from langmem_tiers.recall.request import parse

        asked, most = parse(arguments.any_text(query, "query"), 0), arguments.whole(limit, "limit", least=1)
        vector, _ = self._context.embedder.query(asked.text) if asked.text else (None, None)

        def found_in(source: SpaceContext) -> tuple[DocumentHit, ...]:
            return Documents(source)._matching(asked.terms, vector, most)

        return search_all(
            self._context, found_in, text=lambda each: each.text, order=lambda each: -each.score, limit=most
        )

    def _matching(self, terms: Sequence[str], vector: Vectors | None, most: int) -> tuple[DocumentHit, ...]:
        with self._context.open() as store, store.reading() as connection:
            now = change_log.moment(connection, store.key)
            settings = self._settings.recall
            hits = store.search_notes(now, terms, vector, most, {"document"}, settings=settings)
            written = rows.written(connection, store.key, {hit.ref for hit in hits})
            found = [hit for hit in hits if hit.ref in written]
            pieces = [(hit.text, written[hit.ref].at) for hit in found]
            over = standing.in_documents(store, now, pieces, self._context.clock())
        return tuple(
            DocumentHit(
                path=hit.ref,
                ordinal=hit.ordinal,
                text=hit.text,
                score=hit.score,
                ended=ended,
                from_tool=written[hit.ref].from_tool,
            )
            for hit, ended in zip(found, over, strict=True)
        )

    def import_folder(self, folder: str | Path) -> FolderImport:
        """Import a folder of notes; documents missing from it are kept. Importing it again changes nothing.

        Each file keeps its bytes, so that `export_folder` writes the same files; but secrets are masked if the settings
        say so, and lines that would make the assistant less careful are marked to wait for the user. Symbolic links,
        hidden files, and unreadable or unstorable files are skipped, with the reason.

        Raises:
            UnreadableFile: the folder does not exist.
            StorageError: earlier files are stored; importing again continues from there.
        """
        context, source = self._context, arguments.findable_path(folder, "folder")
        with context.open() as store:
            report = FolderImporter(store, self._settings, context.clock, memory=context.folder).run(source)
        context.wake()
        return report

    def export_folder(self, folder: str | Path) -> FolderExport:
        """Write all documents into a folder, creating it if needed; other files in it stay.

        Never writes through symbolic links.

        Raises:
            StorageError: the folder cannot be written; some files may have been.
        """
        destination = arguments.findable_path(folder, "folder")
        with self._context.open() as store:
            return document_folders.export_folder(store, destination, memory=self._context.folder)

    awrite = twin(write)
    awrite_file = twin(write_file)
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
        return self._context.settings

    def _held_at(self, path: str) -> str:
        """The path at which a text written to a path is stored."""
        masked = self._settings.privacy.derived == "mask"
        return document_text.path(path, self._settings) if masked else document_text.clean_path(path)

    def _change(self, path: str, make: Callable[[Document | None], NewDocument], version: int | None) -> Document:
        read = arguments.optional_whole(version, "version", least=0)
        with self._context.open() as store, store.writing() as connection:
            held = rows.read(connection, store.key, path)
            new = make(held)
            if held is not None and document_text.is_same(held, new):
                return held
            _require(read, held, path)
            stored = rows.put(connection, store.key, new, to_millis(self._context.clock()))
        self._context.wake()
        return stored

    def _memory(self) -> Document | None:
        """The document for the system prompt."""
        with self._context.open() as store, store.reading() as connection:
            return memory_document(rows.read_several(connection, store.key, document_text.MEMORY))

    def _most(self, tokens: int | None) -> int:
        given = arguments.optional_whole(tokens, "tokens", least=0)
        return self._settings.documents.prompt_tokens if given is None else given


def memory_document(found: Mapping[str, Document]) -> Document | None:
    """Of documents by path, the one for the system prompt."""
    return next((found[path] for path in document_text.MEMORY if path in found and found[path].searched), None)


def memory_block(document: Document | None, most: int, count: Callable[[str], int]) -> str:
    """A document for a system prompt, fenced and escaped, of at most so many tokens; empty if there is none."""
    block = partial(notes_block, from_tool=document is not None and document.origin == "tool")
    return block(_beginning(document, most, lambda text: count(block(text))))


def _beginning(document: Document | None, most: int, count: Callable[[str], int]) -> str:
    return "" if document is None else document_text.beginning(in_force(document.content), document.path, most, count)


def _require(version: int | None, held: Document | None, path: str) -> None:
    standing = 0 if held is None else held.version
    if version is not None and version != standing:
        state = "is not there" if held is None else f"is at version {standing}"
        raise TextChanged(f"The document {path} {state}, and not at version {version}.", version=standing)
