"""A graph out into a file, and back in."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import orjson

from langmem_tiers import arguments
from langmem_tiers.errors import InvalidInput, StorageError, UnreadableFile

if TYPE_CHECKING:
    from langmem_tiers.knowledge_graph.exchange import GraphRecord
    from langmem_tiers.space import Space

Format = Literal["json", "graphml"]
# Five hundred thousand relations; a larger file would take more memory than a small machine has.
_MOST_BYTES = 512 * 1024 * 1024
WAY_OUT = "Give a JSON file that an export of a graph wrote."
_CHANGED = "Copy or export it anew; if it was changed on purpose, remove its field 'checksum': then it is not checked."


@dataclass(frozen=True, kw_only=True, slots=True)
class Imported:
    """What an import brought: how many entities, relations, merges and pairs were new, and what was not taken.

    `known` counts entities and relations that were there already, `loose` the pieces of evidence whose drawers are not
    in this space, `refused` the relations that would have been of something to itself here.
    """

    entities: int = 0
    relations: int = 0
    merges: int = 0
    pairs: int = 0
    known: int = 0
    loose: int = 0
    refused: int = 0


def export(space: Space, path: str | Path, *, format: Format | None) -> Path:
    """See `KnowledgeGraph.export`."""
    from langmem_tiers.knowledge_graph import exporting, graphml

    target = arguments.path(path, "path")
    writers: dict[str, Callable[[Space], bytes]] = {"json": exporting.as_json, "graphml": graphml.as_graphml}
    suffix = target.suffix.removeprefix(".").lower()
    kind = suffix if format is None else arguments.one_of(format, "format", writers)
    if kind not in writers:
        raise InvalidInput(f"{target.name!r} says no format to export to.", way_out="Name a .json or .graphml file.")
    _write(target, writers[kind](space))
    return target


def import_(space: Space, path: str | Path) -> Imported:
    """See `KnowledgeGraph.import_`."""
    from langmem_tiers.knowledge_graph import importing

    source = arguments.path(path, "path")
    graph = _parsed(source, _read(source))
    try:
        return importing.take_in(space, graph)
    except importing.Impossible as error:
        raise _unreadable(source, str(error)) from error


def _read(source: Path) -> bytes:
    try:
        if source.exists() and not source.is_file():
            raise _unreadable(source, "it is no regular file")
        if source.stat().st_size > _MOST_BYTES:
            raise _unreadable(source, f"it is larger than {_MOST_BYTES:,} bytes")
        return source.read_bytes()
    except OSError as error:
        raise _unreadable(source, error.strerror or str(error)) from error


def _parsed(source: Path, data: bytes) -> GraphRecord:
    from pydantic import ValidationError

    from langmem_tiers.knowledge_graph.exchange import CHECKSUM, FORMAT, VERSION, GraphRecord

    try:
        found = orjson.loads(data)
    except (orjson.JSONDecodeError, RecursionError) as error:
        raise _unreadable(source, f"it is no JSON: {error}") from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise _unreadable(source, f"it does not say that it is a {FORMAT}")
    if found.get("version") != VERSION:
        raise _unreadable(source, f"it is of version {ascii(found.get('version'))[:40]}; this one reads {VERSION}")
    if CHECKSUM in found and not _fits(found, found.pop(CHECKSUM)):
        raise _unreadable(source, "its content does not fit its checksum: it was damaged or changed", _CHANGED)
    try:
        return GraphRecord.model_validate(found)
    except ValidationError as error:
        raise _unreadable(source, _first_fault(error)) from error


def _fits(found: dict[str, Any], told: object) -> bool:
    """Whether the content of a file is that of which it tells the checksum."""
    from langmem_tiers.knowledge_graph.exchange import checksum

    try:
        return checksum(found) == told
    except orjson.JSONEncodeError:  # parts within parts, deeper than any that was written
        return False


def _first_fault(error: object) -> str:
    fault = error.errors(include_url=False, include_input=False)[0]  # type: ignore[attr-defined]
    where = ".".join(str(part) for part in fault["loc"])
    return f"{where or 'the whole'}: {fault['msg'].removeprefix('Value error, ')}"


def _write(target: Path, data: bytes) -> None:
    """Write a file whole, or leave the one that is there."""
    held = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        held.write_bytes(data)
        held.replace(target)
    except OSError as error:
        held.unlink(missing_ok=True)
        raise StorageError(
            f"{target} can not be written: {error.strerror or error}.", way_out="Name a file in a folder that is there."
        ) from error


def _unreadable(source: Path, reason: str, way_out: str = WAY_OUT) -> UnreadableFile:
    return UnreadableFile(f"{source} can not be imported: {ascii(reason)[1:-1].rstrip('.')}.", way_out=way_out)
