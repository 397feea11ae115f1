"""Counts and sizes of a space."""

from __future__ import annotations

from sqlalchemy import Connection, func, select

from langmem_tiers.background import embedding, filing
from langmem_tiers.storage import change_log, closets, embedding_cache, notes, receipts
from langmem_tiers.storage.folder import size
from langmem_tiers.storage.schema import documents, drawers, entries, episodes, rooms, store_items
from langmem_tiers.storage.store import SpaceStore
from langmem_tiers.types import SpaceStats


def stats(store: SpaceStore, model: str | None) -> SpaceStats:
    """Count everything in one snapshot."""
    waiting = embedding.pending(store.database, model) if model else 0
    unfiled = filing.pending(store.database)
    with store.reading() as connection:
        key = store.key
        chunks, vectors = embedding_cache.counts(connection, key, model)
        # Wings that no session is filed in any more, or yet, are no part of the palace.
        in_use = select(func.count(func.distinct(rooms.c.wing))).where(rooms.c.space == key)
        superseded = select(func.count()).where(drawers.c.space == key, drawers.c.superseded_by.is_not(None))
        active = select(func.count()).where(entries.c.space == key, entries.c.status == "active")
        holding = connection.execute(active).scalar_one()
        return SpaceStats(
            space=store.name,
            folder=str(store.folder),
            drawers=_count(connection, drawers, key),
            superseded=connection.execute(superseded).scalar_one(),
            sessions=_count(connection, rooms, key),
            wings=connection.execute(in_use).scalar_one(),
            closets=closets.count(connection, key),
            entries=holding,
            inactive_entries=_count(connection, entries, key) - holding,
            episodes=_count(connection, episodes, key),
            documents=_count(connection, documents, key),
            items=_count(connection, store_items, key),
            notes=notes.counts(connection, key, None)[0],
            chunks=chunks,
            vectors=vectors,
            pending=waiting,
            unfiled=unfiled,
            recalls=receipts.count(connection, key),
            log_position=change_log.head(connection, key),
            embedding_model=model,
            database_bytes=store.database.size(),
            chroma_bytes=size(store.folder / "chroma"),
        )


def _count(connection: Connection, table: object, key: str) -> int:
    where = table.c.space == key  # type: ignore[attr-defined]
    return int(connection.execute(select(func.count()).select_from(table).where(where)).scalar_one())  # type: ignore[arg-type]
