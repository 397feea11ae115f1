"""Counts and sizes of a space."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection

from langmem_tiers.background import embedding, filing
from langmem_tiers.storage import change_log, closets, embedding_cache, inspection, notes, receipts
from langmem_tiers.store import SpaceSizes, SpaceStore
from langmem_tiers.types import SpaceStats


def stats(store: SpaceStore, model: str | None, *, by_kind: bool = False) -> SpaceStats:
    """Count everything in one snapshot; what the bytes are for takes reading all of them."""
    waiting = embedding.pending_drawers(store.database, model) if model else 0
    unfiled = filing.pending(store.database)
    held = store.sizes()  # on a server, with a connection of its own: whoever waits for one may not hold another
    with store.reading() as connection:
        key = store.key
        parts = _parts(connection, held, in_files=store.folder is not None) if by_kind else {}
        chunks, vectors = embedding_cache.counts(connection, key, model)
        return SpaceStats(
            space=store.name,
            folder=held.where,
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
            database_bytes=held.records,
            chroma_bytes=held.chroma,
            index_bytes=held.index_file,
            bytes_by_kind=parts,
        )


def _parts(connection: Connection, held: SpaceSizes, *, in_files: bool) -> Mapping[str, int]:
    """The bytes of a space by what they are for; free pages, the write-ahead log and small files are "other", too."""
    parts = inspection.bytes_by_kind(connection)
    if not in_files:
        return parts
    other = parts["other"] + max(0, held.records - sum(parts.values())) + held.others
    in_own_files = {"index file": held.index_file, "graph": held.graph, "Chroma": held.chroma}
    return {**parts, "other": other, **in_own_files}
