"""`langmem-tiers stats`, `usage`, `doctor` and `rebuild`: the state of a memory, and its upkeep."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langmem_tiers.cli.target import Shown, Target, command_of_space, in_words_of_commands
from langmem_tiers.cli.terminal import (
    as_data,
    figures,
    print_error,
    print_text,
    working,
)
from langmem_tiers.errors import DatabaseDamaged, StorageError
from langmem_tiers.paths import is_address
from langmem_tiers.wording import counted, safe

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from langmem_tiers.memory import Memory
    from langmem_tiers.models.usage import UsageLine
    from langmem_tiers.space import Space
    from langmem_tiers.storage.usages import UsageBy
    from langmem_tiers.types import Finding, SpaceStats


@command_of_space
def stats(target: Target) -> Shown:
    """Print counts and sizes of the user's space, or of every space when no user is named."""
    found: list[SpaceStats] = []
    with target.existing_memory() as memory:
        failed = _for_each(target, memory, lambda space: found.append(space.stats(by_kind=True)))
        not_counted = _print_not_counted(target, memory)
    # Where nothing could be counted, there may be spaces all the same.
    is_known = found or not (failed or not_counted)
    title = [f"Memory in {memory.backend.where}: {counted(len(found), 'space')}"] if is_known else []
    lines = [*title, *(line for one in found for line in _counts(one))]
    return Shown({"path": memory.backend.where, "spaces": found}, lines, failed=failed)


def _for_each(target: Target, memory: Memory, work: Callable[[Space], object]) -> bool:
    """Do something with the space that was named, or with every space; returns whether one failed.

    If none was named, a space that fails is reported with its error, and the others are still processed.
    """
    failed = False
    for space in target.spaces(memory):
        try:
            with in_words_of_commands():
                work(space)
        except StorageError as error:
            if target.names_one:
                raise
            print_error(f"{space.name}: {error}")
            failed = True
    return failed


def _print_not_counted(target: Target, memory: Memory) -> bool:
    """Name the folders whose space cannot be told; returns whether there are any."""
    unreadable = [*target.unreadable(memory)]
    for folder in unreadable:
        print_error(f"Not counted: {folder}, whose space cannot be told. `langmem-tiers doctor` says the way out.")
    return bool(unreadable)


# What a space has of files beside its records, which one in a database has none of.
_OF_FILES = {"chroma_bytes", "index_bytes"}


def _counts(stats: SpaceStats) -> Iterator[RenderableType]:
    """The table, with the place below it: in a cell it would be wrapped."""
    table = figures("", "", title=stats.space)
    table.show_header = False
    left_out = {"space", "folder"} | (_OF_FILES if is_address(stats.folder) else set())
    for name, value in as_data(stats).items():
        if name == "bytes_by_kind":
            for kind, size in value.items():
                table.add_row(f"bytes of {kind}", f"{size:,}")
        elif name not in left_out:
            figure = "none" if value is None else f"{value:,}" if isinstance(value, int) else value
            table.add_row(name.replace("_", " "), figure)
    yield from ("", table, place_of(stats))


def place_of(stats: SpaceStats) -> str:
    """The line that says where a space is kept."""
    return f"{'Database' if is_address(stats.folder) else 'Folder'}: {stats.folder}"


_BY: tuple[UsageBy, ...] = ("source", "day")
_NUMBERS = ("calls", "failures", "input_tokens", "output_tokens", "cost")


@command_of_space
def usage(
    target: Target,
    *,
    days: Annotated[int, typer.Option(min=1, max=36_500, help="How many days back, today (UTC) being the first.")] = 30,
) -> Shown:
    """Print what models took for the user's space, or for every space when no user is named: by source and by day."""
    from langmem_tiers.models.usage import UsageBook

    found: list[dict[str, Any]] = []
    with target.existing_memory() as memory:
        since = memory.clock().date() - timedelta(days=days - 1)

        def add(space: Space) -> None:
            with memory.use(space.name) as store:
                book = UsageBook(store.database)
                found.append({"space": space.name, **{f"by_{by}": book.summary(since=since, by=by) for by in _BY}})

        failed = _for_each(target, memory, add)
        _print_not_counted(target, memory)
    lines: list[RenderableType] = []
    for each in found:
        if each["by_source"]:
            lines += [f"{each['space']}, since {since}", *(_usage_table(by, each[f"by_{by}"]) for by in _BY)]
    data = {"path": memory.backend.where, "since": str(since), "spaces": found}
    return Shown(data, lines or [f"No model was asked since {since}."], failed=failed)


