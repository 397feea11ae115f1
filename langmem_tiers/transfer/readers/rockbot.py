"""Reading RockBot's long-term memory: a folder `{category}/{id}.json`, one entry a file, its names in any case.

Malformed files are problems, as they are warnings there. What was superseded or archived is left behind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from langmem_tiers.transfer.files import Malformed, json_files, parse, unreadable
from langmem_tiers.transfer.readers import values
from langmem_tiers.transfer.readers.values import metadata
from langmem_tiers.transfer.records import ImportedFact, LeftBehind, Record

EXPECTED = "the memory folder of RockBot, {category}/{id}.json"
_LARGEST = 4_000_000
_SUPERSEDED = ("supersededby", "archivedat")
_OWN = ("id", "content", "category", "tags", "createdat", "updatedat", "metadata", *_SUPERSEDED)


def read_rockbot(path: Path) -> Iterator[Record]:
    """A fact for each file, and the problems, in the order of the paths.

    Raises:
        UnreadableFile: it is no folder, or not permitted.
    """
    if not path.is_dir():
        raise unreadable(path, EXPECTED, "it is no folder")
    try:
        files = [*json_files(path)]
    except OSError as error:
        raise unreadable(path, EXPECTED, error.strerror or str(error)) from error
    for position, file in enumerate(files, 1):
        place = PurePosixPath(file.relative_to(path).as_posix())
        yield values.tried(position, _record, place, file, where=str(place))


def looks_like_entry(file: Path) -> bool:
    """Whether a file is an entry of RockBot."""
    try:
        return {"id", "content", "createdat"} <= _entry(file).keys()
    except Malformed:
        return False


def _entry(file: Path) -> Mapping[str, object]:
    try:
        with file.open("rb") as stream:
            held = stream.read(_LARGEST + 1)
        if len(held) > _LARGEST:
            raise Malformed(f"the file is longer than {_LARGEST:,} bytes")
        parsed = values.mapping(parse(held.decode("utf-8-sig")), "the file")
    except (OSError, UnicodeDecodeError) as error:
        raise Malformed(f"the file cannot be read: {error}") from error
    return {str(name).lower(): value for name, value in parsed.items()}


def _record(place: PurePosixPath, file: Path) -> ImportedFact | LeftBehind:
    entry = _entry(file)
    own = entry.get("metadata")
    about = own if isinstance(own, dict) else {}
    told = {**{str(name).lower(): value for name, value in about.items()}, **entry}
    if any(told.get(name) for name in _SUPERSEDED):
        return LeftBehind(what="superseded and archived entries")
    folder = str(place.parent)
    return ImportedFact(
        source="rockbot",
        fact_id=values.optional_text(entry, "id") or place.stem,
        content=values.text(entry, "content"),
        category=values.some_text(entry, "category") or (None if folder == "." else folder),
        tags=values.texts(entry.get("tags")),
        keeps_id=True,
        metadata={**metadata(about), **metadata(entry, *_OWN)},
        **values.dates(created_at=entry.get("createdat"), updated_at=entry.get("updatedat")),
    )
