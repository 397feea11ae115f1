"""Results of knowledge, archive, identity and documents, other than records: frozen, keyword-only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from langmem_tiers.language.standing_facts import Topic
from langmem_tiers.records import Entry, Episode, Proposal
from langmem_tiers.types import Origin

Outcome = Literal["saved", "merged", "known", "reactivated"]
Reason = Literal["corrected", "merged", "consolidated", "expired", "removed", "updated", "enriched"]


@dataclass(frozen=True, kw_only=True, slots=True)
class EntryFound:
    """An entry found by a search: its score from 0 to 1, and each channel's own score.

    Without a query there is nothing to score: the score is 0, and the newest come first. `ended` says why what
    it says no longer holds: what the user said later, or else the relation that ended ("no longer: lives in Lisbon:
    until 2024-05"). `space` is the space that it is in: the one searched, or a fallback.
    """

    entry: Entry
    score: float = 0.0
    channels: Mapping[str, float] = field(default_factory=dict)
    ended: tuple[str, ...] = ()
    space: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class EntryPage:
    """Some of the entries that filters select, the last changed first: how many these are, and whether more follow."""

    entries: tuple[Entry, ...]
    total: int
    more: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Saved:
    """The outcome of a save: the entry that is active now, and how it came about.

    `outcome` is `saved` for a new entry, `known` if it already existed, `merged` if another wording of it existed
    (`merged` is then the id of the one that gave way), `reactivated` if it had been inactive.
    `corrected` is the id of the entry that it corrected.
    """

    entry: Entry
    outcome: Outcome
    merged: str | None = None
    corrected: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Deleted:
    """The receipt of a deletion: what was deleted, and whether there was anything.

    `with_it` are the ids of the entries that had been merged into it. `vectors` counts the deleted vectors. Each
    text leaves a tombstone, so that mining does not bring it back.
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
    """A category with the numbers of active entries in it, and in it and everything below."""

    path: str
    name: str
    entries: int
    total: int
    children: tuple[CategoryCount, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class RefusedEntry:
    """A refused proposal, with the reason."""

    proposal: Proposal
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class IngestedEntries:
    """The outcome of ingestion: entries made, entries merged into, entries that already said it, and refusals.

    `corrected` are the ids of entries replaced by a correction.
    """

    kept: tuple[Entry, ...] = ()
    merged: tuple[Entry, ...] = ()
    known: tuple[Entry, ...] = ()
    corrected: tuple[str, ...] = ()
    refused: tuple[RefusedEntry, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether anything was written."""
        return bool(self.kept or self.merged or self.corrected)


@dataclass(frozen=True, kw_only=True, slots=True)
class EpisodeFound:
    """An episode found by a search: its score from 0 to 1, and each channel's own score.

    `ended` is what the user said later that contradicts its summary, `space` the space that it is in.
    """

    episode: Episode
    score: float = 0.0
    channels: Mapping[str, float] = field(default_factory=dict)
    ended: tuple[str, ...] = ()
    space: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class IdentityPreview:
    """What the identity would be with another text: as stored and as injected; `version` is the one that stands."""

    text: str
    characters: int
    most: int
    block: str
    version: int

    @property
    def overflow(self) -> int:
        """By how many characters it is too long; 0 if it fits."""
        return max(0, self.characters - self.most)


@dataclass(frozen=True, kw_only=True, slots=True)
class IdentityText:
    """The current identity: its Markdown, and how many of the `most` characters it uses.

    `version` grows by one with every change; 0 means that it was never written, so it has no author and no date.
    """

    text: str
    characters: int
    most: int
    version: int
    origin: Origin | None = None
    updated_at: datetime | None = None

    @property
    def share(self) -> float:
        """How full it is: 0 for empty, 1 for full."""
        return self.characters / self.most

    @property
    def usage(self) -> str:
        """How full it is, in words.

        Example:
            >>> IdentityText(text="…", characters=412, most=1000, version=3).usage
            '412 of 1,000 characters (41 %)'
        """
        return f"{self.characters:,} of {self.most:,} characters ({self.share * 100:.0f} %)"


@dataclass(frozen=True, kw_only=True, slots=True)
class ProfileLine:
    """A standing fact about the user, without its subject: "lives in Porto".

    `said_at` is when it was last said. It was read from the entry or the relation with the id `ref`, which rests on
    `drawers`.
    """

    topic: Topic
    text: str
    said_at: datetime
    kind: Literal["entry", "relation"]
    ref: str
    drawers: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"- {self.text} ({self.said_at:%Y-%m})"


@dataclass(frozen=True, kw_only=True, slots=True)
class DocumentHit:
    """A piece of a document found by a search, with its score from 0 to 1; `ordinal` counts pieces from 0.

    `ended` is what says that something in it no longer holds, and `space` the space that it is in, as in `EntryFound`;
    `from_tool` says that some of the document comes from a tool's result.
    """

    path: str
    ordinal: int
    text: str
    score: float
    ended: tuple[str, ...] = ()
    from_tool: bool = False
    space: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class SkippedFile:
    """A skipped file or folder, with the reason; `path` is relative to the folder."""

    path: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class FolderImport:
    """The outcome of a folder import: paths of new, changed and unchanged documents, and what was skipped."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    skipped: tuple[SkippedFile, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class FolderExport:
    """Paths of files that were written or already up to date, and what was skipped."""

    written: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    skipped: tuple[SkippedFile, ...] = ()
