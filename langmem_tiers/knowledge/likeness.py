"""Finds the entries that say the same as a new one by a word that they all have in the index, however many there are.

The word is the likeness of their content: sentences that say the same have the same one, and few others have it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import Connection

from langmem_tiers.knowledge.neighbours import Neighbours
from langmem_tiers.language.paraphrase import says_the_same
from langmem_tiers.language.wordings import wording
from langmem_tiers.records import Entry, NewEntry
from langmem_tiers.storage import change_log, entries, facts, keyword, notes
from langmem_tiers.storage.entries import Filters
from langmem_tiers.storage.notes import NoteText
from langmem_tiers.storage.statements import ROWS_AT_ONCE

# Which likeness the entries of a space are indexed by: another number whenever that of a sentence changes.
_INDEXED, _VERSION = "entry_likeness", "1"


def note_of(entry: Entry | NewEntry) -> NoteText:
    """What of an entry is searched."""
    tags = (*entry.tags, wording(entry.content).likeness)
    return NoteText(text=entry.content, tags=" ".join(tags), category=entry.category)


def same_by_words(connection: Connection, space: str, texts: Collection[str], *, least: float, at: int) -> Neighbours:
    """The active entries that say the same as each of these texts, inside a writing transaction at this moment."""
    if facts.get(connection, space, _INDEXED) != _VERSION:
        _index(connection, space, at)
    asked = {text: wording(text).likeness for text in texts}
    alike = _alike(connection, space, list(dict.fromkeys(asked.values())))
    found: dict[str, dict[str, float | None]] = {}
    for text, likeness in asked.items():
        said = alike.get(likeness, ())
        found[text] = {note.ref: None for note in said if says_the_same(text, note.text, least=least)}
    return Neighbours(found=found)


def _alike(connection: Connection, space: str, likenesses: list[str]) -> dict[str, list[notes.Note]]:
    """The notes of entries that have one of these likenesses."""
    numbers: dict[str, list[int]] = {}
    for start in range(0, len(likenesses), ROWS_AT_ONCE):
        some = likenesses[start : start + ROWS_AT_ONCE]
        listed = keyword.notes.holding(connection, [(likeness, *keyword.ALL) for likeness in some])
        numbers |= {likeness: said.tolist() for likeness, (said, _) in zip(some, listed, strict=True)}
    held = notes.numbered_as(connection, space, [each for listed in numbers.values() for each in listed])
    return {
        likeness: [held[each] for each in listed if each in held and held[each].kind == "entry"]
        for likeness, listed in numbers.items()
    }


def is_indexed(note: Mapping[str, Any]) -> bool:
    """Whether a row of notes, if it is of an entry, has the word of its likeness."""
    return note["kind"] != "entry" or wording(note["text"]).likeness in note["tags"].split()


def forget_indexed(connection: Connection, space: str) -> None:
    """Have the entries indexed anew, before the next one that is compared with them."""
    facts.drop(connection, space, _INDEXED)


def _index(connection: Connection, space: str, at: int) -> None:
    """Index the entries by their likeness that were stored when there was none, or another one."""
    active = entries.find(connection, space, Filters(status="active"), -1)
    written = notes.put_all(connection, space, {("entry", each.id): [note_of(each)] for each in active})
    change_log.append_all(connection, space, written.news, at=at)
    facts.put(connection, space, _INDEXED, _VERSION)
