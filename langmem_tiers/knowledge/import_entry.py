"""Imports entries from another memory: under new ids, with their dates, once, and never over local knowledge."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from langmem_tiers.clock import to_millis
from langmem_tiers.errors import InvalidInput
from langmem_tiers.knowledge import tombstones, validation
from langmem_tiers.knowledge.entry_writer import EntryWriter
from langmem_tiers.knowledge.neighbours import Neighbours, same_by_words
from langmem_tiers.knowledge.preferences import CONFIRMED
from langmem_tiers.records import Authority, NewEntry
from langmem_tiers.storage import entries

if TYPE_CHECKING:
    from langmem_tiers.context import SpaceContext

Became = Literal["saved", "merged", "known", "deleted"]
"""What became of a fact: a new entry, another wording of one, nothing new, or one that was deleted here."""

_ID_CHARACTERS = 12
_ID = re.compile("[0-9a-f]{12}")
_LONGEST_ID = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportedEntry:
    """An entry of another memory. The same `key` and words always stand for the same entry.

    `id` is the one it has there, if it is to keep that. An id of another form stays in its metadata (`imported_id`),
    and so does one that another entry here has.
    """

    key: str
    content: str
    category: str | None
    tags: tuple[str, ...]
    metadata: Mapping[str, Any]
    created_at: datetime | None
    updated_at: datetime | None
    expires_at: datetime | None
    id: str | None = None


def import_entries(context: SpaceContext, several: Sequence[ImportedEntry]) -> list[Became | InvalidInput]:
    """Store entries of another memory in one transaction; returns what became of each, or why it cannot be stored.

    Those that were imported before, are known in these words, or were deleted here are left out.

    They have no author in this memory: whatever the user or an agent says about them later wins.
    """
    checked, least = [_checked(context, each) for each in several], context.settings.knowledge.merge_similarity
    became: list[Became | InvalidInput] = []
    with context.open() as store, store.writing() as connection:
        writer = EntryWriter(connection, store.key, to_millis(context.clock()))
        known = _Known.of(writer, several, checked)
        for imported, new in zip(several, checked, strict=True):
            if isinstance(new, InvalidInput):
                became.append(new)
            else:
                near = same_by_words(store, connection, new.content, least=least, settled=not became)
                became.append(_import(writer, imported, new, known, near, least))
    context.wake()
    return became


@dataclass(frozen=True, kw_only=True, slots=True)
class _Known:
    """What is there of those to be imported: the content of entries by their ids, and what was deleted."""

    contents: dict[str, str]
    deleted: Collection[str]

    @classmethod
    def of(
        cls, writer: EntryWriter, several: Sequence[ImportedEntry], checked: Sequence[NewEntry | InvalidInput]
    ) -> _Known:
        news = [each for each in checked if isinstance(each, NewEntry)]
        ids = {*(each.id for each in news), *map(_hashed, several)}
        there = entries.by_ids(writer.connection, writer.space, ids)
        return cls(
            contents={entry_id: entry.content for entry_id, entry in there.items()},
            deleted=tombstones.buried(writer, (each.content for each in news)),
        )


def _checked(context: SpaceContext, imported: ImportedEntry) -> NewEntry | InvalidInput:
    try:
        return _new(context, imported)
    except InvalidInput as error:
        return error


def _import(
    writer: EntryWriter, imported: ImportedEntry, new: NewEntry, there: _Known, near: Neighbours, least: float
) -> Became:
    if there.contents.get(new.id, new.content) != new.content and new.id != _hashed(imported):
        new = replace(new, id=_hashed(imported), metadata={**new.metadata, "imported_id": imported.id})
    known = writer.known(new.content, project=None, agent=None, neighbours=near)
    if new.id in there.contents or known.twin is not None:
        return "known"
    if new.content in there.deleted:
        return "deleted"
    saved = writer.place(new, (), known, least=least, dates=_dates(writer.now, imported))
    there.contents[new.id] = new.content
    return "merged" if saved.outcome == "merged" else "saved"


def was_deleted(context: SpaceContext, imported: ImportedEntry) -> bool:
    """Whether `import_entries` would skip it because it was deleted here.

    Raises:
        InvalidText, TextTooLong, SecretRefused, InvalidCategory, InvalidInput: it cannot be stored.
    """
    new = _new(context, imported)
    with context.open() as store, store.reading() as connection:
        writer = EntryWriter(connection, store.key, to_millis(context.clock()))
        return not _is_known(writer, new) and tombstones.is_buried(writer, new.content)


def _new(context: SpaceContext, imported: ImportedEntry) -> NewEntry:
    settings = context.settings
    content = validation.content(imported.content, settings)
    entry_id = id_here(imported)
    about = {name: value for name, value in imported.metadata.items() if name != CONFIRMED}  # of no user here
    if imported.id and imported.id != entry_id:
        about["imported_id"] = imported.id[:_LONGEST_ID]
    return NewEntry(
        id=entry_id,
        content=content,
        category=validation.category(imported.category, settings),
        tags=validation.tags(imported.tags, settings),
        origin="import",
        path="rule",
        authority=Authority.SYSTEM,
        flags=validation.flags(content),
        metadata=validation.metadata(about, settings),
        expires_at=validation.moment(imported.expires_at, "expires_at"),
    )


def id_here(imported: ImportedEntry) -> str:
    """The id that an entry has here: its own if it has our form, else a hash of its key and words."""
    return imported.id if imported.id and _ID.fullmatch(imported.id) else _hashed(imported)


def _hashed(imported: ImportedEntry) -> str:
    named = "\0".join((imported.key, imported.content))
    return hashlib.sha256(named.encode()).hexdigest()[:_ID_CHARACTERS]


def _is_known(writer: EntryWriter, new: NewEntry) -> bool:
    """Whether it was imported before, or an entry says exactly the same, active or not."""
    return writer.read(new.id) is not None or writer.known(new.content, project=None, agent=None).twin is not None


def _dates(now: int, imported: ImportedEntry) -> tuple[int, int] | None:
    """When an entry was made and last changed, None if it does not say; what lies in the future is clipped."""
    created = imported.created_at or imported.updated_at
    if created is None:
        return None
    changed = max(created, imported.updated_at or created)
    return min(to_millis(created), now), min(to_millis(changed), now)
