"""The doctor: every projection compared with the records, without changing anything."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from sqlalchemy import Connection, func, select

from langmem_tiers.background import embedding, filing
from langmem_tiers.errors import DatabaseDamaged, ProjectionDamaged
from langmem_tiers.maintenance import graph, notes
from langmem_tiers.maintenance.vectors import unusable
from langmem_tiers.storage import change_log, embedding_cache, keyword
from langmem_tiers.storage.chroma_index import CURSOR, ChromaIndex
from langmem_tiers.storage.schema import chunks, drawers, rooms, turns
from langmem_tiers.storage.store import SpaceStore
from langmem_tiers.types import Finding

_REBUILD = "Run `langmem-tiers rebuild`: it loses nothing."
_BACKUP = "Put a backup in its place."
# https://www.sqlite.org/wal.html#walresetbug
_WAL_BUG_FIXED = (3, 51, 3)
_WAL_BUG_BACKPORTED = ((3, 44, 6), (3, 50, 7))


def examine(store: SpaceStore, model: str | None) -> tuple[Finding, ...]:
    """All findings on a space, in the order of the checks."""
    findings = [_sqlite_version(), *_records(store), *_keyword(store), *_backlog(store, model)]
    if model is not None:
        findings += [*_vectors(store, model), *_chroma(store)]
    return (*findings, *notes.examine(store, model), *graph.examine(store))


def _sqlite_version() -> Finding:
    version = sqlite3.sqlite_version_info
    patched = any(version[:2] == fixed[:2] and version >= fixed for fixed in _WAL_BUG_BACKPORTED)
    if version >= _WAL_BUG_FIXED or patched:
        return _ok("sqlite", f"SQLite {sqlite3.sqlite_version}")
    return Finding(
        check="sqlite",
        level="note",
        message=f"SQLite {sqlite3.sqlite_version} has a rare fault when several connections write at once.",
        way_out="A Python with SQLite 3.51.3 or newer is free of it; see sqlite.org/wal.html#walresetbug.",
    )


def _records(store: SpaceStore) -> Iterator[Finding]:
    with store.reading() as connection:
        faults = connection.exec_driver_sql("PRAGMA quick_check(5)").scalars().all()
        if faults != ["ok"]:
            yield _problem("records", f"The database is damaged: {'; '.join(faults)}", _BACKUP)
            return
        orphans = _orphans(connection, store.key)
    if orphans:
        yield _problem("records", f"{orphans} rows belong to drawers or rooms that are not there", _BACKUP)
    else:
        yield _ok("records", "every row belongs to a drawer, every drawer to a room")


def _orphans(connection: Connection, space: str) -> int:
    known = select(drawers.c.number).where(drawers.c.space == space)
    counts = (
        select(func.count()).where(turns.c.space == space, turns.c.drawer.not_in(known)),
        select(func.count()).where(chunks.c.space == space, chunks.c.drawer.not_in(known)),
        select(func.count()).where(
            drawers.c.space == space,
            drawers.c.room.not_in(select(rooms.c.number).where(rooms.c.space == space)),
        ),
    )
    return sum(connection.execute(count).scalar_one() for count in counts)


def _keyword(store: SpaceStore) -> Iterator[Finding]:
    try:
        with store.writing() as connection:
            keyword.check(connection)
            held = keyword.drawers(connection)
            standing = _standing(connection, store.key)
    except DatabaseDamaged as error:
        yield _problem("keyword index", f"FTS5 reports damage: {error.message}", _REBUILD)
        return
    missing, extra = len(standing - held), len(held - standing)
    if missing or extra:
        yield _problem("keyword index", f"{missing} drawers are missing and {extra} are too many", _REBUILD)
    else:
        yield _ok("keyword index", f"{len(held)} drawers, as in the records")


def _standing(connection: Connection, space: str) -> set[int]:
    wanted = select(drawers.c.number).where(drawers.c.space == space, drawers.c.superseded_by.is_(None))
    return set(connection.execute(wanted).scalars())


def _backlog(store: SpaceStore, model: str | None) -> Iterator[Finding]:
    waiting = {"filed": filing.pending(store.database)}
    if model is not None:
        waiting["embedded"] = embedding.pending(store.database, model)
    for work, count in waiting.items():
        if count:
            message = f"{count} drawers wait to be {work}"
            yield Finding(check="background", level="note", message=message, way_out="It goes on while it is open.")
        else:
            yield _ok("background", f"every drawer is {work}")


def _vectors(store: SpaceStore, model: str) -> Iterator[Finding]:
    with store.reading() as connection:
        bad = len(unusable(connection, store.key, model))
        total, with_vector = embedding_cache.counts(connection, store.key, model)
        waiting = embedding.pending(store.database, model)
    if bad:
        yield _problem("vectors", f"{bad} vectors are cut off or not finite", _REBUILD)
    if total > with_vector and not waiting:
        yield _problem("vectors", f"{total - with_vector} chunks have none and wait for none", _REBUILD)
    if not bad and (total == with_vector or waiting):
        yield _ok("vectors", f"{with_vector} of {total} chunks have one of {model}")


def _chroma(store: SpaceStore) -> Iterator[Finding]:
    chroma = store.chroma
    if chroma is None:
        return
    with store.reading() as connection:
        behind = change_log.cursor(connection, store.key, CURSOR) < _last_embedded(connection, store.key)
        expected = _expected_ids(connection, store.key, chroma.model)
        allowed = {f"{drawer}.{place}" for drawer, place in embedding_cache.named(connection, store.key, chroma.model)}
    if not expected and not chroma.exists():
        yield _ok("Chroma", "nothing to hold yet")
    else:
        yield _compared(expected, allowed, chroma, behind)


def _compared(expected: set[str], allowed: set[str], chroma: ChromaIndex, behind: bool) -> Finding:
    """Vectors that are unusable in the cache are the fault of the cache: Chroma may hold them or not."""
    try:
        if not chroma.own():
            return Finding(check="Chroma", level="note", message="Another process owns it; not looked at from here.")
        held = chroma.ids()
    except ProjectionDamaged as error:
        return _problem("Chroma", f"It can not read its own files: {error.message}", _REBUILD)
    if behind:
        return Finding(check="Chroma", level="note", message="It follows the records and is on its way.")
    missing, extra = len(expected - held), len(held - allowed)
    if missing or extra:
        return _problem("Chroma", f"{missing} vectors are missing and {extra} are too many", _REBUILD)
    return _ok("Chroma", f"{len(held)} vectors, as in the records")


def _last_embedded(connection: Connection, space: str) -> int:
    news = change_log.read(connection, space, after=0, kinds={"drawers.embedded", "drawer.superseded"}, most=1_000_000)
    return news[-1].position if news else 0


def _expected_ids(connection: Connection, space: str, model: str) -> set[str]:
    held = embedding_cache.load(connection, space, model, [(1, embedding_cache.last_drawer(connection, space))])
    if held is None:
        return set()
    return {f"{drawer}.{ordinal}" for drawer, ordinal in zip(held.drawers, held.ordinals, strict=True)}


def _ok(check: str, message: str) -> Finding:
    return Finding(check=check, level="ok", message=message)


def _problem(check: str, message: str, way_out: str) -> Finding:
    return Finding(check=check, level="problem", message=message, way_out=way_out)
