"""`langmem-tiers stats`: counts and sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from langmem_tiers.cli.target import JsonFlag, target_of
from langmem_tiers.cli.terminal import as_data, print_error, print_json, print_rich, print_text

if TYPE_CHECKING:
    from rich.table import Table

    from langmem_tiers.types import SpaceStats


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(stats)


def stats(context: typer.Context, *, json: JsonFlag = False) -> None:
    """Print counts and sizes of the user's space, or of every space when no user is named."""
    target = target_of(context, json=json)
    with target.existing_memory() as memory:
        found = [space.stats() for space in target.spaces(memory)]
        if target.json:
            print_json({"path": memory.path, "spaces": found})
        else:
            print_text(f"Memory in {memory.path}: {len(found)} {'space' if len(found) == 1 else 'spaces'}")
            for one in found:
                _print(one)
        for folder in target.unreadable(memory):
            print_error(f"Not counted: {folder}, whose space can not be told. `langmem-tiers doctor` says the way out.")


def _print(stats: SpaceStats) -> None:
    """The table, and the folder below it: in a cell it would be cut up."""
    print_text("")
    print_rich(_table(stats))
    print_text(f"Folder: {stats.folder}")


def _table(stats: SpaceStats) -> Table:
    from rich.table import Table

    table = Table(title=stats.space, title_justify="left", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for name, value in as_data(stats).items():
        if name not in {"space", "folder"}:
            table.add_row(name.replace("_", " "), _figure(value))
    return table


def _figure(value: int | str | None) -> str:
    if value is None:
        return "none"
    return f"{value:,}" if isinstance(value, int) else value
