"""Importing a file into a memory from beginning to end: what it is, whose it is, and storing it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast
from uuid import UUID

from langmem_tiers import arguments
from langmem_tiers.errors import UnreadableFile
from langmem_tiers.transfer.formats import FORMATS, Format, guess_format, read_records
from langmem_tiers.transfer.importing import ImportReport, import_records, survey
from langmem_tiers.transfer.spaces import Spaces
from langmem_tiers.transfer.storing import Looking, Storing

if TYPE_CHECKING:
    from langmem_tiers.memory import Memory


def import_file(
    memory: Memory, path: str | Path, *, format: Format | None, user: str | int | UUID | None, dry_run: bool
) -> ImportReport:
    """What `Memory.import_file` does."""
    chosen = None if format is None else cast("Format", arguments.one_of(format, "format", FORMATS))
    only_counted = arguments.flag(dry_run, "dry_run")
    file = arguments.path(path, "path")
    kind = format_of(file, chosen)
    space, source = Spaces(kind, user), read_records(file, kind)
    if only_counted:
        return survey(source, space=space, looking=Looking(memory.settings, memory.clock, Storing(memory)))
    return import_records(source, storing=Storing(memory), space=space)


def format_of(path: Path, chosen: Format | None) -> Format:
    """The format that was chosen, else the one that a file looks like.

    Raises:
        UnreadableFile: it looks like none of them.
    """
    kind = chosen or guess_format(path)
    if kind is None:
        raise UnreadableFile(
            f"{path} looks like none of the known formats.", way_out=f"Say which it is: --format {', '.join(FORMATS)}."
        )
    return kind
