"""What a sync gives back: what went which way, and what is left to decide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SyncKind = Literal["identity", "entry", "note"]
SyncAction = Literal["added", "changed", "removed", "merged", "written", "moved"]
Prefer = Literal["memory", "folder"]
"""Whose version is taken where both sides changed the same."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SyncStep:
    """One thing that a sync took over, or, in a dry run, would take over.

    `path` is relative to the folder. `action` is `added`, `changed`, `removed` or `merged` (into an entry that says the
    same) in the memory, and `written`, `moved` or `removed` in the folder. `entry` is the id of an entry.
    """

    path: str
    kind: SyncKind
    action: SyncAction
    entry: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SyncConflict:
    """Something that was changed on both sides since the last sync; both versions are kept.

    `folder` is the text of the file at `path`, None if it was deleted; `memory` that of the memory, None if it was
    removed there. `copy` is the file with the memory's version: deleting it says that the file at `path` is right.
    """

    path: str
    kind: SyncKind
    reason: str
    folder: str | None
    memory: str | None
    copy: str
    entry: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SyncProblem:
    """A file that was not taken over, or something of it, with the reason. It stays as it is."""

    path: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class SyncReport:
    """What one sync did, or, if it was a `dry_run`, would do.

    `waiting` are deletions in the folder that were not confirmed: nothing was deleted. `ignored` names edits of what
    only the memory sets, such as dates; `unchanged` counts what was in step already.
    """

    folder: str
    dry_run: bool
    to_memory: tuple[SyncStep, ...] = ()
    to_folder: tuple[SyncStep, ...] = ()
    conflicts: tuple[SyncConflict, ...] = ()
    waiting: tuple[SyncStep, ...] = ()
    problems: tuple[SyncProblem, ...] = ()
    ignored: tuple[SyncProblem, ...] = ()
    unchanged: int = 0

    @property
    def settled(self) -> bool:
        """Whether nothing is left to decide: no conflict, no unconfirmed deletion, no file that was not taken over."""
        return not (self.conflicts or self.waiting or self.problems)
