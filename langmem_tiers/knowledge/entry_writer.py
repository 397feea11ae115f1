"""Writing entries: every change goes to the records, the log and the searched text, in one transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import fields, replace
from typing import Any

from sqlalchemy import Connection

from langmem_tiers.content import content_hash
from langmem_tiers.errors import UnknownEntry
from langmem_tiers.knowledge.decide import ExistingKnowledge, decide, exact
from langmem_tiers.knowledge.likeness import note_of
from langmem_tiers.knowledge.neighbours import Neighbours
from langmem_tiers.knowledge.preferences import held_back
from langmem_tiers.knowledge.results import Saved
from langmem_tiers.records import GAVE_WAY, Entry, EntryEvidence, Evidence, NewEntry
from langmem_tiers.storage import change_log, entries, notes
from langmem_tiers.storage.entries import PutEntry
from langmem_tiers.wording import beginning

Cited = Sequence[Evidence | EntryEvidence]
"""What something rests on: named just now, or the evidence of another entry."""
# What of an entry is searched: where none of it changes, the index stays as it is.
_SEARCHED = frozenset({"content", "tags", "category", "status"})
# What an entry that is said again keeps; all other values are taken as they are given now.
_KEPT = frozenset(
    {"id", "content", "origin", "path", "authority", "project", "agent", "task", "status", "reason", "successor"}
)


class EntryWriter:
    """The entries of a space within one transaction, at one moment."""

    def __init__(self, connection: Connection, space: str, now: int) -> None:
        self.connection = connection
        self.space = space
        self.now = now

    def read(self, entry_id: str | None) -> Entry | None:
        """The entry with this id as this transaction sees it, None if there is none."""
        return entries.one(self.connection, self.space, entry_id) if entry_id else None

    def existing(self, entry_id: str) -> Entry:
        """The entry of an id.

        Raises:
            UnknownEntry: there is none.
        """
        entry = self.read(entry_id)
        if entry is None:
            raise UnknownEntry(f"There is no entry {beginning(entry_id, 40)!r}.")
        return entry

    def known(
        self, content: str, *, project: str | None, agent: str | None, neighbours: Neighbours | None = None
    ) -> ExistingKnowledge:
        """The entries that a new one with this content has to be reconciled with, including those written just now."""
        near = neighbours or Neighbours()
        found = entries.near(self.connection, self.space, content, near.ids(content), since=near.position)
        twin = exact(found, content, project=project, agent=agent)
        likely = near.ranked(content, [each for each in found if each.active])
        return ExistingKnowledge(twin=twin, holder=None if twin is None else self.holder(twin), near=likely)

    def holder(self, entry: Entry) -> Entry | None:
        """The active entry that holds what this one says: itself, or what it was merged into; None without one."""
        for here in self.succession(entry):
            if here.active or here.reason not in GAVE_WAY:
                return here if here.active else None
        return None

    def succession(self, entry: Entry) -> Iterator[Entry]:
        """An entry, and those that took its place one after the other."""
        seen: set[str] = set()
        here: Entry | None = entry
        while here is not None and here.id not in seen:
            yield here
            seen.add(here.id)
            here = self.read(here.successor)

    def place(
        self,
        new: NewEntry,
        evidence: Cited,
        known: ExistingKnowledge,
        *,
        least: float,
        wrong: Collection[str] = (),
        dates: tuple[int, int] | None = None,
    ) -> Saved:
        """Decide what becomes of a new entry, and write that: stored, confirmed, reactivated or merged.

        `dates` are when it was made and last changed, in milliseconds, if that was elsewhere.
        """
        decision = decide(new, known, least=least, wrong=wrong)
        there = decision.there
        if there is None:
            return Saved(entry=self.add(new, evidence, dates), outcome=decision.outcome)
        if decision.outcome == "known":
            kept = self._confirm(there, decision.twin or there, new, evidence)
            return Saved(entry=kept, outcome=decision.outcome)
        if decision.outcome == "reactivated":
            return Saved(entry=self._renew(there, new, evidence), outcome=decision.outcome)
        if decision.gives_way:
            merged = replace(new, status="inactive", reason="merged", successor=there.id)
            kept, gone = there, self.add(merged, evidence, dates)
        else:
            kept = self.add(new, evidence, dates)
            gone = self.retire(there, "merged", kept.id)
        kept = self.join(kept, gone.evidence, via=gone)
        return Saved(entry=kept, outcome=decision.outcome, merged=gone.id)

    def add(self, new: NewEntry, evidence: Cited = (), dates: tuple[int, int] | None = None) -> Entry:
        """Store an entry and its evidence; `dates` as for `place`."""
        (entry,) = self.add_all([(new, dates)])
        if entries.add_evidence(self.connection, self.space, entry.number, evidence):
            entry = entries.by_numbers(self.connection, self.space, [entry.number])[entry.number]
        return entry

    def add_all(self, several: Sequence[tuple[NewEntry, tuple[int, int] | None]]) -> list[Entry]:
        """Store entries without evidence, each with its dates as for `place`."""
        puts = []
        for new, dates in several:
            held = replace(new, metadata=held_back(new.content, new.category, new.metadata))
            puts.append(PutEntry(held, note_of(held) if held.status == "active" else None, dates))
        return entries.put_all(self.connection, self.space, puts, self.now)

    def change(self, entry: Entry, **values: Any) -> Entry:
        """Set fields of an entry; its version goes up."""
        if values.keys() & {"content", "category", "metadata"}:
            told = {name: values.get(name, getattr(entry, name)) for name in ("content", "category", "metadata")}
            values["metadata"] = held_back(**told)
        counted = {"version": entry.version + 1, "updated_at": self.now}
        changed = entries.change(self.connection, self.space, entry, values | counted)
        self._log(changed)
        if values.keys() & _SEARCHED:
            self._index(changed)
        return changed

    def retire(self, entry: Entry, reason: str, successor: str | None) -> Entry:
        """Make an entry inactive; search no longer finds it."""
        return self.change(entry, status="inactive", reason=reason, successor=successor)

    def revive(self, entry: Entry, **values: Any) -> Entry:
        """Make an inactive entry active again."""
        return self.change(entry, status="active", reason=None, successor=None, **values)

    def join(self, entry: Entry, evidence: Cited, *, via: Entry | None = None) -> Entry:
        """Add evidence to an entry; its version and date stay as they are."""
        number = None if via is None else via.number
        if not entries.add_evidence(self.connection, self.space, entry.number, evidence, via=number):
            return entry
        return self._resting(entry)

    def take_back(self, entry: Entry, *, via: Entry) -> Entry:
        """Take away the evidence that another entry brought."""
        entries.take_evidence_back(self.connection, self.space, entry.number, via=via.number)
        return self._resting(entry)

    def remove(self, gone: Sequence[Entry]) -> tuple[int, int]:
        """Delete entries with all that only they need; returns how much evidence and how many vectors went."""
        for entry in gone:
            notes.drop(self.connection, self.space, "entry", entry.id, self.now)
        evidence = entries.remove(self.connection, self.space, [entry.number for entry in gone])
        vectors = notes.forget_texts(self.connection, self.space, [content_hash(entry.content) for entry in gone])
        for entry in gone:
            self._log(entry)
        return evidence, vectors

    def _confirm(self, holder: Entry, twin: Entry, new: NewEntry, evidence: Cited) -> Entry:
        """Add evidence and authority to an entry that was said again; `twin` says the same and was merged into it."""
        if new.rank < 0 <= holder.rank:  # what a tool repeats is neither better known for it, nor said later
            return holder
        merged = twin.id != holder.id
        if merged:
            twin = self.join(twin, evidence)
        holder = self.join(holder, evidence, via=twin if merged else None)
        values: dict[str, Any] = {"authority": max(holder.authority, new.authority)}
        if holder.from_tool and new.told:
            values = {"origin": new.origin, "path": new.path, "authority": new.authority}
        values["pinned"] = holder.pinned or new.pinned
        changed = any(getattr(holder, name) != value for name, value in values.items())
        return self.change(holder, **values) if changed else holder

    def _renew(self, entry: Entry, new: NewEntry, evidence: Cited) -> Entry:
        """Reactivate an entry, with category, tags and so on as they are given now."""
        values = {each.name: getattr(new, each.name) for each in fields(NewEntry) if each.name not in _KEPT}
        return self.join(self.revive(entry, authority=max(entry.authority, new.authority), **values), evidence)

    def _resting(self, entry: Entry) -> Entry:
        self._log(entry)
        return entries.by_numbers(self.connection, self.space, [entry.number])[entry.number]

    def _index(self, entry: Entry) -> None:
        """Bring the search index in line with the entry."""
        texts = [note_of(entry)] if entry.active else []
        gone = notes.put(self.connection, self.space, "entry", entry.id, texts, self.now)
        if entry.active:  # the text of an inactive entry is still there
            notes.forget_vectors(self.connection, self.space, gone)

    def _log(self, entry: Entry) -> None:
        change_log.append(self.connection, self.space, "entry.changed", entry.number, at=self.now)
