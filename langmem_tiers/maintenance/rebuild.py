"""Rebuilding projections from the records: statements, keyword indexes, the graph, vectors, Chroma; a compact file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection

from langmem_tiers.background.embedding import SOURCES
from langmem_tiers.clock import to_millis, utc_now
from langmem_tiers.content import content_hash
from langmem_tiers.errors import DatabaseDamaged, ServerUnreachable, StorageError
from langmem_tiers.knowledge.document_text import of_text
from langmem_tiers.knowledge.episode_writer import searched_texts
from langmem_tiers.records import Episode
from langmem_tiers.settings import Settings
from langmem_tiers.storage import (
    change_log,
    closets,
    documents,
    drawers,
    dreams,
    embedding_cache,
    entries,
    episodes,
    inspection,
    keyword,
    notes,
    receipts,
    rooms,
    working_entries,
)
from langmem_tiers.storage.index_file import files
from langmem_tiers.storage.inspection import SpokenText
from langmem_tiers.storage.notes import Note
from langmem_tiers.store import SpaceStore
from langmem_tiers.wording import counted
from langmem_tiers.writing import turns
from langmem_tiers.writing.turns import Span

_STRIDE = 1000
_NO_VECTORS = "vectors: left alone, this memory was opened for keyword search only"
_NOT_FOLDED = "database file: written anew, and smaller once another process has ended what it reads"


def rebuild(store: SpaceStore, model: str | None, settings: Settings) -> tuple[str, ...]:
    """Rebuild everything derived from the records, and compact their file; one line for each thing done."""
    return (
        *_altered_logs(store),
        *_note_texts(store, settings),
        # Before the index: rebuilding that tells processes with drawers in memory to read them again.
        _statements(store, settings.text.chunk_characters),
        _keyword_index(store),
        *_note_index(store),
        *_graph(store),
        *_vectors_and_files(store, model),
        # Last, as everything before it leaves free pages.
        *_database_file(store),
    )


def _vectors_and_files(store: SpaceStore, model: str | None) -> Iterator[str]:
    """Rebuild what is searched by meaning, where it is kept; a line for each thing done."""
    if model is None:
        yield from _index_file(store)
        yield _NO_VECTORS
        return
    yield _vectors(store, model)
    if store.chroma is None:
        yield from _on_server(store)
    else:
        yield from _index_file(store)
        yield _projection(store)


# Logs.


def _altered_logs(store: SpaceStore) -> Iterator[str]:
    """Delete what was altered of logs, which nobody is told anyway; a line for each kind that there was."""
    with store.writing() as connection:
        gone = receipts.drop_altered(connection, store.key)
        lost = dreams.drop_altered(connection, store.key)
    if gone:
        yield f"receipts: {counted(gone, 'altered one')} deleted"
    if lost:
        yield f"changes of dreams: altered ones of {counted(lost, 'dream')} deleted, which cannot be undone any more"


# Texts of notes.


def _note_texts(store: SpaceStore, settings: Settings) -> Iterator[str]:
    """Put back texts of notes that were altered, from the records that they were made of; a line if there were any."""
    with store.writing() as connection:
        lost = notes.altered(connection, store.key)
        words = keyword.notes.every(connection) if lost else {}
        mended = 0
        for note in lost:
            tried = (*_searched_texts(connection, store.key, note, settings), *words.get(note.number, ()))
            # Only the text that was stored has its hash, wherever it is found again.
            if (text := next((each for each in tried if content_hash(each) == note.text_hash), None)) is not None:
                notes.put_back(connection, store.key, note, text)
                mended += 1
    if lost:
        yield f"texts of notes: {mended} of {counted(len(lost), 'altered one')} put back"


def _searched_texts(connection: Connection, space: str, note: Note, settings: Settings) -> Sequence[str]:
    """The texts by which the record of a note is searched today."""
    if note.kind == "entry":
        entry = entries.one(connection, space, note.ref)
        return () if entry is None else (entry.content,)
    if note.kind == "document":
        held = documents.read(connection, space, note.ref)
        new = None if held is None else of_text(note.ref, held.content, held.origin, settings)
        return () if new is None else [piece.text for piece in new.pieces]
    if note.kind == "episode":
        found = episodes.by_ids(connection, space, [note.ref])
        return [text for episode in found.values() for text in _texts_of(episode, settings)]
    if note.kind == "working":
        return [
            text for row in working_entries.read(connection, space, {note.ref}, 0).values() for text in row.searched
        ]
    return ()


def _texts_of(episode: Episode, settings: Settings) -> list[str]:
    title = (episode.title or "") if episode.of_task else ""
    most = settings.text.chunk_characters
    pieces = searched_texts(episode.summary, episode.abstract, episode.topics, title, most)
    return [piece.text for piece in pieces]


# Statements.


def _statements(store: SpaceStore, chunk_characters: int) -> str:
    """Find the statements of each drawer again, and add missing ones: the rules may have changed.

    Their vectors are left to the background. Nothing is removed. Turns only wait for the short write transactions, not
    for the analysis.
    """
    with store.reading() as connection:
        last = drawers.newest(connection, store.key)
    looked_at = sum(_restate(store, first, chunk_characters) for first in range(1, last + 1, _STRIDE))
    return f"statements: {counted(looked_at, 'drawer')} looked at"


def _restate(store: SpaceStore, first: int, chunk_characters: int) -> int:
    """Add missing statements for a batch of drawers; returns the number examined."""
    last = first + _STRIDE - 1
    with store.reading() as connection:
        speaking = inspection.spoken_texts(connection, store.key, first, last)
        held = inspection.chunk_spans(connection, store.key, first, last)
    missing: list[dict[str, Any]] = []
    changed: dict[int, int] = {}
    for row in speaking:
        told = turns.statements_of(row.content, role=row.role, origin=row.origin, speaker=row.speaker)
        missing += _missing(row, turns.cut(row.content, told, chunk_characters), held.get(row.number, ()))
        states = turns.states(row.content, told)
        if states != row.states:
            changed[row.number] = states
    if missing or changed:
        with store.writing() as connection:
            inspection.restate(connection, store.key, missing, changed)
    return len(speaking)


def _missing(row: SpokenText, told: Sequence[Span], held: Sequence[Span]) -> Iterator[dict[str, Any]]:
    """Rows for statements without a chunk, numbered after the existing ones."""
    for ordinal, span in enumerate((span for span in told if span not in held), start=len(held)):
        text_hash = turns.text_hash(row.content, span, speaker=row.speaker)
        place = {"drawer": row.number, "ordinal": ordinal, "start": span[0], "stop": span[1]}
        yield {**place, "text_hash": text_hash}


# Keyword indexes and the graph.


def _keyword_index(store: SpaceStore) -> str:
    with store.writing() as connection:
        keyword.drawers.recreate(connection)
        last = drawers.newest(connection, store.key)
        for first in range(1, last + 1, _STRIDE):
            rows = inspection.keyword_rows(connection, store.key, first, first + _STRIDE - 1)
            keyword.drawers.add(connection, rows)
        for room in rooms.every(connection, store.key):
            found = closets.categories(connection, store.key, room.number)
            keyword.drawers.categorise(connection, found)
        count = keyword.drawers.count(connection)
        change_log.append(connection, store.key, "keyword.rebuilt", 1, until=last, at=to_millis(utc_now()))
    return f"keyword index: {counted(count, 'drawer')}"


def _note_index(store: SpaceStore) -> Iterator[str]:
    """Rebuild the keyword index of notes; a line that says so, if there are any."""
    with store.writing() as connection:
        keyword.notes.recreate(connection)
        newest = notes.newest(connection, store.key)
        for first in range(1, newest + 1, _STRIDE):
            stride = notes.between(connection, store.key, first, first + _STRIDE - 1)
            keyword.notes.add(connection, (notes.words_row(note.number, note) for note in stride))
        if newest:
            # Processes with notes in memory then read all of them again.
            change_log.append(connection, store.key, "notes.changed", 1, until=newest, at=to_millis(utc_now()))
        total, _ = notes.counts(connection, store.key, None)
    if total:
        yield f"keyword index of notes: {counted(total, 'note')}"


def _graph(store: SpaceStore) -> Iterator[str]:
    """Rebuild the graph and its file; a line that says so, if there is one."""
    try:
        built = store.graph.rebuild()
    except StorageError as error:
        yield f"graph: its file could not be written ({error.message})"
    else:
        if built.entities:
            held = counted(len(built.entities), "entity", "entities")
            yield f"graph: {held} and {counted(len(built.relations), 'relation')} in a fresh file"


# Vectors.


def _vectors(store: SpaceStore, model: str) -> str:
    """Drop unusable vectors and reset the background's cursors, so that it embeds whatever is missing."""
    with store.writing() as connection:
        bad = embedding_cache.unusable(connection, store.key, model)
        embedding_cache.drop(connection, store.key, bad, model)
        embedding_cache.retry_refused(connection, store.key, model)
        for source in SOURCES.values():
            change_log.reset_cursor(connection, store.key, source.cursor_name(model), 0)
    if store.folder is not None:
        embedding_cache.halve_all(store.database)
    return f"vectors: {counted(len(bad), 'unusable one')} dropped, missing ones are embedded in the background"


