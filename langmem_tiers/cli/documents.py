"""`langmem-tiers notes`: the documents of a user, as files: MEMORY.md, memory/*.md and others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from langmem_tiers.cli.given_text import FromFile, text_of
from langmem_tiers.cli.target import JsonFlag, Target, target_of
from langmem_tiers.cli.terminal import print_error, print_json, print_text, shortened, working

if TYPE_CHECKING:
    from langmem_tiers.documents.documents import Documents
    from langmem_tiers.documents.types import DocumentSummary, SkippedFile
    from langmem_tiers.space import Space

_SHOWN_PROBLEMS = 20

PathArgument = Annotated[str, typer.Argument(metavar="PATH", help="Such as MEMORY.md or memory/2026-03-02.md.")]
FolderArgument = Annotated[Path, typer.Argument(metavar="FOLDER", help="A folder of notes on this disk.")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    notes = typer.Typer(help="Notes as in an agent's folder: MEMORY.md, memory/*.md.", no_args_is_help=True)
    notes.command("list")(list_notes)
    notes.command()(show)
    notes.command()(write)
    notes.command("import")(import_notes)
    notes.command("export")(export)
    notes.command()(delete)
    app.add_typer(notes, name="notes")


def list_notes(
    context: typer.Context,
    prefix: Annotated[str, typer.Argument(metavar="PREFIX", help="Only paths that begin so.")] = "",
    *,
    json: JsonFlag = False,
) -> None:
    """Print the paths, with the date of the last change and the size. Markdown is searched, other files are kept."""
    target = target_of(context, json=json)
    with _existing(target) as documents:
        found = documents.list(prefix)
    if target.json:
        print_json(found)
    else:
        _print_list(found)


def show(context: typer.Context, path: PathArgument, *, json: JsonFlag = False) -> None:
    """Print a note."""
    target = target_of(context, json=json)
    with _existing(target) as documents:
        document = documents.read(path)
    if document is None:
        _leave_without(path)
    elif target.json:
        print_json(document)
    elif document.encoding == "utf-8":
        print_text(document.content.removesuffix("\n"))
    else:
        print_text(f"{len(document.data):,} bytes that are no text; `langmem-tiers notes export` writes the file.")


def write(
    context: typer.Context,
    path: PathArgument,
    text: Annotated[str | None, typer.Argument(metavar="TEXT", help="What to write.")] = None,
    *,
    file: FromFile = None,
    append: Annotated[bool, typer.Option("--append", help="Add it at the end, on a line of its own.")] = False,
    json: JsonFlag = False,
) -> None:
    """Write a note, or add to one."""
    if (text is None) == (file is None):
        raise typer.BadParameter("give either TEXT or --file.")
    from langmem_tiers.documents.documents import Documents

    target = target_of(context, json=json)
    given = text_of(file) if file is not None else text or ""
    with _any(target) as space:
        documents = Documents(space)
        document = documents.append(path, given) if append else documents.write(path, given)
    if target.json:
        print_json(document)
    else:
        print_text(f"{document.path}: {len(document.data):,} bytes, {_searched(document.searched)}.")


def import_notes(context: typer.Context, folder: FolderArgument, *, json: JsonFlag = False) -> None:
    """Take in a folder of notes. Importing it again changes nothing; notes that it does not hold stay."""
    from langmem_tiers.documents.documents import Documents

    target = target_of(context, json=json)
    with _any(target) as space:
        report = Documents(space).import_folder(folder)
        with working("Embedding"):
            space.flush()
    if target.json:
        print_json(report)
    else:
        kinds = ("added", "changed", "same", "skipped")
        print_text(", ".join(f"{len(getattr(report, kind)):,} {kind}" for kind in kinds) + ".")
        _print_skipped(report.skipped)


def export(context: typer.Context, folder: FolderArgument, *, json: JsonFlag = False) -> None:
    """Write all notes into a folder, byte for byte as they were written or imported; other files in it stay."""
    target = target_of(context, json=json)
    with _existing(target) as documents:
        report = documents.export_folder(folder)
    if target.json:
        print_json(report)
    else:
        kinds = ("written", "same", "skipped")
        print_text(", ".join(f"{len(getattr(report, kind)):,} {kind}" for kind in kinds) + ".")
        _print_skipped(report.skipped)
    if report.skipped:
        raise typer.Exit(1)


def delete(context: typer.Context, path: PathArgument, *, json: JsonFlag = False) -> None:
    """Delete a note, and everything that was made of it."""
    target = target_of(context, json=json)
    with _existing(target) as documents:
        gone = documents.delete(path)
    if not gone:
        _leave_without(path)
    if target.json:
        print_json({"path": path, "deleted": True})
    else:
        print_text(f"{path} is deleted.")


@contextmanager
def _existing(target: Target) -> Iterator[Documents]:
    from langmem_tiers.documents.documents import Documents

    with target.existing_memory() as memory:
        yield Documents(target.space(memory))


@contextmanager
def _any(target: Target) -> Iterator[Space]:
    """The space of a user who may be new."""
    name = target.space_name()
    with target.memory() as memory:
        yield memory.space(name)


def _leave_without(path: str) -> None:
    print_error(f"There is no note {path}. `langmem-tiers notes list` shows those there are.")
    raise typer.Exit(1)


def _print_list(found: Sequence[DocumentSummary]) -> None:
    for each in found:
        kept = "" if each.searched else "  (kept, not searched)"
        print_text(f"{each.updated_at:%Y-%m-%d %H:%M}  {each.size:>9,}  {each.path}{kept}")
    if not found:
        print_text("There are no notes.")


def _searched(searched: bool) -> str:
    return "searched" if searched else "kept, not searched"


def _print_skipped(skipped: Sequence[SkippedFile]) -> None:
    for each in skipped[:_SHOWN_PROBLEMS]:
        print_error(shortened(f"{each.path}: {each.reason}", 300))
    if len(skipped) > _SHOWN_PROBLEMS:
        print_error(f"… and {len(skipped) - _SHOWN_PROBLEMS:,} more (--json names all).")
