"""`langmem-tiers backup` and `restore`: copies of a whole memory, made while it is in use, and put back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from langmem_tiers.cli.target import Shown, Target, command
from langmem_tiers.cli.terminal import figures, leave, print_error, progress, working
from langmem_tiers.errors import NotInAFolder
from langmem_tiers.wording import counted, safe

if TYPE_CHECKING:
    from rich.console import RenderableType

    from langmem_tiers.transfer import BackupReport, KnownBackup, RestoreReport


@command
def backup(
    target: Target,
    place: Annotated[
        Path | None,
        typer.Argument(metavar="TARGET", help="A new file that ends with .tar.gz or .zip, else a new folder."),
    ] = None,
    *,
    list_: Annotated[bool, typer.Option("--list", help="Print the backups that were made of this memory.")] = False,
) -> Shown:
    """Back up the memory, or the space of --user, while agents use it, and verify the copy by opening it.

    Everything that was stored before is in it, in plain text; only you can read the files. A target that is there is
    never overwritten.
    """
    if list_:
        return _known(target)
    if place is None:
        leave("Name where to: langmem-tiers backup TARGET.tar.gz, or --list for those that were made.")
    with target.existing_memory() as memory:
        if target.user is not None:
            target.one_space(memory)  # a mistyped user is an error, and the way out names those there are
        users = None if target.user is None else [target.user]
        with progress("Copied bytes", shown=not target.json) as advance:
            report = memory.backup(place, users=users, advance=advance)
    for one in report.left_out:
        print_error(f"{one.space} is not in the backup: {one.reason}")
    return Shown(report, _made(report), failed=bool(report.left_out))


def _made(report: BackupReport) -> Iterator[str]:
    what = f"{counted(len(report.spaces), 'space')}, {counted(report.rows.get('drawers', 0), 'message')}"
    yield f"Backed up to {report.path}: {what}, {report.bytes:,} bytes."
    yield "Verified: the copy was opened, every file compared, and its canary found."


def _known(target: Target) -> Shown:
    from langmem_tiers.transfer import backups

    with target.existing_memory() as memory:
        found = backups.known(memory.path)
    return Shown(found, [_table(found)] if found else ["No backup of this memory is known."])


_INTO_SERVER = (
    "Restore it into a folder, then bring it to the server: `langmem-tiers move --from FOLDER --to postgresql://…`."
)
_KINDS = {"backup": "backup", "before_restore": "the memory before a restore", "before_migration": "before an upgrade"}


def _table(found: tuple[KnownBackup, ...]) -> RenderableType:
    table = figures("made", "spaces")
    for name in ("kind", "path"):
        table.add_column(name, overflow="fold")
    for one in found:
        gone = "" if one.there else " (not there now)"
        table.add_row(f"{one.at:%Y-%m-%d %H:%M}", f"{len(one.spaces):,}", _KINDS[one.kind], safe(f"{one.path}{gone}"))
    return table


@command
def restore(
    target: Target,
    source: Annotated[Path, typer.Argument(metavar="BACKUP", help="What `backup` wrote.")],
    *,
    force: Annotated[
        bool, typer.Option("--force", help="Take the place of a closed memory, which is kept beside it.")
    ] = False,
) -> Shown:
    """Put a backup into the folder of --path: checked in every file, opened, and switched in at once.

    The folder is new or empty, unless --force is given. Then the memory there is kept beside it, and what was forgotten
    in it since the backup is forgotten again.
    """
    from langmem_tiers.cli.target import in_words_of_commands
    from langmem_tiers.memory import Memory

    if isinstance(target.place, str):
        raise NotInAFolder("A backup is restored into a folder.", way_out=_INTO_SERVER)
    with working("Restoring"), in_words_of_commands():
        report = Memory.restore(source, target.folder, force=force)
    return Shown(report, _restored(report))


def _restored(report: RestoreReport) -> Iterator[str]:
    what = f"{counted(len(report.spaces), 'space')}, {counted(report.rows.get('drawers', 0), 'message')}"
    yield f"Restored to {report.path}: {what}, as of {report.made_at:%Y-%m-%d %H:%M} UTC."
    if report.carried:
        yield f"Not in the backup, and left as they are: {', '.join(report.carried)}."
    if report.kept is not None:
        yield f"The memory that was there is kept in {report.kept}."
    if report.forgotten:
        told = ", ".join(f"{count:,} {kind}" for kind, count in report.forgotten.items())
        yield f"Forgotten since the backup, and forgotten again: {told} (tombstones)."
    elif report.kept is None:
        yield "What was forgotten after the backup was made is here again: forget it once more, if you know of any."
    if report.unread:
        print_error(f"Damaged, so what was forgotten there could not be looked up: {', '.join(report.unread)}.")
