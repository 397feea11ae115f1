"""One sync: read both sides, decide, take the folder's changes into the memory, then bring the files up to date.

A sync can stop anywhere and be repeated: what both sides say alike needs no doing, so the state, which is recorded
last, only has to tell who changed what differs. The first one begins by recording whose the folder is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from langmem_tiers.errors import AuthorityTooLow, EntryChanged, InvalidInput, TextChanged, UnknownEntry
from langmem_tiers.knowledge.documents import Documents
from langmem_tiers.knowledge.identity import Identity
from langmem_tiers.knowledge.knowledge import Knowledge
from langmem_tiers.naming import space_mark
from langmem_tiers.sync import paths, plan
from langmem_tiers.sync.folder import Base, SyncFolder
from langmem_tiers.sync.intents import (
    AddEntry,
    ChangeEntry,
    Choices,
    Plan,
    RemoveEntry,
    RemoveFile,
    ToFolder,
    ToMemory,
    WriteFile,
    WriteText,
)
from langmem_tiers.sync.sides import FolderSide, MemorySide, longest_entry_file, longest_file, read_folder, read_memory
from langmem_tiers.sync.types import SyncProblem, SyncReport, SyncStep

if TYPE_CHECKING:
    from langmem_tiers.context import SpaceContext

_REFUSED = (InvalidInput, EntryChanged, TextChanged, AuthorityTooLow, UnknownEntry)


def sync(context: SpaceContext, path: Path, choices: Choices, *, init: bool, dry_run: bool) -> SyncReport:
    """Sync a space with a folder, or only report what that would do.

    Raises:
        NotASyncFolder: the folder was never synced with this space, and holds something.
        SyncInProgress: another sync of the folder goes on.
        StorageError: something could not be read or written; syncing again goes on from there.
    """
    context.require_enabled()
    folder = SyncFolder(path, memory=context.folder, space=space_mark(context.name))
    folder.require(init=init)
    with nullcontext() if dry_run else folder.locked():
        return _Sync(context, folder, choices).run(dry_run=dry_run)


@dataclass(kw_only=True)
class _Taken:
    """What was taken into the memory, and what could not be."""

    steps: list[SyncStep] = field(default_factory=list)
    problems: list[SyncProblem] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)


class _Sync:
    def __init__(self, context: SpaceContext, folder: SyncFolder, choices: Choices) -> None:
        self._context = context
        self._folder = folder
        self._choices = choices
        self._knowledge = Knowledge(context)
        self._bases = folder.bases()
        self._copies = plan.copies_of(self._bases)
        self._taken = _Taken()

    def run(self, *, dry_run: bool) -> SyncReport:
        memory, found = self._sides()
        first = self._plan(memory, found)
        if dry_run:
            return self._report(first, plan.steps(first.to_memory), plan.steps(first.to_folder), dry_run=True)
        self._folder.claim()
        for intent in first.to_memory:
            self._take(intent, found)
        # Taking an entry may merge it with another one or put one aside: the files follow what is known now.
        second = self._plan(*self._sides()) if first.to_memory else first
        written = self._write(second)
        return self._report(second, self._taken.steps, written, dry_run=False)

    def _sides(self) -> tuple[MemorySide, FolderSide]:
        settings = self._context.settings
        files = self._folder.files(most=longest_file(settings), most_of_entry=longest_entry_file(settings))
        found = read_folder(files, self._bases, settings, self._taken.renamed)
        ids = {key.partition(":")[2] for key in self._bases if key.startswith("entry:")}
        return read_memory(self._context, {*ids, *found.entries}), found

    def _plan(self, memory: MemorySide, found: FolderSide) -> Plan:
        return plan.make(memory, found, self._bases, self._choices, self._copies)

    def _report(
        self, made: Plan, taken: Iterable[SyncStep], written: Iterable[SyncStep], *, dry_run: bool
    ) -> SyncReport:
        return SyncReport(
            folder=str(self._folder.path),
            dry_run=dry_run,
            to_memory=tuple(taken),
            to_folder=tuple(written),
            conflicts=tuple(made.conflicts),
            waiting=tuple(made.waiting),
            problems=(*self._taken.problems, *made.problems),
            ignored=tuple(made.ignored),
            unchanged=made.unchanged,
        )

    # Into the memory.

    def _take(self, intent: ToMemory, found: FolderSide) -> None:
        try:
            if isinstance(intent, AddEntry):
                self._add(intent, found)
                return
            if isinstance(intent, ChangeEntry):
                self._knowledge.update(str(intent.entry), **intent.changes, version=intent.version, origin="user")
            elif isinstance(intent, RemoveEntry):
                self._knowledge.update(str(intent.entry), version=intent.version, origin="user")  # or it has changed
                self._knowledge.deactivate(str(intent.entry), origin="user")
            else:
                self._take_text(intent)
        except _REFUSED as error:
            self._taken.problems.append(SyncProblem(path=intent.path, reason=str(error)))
            return
        self._settle(intent.key, intent.base)
        self._taken.steps.append(intent.step())

    def _add(self, intent: AddEntry, found: FolderSide) -> None:
        fields = {"category": None, "tags": (), "pinned": False, **intent.found.fields}
        project = intent.found.file.project
        saved = self._knowledge.save(**fields, project=project, corrects=intent.corrects, origin="user")
        entry, step = saved.entry.id, intent.step()
        self._settle(intent.key, None)
        if entry in found.entries or f"entry:{entry}" in self._bases:
            # What it says is in the file of that entry.
            problem = self._folder.remove(intent.path, replaces=intent.found.data)
            self._taken.problems += [problem] if problem else []
            self._taken.steps.append(replace(step, entry=entry, action="merged"))
            return
        self._settle(f"entry:{entry}", intent.base)
        self._taken.renamed[intent.path] = entry
        self._taken.steps.append(replace(step, entry=entry))

    def _take_text(self, intent: WriteText) -> None:
        if intent.kind == "identity":
            Identity(self._context).write((intent.data or b"").decode(), version=intent.version)
            return
        documents, where = Documents(self._context), intent.path.removeprefix(f"{paths.NOTES}/")
        if intent.data is None:
            documents.delete(where, version=intent.version)
        else:
            documents.write_file(where, intent.data, version=intent.version)

    def _settle(self, key: str, base: Base | None) -> None:
        if base is None:
            self._bases.pop(key, None)
        else:
            self._bases[key] = base

    # Into the folder.

    def _write(self, made: Plan) -> list[SyncStep]:
        """Bring the files up to date, and record how everything is now."""
        after = dict(made.bases)
        # What could not be taken stays as it was, to be tried again.
        after |= {each.key: self._bases[each.key] for each in made.to_memory if each.key in self._bases}
        done: list[SyncStep] = []
        for intent in made.to_folder:
            problem = self._carried_out(intent)
            if problem is not None:
                made.problems.append(problem)
                after.pop(intent.key, None)
                after |= _only(self._bases, intent.key)
                continue
            if isinstance(intent, WriteFile) and intent.base is not None:
                after[intent.key] = intent.base
            done += plan.steps([intent])
        self._folder.tidy()
        self._folder.save(after)
        return done

    def _carried_out(self, intent: ToFolder) -> SyncProblem | None:
        """Write or remove a file; if that cannot be done, why not."""
        replaces = intent.replaces
        if isinstance(intent, RemoveFile):
            return self._folder.remove(intent.path, replaces=intent.replaces)
        if intent.moved_from is not None:
            old, replaces = intent.moved_from
            if problem := self._folder.move(old, intent.path, known=replaces):
                return problem
        return self._folder.write(intent.path, intent.data, replaces=replaces)


def _only(bases: Mapping[str, Base], key: str) -> dict[str, Base]:
    return {key: bases[key]} if key in bases else {}
