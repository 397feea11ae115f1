"""What a sync is to do: a pure, three-way comparison of both sides with how they were at the last sync.

What changed on one side is taken over; what changed on both is a conflict, for an entry field by field. Nothing is
deleted in the memory because a file is gone, unless that is confirmed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any, Literal

from langmem_tiers.language import characters
from langmem_tiers.sync import paths
from langmem_tiers.sync.folder import Base, mark
from langmem_tiers.sync.intents import (
    AddEntry,
    ChangeEntry,
    Choices,
    Intent,
    Plan,
    RemoveEntry,
    RemoveFile,
    WriteFile,
    WriteText,
)
from langmem_tiers.sync.sides import Fields, FolderSide, FoundEntry, FoundText, HeldEntry, MemorySide, marks
from langmem_tiers.sync.types import SyncAction, SyncConflict, SyncKind, SyncProblem, SyncStep

Verdict = Literal["same", "memory", "folder", "conflict"]
"""Which side is right: the one that changed."""

_IDENTITY = "identity"
_NOT_HERE = "there is no entry {id} in this memory: --prefer folder, or taking out its id, makes a new entry of it"
_NEW_INACTIVE = "a new entry cannot be inactive: take out `status`, or the file"


def make(
    memory: MemorySide,
    folder: FolderSide,
    bases: Mapping[str, Base],
    choices: Choices,
    copies: Collection[tuple[str, str]],
) -> Plan:
    """Compare both sides, and decide what is to be done.

    Args:
        memory: What the memory holds.
        folder: What the files say.
        bases: How both were at the last sync, by key.
        choices: What the user decided beforehand.
        copies: Path and hash of the copies that earlier syncs wrote, see `copies_of`.
    """
    planner = _Planner(memory, folder, bases, choices, copies)
    planner.texts()
    planner.entries()
    planner.copies()
    planner.plan.problems[:0] = [SyncProblem(path=path, reason=why) for path, why in sorted(folder.problems.items())]
    return planner.plan


def copies_of(bases: Mapping[str, Base]) -> frozenset[tuple[str, str]]:
    """Path and hash of the copies that conflicts of the last sync were shown with."""
    return frozenset((paths.copy_path(base.path), base.shown) for base in bases.values() if base.shown)


def verdict(base: str | None, folder: str | None, memory: str | None) -> Verdict:
    """Which side is right, by the hashes of what both say, and said at the last sync; None is nothing.

    Example:
        >>> verdict("a", "b", "a"), verdict("a", "a", None), verdict("a", "b", "c"), verdict(None, "b", None)
        ('folder', 'memory', 'conflict', 'folder')
    """
    if folder == memory:
        return "same"
    if folder == base:
        return "memory"
    return "folder" if memory == base else "conflict"


class _Planner:
    def __init__(
        self,
        memory: MemorySide,
        folder: FolderSide,
        bases: Mapping[str, Base],
        choices: Choices,
        copies: Collection[tuple[str, str]],
    ) -> None:
        self._memory = memory
        self._folder = folder
        self._bases = bases
        self._choices = choices
        self._copies = copies
        self.plan = Plan()
        found = (*folder.entries.values(), *folder.new)
        self._taken = {paths.folded(each) for each in (*(each.path for each in found), *folder.problems)}
        # The copies there should be, with the key of what is in conflict.
        self._shown: dict[str, tuple[str, bytes]] = {}

    def texts(self) -> None:
        """Plan for the identity and the notes."""
        held = {paths.IDENTITY: self._memory.identity.encode()} if self._memory.identity else {}
        held |= {path: document.data for path, document in self._memory.notes.items()}
        found = dict(self._folder.notes)
        if self._folder.identity is not None and self._folder.identity.stored:
            found[paths.IDENTITY] = self._folder.identity
        known = {base.path for key, base in self._bases.items() if not key.startswith("entry:")}
        problems = paths.colliding({*held, *found} - {paths.IDENTITY})
        for path in sorted({*held, *found, *known}):
            if path in self._folder.problems:
                self._keep(_key(path))
            elif why := paths.fault(path) or problems.get(path, ""):
                self.plan.problems.append(SyncProblem(path=path, reason=why))
            else:
                self._text(path, held.get(path), found.get(path))

    def entries(self) -> None:
        """Plan for the entries."""
        known = {key.partition(":")[2] for key in self._bases if key.startswith("entry:")}
        unreadable = {paths.id_in_name(path) for path in self._folder.problems}
        unreadable |= {entry for entry in known if self._bases[f"entry:{entry}"].path in self._folder.problems}
        for entry in sorted({*known, *self._folder.entries, *self._memory.entries}):
            found, held = self._folder.entries.get(entry), self._memory.entries.get(entry)
            if found is None and entry in unreadable:
                self._keep(f"entry:{entry}")
            elif found is None and held is not None:
                self._without_file(held)
            elif found is not None and held is None:
                self._without_entry(entry, found)
            elif found is not None and held is not None:
                self._both(held, found)
        for found in self._folder.new:
            self._add(found, key=f"new:{found.path}")

    def copies(self) -> None:
        """Plan for the copies of conflicts: those there are, those there should be, and those that are over."""
        for path, (key, data) in sorted(self._shown.items()):
            there = self._folder.copies.get(path)
            if there == data:
                continue
            if there is None or self._is_ours(path, there):
                self._write(key=key, path=path, kind="note", data=data, replaces=there)
            else:
                # It says what somebody wrote: what the memory says now was not shown.
                self.plan.bases.pop(key)
                self._keep(key)
        for path, data in sorted(self._folder.copies.items()):
            if path in self._shown:
                continue
            if self._is_ours(path, data):
                self.plan.to_folder.append(RemoveFile(key="", path=path, kind="note", action="removed", replaces=data))
            else:
                reason = "the conflict is over, and this copy was edited: remove it"
                self.plan.problems.append(SyncProblem(path=path, reason=reason))

    def _is_ours(self, path: str, data: bytes) -> bool:
        """Whether a copy is still as a sync wrote it."""
        return (path, mark(data)) in self._copies

    def _keep(self, key: str) -> None:
        if key in self._bases:
            self.plan.bases[key] = self._bases[key]

    # The identity and the notes.

    def _text(self, path: str, held: bytes | None, found: FoundText | None) -> None:
        key = _key(path)
        base = self._bases.get(key)
        in_memory = None if held is None else mark(held)
        in_folder = None if found is None else mark(found.stored)
        right = verdict(None if base is None else base.marks.get("text"), in_folder, in_memory)
        if right == "conflict":
            told = None if held is None else held
            right = self._decided(key, path, _kind(path), told, None if found is None else found.data)
        if right == "same":
            if in_memory is not None:
                self.plan.unchanged += 1
                self.plan.bases[key] = Base(path=path, marks={"text": in_memory})
        elif right == "memory":
            self._text_to_folder(key, path, held, found)
        elif right == "folder":
            self._text_to_memory(key, path, found, in_memory)

    def _text_to_folder(self, key: str, path: str, held: bytes | None, found: FoundText | None) -> None:
        replaces = self._bytes_at(path, found)
        if held is not None:
            data = held + b"\n" if path == paths.IDENTITY else held
            self._write(key=key, path=path, kind=_kind(path), data=data, replaces=replaces, base=_text_base(path, held))
        elif replaces is not None:
            self.plan.to_folder.append(
                RemoveFile(key=key, path=path, kind=_kind(path), action="removed", replaces=replaces)
            )

    def _text_to_memory(self, key: str, path: str, found: FoundText | None, in_memory: str | None) -> None:
        kind, version = _kind(path), self._version(path)
        if found is None:
            if not self._may_delete(key, path, kind):
                return
            self.plan.to_memory.append(
                WriteText(key=key, path=path, kind=kind, action="removed", data=None, version=version)
            )
            return
        most, taken = self._memory.identity_most, characters.count(found.stored.decode("utf-8", "replace"))
        if kind == "identity" and taken > most:
            reason = f"it has {taken:,} characters, {taken - most:,} more than the identity may have"
            self.plan.problems.append(SyncProblem(path=path, reason=reason))
            self._keep(key)
            return
        data = found.stored if kind == "identity" else found.data
        action: SyncAction = "added" if in_memory is None else "changed"
        base = _text_base(path, found.stored)
        self.plan.to_memory.append(
            WriteText(key=key, path=path, kind=kind, action=action, data=data, version=version, base=base)
        )

    def _version(self, path: str) -> int:
        if path == paths.IDENTITY:
            return self._memory.identity_version
        document = self._memory.notes.get(path)
        return 0 if document is None else document.version

    def _bytes_at(self, path: str, found: FoundText | None) -> bytes | None:
        """What is in the file now; an emptied identity counts as none."""
        if found is None and path == paths.IDENTITY and self._folder.identity is not None:
            return self._folder.identity.data
        return None if found is None else found.data

    # Entries.

    def _without_file(self, held: HeldEntry) -> None:
        """An entry without a file: a new one, or one whose file was deleted."""
        entry = held.entry
        key = f"entry:{entry.id}"
        base = self._bases.get(key)
        if base is None:
            self._write_entry(held, None)
            return
        changed = any(base.marks.get(name) != value for name, value in marks(held.fields).items())
        right: Verdict = "folder"
        if changed:
            right = self._decided(key, base.path, "entry", held.data, None, entry=entry.id)
        elif self._choices.prefer == "memory":
            right = "memory"
        if right == "memory":
            self._write_entry(held, None, before=base.path)
        elif right == "folder" and self._may_delete(key, base.path, "entry", entry=entry.id):
            self.plan.to_memory.append(_removed(held, base.path, None))

    def _without_entry(self, entry: str, found: FoundEntry) -> None:
        """A file whose entry is not, or no longer, active."""
        key = f"entry:{entry}"
        base, inactive = self._bases.get(key), self._memory.inactive.get(entry)
        if base is None and inactive is None and self._choices.prefer == "folder":
            self._add(found, key=f"new:{found.path}")
            return
        if base is None and inactive is None:
            reason = _NOT_HERE.format(id=entry)
            self.plan.problems.append(SyncProblem(path=found.path, reason=reason))
            return
        right: Verdict = "memory"
        if base is None or _edited(base, found):
            if found.file.active is False:
                right = "memory"
            else:
                right = self._decided(key, found.path, "entry", None, found.data, entry=entry)
        if right == "memory":
            self.plan.to_folder.append(
                RemoveFile(key=key, path=found.path, kind="entry", action="removed", entry=entry, replaces=found.data)
            )
        elif right == "folder":
            successor = None if inactive is None else inactive.successor
            self._add(found, key=key, corrects=None if successor is None else entry)

    def _both(self, held: HeldEntry, found: FoundEntry) -> None:
        entry = held.entry
        key = f"entry:{entry.id}"
        base = self._bases.get(key, Base(path=found.path))
        if found.data == held.data and paths.entry_path(entry, found.path, self._taken) == found.path:
            self.plan.unchanged += 1
            self.plan.bases[key] = _entry_base(held, found.path)
            return
        if found.file.active is False:
            self._put_aside(held, found, base)
            return
        changes, clashing = merged(base.marks, found.fields, held.fields)
        if clashing:
            right = self._decided(key, found.path, "entry", held.data, found.data, entry=entry.id)
            if right == "conflict":
                return
            changes |= {name: found.fields[name] for name in clashing if right == "folder"}
        if changes:
            after = replace(base, marks={**marks(held.fields), **marks(found.fields)})
            about: dict[str, Any] = {"key": key, "path": found.path, "kind": "entry", "entry": entry.id}
            change = ChangeEntry(action="changed", changes=changes, version=entry.version, base=after, **about)
            self.plan.to_memory.append(change)
        else:
            self._ignore_rest(base, found, held)
            self._write_entry(held, found)

    def _put_aside(self, held: HeldEntry, found: FoundEntry, base: Base) -> None:
        """An entry whose file says that it is inactive."""
        right: Verdict = "folder"
        if any(base.marks.get(name) != value for name, value in marks(held.fields).items()):
            right = self._decided(f"entry:{held.entry.id}", found.path, "entry", held.data, found.data)
        if right == "folder":
            self.plan.to_memory.append(_removed(held, found.path, replace(base, marks=marks(found.fields))))
        elif right == "memory":
            self._write_entry(held, found)

    def _add(self, found: FoundEntry, *, key: str, corrects: str | None = None) -> None:
        if found.file.active is False:
            self.plan.problems.append(SyncProblem(path=found.path, reason=_NEW_INACTIVE))
            return
        self.plan.to_memory.append(
            AddEntry(
                key=key,
                path=found.path,
                kind="entry",
                action="added",
                found=found,
                corrects=corrects,
                base=Base(path=found.path, marks=marks(found.fields)),
            )
        )

    def _write_entry(self, held: HeldEntry, found: FoundEntry | None, *, before: str | None = None) -> None:
        """Have the file of an entry say what the entry says, in the folder of its category.

        Where there is no file, it gets the name that it had `before`, if it still fits.
        """
        at = None if found is None else found.path
        path = paths.entry_path(held.entry, at if before is None or paths.fault(before) else before, self._taken)
        key, base = f"entry:{held.entry.id}", _entry_base(held, path)
        if found is not None and path == at and _says(found, held):
            self.plan.unchanged += 1
            self.plan.bases[key] = base
            return
        self._taken.add(paths.folded(path))
        moved = None if found is None or at == path else (found.path, found.data)
        replaces = found.data if found is not None and moved is None else None
        about: dict[str, Any] = {"key": key, "path": path, "entry": held.entry.id, "base": base}
        self._write(kind="entry", data=held.data, replaces=replaces, moved_from=moved, **about)

    def _ignore_rest(self, base: Base, found: FoundEntry, held: HeldEntry) -> None:
        """Report an edit of what only the memory sets: it is written over."""
        before = base.marks.get("rest")
        if before is not None and mark(found.file.rest) != before and found.file.rest != held.file.rest:
            now = dict(held.file.rest)
            names = [name for name, value in found.file.rest if now.get(name) != value]
            reason = f"only the memory sets {', '.join(names) or 'what was taken out'}"
            self.plan.ignored.append(SyncProblem(path=found.path, reason=reason))

    # What both have in common.

    def _write(self, *, kind: SyncKind, moved_from: tuple[str, bytes] | None = None, **about: Any) -> None:
        action: SyncAction = "written" if moved_from is None else "moved"
        self.plan.to_folder.append(WriteFile(kind=kind, action=action, moved_from=moved_from, **about))

    def _may_delete(self, key: str, path: str, kind: SyncKind, *, entry: str | None = None) -> bool:
        """Whether what has no file any more may be deleted; if not, it waits."""
        if self._choices.confirm_deletions:
            return True
        self.plan.waiting.append(SyncStep(path=path, kind=kind, action="removed", entry=entry))
        self._keep(key)
        return False

    def _decided(
        self,
        key: str,
        path: str,
        kind: SyncKind,
        memory: bytes | None,
        folder: bytes | None,
        *,
        entry: str | None = None,
    ) -> Verdict:
        """Who is right in a conflict, by what the user prefers, or because they took away the copy that was shown."""
        if self._choices.prefer is not None:
            return self._choices.prefer
        shown = memory if memory is not None else _gone(kind, self._memory, entry)
        # Its path stays what it was: that the file was moved since is still to be decided.
        base = self._bases.get(key, Base(path=path))
        copy = paths.copy_path(base.path)
        if base.shown == mark(shown) and self._is_gone(copy):
            return "folder"
        self._shown[copy] = key, shown
        self.plan.bases[key] = replace(base, shown=mark(shown))
        self.plan.conflicts.append(
            SyncConflict(
                path=path,
                kind=kind,
                reason=_reason(memory, folder),
                folder=_shown_text(folder),
                memory=_shown_text(memory),
                copy=copy,
                entry=entry,
            )
        )
        return "conflict"

    def _is_gone(self, copy: str) -> bool:
        """Whether a copy was taken away, and is not only out of reach."""
        above = (copy, *map(str, PurePosixPath(copy).parents))
        return copy not in self._folder.copies and not any(each in self._folder.problems for each in above)


def merged(base: Mapping[str, str], folder: Fields, memory: Fields) -> tuple[dict[str, Any], list[str]]:
    """The fields that the folder changes, and those that were changed on both sides, to different values."""
    changes: dict[str, Any] = {}
    clashing: list[str] = []
    for name, value in folder.items():
        right = verdict(base.get(name), mark(value), mark(memory[name]))
        if right == "folder":
            changes[name] = value
        elif right == "conflict":
            clashing.append(name)
    return changes, clashing


def _says(found: FoundEntry, held: HeldEntry) -> bool:
    """Whether a file says all that it should, if in other bytes."""
    return dict(found.fields) == dict(held.fields) and replace(found.file, body="") == replace(held.file, body="")


def _edited(base: Base, found: FoundEntry) -> bool:
    return any(base.marks.get(name) != value for name, value in marks(found.fields).items())


def _entry_base(held: HeldEntry, path: str) -> Base:
    return Base(path=path, marks={**marks(held.fields), "rest": mark(held.file.rest)})


def _text_base(path: str, stored: bytes) -> Base:
    return Base(path=path, marks={"text": mark(stored)})


def _removed(held: HeldEntry, path: str, base: Base | None) -> RemoveEntry:
    entry = held.entry
    about: dict[str, Any] = {"key": f"entry:{entry.id}", "path": path, "entry": entry.id, "base": base}
    return RemoveEntry(kind="entry", action="removed", version=entry.version, **about)


def _key(path: str) -> str:
    return _IDENTITY if path == paths.IDENTITY else f"note:{path}"


def _kind(path: str) -> SyncKind:
    return "identity" if path == paths.IDENTITY else "note"


def _gone(kind: SyncKind, memory: MemorySide, entry: str | None) -> bytes:
    """The copy of what the memory has no version of: why that is so."""
    aside = memory.inactive.get(entry or "")
    what = "entry" if kind == "entry" else kind
    why = "" if aside is None else f" ({aside.reason or 'removed'})"
    instead = f" Entry {aside.successor} holds instead." if aside is not None and aside.successor else ""
    return f"The memory no longer holds this {what}{why}.{instead}\n".encode()


def _reason(memory: bytes | None, folder: bytes | None) -> str:
    if memory is None:
        return "the file was changed, and the memory no longer holds it"
    return "the file was deleted, and the memory changed it" if folder is None else "both were changed"


def _shown_text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "replace")


def steps(intents: Iterable[Intent]) -> tuple[SyncStep, ...]:
    """What is done, for the report; copies of conflicts are reported with these."""
    return tuple(each.step() for each in intents if not each.path.startswith(f"{paths.CONFLICTS}/"))
