"""What a dream changes: one transaction, in which each proposal is carried out, or refused with its reason."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from functools import cached_property

from sqlalchemy import Connection

from langmem_tiers.clock import to_millis
from langmem_tiers.dream.types import EntrySeen, EpisodeSeen, Material
from langmem_tiers.knowledge import forgetting, landing
from langmem_tiers.knowledge.ledger import Ledger
from langmem_tiers.knowledge.types import Authority, Entry
from langmem_tiers.settings import Settings
from langmem_tiers.storage import entries, tombstones
from langmem_tiers.storage.entries import NewEntry

_FINAL = frozenset({"corrected", "updated", "removed"})


class Refused(Exception):
    """A proposal can not be carried out as things are now; its text is the reason."""


class Work:
    """One dream's changes, within one transaction; `own` are the entries that it has changed itself."""

    def __init__(
        self, connection: Connection, space: str, material: Material, settings: Settings, now: datetime
    ) -> None:
        self.connection = connection
        self.space = space
        self.settings = settings
        self.now = now
        self.ledger = Ledger(connection, space, to_millis(now))
        self.seen: Mapping[str, EntrySeen] = {entry.id: entry for entry in material.entries}
        self.episodes: Mapping[str, EpisodeSeen] = {episode.id: episode for episode in material.episodes}
        self.own: set[str] = set()

    def untouched(self, entry_id: str) -> Entry:
        """An entry that is as the dream saw it."""
        seen, entry = self.seen.get(entry_id), self.ledger.read(entry_id)
        if seen is None:
            raise Refused(f"entry {entry_id[:40]} was not looked at")
        if entry is None:
            raise Refused(f"entry {entry_id} was deleted meanwhile")
        if entry_id in self.own:
            raise Refused(f"entry {entry_id} was changed by this dream already")
        # Undoing another dream sets versions back: the same one may say something else by now.
        if (entry.version, entry.content) != (seen.version, seen.content) or not entry.active:
            raise Refused(f"entry {entry_id} has changed since the dream looked at it")
        if entry.pinned or entry.authority is Authority.CORRECTION:
            raise Refused(f"entry {entry_id} is {'pinned' if entry.pinned else 'a correction by the user'}")
        return entry

    def require_new(self, new: NewEntry, besides: Collection[str] = ()) -> None:
        """Nothing, where no entry says this, nobody deleted it, and nobody put it aside."""
        twin = landing.twin(self.ledger, new.content, project=new.project, agent=new.agent)
        if twin is not None and twin.id in besides:
            return
        if twin is not None and twin.active:
            raise Refused(f"entry {twin.id} says so already")
        told = forgetting.key(new.content)
        if tombstones.among(self.connection, self.space, "entry", {told}):
            raise Refused("it was deleted")
        if told in self._aside:
            raise Refused(f"it was put aside before: {self._aside[told]}")

    @cached_property
    def _aside(self) -> Mapping[bytes, str]:
        """Why entries do not hold that nobody is to bring back, by what they say; a dream adds none of these."""
        found = entries.put_aside(self.connection, self.space, _FINAL)
        return {forgetting.key(content): reason for reason, content in found}
