"""`langmem-tiers sync`: a folder of Markdown files that is edited in an editor and kept in git."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from langmem_tiers.cli.target import Shown, Target, command_of_space
from langmem_tiers.cli.terminal import as_data, print_error, print_problems, shortened, working
from langmem_tiers.wording import safe

if TYPE_CHECKING:
    from langmem_tiers.sync.types import Prefer, SyncConflict, SyncReport, SyncStep

_MOST_SHOWN = 20
_SHOWN = 160


class PreferChoice(StrEnum):
    """Whose version is taken in a conflict."""

    MEMORY = "memory"
    FOLDER = "folder"


@command_of_space
def sync(
    target: Target,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder; it is made if there is none.")],
    *,
    init: Annotated[
        bool,
        typer.Option("--init", help="Use a folder that holds other things, such as a clone that was never synced."),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")] = False,
    prefer: Annotated[
        PreferChoice | None, typer.Option(help="Whose version is taken where both changed the same.")
    ] = None,
    confirm_deletions: Annotated[
        bool, typer.Option("--confirm-deletions", help="Do not ask whether what has no file any more is to be removed.")
    ] = False,
) -> Shown:
    """Write identity, knowledge and notes as Markdown into DIR, and take over what was edited there."""
    wanted: Prefer | None = None if prefer is None else prefer.value
    with target.existing_space() if dry_run else target.any_space() as space:
        report = space.sync(folder, init=init, dry_run=dry_run, prefer=wanted, confirm_deletions=confirm_deletions)
        if report.waiting and not dry_run and _agreed(report.waiting):
            report = _together(report, space.sync(folder, prefer=wanted, confirm_deletions=True))
        if report.to_memory and not dry_run:
            with working("Embedding"):
                space.flush()
    print_problems([f"{each.path}: {each.reason}" for each in (*report.problems, *report.ignored)])
    data = {**as_data(report), "settled": report.settled}
    return Shown(data, _lines(report), failed=not report.settled)


def _agreed(waiting: Sequence[SyncStep]) -> bool:
    """Whether somebody at a terminal says that what has no file any more is to be removed."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    for each in waiting[:_MOST_SHOWN]:
        print_error(f"{each.path} was deleted.")
    which = "it" if len(waiting) == 1 else f"these {len(waiting):,}"
    print(f"Remove {which} from the memory, too?", "[y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _together(first: SyncReport, second: SyncReport) -> SyncReport:
    """What two syncs did, one after the other; what is left to decide is what the second says."""
    return replace(
        second,
        to_memory=(*first.to_memory, *second.to_memory),
        to_folder=(*first.to_folder, *second.to_folder),
        ignored=(*first.ignored, *second.ignored),
    )


def _lines(report: SyncReport) -> Iterator[str]:
    yield from _steps("Into the memory", report.to_memory)
    yield from _steps("Into the folder", report.to_folder)
    for conflict in report.conflicts:
        yield from _conflict(conflict)
    yield from _steps("Deleted in the folder, and kept in the memory", report.waiting)
    if report.waiting:
        yield "  --confirm-deletions removes them there, too; --prefer memory brings the files back."
    yield _counted(report)


def _steps(title: str, steps: Sequence[SyncStep]) -> Iterator[str]:
    if not steps:
        return
    yield f"{title}:"
    for each in steps[:_MOST_SHOWN]:
        yield f"  {each.action:<8} {safe(each.path)}"
    if len(steps) > _MOST_SHOWN:
        yield f"  … and {len(steps) - _MOST_SHOWN:,} more (--json names all)."


def _conflict(conflict: SyncConflict) -> Iterator[str]:
    yield f"Conflict: {safe(conflict.path)}: {conflict.reason}."
    yield f"  folder: {_version(conflict.folder, 'deleted')}"
    yield f"  memory: {_version(conflict.memory, 'removed')}"
    yield (
        f"  Have the file say what is right, then delete {safe(conflict.copy)}; or sync with --prefer memory or folder."
    )


def _version(text: str | None, without: str) -> str:
    """The sentence of a version, without front matter and what it rests on."""
    if text is None:
        return f"({without})"
    from langmem_tiers.errors import UnreadableFile
    from langmem_tiers.sync.front_matter import parse

    try:
        return shortened(parse(text).body, _SHOWN)
    except UnreadableFile:
        return shortened(text, _SHOWN)


def _counted(report: SyncReport) -> str:
    counts = {
        "into the memory": report.to_memory,
        "into the folder": report.to_folder,
        "in conflict": report.conflicts,
        "waiting": report.waiting,
        "not taken over": report.problems,
    }
    told = [f"{len(each):,} {what}" for what, each in counts.items() if each]
    done = ", ".join([*told, f"{report.unchanged:,} unchanged"])
    return f"{done}{'; nothing was changed (--dry-run)' if report.dry_run else ''}."
