"""Writing entries: every change goes to the records, the log and the searched text, in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from langmem_tiers.content import content_hash
from langmem_tiers.knowledge.types import Authority, Entry
from langmem_tiers.storage import change_log, entries, notes
from langmem_tiers.storage.entries import NewEntry
from langmem_tiers.storage.notes import NoteText
from langmem_tiers.writing.proposals import Evidence


@dataclass(frozen=True, kw_only=True)
class Removed:
    """How many pieces of evidence and how many vectors went with entries."""

    evidence: int
    vectors: int


class Ledger:
    """The entries of a space within one transaction, at one moment."""

    def __init__(self, connection: Connection, space: str, now: int) -> None:
        self.connection = connection
        self.space = space
        self.now = now

    def add(self, new: NewEntry, evidence: Iterable[Evidence]) -> Entry:
        """Store an entry with what it rests on."""
        number = entries.put(self.connection, self.space, new, self.now)
        entries.add_evidence(self.connection, self.space, number, evidence)
        return self._written(number)

    def change(self, entry: Entry, **values: Any) -> Entry:
        """Set what an entry says or is; its version goes up."""
        counted = {"version": entry.version + 1, "updated_at": self.now}
        entries.change(self.connection, self.space, entry.number, values | counted)
        return self._written(entry.number)

    def retire(self, entry: Entry, reason: str, successor: str | None) -> Entry:
        """Let an entry hold no longer; its text is searched no more."""
        return self.change(entry, status="inactive", reason=reason, successor=successor)

    def revive(self, entry: Entry, **values: Any) -> Entry:
        """Let an inactive entry hold again."""
        return self.change(entry, status="active", reason=None, successor=None, **values)

    def raise_to(self, entry: Entry, authority: Authority, *, pinned: bool) -> Entry:
        """Note who else stands behind an entry, where that is a higher one, or that it is pinned."""
        raised = max(entry.authority, authority)
        if raised == entry.authority and pinned <= entry.pinned:
            return entry
        return self.change(entry, authority=raised, pinned=pinned or entry.pinned)

    def join(self, entry: Entry, evidence: Iterable[Evidence], *, via: Entry | None = None) -> Entry:
        """Let an entry rest on more drawers: its words stay as they are, and so do its version and date."""
        number = None if via is None else via.number
        if not entries.add_evidence(self.connection, self.space, entry.number, evidence, via=number):
            return entry
        return self._written(entry.number)

    def take_back(self, entry: Entry, *, via: Entry) -> Entry:
        """Let an entry no longer rest on what another one brought it."""
        entries.take_evidence_back(self.connection, self.space, entry.number, via=via.number)
        return self._written(entry.number)

    def remove(self, gone: Sequence[Entry]) -> Removed:
        """Delete entries with their evidence, their searched text and the vectors that nothing else needs."""
        for entry in gone:
            notes.drop(self.connection, self.space, "entry", entry.id, self.now)
        evidence = entries.remove(self.connection, self.space, [entry.number for entry in gone])
        vectors = notes.forget_vectors(self.connection, self.space, [content_hash(entry.content) for entry in gone])
        for entry in gone:
            self._log(entry.number)
        return Removed(evidence=evidence, vectors=vectors)

    def read(self, entry_id: str) -> Entry | None:
        """The entry of an id, as it is in this transaction."""
        return entries.one(self.connection, self.space, entry_id)

    def _written(self, number: int) -> Entry:
        entry = entries.by_numbers(self.connection, self.space, [number])[number]
        self._log(number)
        self._note(entry)
        return entry

    def _note(self, entry: Entry) -> None:
        """Let the searched text be what the entry says, or none."""
        says = NoteText(text=entry.content, tags=" ".join(entry.tags), category=entry.category)
        texts = [says] if entry.active else []
        gone = notes.put(self.connection, self.space, "entry", entry.id, texts, self.now)
        if entry.active:  # the text of an inactive entry is still there
            notes.forget_vectors(self.connection, self.space, gone)

    def _log(self, number: int) -> None:
        change_log.append(self.connection, self.space, "entry.changed", number, at=self.now)
