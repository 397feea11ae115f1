"""The doctor: compares every projection with the records, without changing anything."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sqlalchemy import Connection

from langmem_tiers import private_files
from langmem_tiers.background import embedding, filing
from langmem_tiers.errors import DatabaseDamaged, ProjectionDamaged, ServerUnreachable, StorageError
from langmem_tiers.forgetting import traces
from langmem_tiers.knowledge_graph.snapshot import UnusableSnapshot
from langmem_tiers.knowledge_graph.view import GraphView
from langmem_tiers.knowledge_graph.view_updates import build_view
from langmem_tiers.maintenance import altered
from langmem_tiers.storage import (
    change_log,
    embedding_cache,
    entities,
    inspection,
    keyword,
    notes,
    purging,
    relations,
)
from langmem_tiers.storage.chroma import CURSOR, ChromaIndex
from langmem_tiers.storage.chroma_server import Shelf
from langmem_tiers.storage.index_file import UnusableIndexFile
from langmem_tiers.store import ServerStore, SpaceStore
from langmem_tiers.types import Finding
from langmem_tiers.wording import counted

_REBUILD = "Run `langmem-tiers rebuild`: it loses nothing."
_BACKUP = "Put a backup in its place: `langmem-tiers restore`."
_COPY = "Put a copy of the database in its place: `pg_restore`."
_FILLED_AGAIN = (
    "`langmem-tiers rebuild` fills a new one from the records, without a model; without it, the background does so "
    "after the next recall or message. Until then, recall goes by words."
)
_UNNAMED = "Name it, with chroma= or --chroma, wherever the memory is opened: else each search reads all of them."
_STRIDE = 1000
_Check = Callable[[SpaceStore, str | None], Iterator[Finding]]
# https://www.sqlite.org/wal.html#walresetbug
_WAL_BUG_FIXED = (3, 51, 3)
_WAL_BUG_BACKPORTED = ((3, 44, 6), (3, 50, 7))


def examine(store: SpaceStore, model: str | None, *, deep: bool = False) -> tuple[Finding, ...]:
    """All findings on a space, in the order of the checks; `deep` reads every text and every index as well."""
    checks = (*_CHECKS, *_DEEP) if deep else _CHECKS
    looked_at = [check for check in checks if store.folder is not None or check not in _OF_FILES]
    found = [finding for check in looked_at for finding in _carried_out(check, store, model)]
    return tuple(dict.fromkeys(found))


def _carried_out(check: _Check, store: SpaceStore, model: str | None) -> Iterator[Finding]:
    """The findings of a check; records that it cannot read are a finding, and hide no other."""
    try:
        yield from check(store, model)
    except DatabaseDamaged as error:
        yield _problem("records", error.message, _copy(store))


def _copy(store: SpaceStore) -> str:
    """The way out where the records are damaged, and not what is made from them."""
    return _COPY if store.folder is None else _BACKUP


def _sqlite_version(_store: SpaceStore, _model: str | None) -> Iterator[Finding]:
    version = sqlite3.sqlite_version_info
    patched = any(version[:2] == fixed[:2] and version >= fixed for fixed in _WAL_BUG_BACKPORTED)
    if version >= _WAL_BUG_FIXED or patched:
        yield _ok("sqlite", f"SQLite {sqlite3.sqlite_version}")
        return
    message = f"SQLite {sqlite3.sqlite_version} has a rare fault when several connections write at once."
    way_out = "A Python with SQLite 3.51.3 or newer is free of it; see sqlite.org/wal.html#walresetbug."
    yield _note("sqlite", message, way_out)


def _files(store: SpaceStore, _model: str | None) -> Iterator[Finding]:
    found = private_files.open_to_others(store.in_folder.folder)
    if found:
        message = f"Others may read {counted(len(found), 'file or folder', 'files and folders')}, such as {found[0]}."
        yield _note(
            "files", message, "Run `chmod -R go=` on the folder of the memory, or keep it on a disk that knows modes."
        )


def _database(store: SpaceStore, _model: str | None) -> Iterator[Finding]:
    """Whether row-level security holds for the role that a database was opened with."""
    if not isinstance(store, ServerStore):
        return
    role = store.database.unbound_role()
    if role is not None:
        message = f"Row-level security does not hold for the role {role} in {store.database.where}"
        yield _note("database", message, "Open it with a role of its own, which is no superuser and has no BYPASSRLS.")


def _records(store: SpaceStore, _model: str | None) -> Iterator[Finding]:
    with store.reading() as connection:
        faults = inspection.faults(connection) if store.folder is not None else []
        if faults:
            yield _problem("records", f"The database is damaged: {'; '.join(faults)}", _copy(store))
            return
        orphans = inspection.dangling_rows(connection, store.key)
    if orphans:
        yield _problem(
            "records",
            f"{counted(orphans, 'row belongs', 'rows belong')} to drawers or rooms that are not there",
            _copy(store),
        )
    else:
        yield _ok("records", "every row belongs to a drawer, every drawer to a room")


def _keyword(store: SpaceStore, _model: str | None) -> Iterator[Finding]:
    try:
        with store.writing() as connection:
            keyword.drawers.check(connection)
            held = keyword.drawers.numbers(connection)
            standing = inspection.standing_drawers(connection, store.key)
    except DatabaseDamaged as error:
        yield _problem("keyword index", f"FTS5 reports damage: {error.message}")
        return
    missing, extra = len(standing - held), len(held - standing)
    if missing or extra:
        yield _problem("keyword index", _off("drawer", missing, extra))
    else:
        yield _ok("keyword index", f"{counted(len(held), 'drawer')}, as in the records")


def _backlog(store: SpaceStore, model: str | None) -> Iterator[Finding]:
    waiting = {"filed": filing.pending(store.database)}
    if model is not None:
        waiting["embedded"] = embedding.pending_drawers(store.database, model)
    for work, count in waiting.items():
        if count:
            yield _waiting(f"{counted(count, 'drawer waits', 'drawers wait')} to be {work}")
        else:
            yield _ok("background", f"every drawer is {work}")


def _deleted(store: SpaceStore, _model: str | None) -> Iterator[Finding]:
    """Whether the files may still hold bytes of what was deleted."""
    with store.reading() as connection:
        if not purging.wanted(connection, store.key):
            return
        pending = purging.is_pending(connection, store.key)
        shown = traces.is_left(connection, store.key)
    if shown:
        yield _waiting("receipts of another space still show what was forgotten here; that space could not be read")
    if pending:
        yield _waiting("the bytes of what was deleted wait to be erased from the files")
    elif not shown:
        yield _ok("deleted", "the files hold nothing of what was deleted")


def _vectors(store: SpaceStore, model: str | None) -> Iterator[Finding]:
    if model is None:
        return
    with store.reading() as connection:
        bad = len(embedding_cache.unusable(connection, store.key, model))
        total, with_vector = embedding_cache.counts(connection, store.key, model)
        waiting = embedding.drawers_waiting(connection, store.key, model)
        aside = embedding_cache.refusals(connection, store.key, model)
        total -= embedding_cache.refused_chunks(connection, store.key, aside)
    if aside:
        yield _refused(aside)
    if bad:
        yield _problem("vectors", f"{counted(bad, 'vector is', 'vectors are')} cut off or not finite")
    if total > with_vector and not waiting:
        yield _problem(
            "vectors",
            f"{counted(total - with_vector, 'chunk has none and waits', 'chunks have none and wait')} for none",
        )
    if not bad and (total == with_vector or waiting):
        yield _ok("vectors", f"{with_vector} of {total} chunks have one of {model}")


def _refused(aside: Mapping[bytes, str]) -> Finding:
    reason = next(iter(aside.values())).rstrip(".")
    message = f"Texts that the embedder refused, found by their words only: {len(aside)} ({reason})"
    way_out = "They are embedded when another embedder is used, or tried again after `langmem-tiers rebuild`."
    return _note("vectors", message, way_out)


def _chroma(store: SpaceStore, model: str | None) -> Iterator[Finding]:
    chroma = store.chroma
    if model is None or chroma is None:
        return
    if not chroma.needed():
        yield _ok("Chroma", "not needed yet, search in memory is enough")
        return
    with store.reading() as connection:
        behind = change_log.cursor(connection, store.key, CURSOR) < _last_embedded(connection, store.key)
        more_to_come = _is_embedding(connection, store.key, chroma.model, "drawers")
        expected = _expected_ids(connection, store.key, chroma.model)
        allowed = {f"{drawer}.{place}" for drawer, place in embedding_cache.named(connection, store.key, chroma.model)}
    yield _compared(expected, allowed, chroma, behind=behind, more_to_come=more_to_come)


def _compared(
    expected: set[str], allowed: set[str], chroma: ChromaIndex, *, behind: bool, more_to_come: bool
) -> Finding:
    """Vectors unusable in the cache may or may not be in Chroma; that is reported for the cache."""
    try:
        if not chroma.own():
            return _note("Chroma", "Another process owns it; not looked at from here.")
        held = chroma.ids()
    except ProjectionDamaged as error:
        return _problem("Chroma", f"It cannot read its own files: {error.message}")
    except StorageError as error:
        return _problem("Chroma", error.message, error.way_out)
    missing, extra = len(expected - held), len(held - allowed)
    if behind or (more_to_come and (missing or extra)):
        return _note("Chroma", "It follows the records and is on its way.")
    if missing or extra:
        return _problem("Chroma", _off("vector", missing, extra))
    return _ok("Chroma", f"{counted(len(held), 'vector')}, as in the records")


def _chroma_server(store: SpaceStore, _model: str | None) -> Iterator[Finding]:
    for shelf in store.shelves:
        if not shelf.served:
            if shelf.was_filled():
                yield _note("Chroma", "The vectors are on a Chroma server, and none was named.", _UNNAMED)
                return
            continue
        try:
            yield _on_server(store, shelf)
        except ServerUnreachable as error:
            yield _note("Chroma", error.message, error.way_out)
            return


def _on_server(store: SpaceStore, shelf: Shelf) -> Finding:
    """Whether the server has the vectors of one kind.

    Raises:
        ServerUnreachable: it does not answer.
    """
    if shelf.is_gone():
        return _problem("Chroma", "The server has lost the collection of the vectors.", _FILLED_AGAIN)
    with store.reading() as connection:
        more_to_come = _is_embedding(connection, store.key, shelf.model, shelf.KIND)
    off = shelf.off()
    if off is None or (more_to_come and any(off)):
        return _waiting("vectors are on their way to the Chroma server")
    if any(off):
        return _problem("Chroma", _off("vector", *off))
    return _ok("Chroma", "the server has the vectors that are in the records")


def _is_embedding(connection: Connection, space: str, model: str, kind: str) -> bool:
    """Whether texts of a kind wait for the background.

    One that repeats the words of another has its vector at once, and is sent to Chroma when its turn comes.
    """
    return bool(embedding.SOURCES[kind].behind(connection, space, model, most=1))


def _last_embedded(connection: Connection, space: str) -> int:
    kinds: set[change_log.Kind] = {"drawers.embedded", *change_log.OUT_OF_INDEX}
    news = change_log.read(connection, space, after=0, kinds=kinds, most=1_000_000)
    return news[-1].position if news else 0


def _expected_ids(connection: Connection, space: str, model: str) -> set[str]:
    held = embedding_cache.load(connection, space, model, [(1, embedding_cache.last_drawer(connection, space))])
    if held is None:
        return set()
    return {f"{drawer}.{ordinal}" for drawer, ordinal in zip(held.drawers, held.ordinals, strict=True)}


def _note_words(store: SpaceStore, _model: str | None) -> Iterator[Finding]:
    try:
        with store.writing() as connection:
            keyword.notes.check(connection)
            held = keyword.notes.every(connection)
            newest = notes.newest(connection, store.key)
            wanted = {
                note.number: notes.words_row(note.number, note).searched
                for first in range(1, newest + 1, _STRIDE)
                for note in notes.between(connection, store.key, first, first + _STRIDE - 1)
            }
    except DatabaseDamaged as error:
        yield _problem("keyword index", f"FTS5 reports damage in that of notes: {error.message}")
        return
    off = sum(held.get(number) != words for number, words in wanted.items()) + len(held.keys() - wanted.keys())
    if off:
        yield _problem(
            "keyword index",
            f"{counted(off, 'note is missing, too many or has', 'notes are missing, too many or have')} other words",
        )
    else:
        yield _ok("keyword index", f"{counted(len(wanted), 'note')}, as in the records")


def _note_vectors(store: SpaceStore, model: str | None) -> Iterator[Finding]:
    if model is None:
        return
    waiting = embedding.pending_notes(store.database, model)
    with store.reading() as connection:
        total, with_vector = notes.counts(connection, store.key, model)
        total -= embedding_cache.refused_notes(
            connection, store.key, embedding_cache.refusals(connection, store.key, model)
        )
    if waiting:
        yield _waiting(f"{counted(waiting, 'note waits', 'notes wait')} to be embedded")
    elif total > with_vector:
        yield _problem(
            "vectors", f"{counted(total - with_vector, 'note has none and waits', 'notes have none and wait')} for none"
        )
    else:
        yield _ok("vectors", f"{with_vector} of {total} notes have one of {model}")


def _graph(store: SpaceStore, _model: str | None) -> Iterator[Finding]:
    with store.reading() as connection:
        now = change_log.moment(connection, store.key)
        try:
            store.graph.require_usable(now)
        except UnusableSnapshot as error:
            folder = store.graph.path is not None and store.graph.path.is_dir()
            way_out = f"Remove the folder {store.graph.path}: nothing of the memory is in it." if folder else _REBUILD
            yield _problem("graph", f"Its file cannot be used: {error}", way_out)
        held = store.graph.view(now)
        wanted = build_view(entities.every(connection, store.key), relations.every(connection, store.key))
    lost = sum(not wanted.drawn(row) for row in wanted.relations.values())
    if lost:
        yield _problem(
            "graph",
            f"{counted(lost, 'relation leads', 'relations lead')} from or to entities that are not there",
            _copy(store),
        )
    off = _differences(held, wanted)
    if off:
        yield _problem("graph", f"{off} entities and relations are missing, too many or others than in the records")
    elif not lost:
        counts = (
            f"{counted(len(wanted.entities), 'entity', 'entities')} and {counted(len(wanted.relations), 'relation')}"
        )
        yield _ok("graph", f"{counts}, as in the records")


def _differences(held: GraphView, wanted: GraphView) -> int:
    parts: tuple[tuple[Mapping[Any, Any], Mapping[Any, Any]], ...] = (
        (held.entities, wanted.entities),
        (held.relations, wanted.relations),
    )
    rows = sum(bool(one.get(key) != other.get(key)) for one, other in parts for key in one.keys() | other.keys())
    nodes = {*held.graph.nodes} ^ {*wanted.graph.nodes}
    edges = {*held.graph.edges(keys=True)} ^ {*wanted.graph.edges(keys=True)}
    return rows + len(nodes) + len(edges)


def _index_file(store: SpaceStore, _model: str | None) -> Iterator[Finding]:
    yield from _checked_index(store, "the facts of drawers are intact", deep=False)


def _index_vectors(store: SpaceStore, _model: str | None) -> Iterator[Finding]:
    yield from _checked_index(store, "every vector is as it was written", deep=True)


def _checked_index(store: SpaceStore, intact: str, *, deep: bool) -> Iterator[Finding]:
    try:
        reaches = store.in_folder.index_file.check(deep=deep)
    except UnusableIndexFile as error:
        yield _problem("index file", f"Recall reads the records instead: {error}")
    else:
        if reaches is not None:
            yield _ok("index file", f"{intact}, up to drawer {reaches}")


def _off(what: str, missing: int, extra: int) -> str:
    """How many of these are missing and too many in a projection."""
    too_many = counted(extra, "is", "are")
    return f"{counted(missing, f'{what} is', f'{what}s are')} missing and {too_many} too many"


def _ok(check: str, message: str) -> Finding:
    return Finding(check=check, level="ok", message=message)


def _note(check: str, message: str, way_out: str = "") -> Finding:
    return Finding(check=check, level="note", message=message, way_out=way_out)


def _waiting(message: str) -> Finding:
    return _note("background", message, "It goes on while it is open.")


def _problem(check: str, message: str, way_out: str = _REBUILD) -> Finding:
    return Finding(check=check, level="problem", message=message, way_out=way_out)


def _words(store: SpaceStore, _model: str | None) -> Iterator[Finding]:
    if store.folder is not None:
        yield from altered.altered_words(store)
        return
    told = "on a server, words have no hashes: whether its files are intact is told by the checksums of PostgreSQL"
    yield Finding(check="words", level="note", message=told, way_out="Use `initdb --data-checksums`.")


def _indexes(store: SpaceStore, _model: str | None) -> Iterator[Finding]:
    return altered.indexes(store)


# What is looked at only where a space has files of its own.
_OF_FILES = frozenset({_sqlite_version, _files, _index_file, _index_vectors, _indexes})
_CHECKS: tuple[_Check, ...] = (
    _sqlite_version,
    _files,
    _database,
    _records,
    _keyword,
    _backlog,
    _deleted,
    _vectors,
    _chroma,
    _chroma_server,
    _note_words,
    _note_vectors,
    _graph,
    _index_file,
)
_DEEP: tuple[_Check, ...] = (_words, _indexes, _index_vectors)
