"""Backups of a memory, made while it is in use and verified by opening them, and the list of those that were made."""

from __future__ import annotations

import json
import logging
import os
import re
import secrets
import shutil
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from uuid import uuid4

from langmem_tiers import private_files
from langmem_tiers.clock import Clock, from_millis, require_aware, to_millis
from langmem_tiers.errors import (
    AlreadyThere,
    DatabaseDamaged,
    InvalidInput,
    MigrationFailed,
    NewerSchema,
    NotAMemoryFolder,
    StorageError,
)
from langmem_tiers.naming import folder_name
from langmem_tiers.settings_layers import FILE
from langmem_tiers.storage import copies
from langmem_tiers.storage.errors_border import translated
from langmem_tiers.storage.folder import DATABASE, DRAFT_LOCK, MOVED_AWAY, draft_name, own_folder, require_there
from langmem_tiers.storage.migrations import MIGRATIONS
from langmem_tiers.telemetry.logs import say
from langmem_tiers.transfer.backup_files import (
    MANIFEST,
    BackedUpFile,
    BackedUpSpace,
    Container,
    Manifest,
    container,
    digest,
    private_copy,
    read_manifest,
    sealed,
    unpack,
)
from langmem_tiers.version import __version__

if TYPE_CHECKING:
    from langmem_tiers.context import SpaceContext
    from langmem_tiers.store import FolderStore

log = logging.getLogger(__name__)

Advance = Callable[[int, int | None], None]
"""Told how many bytes are copied, and how many there are."""
BackupKind = Literal["backup", "before_restore", "before_migration"]

LIST = "backups.json"
_LARGEST_LIST = 32 << 20
_MARK = "langmem-tiers.json"
_SPACE_MARK = "space.json"
_DRAFT = re.compile(r"\..{1,60}\.[0-9a-f]{8}", re.DOTALL)
# What a draft holds beside its lock, and beside the database that is being copied.
_IN_DRAFTS = {"made", "file", "memory", MANIFEST, _SPACE_MARK}


