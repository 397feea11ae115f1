"""Storing records in a memory, each kind in its place: sessions as drawers, facts as entries, texts as documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from langmem_tiers.clock import Clock
from langmem_tiers.errors import IdentityFull, InvalidInput, MemoryTiersError, StorageError, TextChanged
from langmem_tiers.knowledge import document_text
from langmem_tiers.knowledge.documents import Documents
from langmem_tiers.knowledge.identity import Identity
from langmem_tiers.storage import documents
from langmem_tiers.transfer.readers import values
from langmem_tiers.transfer.readers.values import digest
from langmem_tiers.transfer.records import ImportedDocument, ImportedFact, ImportedSession
from langmem_tiers.transfer.speakers import Speakers, introduce
from langmem_tiers.types import TrackReport, Turn
from langmem_tiers.writing.tracking import Conversation, track

if TYPE_CHECKING:
    from langmem_tiers.context import SpaceContext
    from langmem_tiers.knowledge.import_entry import ImportedEntry
    from langmem_tiers.settings import Settings

Became = Literal["stored", "known", "refused", "deleted", "expired", "unknown"]
_STORED: Mapping[str, Became] = {"saved": "stored", "merged": "stored", "known": "known", "deleted": "deleted"}
_LONGEST_METADATA = 9_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """What became of a fact or a document; `reason` says why it was refused. A long fact is kept as a document.

    `unknown` is for what was only counted. `id` is what a fact is called here that was to keep its own id.
    """

    became: Became
    as_document: bool
    reason: str = ""
    id: str = ""


class Storing:
    """Stores records in the spaces of a memory. Everything has a stable name: storing it again changes nothing."""

    def __init__(
        self,
        context: Callable[[str], SpaceContext],
        settings: Settings,
        clock: Clock,
        *,
        user_speaker: str | None = None,
    ) -> None:
        self._context = context
        self.settings = settings
        self.clock = clock
        self.speakers = Speakers(context, user_speaker)

    def session(self, session: ImportedSession, space: str) -> TrackReport:
        """Keep what was said, verbatim, with its dates.

        Raises:
            StorageError: nothing of this session was stored.
        """
        if (name := self.speakers.users_name(session, space)) is not None:
            introduce(self._context(space), name)
        turns = [
            Turn(
                role=each.role,
                content=each.content,
                message_id=each.message_id,
                speaker=each.speaker,
                said_at=each.at,
                origin=origin,
            )
            for each, origin in zip(session.messages, self.speakers.origins(session, space), strict=True)
            if each.content.strip()
        ]
        return track(self._context(space), turns, Conversation(session=session.session, project=session.project))

    def facts(self, facts: Sequence[ImportedFact], space: str) -> list[Kept]:
        """Keep facts as entries, in one transaction; those that are too long for one become documents.

        Raises:
            StorageError: none of the entries was stored.
        """
        from langmem_tiers.knowledge.import_entry import id_here

        kept: dict[int, Kept] = {}
        entries: dict[int, ImportedFact] = {}
        for place, fact in enumerate(facts):
            if fact.expires_at is not None and fact.expires_at <= self.clock():
                kept[place] = Kept(became="expired", as_document=False)
            elif len(fact.content.strip()) > self.settings.knowledge.max_characters:
                path = values.document_path(fact.source, "long", digest(fact.fact_id))
                kept[place] = self.document(ImportedDocument(path=path, text=fact.content), space)
            else:
                entries[place] = fact
        for (place, fact), became in zip(entries.items(), self._entries([*entries.values()], space), strict=True):
            if isinstance(became, InvalidInput):
                kept[place] = Kept(became="refused", as_document=False, reason=became.message)
            else:
                here = id_here(self._foreign(fact)) if fact.keeps_id else ""
                kept[place] = Kept(became=became, as_document=False, id=here)
        return [kept[place] for place in range(len(facts))]

    def document(self, document: ImportedDocument, space: str) -> Kept:
        """Keep a text under its path, unless there is something already.

        Raises:
            StorageError: it was not stored.
        """
        held, most = Documents(self._context(space)), self.settings.text.max_characters
        if len(document.text) > most:
            reason = f"{document.path} has {len(document.text):,} characters; the limit is {most:,}."
            return Kept(became="refused", as_document=True, reason=reason)
        text = self._masked(document.text)
        try:
            became: Became = "known" if held.read(document.path) else "stored"
            if became == "stored" and self.deleted(document, space):
                became = "deleted"
            if became == "stored":
                held.write(document.path, text, version=0, origin="import")
        except StorageError:
            raise
        except MemoryTiersError as error:
            return Kept(became="refused", as_document=True, reason=error.message)
        if document.identity and became == "stored":
            # The identity of a space that never had one, if there is room for it; it stands in the document as well.
            with suppress(TextChanged, IdentityFull):
                Identity(self._context(space)).write(text, version=0, origin="import")
        return Kept(became=became, as_document=True)

    def deleted(self, record: ImportedFact | ImportedDocument, space: str) -> bool:
        """Whether a fact or a document was deleted here, and is not here again."""
        from langmem_tiers.knowledge.import_entry import was_deleted

        if isinstance(record, ImportedFact):
            return was_deleted(self._context(space), self._foreign(record))
        with self._context(space).open() as store, store.reading() as connection:
            path = document_text.path(record.path, self.settings)
            return documents.was_deleted(connection, store.key, path)

    def _entries(self, facts: Sequence[ImportedFact], space: str) -> list[Became | InvalidInput]:
        from langmem_tiers.knowledge.import_entry import import_entries

        if not facts:
            return []
        became = import_entries(self._context(space), [self._foreign(fact) for fact in facts])
        return [each if isinstance(each, InvalidInput) else _STORED[each] for each in became]

    def _foreign(self, fact: ImportedFact) -> ImportedEntry:
        from langmem_tiers.knowledge.import_entry import ImportedEntry
        from langmem_tiers.trust import secrets

        told = self._masked(fact.category or "")
        category = values.category(told)
        # A category in a script that categories cannot be in is still something to find the entry by.
        tags = fact.tags if category or not told else (told, *fact.tags)
        about: dict[str, Any] = {"imported_from": fact.source, **fact.metadata}
        if self.settings.privacy.derived != "keep":
            about = secrets.mask_values(about)
        if len(str(about)) > _LONGEST_METADATA:
            about = {"imported_from": about["imported_from"]}
        return ImportedEntry(
            key=f"{fact.source}\0{fact.fact_id}",
            content=self._masked(fact.content),
            category=category,
            tags=values.tags(tuple(self._masked(tag) for tag in tags)),
            metadata=about,
            created_at=fact.created_at,
            updated_at=fact.updated_at,
            expires_at=fact.expires_at,
            id=fact.fact_id if fact.keeps_id else None,
        )

    def _masked(self, text: str) -> str:
        """The text, its secrets masked also where they are refused: nobody is here to say it again without them."""
        from langmem_tiers.trust import secrets

        return text if self.settings.privacy.derived == "keep" else secrets.mask(text)


class Looking(Storing):
    """Stands in for `Storing` where nothing is to be stored: says what would be left behind, as far as it can.

    Without a `context` there is no memory yet, and nothing was deleted.
    """

    def __init__(
        self,
        context: Callable[[str], SpaceContext] | None,
        settings: Settings,
        clock: Clock,
        *,
        user_speaker: str | None = None,
    ) -> None:
        super().__init__(context or _nowhere, settings, clock)
        self.speakers = Speakers(context, user_speaker)
        self._there = context is not None

    def session(self, session: ImportedSession, space: str) -> TrackReport:
        """Nothing is known of a session but who speaks."""
        self.speakers.origins(session, space)
        return TrackReport(session=session.session)

    def document(self, document: ImportedDocument, space: str) -> Kept:
        """Whether a document was deleted."""
        return Kept(became=self._became(document, space), as_document=True)

    def _entries(self, facts: Sequence[ImportedFact], space: str) -> list[Became | InvalidInput]:
        return [self._became(fact, space) for fact in facts]

    def _became(self, record: ImportedFact | ImportedDocument, space: str) -> Became:
        try:
            there = self._there and self._context(space).exists()
            return "deleted" if there and self.deleted(record, space) else "unknown"
        except StorageError:
            raise
        except MemoryTiersError:
            return "unknown"  # it will be refused


def _nowhere(space: str) -> SpaceContext:
    raise AssertionError(f"{space!r} is in no memory")
