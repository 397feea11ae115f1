"""Restoring a backup: checked file by file beside the place it is for, and switched in at once or not at all."""

from __future__ import annotations

import json
import os
import secrets
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from langmem_tiers import private_files
from langmem_tiers.clock import Clock, to_millis
from langmem_tiers.errors import AlreadyThere, DatabaseDamaged, MigrationFailed, NewerSchema, NotAMemoryFolder
from langmem_tiers.naming import folder_name
from langmem_tiers.storage import copies
from langmem_tiers.storage.errors_border import translated
from langmem_tiers.storage.folder import DATABASE, MOVED_AWAY, put_back, space_names
from langmem_tiers.storage.migrations import MIGRATIONS
from langmem_tiers.transfer.backup_files import Manifest, damaged, read_manifest, unpack
from langmem_tiers.transfer.backups import KnownBackup, counted, draft, known, note
from langmem_tiers.transfer.burying import bury_again

if TYPE_CHECKING:
    from langmem_tiers.context import SpaceContext

_MARK = "langmem-tiers.json"
_LARGEST_MARK = 1 << 16
FORCE = "Name an empty folder, or pass force=True: then the old memory is kept beside it."


@dataclass(frozen=True, kw_only=True, slots=True)
class RestoreReport:
    """A backup that was restored.

    `made_at` is the moment that the memory stands at now, `rows` how many rows each table has over all `spaces`.
    `kept` is where the memory that was there before is now, and `carried` the spaces that stayed from it, because the
    backup was not made of them. `forgotten` counts what was forgotten in that memory after the backup was made, by
    kind: it was forgotten again in the restored one. `unread` are spaces of that memory in which this could not be
    looked up, because they are damaged.
    """

    path: Path
    backup: str
    made_at: datetime
    spaces: tuple[str, ...]
    rows: Mapping[str, int]
    kept: Path | None = None
    carried: tuple[str, ...] = ()
    forgotten: Mapping[str, int] = field(default_factory=dict)
    unread: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Prepared:
    """A backup that is unpacked and checked, in the folder `at` beside the place it is for."""

    at: Path
    manifest: Manifest
    carried: tuple[str, ...]


def is_memory(folder: Path) -> bool:
    """Whether there is a memory in a folder."""
    return (folder / _MARK).is_file()


@contextmanager
def prepared(backup: Path, target: Path, *, force: bool) -> Iterator[Prepared]:
    """Unpack a backup beside its place and check it.

    Raises:
        BackupDamaged: it is not as it was made.
        NewerSchema: a newer version made it.
        AlreadyThere: there is a memory at its place, and it is not forced.
        NotAMemoryFolder: there is something else.
        DatabaseLocked: the memory at its place is open.
    """
    with translated(target):
        put_back(target)
    manifest = read_manifest(backup)
    if manifest.steps > len(MIGRATIONS):
        raise NewerSchema(f"{backup} has schema {manifest.steps}; this version knows up to {len(MIGRATIONS)}.")
    _require_free(target, force=force)
    with translated(target):
        private_files.make_folder(target.parent)
    with draft(target) as work:
        at = work / "memory"
        with translated(target):
            at.mkdir(mode=0o700)
        unpack(backup, manifest, at)
        for each in manifest.spaces:
            _check_space(backup, manifest, at, each.folder)
        yield Prepared(at=at, manifest=manifest, carried=_carried(manifest, target))


def _check_space(backup: Path, manifest: Manifest, at: Path, folder: str) -> None:
    """Open the database of a space: whole, with the rows it had and its canary, which is taken out."""
    told = next(each for each in manifest.spaces if each.folder == folder)
    file = at / "spaces" / folder / DATABASE
    found = copies.examine(file)
    if found.fault:
        raise damaged(backup, f"{told.name}: {found.fault}")
    if folder != folder_name(told.name) or _name_in(file.with_name("space.json")) != told.name:
        raise damaged(backup, f"the folder {folder} is not that of {told.name!a}")
    if found.schema != manifest.steps or dict(found.rows) != told.rows or told.canary not in found.canaries:
        raise damaged(backup, f"{told.name} does not hold what its manifest says")
    copies.remove_canaries(file)


