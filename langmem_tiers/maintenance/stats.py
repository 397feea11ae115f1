"""Counts and sizes of a space."""

from __future__ import annotations

from langmem_tiers.background import embedding, filing
from langmem_tiers.storage import change_log, closets, embedding_cache, index_file, inspection, notes, receipts
from langmem_tiers.storage.folder import size
from langmem_tiers.store import SpaceStore
from langmem_tiers.types import SpaceStats


def stats(store: SpaceStore, model: str | None) -> SpaceStats:
    """Count everything in one snapshot."""
    waiting = embedding.pending_drawers(store.database, model) if model else 0
    unfiled = filing.pending(store.database)
    with store.reading() as connection:
        key = store.key
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
            database_bytes=store.database.size(),
            chroma_bytes=size(store.folder / "chroma"),
            index_bytes=sum(file.stat().st_size for file in index_file.files(store.folder)),
        )
