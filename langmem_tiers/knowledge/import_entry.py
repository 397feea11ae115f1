"""Imports entries from another memory: under new ids, with their dates, once, and never over local knowledge."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from langmem_tiers.clock import to_millis
from langmem_tiers.errors import InvalidInput
from langmem_tiers.knowledge import tombstones, validation
from langmem_tiers.knowledge.decide import ExistingKnowledge
from langmem_tiers.knowledge.entry_writer import EntryWriter
from langmem_tiers.knowledge.likeness import same_by_words
from langmem_tiers.knowledge.neighbours import Neighbours, Sentences
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
    checked = [_checked(context, each) for each in several]
    with context.open() as store, store.writing() as connection:
        writer = EntryWriter(connection, store.key, to_millis(context.clock()))
        taking = _Importing.of(writer, several, checked, context.settings.knowledge.merge_similarity)
        became: list[Became | InvalidInput] = [
            new if isinstance(new, InvalidInput) else taking.take(imported, new)
            for imported, new in zip(several, checked, strict=True)
        ]
        taking.flush()
    context.wake()
    return became


@dataclass(frozen=True, kw_only=True)
class _Importing:
    """Takes entries one after the other, and writes those that nothing is known of together.

    `contents` are those of entries by their ids, `known` the texts that some entry has, `deleted` those that were
    deleted; `near` are the entries that said the same before, `taken` those that were taken.
    """

    writer: EntryWriter
    contents: dict[str, str]
    known: Collection[str]
    deleted: Collection[str]
    near: Neighbours
    least: float
    taken: Sentences
    waiting: list[tuple[NewEntry, tuple[int, int] | None]] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        writer: EntryWriter,
        several: Sequence[ImportedEntry],
        checked: Sequence[NewEntry | InvalidInput],
        least: float,
    ) -> _Importing:
        """Look up what is there of those to be imported, before anything is written."""
        news = [each for each in checked if isinstance(each, NewEntry)]
        texts = dict.fromkeys(each.content for each in news)
        there = entries.by_ids(writer.connection, writer.space, {*(each.id for each in news), *map(_hashed, several)})
        return cls(
            writer=writer,
            contents={entry_id: entry.content for entry_id, entry in there.items()},
            known=entries.contents_among(writer.connection, writer.space, texts),
            deleted=tombstones.buried(writer, texts),
            near=same_by_words(writer.connection, writer.space, texts, least=least, at=writer.now),
            least=least,
            taken=Sentences(least=least),
        )

    def take(self, imported: ImportedEntry, new: NewEntry) -> Became:
        """Store an entry, unless it is known or was deleted."""
        if self.contents.get(new.id, new.content) != new.content and new.id != _hashed(imported):
            new = replace(new, id=_hashed(imported), metadata={**new.metadata, "imported_id": imported.id})
        same = {*self.near.ids(new.content), *self.taken.saying(new.content)}
        known = ExistingKnowledge()
        if same or new.content in self.known:
            self.flush()
            near = Neighbours(found={new.content: dict.fromkeys(same)})
            known = self.writer.known(new.content, project=None, agent=None, neighbours=near)
        if new.id in self.contents or known.twin is not None:
            return "known"
        if new.content in self.deleted:
            return "deleted"
        self.contents[new.id] = new.content
        self.taken.add(new.id, new.content)
        dates = _dates(self.writer.now, imported)
        if not known.near:
            self.waiting.append((new, dates))
            return "saved"
        saved = self.writer.place(new, (), known, least=self.least, dates=dates)
        return "merged" if saved.outcome == "merged" else "saved"

    def flush(self) -> None:
        """Write those that wait."""
        if self.waiting:
            self.writer.add_all(self.waiting)
            self.waiting.clear()


def _checked(context: SpaceContext, imported: ImportedEntry) -> NewEntry | InvalidInput:
    try:
        return _new(context, imported)
    except InvalidInput as error:
        return error


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
