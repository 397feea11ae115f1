"""`langmem-tiers move`: a memory from a folder to servers, or back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from langmem_tiers.cli.target import Shown, Target, command, in_words_of_commands, require_memory
from langmem_tiers.cli.terminal import print_error, working
from langmem_tiers.paths import is_address
from langmem_tiers.wording import counted

_Place = "FOLDER|postgresql://…"


@command
def move(
    target: Target,
    *,
    source: Annotated[str, typer.Option("--from", metavar=_Place, help="The memory; its records stay as they are.")],
    place: Annotated[str, typer.Option("--to", metavar=_Place, help="Where it goes.")],
) -> Shown:
    """Move a memory from a folder to servers or back: all rows with their vectors, space by space, compared by hash.

    Nobody should write to it meanwhile. The same command goes on with a move that was stopped.
    """
    from langmem_tiers.memory import Memory
    from langmem_tiers.moving import move as moved

    if not is_address(source):
        require_memory(Path(source).expanduser(), way_out="Name the folder of one, or the address of its database.")
    with (
        in_words_of_commands(),
        working("Moving"),
        Memory.open(source, embedder=None, background=False) as old,
        Memory.open(place, embedder=None, background=False) as new,
    ):
        begun: list[str] = []
        try:
            report = moved(old, new, begun.append)
        except KeyboardInterrupt:
            arrived = counted(max(len(begun) - 1, 0), "space has", "spaces have")
            print_error(f"Stopped: {arrived} arrived whole. The same command goes on from there.")
            raise
    rows = sum(report.rows.values())
    lines = [f"Moved {counted(len(report.moved), 'space')} with {counted(rows, 'row')} to {new.backend.where}."]
    if report.there:
        lines.append(f"{counted(len(report.there), 'space was', 'spaces were')} there already.")
    return Shown(report, lines)