@dataclass(frozen=True, kw_only=True, slots=True)
class SpaceLeftOut:
    """A space that could not be backed up or restored, and why."""

    space: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class BackupReport:
    """A backup that was made and verified: it was opened, each file compared by its hash, and the canary found.

    `rows` counts the rows of each table over all `spaces`. `left_out` are spaces whose records could not be read.
    """

    id: str
    path: Path
    at: datetime
    spaces: tuple[str, ...]
    rows: Mapping[str, int]
    bytes: int
    left_out: tuple[SpaceLeftOut, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownBackup:
    """A copy of the records that was made of a memory.

    `kind` says which: a `backup`, the memory as it was `before_restore`, or a database as it was `before_migration`.
    `there` says whether it can be reached under its path now. `spaces` are those it holds.
    """

    id: str
    path: Path
    at: datetime
    spaces: tuple[str, ...]
    kind: BackupKind = "backup"
    there: bool = True


def back_up(
    context: Callable[[str], SpaceContext],
    folder: Path,
    spaces: Collection[str],
    target: Path,
    clock: Clock,
    *,
    prompts: str,
    whole: bool,
    advance: Advance | None = None,
) -> BackupReport:
    """What `Memory.backup` does; `whole` says whether these are all spaces, `prompts` where prompts of its own are."""
    _require_free(target, folder)
    with translated(target):
        private_files.make_folder(target.parent)
    with draft(target) as work:
        making = _Making(context, folder, work, clock, advance or _unseen)
        manifest, left_out = making.run(spaces, target, prompts, whole=whole)
        unpack(making.made, read_manifest(making.made), None)
        require_there(folder)  # what is made is listed there
        with translated(target):
            if target.is_dir():
                target.rmdir()
            making.made.replace(target)
    report = _report(manifest, target, left_out)
    note(folder, KnownBackup(id=report.id, path=target, at=report.at, spaces=report.spaces))
    return report


def _report(manifest: Manifest, target: Path, left_out: tuple[SpaceLeftOut, ...]) -> BackupReport:
    return BackupReport(
        id=manifest.id,
        path=target,
        at=datetime.fromisoformat(manifest.made_at),
        spaces=tuple(each.name for each in manifest.spaces),
        rows=counted(manifest.spaces),
        bytes=sum(each.bytes for each in manifest.files),
        left_out=left_out,
    )


def counted(spaces: Iterable[BackedUpSpace]) -> Mapping[str, int]:
    """The rows of each table over some spaces."""
    rows: Counter[str] = Counter()
    for each in spaces:
        rows.update(each.rows)
    return dict(sorted(rows.items()))


def _require_free(target: Path, folder: Path) -> None:
    with translated(target):
        if target.resolve().is_relative_to(folder.resolve()):
            raise InvalidInput(
                f"{target} is in the folder of the memory itself.",
                way_out="Name a folder elsewhere, best another disk.",
            )
        if target.is_symlink() or target.is_file() or (target.is_dir() and any(target.iterdir())):
            raise AlreadyThere(f"{target} is there already.", way_out="Name a new file or folder for each backup.")


@contextmanager
def draft(target: Path) -> Iterator[Path]:
    """A new folder beside `target` for what is not finished; it is removed in any case.

    So are those in the same folder of processes that were killed.
    """
    work = target.with_name(f"{draft_name(target)}{secrets.token_hex(4)}")
    lock = private_files.lock(work / DRAFT_LOCK)
    with translated(target):
        _sweep(target)
        work.mkdir(mode=0o700)
    try:
        with translated(target):
            lock.acquire()
        yield work
    finally:
        lock.release()
        shutil.rmtree(work, ignore_errors=True)


def _sweep(target: Path) -> None:
    """Remove the drafts of killed processes beside `target`: each holds a memory in plain text."""
    for each in target.parent.iterdir():
        with suppress(OSError):  # somebody works on it, or owns it
            if _DRAFT.fullmatch(each.name) and _is_draft(each, target):
                private_files.require_own(each)
                with private_files.lock(each / DRAFT_LOCK, timeout=0):
                    shutil.rmtree(each, ignore_errors=True)


def _is_draft(folder: Path, target: Path) -> bool:
    """Whether a folder is a draft that nobody needs, if nobody works on it.

    One that says where the memory was moved to that is missing is needed.
    """
    names = {each.name for each in folder.iterdir()}
    if DRAFT_LOCK not in names:
        return False
    if folder.name[:-8] == draft_name(target):
        return MOVED_AWAY not in names or os.path.lexists(target)
    # With the lock alone it may be one that is beginning, of which the lock is not held yet.
    held = names - {DRAFT_LOCK}
    return bool(held) and all(name in _IN_DRAFTS or name.startswith(DATABASE) for name in held)


def _unseen(_done: int, _total: int | None) -> None:
    pass


class _Making:
    """One backup while it is made, in a folder for drafts; `made` is what it becomes."""

    def __init__(
        self, context: Callable[[str], SpaceContext], folder: Path, work: Path, clock: Clock, advance: Advance
    ) -> None:
        self._context = context
        self._folder = folder
        self._work = work
        self._clock = clock
        self._advance = advance
        self._done, self._total = 0, 0
        self._files: list[BackedUpFile] = []
        self.made = work / "made"

    def run(
        self, spaces: Collection[str], target: Path, prompts: str, *, whole: bool
    ) -> tuple[Manifest, tuple[SpaceLeftOut, ...]]:
        """Make the backup; spaces whose records cannot be read are left out.

        Raises:
            StorageError: nothing else could be copied, either.
        """
        at = self._clock()
        with translated(target):
            files = (self._folder / "spaces" / folder_name(name) / DATABASE for name in spaces)
            self._total = sum(each.stat().st_size for each in files if each.exists())
            into = container(target, self.made)
        with into:
            kept, left_out = self._spaces(spaces, into, to_millis(at))
            manifest = self._finished(into, target, prompts, at, kept, complete=whole and not left_out)
        return manifest, left_out

    def _finished(
        self,
        into: Container,
        target: Path,
        prompts: str,
        at: datetime,
        spaces: Collection[BackedUpSpace],
        *,
        complete: bool,
    ) -> Manifest:
        """Add the other files and the manifest."""
        with translated(target):
            for each in _other_files(self._folder, prompts):
                name = each.relative_to(self._folder).as_posix()
                self._add(into, name, private_copy(each, self._work / "file"))
            manifest = Manifest(
                format="langmem-tiers-backup",
                version=1,
                id=uuid4().hex[:12],
                made_at=at.isoformat(),
                package=__version__,
                schema=len(MIGRATIONS),
                complete=complete,
                spaces=tuple(spaces),
                files=tuple(self._files),
            )
            last = self._work / MANIFEST
            with private_files.create(last) as stream:
                stream.write(sealed(manifest))
            into.add(MANIFEST, last)
            into.finish()
        return manifest

    def _spaces(
        self, spaces: Collection[str], into: Container, at: int
    ) -> tuple[list[BackedUpSpace], tuple[SpaceLeftOut, ...]]:
        kept: list[BackedUpSpace] = []
        left_out: list[SpaceLeftOut] = []
        for name in spaces:
            try:
                kept.append(self._space(name, into, at))
            except (DatabaseDamaged, NewerSchema, MigrationFailed, NotAMemoryFolder) as error:
                for copy in self._work.glob(f"{DATABASE}*"):
                    copy.unlink()  # the next space is copied to the same place
                if len(spaces) == 1:
                    raise
                left_out.append(SpaceLeftOut(space=name, reason=error.message))
        if left_out and not kept:
            raise DatabaseDamaged(f"No space could be backed up; the first: {left_out[0].reason}")
        return kept, tuple(left_out)

    def _space(self, name: str, into: Container, at: int) -> BackedUpSpace:
        """Copy the records of a space, and open the copy."""
        copy = self._work / DATABASE
        with self._context(name).use() as opened:
            store = opened.in_folder
            canary = self._copied(store, copy, at)
            found = copies.examine(copy)
            if found.fault or canary not in found.canaries:
                raise DatabaseDamaged(f"The copy of {name} is not sound: {found.fault or 'its canary is missing'}.")
            folder = store.folder
        with translated(self.made):
            self._add(into, f"spaces/{folder.name}/{DATABASE}", copy)
            mark = private_copy(folder / _SPACE_MARK, self._work / _SPACE_MARK)
            self._add(into, f"spaces/{folder.name}/{_SPACE_MARK}", mark)
        return BackedUpSpace(name=name, folder=folder.name, canary=canary, rows=dict(found.rows))

    def _copied(self, store: FolderStore, copy: Path, at: int) -> str:
        copied = 0

        def advance(done: int, _total: int) -> None:
            nonlocal copied
            self._done += done - copied
            copied = done
            self._advance(self._done, max(self._total, self._done))

        with copies.canary(store.database, at) as canary:
            store.file.backup(copy, advance)
        return canary

    def _add(self, into: Container, name: str, file: Path) -> None:
        told = digest(file)
        self._files.append(told.model_copy(update={"path": name}))
        into.add(name, file)


def _other_files(folder: Path, prompts: str) -> Iterator[Path]:
    """The mark of the memory, its settings, and prompts of its own, where they are in its folder."""
    yield from (each for name in (_MARK, FILE) if (each := folder / name).is_file())
    own = own_folder(folder, prompts)
    inside = Path(os.path.normpath(own)).is_relative_to(folder) and own != folder
    if inside and own.is_dir() and not own.is_symlink():
        yield from (each for each in sorted(own.glob("*.md")) if each.is_file() and not each.is_symlink())


# The list of backups that were made.


def known(folder: str | Path) -> tuple[KnownBackup, ...]:
    """The copies of records that were made of the memory in a folder, oldest first: every one that the memory knows of.

    Copies that somebody made by other means are not among them.
    """
    here = Path(folder)
    with translated(here):
        found = [*_listed(here), *_before_migrations(here)]
    return tuple(sorted(found, key=lambda each: (each.at, each.id)))


def holding(folder: Path, space: str) -> tuple[str, ...]:
    """The paths of the copies that hold a space, as far as they can be reached: they keep what is forgotten there."""
    return tuple(str(each.path) for each in known(folder) if each.there and space in each.spaces)


def note(folder: Path, *made: KnownBackup) -> None:
    """Add backups to the list in a memory folder."""
    if not made:
        return
    with translated(folder), private_files.lock(folder / f".{LIST}.lock"):
        there = _listed(folder)
        rows = [_row(each) for each in {each.id: each for each in (*there, *made)}.values()]
        fresh = folder / f".{LIST}.{secrets.token_hex(4)}"
        with private_files.create(fresh) as stream:
            stream.write(json.dumps({"format": 1, "backups": rows}, indent=1).encode() + b"\n")
        fresh.replace(folder / LIST)


def _row(each: KnownBackup) -> dict[str, object]:
    told = asdict(each)
    del told["there"]
    return {**told, "path": str(each.path), "at": each.at.isoformat(), "spaces": [*each.spaces]}


def _listed(folder: Path) -> list[KnownBackup]:
    file = folder / LIST
    try:
        rows = json.loads(private_files.read(file, most=_LARGEST_LIST))["backups"] if file.exists() else []
        return [_of_row(row) for row in rows]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise StorageError(
            f"{file}, the list of backups, cannot be read: {type(error).__name__}.",
            way_out="Move it away; the backups themselves are not affected.",
        ) from error


def _of_row(row: Mapping[str, str]) -> KnownBackup:
    path = Path(row["path"])
    kinds: Mapping[str, BackupKind] = {"before_restore": "before_restore"}
    return KnownBackup(
        id=str(row["id"]),
        path=path,
        at=require_aware(datetime.fromisoformat(row["at"])),
        spaces=tuple(map(str, row["spaces"])),
        kind=kinds.get(row["kind"], "backup"),
        there=path.exists(),
    )


def _before_migrations(folder: Path) -> Iterator[KnownBackup]:
    """The databases that were copied beside themselves before their schema was changed."""
    for file in sorted(folder.glob(f"spaces/*/{DATABASE}.schema-*.bak")):
        try:
            name = str(json.loads((file.parent / _SPACE_MARK).read_bytes())["space"])
        except (OSError, ValueError, KeyError, TypeError):
            say(log, logging.WARNING, "unreadable_space_mark_skipped", file=file.parent / _SPACE_MARK)
            name = file.parent.name
        at = from_millis(int(file.stat().st_mtime * 1000))
        key = f"{file.parent.name}/{file.name}"
        yield KnownBackup(id=key, path=file.absolute(), at=at, spaces=(name,), kind="before_migration")
