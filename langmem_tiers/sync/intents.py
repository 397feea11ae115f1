"""What a sync can do, and the plan of one: everything that is to be done, and what is left to decide."""

from __future__ import annotations

from dataclasses import dataclass, field

from langmem_tiers.sync.folder import Base
from langmem_tiers.sync.sides import Fields, FoundEntry
from langmem_tiers.sync.types import Prefer, SyncAction, SyncConflict, SyncKind, SyncProblem, SyncStep


@dataclass(frozen=True, kw_only=True, slots=True)
class Intent:
    """One thing to do; `base` is how both sides stand once it is done."""

    key: str
    path: str
    kind: SyncKind
    action: SyncAction
    entry: str | None = None
    base: Base | None = None

    def step(self) -> SyncStep:
        """It, as it is reported."""
        return SyncStep(path=self.path, kind=self.kind, action=self.action, entry=self.entry)


@dataclass(frozen=True, kw_only=True, slots=True)
class WriteFile(Intent):
    """Write a file; `replaces` is what is there now, `moved_from` the file whose place it takes, with its bytes."""

    data: bytes
    replaces: bytes | None = None
    moved_from: tuple[str, bytes] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RemoveFile(Intent):
    """Remove a file that is still as it was read."""

    replaces: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class AddEntry(Intent):
    """Save a new entry; it takes the place of the one that `corrects` names."""

    found: FoundEntry
    corrects: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangeEntry(Intent):
    """Change some fields of an entry that is still at a version."""

    changes: Fields
    version: int


@dataclass(frozen=True, kw_only=True, slots=True)
class RemoveEntry(Intent):
    """Put an entry aside that is still at a version."""

    version: int


@dataclass(frozen=True, kw_only=True, slots=True)
class WriteText(Intent):
    """Write the identity or a note that is still at a version; None removes it."""

    data: bytes | None
    version: int


ToMemory = AddEntry | ChangeEntry | RemoveEntry | WriteText
ToFolder = WriteFile | RemoveFile


@dataclass(kw_only=True, slots=True)
class Plan:
    """What is to be done, and what is left to decide; `bases` is how everything stands that needs no doing."""

    to_memory: list[ToMemory] = field(default_factory=list)
    to_folder: list[ToFolder] = field(default_factory=list)
    conflicts: list[SyncConflict] = field(default_factory=list)
    waiting: list[SyncStep] = field(default_factory=list)
    problems: list[SyncProblem] = field(default_factory=list)
    ignored: list[SyncProblem] = field(default_factory=list)
    bases: dict[str, Base] = field(default_factory=dict)
    unchanged: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Choices:
    """What the user decided beforehand."""

    prefer: Prefer | None = None
    confirm_deletions: bool = False