def _usage_table(what: str, lines: tuple[UsageLine, ...]) -> Table:
    table = figures(what, *(name.replace("_", " ") for name in _NUMBERS))
    for line in lines:
        numbers = (getattr(line, name) for name in _NUMBERS)
        table.add_row(safe(line.name), *(f"{each:,}" if isinstance(each, int) else f"{each:,.4f}" for each in numbers))
    return table


_SIGNS = {"ok": "ok     ", "note": "note   ", "problem": "PROBLEM"}
_OF_ALL = {"sqlite", "database"}
_BACKUP = "Put a backup in its place: `langmem-tiers restore`."


@command_of_space
def doctor(
    target: Target,
    *,
    deep: Annotated[bool, typer.Option("--deep", help="Also read every text: is it as it was stored?")] = False,
) -> Shown:
    """Check the text index and the vectors against the records, in one space or in all. Exit code 1: a problem."""
    with target.existing_memory() as memory:
        with working("Checking"):
            found = {space.name: _examined(space, deep=deep) for space in target.spaces(memory)}
        unreadable = target.unreadable(memory)
    bad = unreadable or any(finding.level == "problem" for findings in found.values() for finding in findings)
    return Shown(
        {"path": memory.backend.where, "spaces": found, "unreadable_spaces": unreadable},
        _findings(found | {str(folder): (_without_name(folder),) for folder in unreadable}),
        failed=bool(bad),
    )


@command_of_space
def rebuild(target: Target) -> Shown:
    """Build text index and vectors anew from the records, in one space or in all. No record is changed."""
    done: dict[str, tuple[str, ...]] = {}

    def build(space: Space) -> None:
        with working(f"Rebuilding {space.name}"):
            done[space.name] = space.rebuild()
            space.flush()
        if not target.json:  # each as soon as it is done
            print_text("\n  ".join((space.name, *done[space.name])))

    with target.existing_memory() as memory:
        failed = _for_each(target, memory, build)
    return Shown(done, (), failed=failed)


def _examined(space: Space, *, deep: bool) -> tuple[Finding, ...]:
    """The findings on one space; a space that cannot even be opened must not hide the others."""
    from langmem_tiers.types import Finding

    try:
        with in_words_of_commands():
            return space.doctor(deep=deep)
    except StorageError as error:
        # That the doctor says what else is off goes without saying here.
        way_out = _BACKUP if error.way_out == DatabaseDamaged.way_out else error.way_out
        return (Finding(check="records", level="problem", message=error.message, way_out=way_out),)


def _without_name(folder: Path) -> Finding:
    from langmem_tiers.types import Finding

    return Finding(
        check="space",
        level="problem",
        message=f"{folder / 'space.json'} cannot be read, or names a space of another folder.",
        way_out="Open it once under its name, for example with --user ID: the mark is written anew.",
    )


def _findings(found: Mapping[str, tuple[Finding, ...]]) -> Iterator[str]:
    """The findings by space; those about this machine or a whole database come first, and only once."""
    of_all = dict.fromkeys(finding for findings in found.values() for finding in findings if finding.check in _OF_ALL)
    for finding in of_all:
        yield from _finding(finding, indent="")
    for name, findings in found.items():
        yield name
        for finding in findings:
            if finding not in of_all:
                yield from _finding(finding, indent="  ")


def _finding(finding: Finding, *, indent: str) -> Iterator[str]:
    yield f"{indent}{_SIGNS[finding.level]}  {finding.check}: {finding.message}"
    if finding.way_out:
        yield f"{indent}         {finding.way_out}"