def _name_in(mark: Path) -> object:
    try:
        return json.loads(private_files.read(mark, most=_LARGEST_MARK))["space"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _require_free(target: Path, *, force: bool) -> None:
    with translated(target):
        if not target.exists() and not target.is_symlink():
            return
        if target.is_dir() and not target.is_symlink() and not any(target.iterdir()):
            return
        if not is_memory(target) or target.is_symlink():
            raise NotAMemoryFolder(f"{target} holds something else.")
        if not force:
            raise AlreadyThere(f"There is a memory at {target}.", way_out=FORCE)
        _require_closed(target)


def _require_closed(target: Path) -> None:
    for file in sorted(target.glob(f"spaces/*/{DATABASE}")):
        if file.stat().st_size:
            with suppress(DatabaseDamaged):  # what is damaged is to be replaced
                copies.require_unused(file)


def _carried(manifest: Manifest, target: Path) -> tuple[str, ...]:
    """The spaces of the memory at its place that a backup of some users only leaves as they are."""
    if manifest.complete or not is_memory(target):
        return ()
    restored = {each.name for each in manifest.spaces}
    return tuple(name for name in space_names(target) if name not in restored)


def carry_over(ready: Prepared, old: Callable[[str], SpaceContext]) -> None:
    """Copy the spaces that stay from the memory that was there before."""
    for name in ready.carried:
        with old(name).use() as opened:
            store = opened.in_folder
            folder = ready.at / "spaces" / store.folder.name
            with translated(folder):
                private_files.make_folder(folder)
                store.file.backup(folder / DATABASE)
                mark = (store.folder / "space.json").read_bytes()
                private_files.replace(folder / "space.json", mark)


def switch(ready: Prepared, target: Path, backup: Path, clock: Clock) -> Path | None:
    """Put the restored memory in its place. Returns where the one before is kept, if there was one.

    Killed at any moment, there is the one or the other: `put_back` undoes the half of it.

    Raises:
        DatabaseLocked: somebody has opened the one before meanwhile; it is as it was.
        StorageError: it is as it was.
    """
    kept = None
    with translated(target):
        if is_memory(target):
            kept = target.with_name(f"{target.name}.before-restore-{clock():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}")
            note(ready.at, *_copies(target, backup, ready.manifest, kept, clock))
            _require_closed(target)
            private_files.replace(ready.at.with_name(MOVED_AWAY), kept.name.encode())
            target.replace(kept)
        else:
            note(ready.at, _copy(backup, ready.manifest))
            if target.is_dir():
                target.rmdir()
        try:
            ready.at.replace(target)
        except OSError:
            if kept is not None:
                kept.replace(target)
            raise
    return kept


def _copies(target: Path, backup: Path, manifest: Manifest, kept: Path, clock: Clock) -> Iterator[KnownBackup]:
    """The copies that there are of a memory that is about to be restored: its own, itself as `kept`, and the backup."""
    yield from (each for each in known(target) if each.kind != "before_migration")
    yield _copy(backup, manifest)
    own, now = f"{to_millis(clock()):x}{os.getpid():x}", clock()
    yield KnownBackup(id=own, path=kept, at=now, spaces=space_names(target), kind="before_restore")


def _copy(backup: Path, manifest: Manifest) -> KnownBackup:
    spaces = tuple(each.name for each in manifest.spaces)
    at = datetime.fromisoformat(manifest.made_at)
    return KnownBackup(id=manifest.id, path=backup.absolute(), at=at, spaces=spaces)


def report(ready: Prepared, target: Path, kept: Path | None, again: ForgottenAgain) -> RestoreReport:
    """What was restored."""
    manifest = ready.manifest
    return RestoreReport(
        path=target,
        backup=manifest.id,
        made_at=datetime.fromisoformat(manifest.made_at),
        spaces=tuple(each.name for each in manifest.spaces),
        rows=counted(manifest.spaces),
        kept=kept,
        carried=ready.carried,
        forgotten=again.counts,
        unread=again.unread,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class ForgottenAgain:
    """How many things were forgotten again, by kind, and spaces in which that could not be looked up."""

    counts: Mapping[str, int] = field(default_factory=dict)
    unread: tuple[str, ...] = ()


def forget_again(
    new: Callable[[str], SpaceContext], old: Callable[[str], SpaceContext], ready: Prepared, there: Collection[str]
) -> ForgottenAgain:
    """Forget in the restored memory what was forgotten in the one before, after the backup was made."""
    total: Counter[str] = Counter()
    unread: list[str] = []
    for name in (each.name for each in ready.manifest.spaces if each.name in there):
        try:
            total += bury_again(new(name), old(name))
        except (DatabaseDamaged, NewerSchema, MigrationFailed, NotAMemoryFolder):
            unread.append(name)
    for file in ready.at.glob(f"spaces/*/{DATABASE}.schema-*.bak"):
        file.unlink()  # still holds what was just forgotten
    return ForgottenAgain(counts=dict(sorted(total.items())), unread=tuple(unread))