def _index_file(opened: SpaceStore) -> Iterator[str]:
    """Read what is in memory anew, and write its file anew; a line that says so, if there was one."""
    if opened.folder is None:
        return
    store = opened.in_folder
    there = bool(files(store.folder))
    try:
        store.index_file.discard()
        store.reset_index()
        if there:
            store.write_index_file()
            yield "index file: written anew"
    except StorageError as error:
        yield f"index file: it could not be written ({error.message})"


def _on_server(store: SpaceStore) -> Iterator[str]:
    """Fill the collections on the Chroma server again, if there is one; a line that says so."""
    served = [shelf for shelf in store.shelves if shelf.served]
    try:
        for shelf in served:
            shelf.rebuild()
    except ServerUnreachable as error:
        yield f"Chroma: left alone ({error.message})"
    else:
        if served:
            yield f"Chroma: {counted(sum(len(shelf.ids()) for shelf in served), 'vector')} sent to the server anew"


def _projection(store: SpaceStore) -> str:
    chroma = store.chroma
    if chroma is not None and not chroma.needed():
        chroma.drop()
        return "Chroma: not needed yet, search in memory is enough"
    try:
        owned = chroma is not None and chroma.own()
    except StorageError as error:
        return f"Chroma: left alone ({error.message})"
    if chroma is None or not owned:
        return "Chroma: left alone, another process owns it"
    chroma.rebuild()
    return f"Chroma: {counted(len(chroma.ids()), 'vector')} in a fresh folder"


# The database file.


def _database_file(store: SpaceStore) -> Iterator[str]:
    """Give the free pages of the file back to the disk; a line that says so, if the space has a file."""
    if store.folder is None:
        return
    try:
        folded = store.in_folder.file.rewrite()
    except DatabaseDamaged:
        raise
    except StorageError as error:
        yield f"database file: its free pages stay in it ({error.message})"
    else:
        yield "database file: written anew, without free pages" if folded else _NOT_FOLDED
