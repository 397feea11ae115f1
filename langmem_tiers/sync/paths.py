"""Where things are in a synced folder, and which names every system can have."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from langmem_tiers.language.slugs import slugify

if TYPE_CHECKING:
    from langmem_tiers.records import Entry

IDENTITY = "identity.md"
KNOWLEDGE, NOTES, CONFLICTS = "knowledge", "notes", "conflicts"
OURS = (IDENTITY, KNOWLEDGE, NOTES, CONFLICTS)
"""What a sync reads and writes in a folder; it leaves everything else alone."""

_SUFFIX = ".md"
_LONGEST_SLUG = 48
_FORBIDDEN = re.compile(r'[<>:"|?*\\\x00-\x1f]')
_DEVICES = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))})
# No category has this sign: behind the name of a device it makes a folder of it.
_ASIDE = "~"
_ID = re.compile(r"(?:^|-)(?P<id>[0-9a-f]{12})\.md$")


def entry_path(entry: Entry, at: str | None, taken: Iterable[str]) -> str:
    """Where the file of an entry belongs: where it is, if that fits its category, else in the folder of that.

    Args:
        entry: The entry.
        at: Where its file is now, if there is one.
        taken: The paths, in `folded` form, that other files have.
    """
    folder = "/".join((KNOWLEDGE, *map(_folder, entry.category.split("/"))))
    if at is not None and str(PurePosixPath(at).parent) == folder and is_entry(at):
        return at
    name = f"{slugify(entry.content)[:_LONGEST_SLUG].strip('-')}-{entry.id}{_SUFFIX}"
    kept = None if at is None else f"{folder}/{PurePosixPath(at).name}"
    return f"{folder}/{name}" if kept is None or folded(kept) in taken else kept


def category_of(path: str) -> str | None:
    """The category that the folder of an entry's file names; None for a file that is in none."""
    parts = PurePosixPath(path).parts[1:-1]
    return "/".join(part.removesuffix(_ASIDE) if _is_device(part[:-1]) else part for part in parts) or None


def id_in_name(path: str) -> str | None:
    """The id of the entry that the name of a file ends with."""
    found = _ID.search(PurePosixPath(path).name)
    return found["id"] if found else None


def note_path(document: str) -> str:
    """The file of a document."""
    return f"{NOTES}/{document}"


def copy_path(path: str) -> str:
    """The file with the memory's version of what is in conflict."""
    return f"{CONFLICTS}/{path}"


def is_entry(path: str) -> bool:
    """Whether a file below `knowledge` can hold an entry."""
    return path.casefold().endswith(_SUFFIX)


def is_backup(path: str) -> bool:
    """Whether an editor made the file, and will take it away again."""
    return path.endswith("~")


def folded(path: str) -> str:
    """The path as systems see it for which case and the form of accents make no difference."""
    return unicodedata.normalize("NFC", path).casefold()


def fault(path: str) -> str:
    """Why not every system can have a file of this name; empty if all can."""
    if any(part.startswith(".") for part in path.split("/")):
        return "it is hidden"
    if is_backup(path):
        return "it would be taken for the backup of an editor: rename it"
    for part in path.split("/"):
        if _FORBIDDEN.search(part) or part.endswith((".", " ")) or _is_device(part):
            return "not every system can have a file of this name: rename it"
        if any(unicodedata.category(sign) == "Cs" for sign in part):
            return "its name is no text"
    return ""


def colliding(paths: Iterable[str]) -> dict[str, str]:
    """For each of these paths that differs from an earlier one only by case or the form of accents: what is wrong."""
    first: dict[str, str] = {}
    found: dict[str, str] = {}
    for path in sorted(paths):
        parts = path.split("/")
        for end in range(1, len(parts) + 1):
            here = "/".join(parts[:end])
            other = first.setdefault(folded(here), here)
            if other != here:
                found[path] = f"some systems cannot tell it from {other}: rename one of them"
    return found


def _folder(part: str) -> str:
    return f"{part}{_ASIDE}" if _is_device(part) else part


def _is_device(part: str) -> bool:
    return part.partition(".")[0].casefold() in _DEVICES
