"""Notes: their keyword index and their vectors compared with their records, and made anew from them."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection

from langmem_tiers.background import noting
from langmem_tiers.clock import to_millis, utc_now
from langmem_tiers.errors import DatabaseDamaged
from langmem_tiers.storage import change_log, note_words, notes
from langmem_tiers.storage.store import SpaceStore
from langmem_tiers.types import Finding

_REBUILD = "Run `langmem-tiers rebuild`: it loses nothing."
_STRIDE = 1000


def examine(store: SpaceStore, model: str | None) -> Iterator[Finding]:
    """Findings on notes; the checks are those that drawers are put to as well."""
    yield _words(store)
    if model is not None:
        yield _vectors(store, model)


def rebuild_words(store: SpaceStore) -> tuple[str, ...]:
    """Make the keyword index of notes anew from the notes; a line that says so, where there are any."""
    with store.writing() as connection:
        note_words.recreate(connection)
        newest = notes.newest(connection, store.key)
        for stride in _strides(connection, store.key):
            note_words.add(connection, map(notes.words_row, stride))
        if newest:
            # Those who keep notes in memory read all of them again.
            change_log.append(connection, store.key, "notes.changed", 1, until=newest, at=to_millis(utc_now()))
        total, _ = notes.counts(connection, store.key, None)
    return (f"keyword index of notes: {total} notes",) if total else ()


def embed_again(connection: Connection, space: str, model: str) -> None:
    """Have the pass that embeds notes look at each of them again: it fills what is missing."""
    change_log.reset_cursor(connection, space, noting.cursor_name(model), 0)


def _words(store: SpaceStore) -> Finding:
    try:
        with store.writing() as connection:
            note_words.check(connection)
            held = note_words.every(connection)
            wanted = {
                note.number: note_words.searched(notes.words_row(note))
                for stride in _strides(connection, store.key)
                for note in stride
            }
    except DatabaseDamaged as error:
        return _problem("keyword index", f"FTS5 reports damage in that of notes: {error.message}")
    off = sum(held.get(number) != words for number, words in wanted.items()) + len(held.keys() - wanted.keys())
    if off:
        return _problem("keyword index", f"{off} notes are missing, too many or have other words")
    return Finding(check="keyword index", level="ok", message=f"{len(wanted)} notes, as in the records")


def _vectors(store: SpaceStore, model: str) -> Finding:
    waiting = noting.pending(store.database, model)
    with store.reading() as connection:
        total, with_vector = notes.counts(connection, store.key, model)
    if waiting:
        message = f"{waiting} notes wait to be embedded"
        return Finding(check="background", level="note", message=message, way_out="It goes on while it is open.")
    if total > with_vector:
        return _problem("vectors", f"{total - with_vector} notes have none and wait for none")
    return Finding(check="vectors", level="ok", message=f"{with_vector} of {total} notes have one of {model}")


def _strides(connection: Connection, space: str) -> Iterator[list[notes.Note]]:
    newest = notes.newest(connection, space)
    return (notes.between(connection, space, first, first + _STRIDE - 1) for first in range(1, newest + 1, _STRIDE))


def _problem(check: str, message: str) -> Finding:
    return Finding(check=check, level="problem", message=message, way_out=_REBUILD)
