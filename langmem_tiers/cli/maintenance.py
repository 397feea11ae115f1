"""`langmem-tiers doctor` and `rebuild`: is everything in step, and make it so."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from langmem_tiers.cli.target import JsonFlag, target_of
from langmem_tiers.cli.terminal import print_json, print_text, working
from langmem_tiers.errors import StorageError

if TYPE_CHECKING:
    from langmem_tiers.space import Space
    from langmem_tiers.types import Finding

_SIGNS = {"ok": "ok     ", "note": "note   ", "problem": "PROBLEM"}
_OF_MACHINE = {"sqlite"}


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(doctor)
    app.command()(rebuild)


def doctor(context: typer.Context, *, json: JsonFlag = False) -> None:
    """Check the text index and the vectors against the records, in one space or in all. Exit code 1: a problem."""
    target = target_of(context, json=json)
    with target.existing_memory() as memory:
        with working("Checking"):
            found = {space.name: _examine(space) for space in target.spaces(memory)}
        unreadable = target.unreadable(memory)
        if target.json:
            print_json({"path": memory.path, "spaces": found, "unreadable_spaces": unreadable})
        else:
            _print_found(found | {str(folder): (_no_name(folder),) for folder in unreadable})
    if unreadable or any(finding.level == "problem" for findings in found.values() for finding in findings):
        raise typer.Exit(1)


def rebuild(context: typer.Context, *, json: JsonFlag = False) -> None:
    """Build text index and vectors anew from the records, in one space or in all. No record is changed."""
    target = target_of(context, json=json)
    done: dict[str, tuple[str, ...]] = {}
    with target.existing_memory() as memory:
        for space in target.spaces(memory):
            with working(f"Rebuilding {space.name}"):
                done[space.name] = space.rebuild()
                space.flush()
            if not target.json:
                _print_lines(space.name, done[space.name])
    if target.json:
        print_json(done)


def _examine(space: Space) -> tuple[Finding, ...]:
    """The findings on one space; one that can not even be opened must not hide the others."""
    from langmem_tiers.types import Finding

    try:
        return space.doctor()
    except StorageError as error:
        return (Finding(check="records", level="problem", message=error.message, way_out=error.way_out),)


def _no_name(folder: Path) -> Finding:
    from langmem_tiers.types import Finding

    return Finding(
        check="space",
        level="problem",
        message=f"{folder / 'space.json'} can not be read, or names a space of another folder.",
        way_out="Open it once under its name, for example with --user ID: the mark is written anew.",
    )


def _print_found(found: dict[str, tuple[Finding, ...]]) -> None:
    """Space by space; what is about this machine and not about a space comes first, and once."""
    of_machine = {finding for findings in found.values() for finding in findings if finding.check in _OF_MACHINE}
    for finding in of_machine:
        _print_finding(finding, indent="")
    for name, findings in found.items():
        print_text(name)
        for finding in findings:
            if finding not in of_machine:
                _print_finding(finding, indent="  ")


def _print_finding(finding: Finding, *, indent: str) -> None:
    print_text(f"{indent}{_SIGNS[finding.level]}  {finding.check}: {finding.message}")
    if finding.way_out:
        print_text(f"{indent}         {finding.way_out}")


def _print_lines(name: str, lines: tuple[str, ...]) -> None:
    print_text(name)
    for line in lines:
        print_text(f"  {line}")
