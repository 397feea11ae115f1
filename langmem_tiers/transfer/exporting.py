"""Exporting a space: all of it as JSON, to read as Markdown, its entries as a folder of files, its graph as GraphML."""

from __future__ import annotations

import gzip
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, cast, get_args

from langmem_tiers import arguments, private_files
from langmem_tiers.errors import AlreadyThere, InvalidInput
from langmem_tiers.knowledge_graph import exporting as graph_exporting
from langmem_tiers.storage.errors_border import translated
from langmem_tiers.transfer.backups import draft
from langmem_tiers.transfer.entry_files import is_entry_file
from langmem_tiers.transfer.entry_files import write as write_entry_files
from langmem_tiers.transfer.markdown import markdown
from langmem_tiers.transfer.whole_file import fingerprint as fingerprint_of
from langmem_tiers.transfer.whole_file import write as write_whole_file

if TYPE_CHECKING:
    from langmem_tiers.context import SpaceContext

ExportFormat = Literal["json", "markdown", "folder", "graphml"]
EXPORTS: tuple[ExportFormat, ...] = get_args(ExportFormat)
_BY_ENDING: Mapping[str, ExportFormat] = {
    ".json": "json",
    ".json.gz": "json",
    ".md": "markdown",
    ".markdown": "markdown",
    ".graphml": "graphml",
    "": "folder",
}
FORCE = "Name another one, or pass force=True to replace it."


@dataclass(frozen=True, kw_only=True, slots=True)
class ExportReport:
    """What was exported: how many of each kind, the bytes, and of JSON the fingerprint of the memory."""

    path: Path
    format: ExportFormat
    counts: Mapping[str, int]
    bytes: int
    fingerprint: str | None = None


def export(
    context: SpaceContext, path: str | Path, *, format: str | None, embeddings: bool, force: bool
) -> ExportReport:
    """What `Space.export` does."""
    target = arguments.whole_path(path, "path")
    kind = _format(target, format)
    arguments.flag(embeddings, "embeddings")
    if embeddings and kind != "json":
        raise InvalidInput(f"An export as {kind} holds no embeddings.", way_out="Export as json, or leave them out.")
    _require_free(target, context.folder, force=arguments.flag(force, "force"))
    if kind == "folder":
        return _folder(context, target)
    making: Mapping[str, Callable[[SpaceContext, IO[bytes]], tuple[Mapping[str, int], str | None]]] = {
        "json": lambda context, stream: _whole(context, stream, vectors=embeddings),
        "markdown": _markdown,
        "graphml": _graphml,
    }
    with written(target) as stream:
        counts, told = making[kind](context, stream)
    return ExportReport(path=target, format=kind, counts=counts, bytes=target.stat().st_size, fingerprint=told)


def fingerprint(context: SpaceContext) -> str:
    """What `Space.fingerprint` does."""
    with context.open() as store, store.reading() as connection:
        return fingerprint_of(connection, store.key)


def _format(target: Path, given: str | None) -> ExportFormat:
    if given is not None:
        return cast("ExportFormat", arguments.one_of(given, "format", EXPORTS))
    name = target.name.lower()
    found = next((kind for ending, kind in _BY_ENDING.items() if ending and name.endswith(ending)), None)
    if found is None and "." in name.lstrip("."):
        raise InvalidInput(
            f"{target.name!a} says no format to export to.",
            way_out="Name a .json, .json.gz, .md or .graphml file, or a folder, or give a format.",
        )
    return found or "folder"


def _require_free(target: Path, memory: Path, *, force: bool) -> None:
    with translated(target):
        if target.resolve().is_relative_to(memory.resolve()):
            raise InvalidInput(f"{target} is in the folder of the memory itself.", way_out="Name a place elsewhere.")
        filled = target.is_symlink() or target.is_file() or (target.is_dir() and any(target.iterdir()))
        if filled and not force:
            raise AlreadyThere(f"{target} is there already.", way_out=FORCE)
        private_files.make_folder(target.parent)


@contextmanager
def written(target: Path) -> Iterator[IO[bytes]]:
    """A file that only its owner can read, which gets its name when it is complete; gzipped if it ends with .gz."""
    with draft(target) as work, translated(target):
        made = work / "made"
        with private_files.create(made) as stream:
            if target.name.lower().endswith(".gz"):
                with gzip.GzipFile(fileobj=stream, mode="wb", mtime=0) as zipped:
                    yield cast("IO[bytes]", zipped)
            else:
                yield stream
            stream.flush()
            os.fsync(stream.fileno())
        if target.is_dir() and not target.is_symlink():
            raise AlreadyThere(f"{target} is a folder.", way_out="Name a file.")
        made.replace(target)


def _whole(context: SpaceContext, stream: IO[bytes], *, vectors: bool) -> tuple[Mapping[str, int], str]:
    with context.open() as store, store.reading() as connection:
        about: dict[str, Any] = {"name": context.name, "at": context.clock(), "vectors": vectors}
        return write_whole_file(stream, connection, store.key, **about)


def _markdown(context: SpaceContext, stream: IO[bytes]) -> tuple[Mapping[str, int], None]:
    text, counts = markdown(context)
    stream.write(text.encode())
    return counts, None


def _graphml(context: SpaceContext, stream: IO[bytes]) -> tuple[Mapping[str, int], None]:
    stream.write(graph_exporting.export_part(context, None, "graphml").data)
    return {}, None


def _folder(context: SpaceContext, target: Path) -> ExportReport:
    with draft(target) as work, translated(target):
        made = work / "made"
        count, size = write_entry_files(context, made)
        if target.is_symlink() or target.is_file():
            raise AlreadyThere(f"{target} is no folder.", way_out="Name a new folder.")
        if target.is_dir():
            _require_ours(target)
        # Kept outside the draft, which is removed in any case.
        _replace(target, made, kept=work.with_name(f"{work.name}.kept"))
    return ExportReport(path=target, format="folder", counts={"entries": count}, bytes=size)


def _replace(target: Path, made: Path, *, kept: Path) -> None:
    """Put a new folder in the place of the one before, which is back there if that fails."""
    if target.is_dir():
        target.replace(kept)
    try:
        made.replace(target)
    except OSError:
        if kept.exists():
            kept.replace(target)
        raise
    shutil.rmtree(kept, ignore_errors=True)


def _require_ours(target: Path) -> None:
    """Check that a folder that is to be replaced holds nothing but exported entries."""
    for each in target.rglob("*"):
        ours = each.is_dir() or is_entry_file(each.relative_to(target))
        if each.is_symlink() or not ours:
            raise AlreadyThere(f"{target} holds other things, such as {each.name!a}.", way_out="Name a new folder.")
