"""Counts and sizes of a space."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection

from langmem_tiers.background import embedding, filing
from langmem_tiers.storage import change_log, closets, embedding_cache, index_file, inspection, notes, receipts
from langmem_tiers.storage.folder import size
from langmem_tiers.store import SpaceStore
from langmem_tiers.types import SpaceStats


def stats(store: SpaceStore, model: str | None, *, by_kind: bool = False) -> SpaceStats:
    """Count everything in one snapshot; what the bytes are for takes reading all of them."""
    waiting = embedding.pending_drawers(store.database, model) if model else 0
    unfiled = filing.pending(store.database)
    with store.reading() as connection:
        key = store.key
        database, of_chroma = store.database.size(), size(store.folder / "chroma")
        of_index = sum(file.stat().st_size for file in index_file.files(store.folder))
        parts = _parts(connection, database) if by_kind else {}
        chunks, vectors = embedding_cache.counts(connection, key, model)
        return SpaceStats(
            space=store.name,
            folder=str(store.folder),
            **inspection.counts(connection, key)._asdict(),
            closets=closets.count(connection, key),
            notes=notes.counts(connection, key, None)[0],
            chunks=chunks,
            vectors=vectors,
            pending=waiting,
            unfiled=unfiled,
            recalls=receipts.count(connection, key),
            log_position=change_log.head(connection, key),
            embedding_model=model,
            database_bytes=database,
            chroma_bytes=of_chroma,
            index_bytes=of_index,
            bytes_by_kind={**parts, "index file": of_index, "Chroma": of_chroma} if parts else {},
        )


def _parts(connection: Connection, database: int) -> Mapping[str, int]:
    """The bytes of the database by what they are for; free pages and the write-ahead log are "other", too."""
    held = inspection.bytes_by_kind(connection)
    return {**held, "other": held["other"] + max(0, database - sum(held.values()))}
