"""`langmem-tiers identity` and `notes`: texts that users write themselves."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from langmem_tiers.cli.target import JsonFlag, Target, target_of
from langmem_tiers.cli.terminal import as_data, print_error, print_json, print_text, shortened, working
from langmem_tiers.errors import MemoryTiersError, UnreadableFile

if TYPE_CHECKING:
    from langmem_tiers.knowledge.documents import Documents
    from langmem_tiers.knowledge.identity import Identity
    from langmem_tiers.knowledge.types import IdentityText, SkippedFile
    from langmem_tiers.records import DocumentSummary, IdentityVersion
    from langmem_tiers.space import Space


FromFile = Annotated[
    Path | None, typer.Option("--file", metavar="FILE", help="Take the text from this file; '-' is standard input.")
]


def text_of(file: Path) -> str:
    """The text of a file, or of standard input for '-'.

    Raises:
        UnreadableFile: there is none, or it is not in UTF-8.
    """
    try:
        data = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
        return data.decode()
    except OSError as error:
        raise UnreadableFile(f"{file} can not be read: {error.strerror}.", way_out="Check the path.") from error
    except UnicodeDecodeError as error:
        raise UnreadableFile(
            f"{file} is not text in UTF-8 (byte {error.start:,}).", way_out="Save it as UTF-8."
        ) from error


def edited(text: str, name: str) -> str:
    """The text as it was saved in the editor: $VISUAL, else $EDITOR, else that of the system.

    Raises:
        UnreadableFile: it was not saved as UTF-8.
        typer.Exit: the editor can not be started, or left with an error; it is said which.
    """
    default = "notepad" if sys.platform == "win32" else "vi"
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or default
    with tempfile.TemporaryDirectory(prefix="langmem-tiers-") as folder:
        file = Path(folder) / name
        file.write_bytes(text.encode())
        try:
            subprocess.run([*shlex.split(command), str(file)], check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            print_error(f"The editor {command} failed, and nothing was changed: {error}.")
            raise typer.Exit(1) from error
        return text_of(file)


_SHOWN_VERSIONS = 20


def register(app: typer.Typer) -> None:
    """Add the two groups of commands."""
    identity = typer.Typer(help="The user's core profile, always before the model.", no_args_is_help=True)
    for command in (show, edit, add, remove, undo):
        identity.command()(command)
    app.add_typer(identity, name="identity")
    notes = typer.Typer(help="Notes as in an agent's folder: MEMORY.md, memory/*.md.", no_args_is_help=True)
    notes.command("list")(list_notes)
    notes.command("show")(show_note)
    notes.command()(write)
    notes.command("import")(import_notes)
    notes.command("export")(export)
    notes.command("delete")(delete)
    app.add_typer(notes, name="notes")


def show(
    context: typer.Context,
    *,
    history: Annotated[bool, typer.Option("--history", help="The versions kept, newest first.")] = False,
    json: JsonFlag = False,
) -> None:
    """Print the identity, and how much of its room it takes."""
    target = target_of(context, json=json)
    with _existing_identity(target) as identity:
        if history:
            _print_history(identity.history(limit=_SHOWN_VERSIONS), target)
        else:
            _print(identity.read(), target)


def edit(context: typer.Context, *, file: FromFile = None, json: JsonFlag = False) -> None:
    """Write the identity anew: in your editor ($VISUAL, $EDITOR), or from a file."""
    target = target_of(context, json=json)
    with _any_identity(target) as identity:
        if file is not None:
            _print(identity.write(text_of(file)), target)
        else:
            _print(_edited(identity), target)


def add(
    context: typer.Context,
    line: Annotated[str, typer.Argument(metavar="LINE", help="What to add, such as 'Speaks Portuguese.'")],
    *,
    section: Annotated[str, typer.Option(metavar="NAME", help="The section; it is made if it is new.")] = "Notes",
    json: JsonFlag = False,
) -> None:
    """Add a line to a section of the identity."""
    target = target_of(context, json=json)
    with _any_identity(target) as identity:
        _print(identity.add(line, section=section), target)


def remove(
    context: typer.Context,
    what: Annotated[
        str, typer.Argument(metavar="SECTION|LINE", help="A section's title, a line, or words of one line only.")
    ],
    *,
    json: JsonFlag = False,
) -> None:
    """Take a section or a line out of the identity."""
    target = target_of(context, json=json)
    with _existing_identity(target) as identity:
        _print(identity.remove(what), target)


def undo(
    context: typer.Context,
    *,
    to: Annotated[
        int | None,
        typer.Option(
            min=0, max=1_000_000_000, metavar="VERSION", help="The version to go back to. Default: the last one."
        ),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Let an earlier version of the identity stand again. Undoing twice takes the undoing back."""
    target = target_of(context, json=json)
    with _existing_identity(target) as identity:
        _print(identity.undo(to=to), target)


