"""What callers of the knowledge give and get: frozen, keyword-only, documented."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum
from typing import Any, Literal

from langmem_tiers.types import Origin
from langmem_tiers.writing.proposals import Proposal

EntryStatus = Literal["active", "inactive"]
EntryPath = Literal["user", "tool", "rule", "model"]
Outcome = Literal["saved", "merged", "known", "reactivated"]
Reason = Literal["corrected", "merged", "consolidated", "expired", "removed", "updated", "enriched"]


class Authority(IntEnum):
    """Who stands behind an entry. A write never overwrites or deactivates an entry of a higher one."""

    SYSTEM = 0
    AGENT = 1
    USER = 2
    CORRECTION = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class EntryEvidence:
    """A drawer that an entry rests on.

    `quote` are the words of it that say so, empty for the whole drawer. `via` is the id of the entry that brought it,
    where that is another one: they were merged.
    """

    drawer: int
    pointer: str
    quote: str = ""
    via: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One thing that is known: a declarative sentence, where it belongs, and what it rests on.

    `id` is its name, 12 characters; `number` is what the log calls it. An inactive entry says why in `reason`
    (`corrected`, `merged`, `updated`, `enriched`, `expired`, `removed`, or words of the caller's own), and in
    `successor` the id of the entry that holds instead. `path` tells what made it, `authority` who stands behind it,
    `version` counts changes.
    """

    number: int
    id: str
    content: str
    category: str
    tags: tuple[str, ...]
    status: EntryStatus
    reason: str | None
    successor: str | None
    origin: Origin
    path: EntryPath
    authority: Authority
    pinned: bool
    flags: tuple[str, ...]
    project: str | None
    agent: str | None
    metadata: Mapping[str, Any]
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None
    version: int
    recall_count: int
    last_recalled_at: datetime | None
    evidence: tuple[EntryEvidence, ...] = ()

    @property
    def active(self) -> bool:
        """Whether it holds."""
        return self.status == "active"


@dataclass(frozen=True, kw_only=True, slots=True)
class EntryFound:
    """An entry that a search found: its score from 0 to 1, and what each channel says of it.

    Without a query there is nothing to score by: the score is 0, and the newest come first.
    """

    entry: Entry
    score: float = 0.0
    channels: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Saved:
    """What became of a save: the entry that holds now, and how it came about.

    `outcome` is `saved` for a new entry, `known` where the very same was there, `merged` where another wording of it
    was there (`merged` is then the id of the one that gave way), `reactivated` where it had been inactive.
    `corrected` is the id of the entry that it corrects.
    """

    entry: Entry
    outcome: Outcome
    merged: str | None = None
    corrected: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Deleted:
    """The receipt of a deletion: what went, and whether there was anything.

    `with_it` are the ids of the entries that had been merged into it. `vectors` counts the vectors that nothing else
    needed. The texts leave a tombstone each, so that mining does not bring them back.
    """

    id: str
    existed: bool
    at: datetime
    with_it: tuple[str, ...] = ()
    evidence: int = 0
    vectors: int = 0
    tombstones: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class CategoryCount:
    """A category: how many active entries are in it, how many in it and all below it."""

    path: str
    name: str
    entries: int
    total: int
    children: tuple[CategoryCount, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Refused:
    """A proposal that was not taken in, and why."""

    proposal: Proposal
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Landed:
    """What became of proposals: entries made, entries that took one in, entries that said it already, and the rest.

    `corrected` are the ids of entries that gave way to a correction.
    """

    kept: tuple[Entry, ...] = ()
    merged: tuple[Entry, ...] = ()
    known: tuple[Entry, ...] = ()
    corrected: tuple[str, ...] = ()
    refused: tuple[Refused, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether anything was written."""
        return bool(self.kept or self.merged or self.corrected)


@dataclass(frozen=True, kw_only=True, slots=True)
class Activity:
    """Something that the memory did by itself, for its user to see; `body` is what was kept or refused, and why."""

    number: int
    at: datetime
    kind: str
    session: str | None
    body: Mapping[str, Any]
