"""`langmem-tiers export`: everything of a space as JSON, to read as Markdown, its entries as files, its graph."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from langmem_tiers.cli.target import Shown, in_words_of_commands, space_command
from langmem_tiers.cli.terminal import working

if TYPE_CHECKING:
    from langmem_tiers.space import Space
    from langmem_tiers.transfer import ExportFormat

ExportChoice = StrEnum("ExportChoice", ["json", "markdown", "folder", "graphml"])


@space_command()
def export(
    space: Space,
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="Ends with .json, .json.gz, .md or .graphml, else a new folder.")
    ],
    *,
    format: Annotated[ExportChoice | None, typer.Option("--format", help="Default: what PATH ends with.")] = None,
    embeddings: Annotated[bool, typer.Option("--embeddings", help="JSON: with the vectors.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace what is there.")] = False,
) -> Shown:
    """Export the user's space.

    As JSON it is complete, and `import` makes the same memory of it. Markdown is for reading. A folder holds the
    entries, one a file: {category}/{id}.json. GraphML is the graph, for Gephi. Only you can read what is written.
    """
    chosen = None if format is None else cast("ExportFormat", format.value)
    with working("Exporting"), in_words_of_commands():
        report = space.export(path, format=chosen, embeddings=embeddings, force=force)
    counts = ", ".join(f"{count:,} {_NAMES[name]}" for name, count in report.counts.items() if count and name in _NAMES)
    lines = [f"Exported {space.name} to {report.path}{f': {counts}' if counts else ''}, {report.bytes:,} bytes."]
    if report.fingerprint is not None:
        lines.append(f"Fingerprint: {report.fingerprint}")
    return Shown(report, lines)


_NAMES = {
    "drawers": "messages",
    "entries": "entries",
    "relations": "relations",
    "episodes": "summaries",
    "documents": "documents",
    "tasks": "tasks",
    "sessions": "sessions",
}