@contextmanager
def _existing_identity(target: Target) -> Iterator[Identity]:
    with target.existing_memory() as memory:
        yield target.space(memory).identity


@contextmanager
def _any_identity(target: Target) -> Iterator[Identity]:
    """The identity of a user who may be new."""
    name = target.space_name()
    with target.memory() as memory:
        yield memory.space(name).identity


def _edited(identity: Identity) -> IdentityText:
    """The identity after it went through an editor; what is refused is kept in a file: somebody wrote it by hand."""
    before = identity.read()
    text = edited(before.text, "identity.md")
    try:
        return identity.write(text, version=before.version)
    except MemoryTiersError as error:
        print_error(str(error))
        print_error(f"Your text is kept in {_kept(text)}: change it and give it with identity edit --file.")
        raise typer.Exit(1) from error


def _kept(text: str) -> str:
    handle, name = tempfile.mkstemp(prefix="identity-", suffix=".md")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    return name


def _print(identity: IdentityText, target: Target) -> None:
    if target.json:
        print_json({**as_data(identity), "share": identity.share})
        return
    if identity.text:
        print_text(f"{identity.text}\n")
    print_text(identity.usage)


def _print_history(versions: tuple[IdentityVersion, ...], target: Target) -> None:
    if target.json:
        print_json(versions)
        return
    for each in versions:
        print_text(f"version {each.version}, {each.at:%Y-%m-%d %H:%M}, by {each.origin}\n{each.text}\n")
    if not versions:
        print_text("There is no version yet.")


_SHOWN_PROBLEMS = 20

PathArgument = Annotated[str, typer.Argument(metavar="PATH", help="Such as MEMORY.md or memory/2026-03-02.md.")]
FolderArgument = Annotated[Path, typer.Argument(metavar="FOLDER", help="A folder of notes on this disk.")]


def list_notes(
    context: typer.Context,
    prefix: Annotated[str, typer.Argument(metavar="PREFIX", help="Only paths that begin so.")] = "",
    *,
    json: JsonFlag = False,
) -> None:
    """Print the paths, with the date of the last change and the size. Markdown is searched, other files are kept."""
    target = target_of(context, json=json)
    with _existing_documents(target) as documents:
        found = documents.list(prefix)
    if target.json:
        print_json(found)
    else:
        _print_list(found)


def show_note(context: typer.Context, path: PathArgument, *, json: JsonFlag = False) -> None:
    """Print a note."""
    target = target_of(context, json=json)
    with _existing_documents(target) as documents:
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

    target = target_of(context, json=json)
    given = text_of(file) if file is not None else text or ""
    with _any_space(target) as space:
        documents = space.documents
        document = documents.append(path, given) if append else documents.write(path, given)
    if target.json:
        print_json(document)
    else:
        print_text(f"{document.path}: {len(document.data):,} bytes, {_searched(document.searched)}.")


def import_notes(context: typer.Context, folder: FolderArgument, *, json: JsonFlag = False) -> None:
    """Take in a folder of notes. Importing it again changes nothing; notes that it does not hold stay."""
    target = target_of(context, json=json)
    with _any_space(target) as space:
        report = space.documents.import_folder(folder)
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
    with _existing_documents(target) as documents:
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
    with _existing_documents(target) as documents:
        gone = documents.delete(path)
    if not gone:
        _leave_without(path)
    if target.json:
        print_json({"path": path, "deleted": True})
    else:
        print_text(f"{path} is deleted.")


@contextmanager
def _existing_documents(target: Target) -> Iterator[Documents]:
    with target.existing_memory() as memory:
        yield target.space(memory).documents


@contextmanager
def _any_space(target: Target) -> Iterator[Space]:
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
