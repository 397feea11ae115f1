"""Entries as a folder `{category}/{id}.json`, one a file, as RockBot keeps them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from langmem_tiers import private_files
from langmem_tiers.errors import InvalidInput
from langmem_tiers.knowledge import validation
from langmem_tiers.records import Entry
from langmem_tiers.storage import entries
from langmem_tiers.wording import beginning

if TYPE_CHECKING:
    from langmem_tiers.context import SpaceContext


_ID = re.compile("[0-9a-f]{12}")


def write(context: SpaceContext, folder: Path) -> tuple[int, int]:
    """Write every entry into a new folder. Returns how many, and their bytes.

    Raises:
        InvalidInput: the category of an entry would lead out of the folder.
    """
    folder.mkdir(mode=0o700)
    count = size = 0
    for entry in _every(context):
        data = (json.dumps(_told(entry), ensure_ascii=False, indent=2) + "\n").encode()
        file = folder / file_of(entry.id, entry.category)
        private_files.make_folder(file.parent)
        with private_files.create(file) as stream:
            stream.write(data)
        count, size = count + 1, size + len(data)
    return count, size


def file_of(entry_id: str, category: str) -> str:
    """The file of an entry in such a folder.

    Raises:
        InvalidInput: it could lead out of the folder: the id or the category is none that the memory gives.
    """
    if not _ID.fullmatch(entry_id):
        raise InvalidInput(f"{beginning(entry_id, 40)!a} is no id of an entry.", way_out="Delete that entry.")
    if validation.category(category) != category:
        raise InvalidInput(
            f"{beginning(category, 80)!a} is not written as a category.", way_out="Give the entry another one."
        )
    return f"{category}/{entry_id}.json"


def is_entry_file(path: PurePath) -> bool:
    """Whether a path in such a folder is that of an entry."""
    return len(path.parts) > 1 and path.suffix == ".json" and bool(_ID.fullmatch(path.stem))


def _every(context: SpaceContext) -> Iterator[Entry]:
    with context.open() as store, store.reading() as connection:
        newest = entries.newest(connection, store.key)
        for first in range(1, newest + 1, 500):
            found = entries.by_numbers(connection, store.key, range(first, first + 500))
            yield from (found[number] for number in sorted(found))


def _told(entry: Entry) -> dict[str, Any]:
    """An entry in the words of RockBot; one that no longer holds says what took its place."""
    told: dict[str, Any] = {
        "id": entry.id,
        "content": entry.content,
        "category": entry.category,
        "tags": [*entry.tags],
        "createdAt": entry.created_at.isoformat(),
        "updatedAt": entry.updated_at.isoformat(),
        "metadata": {**entry.metadata, "origin": entry.origin, "authority": entry.authority.name.lower()},
    }
    if entry.expires_at is not None:
        told["expiresAt"] = entry.expires_at.isoformat()
    if entry.status != "active":
        told["supersededBy"] = entry.successor or entry.reason or "inactive"
    return told
