"""Erases the bytes of what was deleted from all files of a space: database, write-ahead log, Chroma, graph.

Deleted rows are found by nobody from the moment of their transaction. This is what makes their bytes go; it can be
killed anywhere and goes on where it was.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from langmem_tiers.errors import StorageError
from langmem_tiers.storage import chroma, embedding_cache, keyword, purging
from langmem_tiers.storage.errors_border import translated
from langmem_tiers.telemetry.logs import say

if TYPE_CHECKING:
    from langmem_tiers.store import FolderStore, SpaceStore

log = logging.getLogger(__name__)

_BACKUPS = "memory.db.schema-*.bak"


def purge(store: SpaceStore, stop: Callable[[], bool] = lambda: False) -> bool:
    """Do what can be done now; returns whether everything is done.

    Another process that has Chroma open, or that reads an earlier moment, is waited for by the background; so is a
    Chroma server that does not answer.
    """
    with store.purging:
        with store.reading() as connection:
            upto = purging.wanted(connection, store.key)
            if upto <= purging.done(connection, store.key):
                return True
        finished = True
        for part, erase in (_on_server(store) if store.folder is None else _in_folder(store.in_folder)).items():
            if stop():
                return False
            finished = _part(store, part, erase, upto) and finished
        return finished


def _in_folder(store: FolderStore) -> dict[purging.Part, Callable[[], bool]]:
    return {"rows": partial(_rows, store), "chroma": partial(_chroma, store), "file": partial(_file, store)}


def _on_server(store: SpaceStore) -> dict[purging.Part, Callable[[], bool]]:
    """A server cleans up its own files: rows that were deleted are gone after its next vacuum."""
    return {"rows": partial(_words, store), "chroma": store.withdraw_vectors, "file": lambda: True}


def _part(store: SpaceStore, part: purging.Part, erase: Callable[[], bool], upto: int) -> bool:
    with store.reading() as connection:
        if purging.of_part(connection, store.key, part) >= upto:
            return True
    try:
        if not erase():
            return False
    except StorageError as error:
        say(log, logging.WARNING, "purge_waits", space=store.name, part=part, error=error, reason=error)
        return False
    with store.writing() as connection:
        purging.note(connection, store.key, part, upto)
    return True


def _rows(store: FolderStore) -> bool:
    """The files of graph and index, copies of older schemas, and the words of deleted rows, which FTS5 only marks."""
    store.graph.discard()
    store.index_file.discard()
    with translated(store.folder):
        for backup in store.folder.glob(_BACKUPS):
            backup.unlink()
    with store.writing() as connection:
        keyword.drawers.purge(connection)
    return _words(store)


def _words(store: SpaceStore) -> bool:
    with store.writing() as connection:
        purging.purge_words(connection, store.key)
    return True


def _file(store: FolderStore) -> bool:
    embedding_cache.halve_all(store.database)
    return store.file.rewrite()


def _chroma(store: FolderStore) -> bool:
    """Away with its folder, if that may hold vectors of deleted messages: to build it anew takes longer than this may.

    Until the background has built it, searches go through the embedding cache.
    """
    if not chroma.has_files(store.folder):
        return True
    if store.chroma is None:
        return chroma.discard_files(store.folder)
    return not store.chroma.behind_forgotten() or store.chroma.discard()
