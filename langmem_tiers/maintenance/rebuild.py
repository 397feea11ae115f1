"""Rebuilding projections from the records."""

from __future__ import annotations

from sqlalchemy import Connection, delete, select

from langmem_tiers.background.embedding import cursor_name
from langmem_tiers.clock import to_millis, utc_now
from langmem_tiers.maintenance import graph, notes
from langmem_tiers.maintenance.restating import restate
from langmem_tiers.maintenance.vectors import unusable
from langmem_tiers.palace.words import searchable
from langmem_tiers.storage import change_log, closets, keyword, rooms
from langmem_tiers.storage.keyword import KeywordRow
from langmem_tiers.storage.schema import drawers, embeddings
from langmem_tiers.storage.store import SpaceStore
from langmem_tiers.writing.indexing import keyword_row

_STRIDE = 1000


def rebuild(store: SpaceStore, model: str | None, *, chunk_characters: int) -> tuple[str, ...]:
    """Build everything anew that follows from the records; a line for each thing done."""
    # The statements first: that the index was made anew tells those who keep drawers in memory to read them again.
    lines = [f"statements: {restate(store, chunk_characters)} drawers looked at", _keyword_index(store)]
    lines += [*notes.rebuild_words(store), *graph.rebuild(store)]
    if model is None or store.chroma is None:
        return (*lines, "vectors: left alone, this memory was opened for keyword search only")
    return (*lines, _vectors(store, model), _projection(store))


def _keyword_index(store: SpaceStore) -> str:
    with store.writing() as connection:
        keyword.recreate(connection)
        for first in range(1, _last(connection, store.key) + 1, _STRIDE):
            keyword.add(connection, _rows(connection, store.key, first))
        for room in rooms.every(connection, store.key):
            found = closets.categories(connection, store.key, room.number)
            keyword.categorise(connection, [(drawer, searchable(category)) for drawer, category in found])
        count = keyword.count(connection)
        last, now = _last(connection, store.key), to_millis(utc_now())
        change_log.append(connection, store.key, "keyword.rebuilt", 1, until=last, at=now)
    return f"keyword index: {count} drawers"


def _rows(connection: Connection, space: str, first: int) -> list[KeywordRow]:
    standing = (drawers.c.space == space, drawers.c.superseded_by.is_(None))
    stride = drawers.c.number.between(first, first + _STRIDE - 1)
    found = connection.execute(select(drawers.c.number, drawers.c.content, drawers.c.tags).where(*standing, stride))
    return [keyword_row(row.number, row.content, row.tags.split("\n")) for row in found]


def _vectors(store: SpaceStore, model: str) -> str:
    """Drop unusable vectors and have the embedding pass look at every drawer again: it fills what is missing."""
    with store.writing() as connection:
        bad = unusable(connection, store.key, model)
        for text_hash in bad:
            this = (embeddings.c.space == store.key, embeddings.c.model == model, embeddings.c.text_hash == text_hash)
            connection.execute(delete(embeddings).where(*this))
        change_log.reset_cursor(connection, store.key, cursor_name(model), 0)
        notes.embed_again(connection, store.key, model)
    return f"vectors: {len(bad)} unusable ones dropped, missing ones are embedded in the background"


def _projection(store: SpaceStore) -> str:
    chroma = store.chroma
    if chroma is None or not chroma.own():
        return "Chroma: left alone, another process owns it"
    chroma.rebuild()
    return f"Chroma: {len(chroma.ids())} vectors in a fresh folder"


def _last(connection: Connection, space: str) -> int:
    newest = select(drawers.c.number).where(drawers.c.space == space).order_by(drawers.c.number.desc()).limit(1)
    return connection.execute(newest).scalar() or 0
