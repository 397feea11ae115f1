"""Statements for drawers that were stored before statements got vectors of their own, or were found by other rules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, Row, func, or_, select, update
from sqlalchemy.dialects.sqlite import insert as insert_or

from langmem_tiers.storage.schema import chunks, drawers
from langmem_tiers.storage.store import SpaceStore
from langmem_tiers.writing import pieces
from langmem_tiers.writing.pieces import Span

_STRIDE = 1000
_COLUMNS = (drawers.c.number, drawers.c.role, drawers.c.speaker, drawers.c.content, drawers.c.states)


def restate(store: SpaceStore, chunk_characters: int) -> int:
    """Find the statements of each drawer anew and add those that are missing; how many drawers were looked at.

    Their vectors are left to the embedding pass. Nothing is taken away. Turns wait for the short moments of writing
    only, not for the analysis.
    """
    with store.reading() as connection:
        newest = select(func.max(drawers.c.number)).where(drawers.c.space == store.key)
        last = connection.execute(newest).scalar() or 0
    return sum(_stride(store, first, chunk_characters) for first in range(1, last + 1, _STRIDE))


def _stride(store: SpaceStore, first: int, chunk_characters: int) -> int:
    with store.reading() as connection:
        found = _speaking(connection, store.key, first)
        held = _held(connection, store.key, first)
    missing: list[dict[str, Any]] = []
    changed: dict[int, int] = {}
    for row in found:
        told = pieces.told(row.content, role=row.role, speaker=row.speaker)
        missing += _missing(store.key, row, pieces.cut(row.content, told, chunk_characters), held[row.number])
        states = pieces.states(row.content, told)
        if states != row.states:
            changed[row.number] = states
    if missing or changed:
        with store.writing() as connection:
            _write(connection, store.key, missing, changed)
    return len(found)


def _speaking(connection: Connection, space: str, first: int) -> list[Row[Any]]:
    """The drawers of a stride that can hold statements, superseded ones too: an edit may be taken back."""
    these = (drawers.c.space == space, drawers.c.number.between(first, first + _STRIDE - 1))
    speaking = or_(drawers.c.role == "user", drawers.c.speaker.is_not(None))
    return list(connection.execute(select(*_COLUMNS).where(*these, speaking)))


def _held(connection: Connection, space: str, first: int) -> dict[int, list[Span]]:
    """The spans that have a chunk, by drawer."""
    columns = (chunks.c.drawer, chunks.c.start, chunks.c.stop)
    these = (chunks.c.space == space, chunks.c.drawer.between(first, first + _STRIDE - 1))
    held: dict[int, list[Span]] = defaultdict(list)
    for drawer, start, stop in connection.execute(select(*columns).where(*these)):
        held[drawer].append((start, stop))
    return held


def _missing(space: str, row: Row[Any], told: Sequence[Span], held: Sequence[Span]) -> Iterator[dict[str, Any]]:
    """Rows for the statements without a chunk, numbered on from those that are held."""
    for ordinal, span in enumerate((span for span in told if span not in held), start=len(held)):
        text_hash = pieces.text_hash(row.content, span, speaker=row.speaker)
        place = {"drawer": row.number, "ordinal": ordinal, "start": span[0], "stop": span[1]}
        yield {"space": space, **place, "text_hash": text_hash}


def _write(connection: Connection, space: str, missing: Sequence[dict[str, Any]], changed: dict[int, int]) -> None:
    if missing:  # another process may be rebuilding as well: it adds the same
        connection.execute(insert_or(chunks).on_conflict_do_nothing(), list(missing))
    for number, states in changed.items():
        this = (drawers.c.space == space, drawers.c.number == number)
        connection.execute(update(drawers).where(*this).values(states=states))
