"""`langmem-tiers identity` and `notes`: texts that users write themselves; `profile`: what is known beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from langmem_tiers.cli.editor import edited, kept_if_refused
from langmem_tiers.cli.target import AsOf, FromFile, Shown, Target, command_of_space, space_command
from langmem_tiers.cli.terminal import as_data, leave, print_problems, text_of, working
from langmem_tiers.wording import counted

if TYPE_CHECKING:
    from langmem_tiers.knowledge.results import IdentityText, SkippedFile
    from langmem_tiers.space import Space


_SHOWN_VERSIONS = 20
_WITHOUT_EDITOR = "Without an editor: `identity edit --file FILE` ('-' is standard input), or `identity add LINE`."

NotePath = Annotated[str, typer.Argument(metavar="PATH", help="Such as MEMORY.md or memory/2026-03-02.md.")]
Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="A folder of notes on this disk.")]

identity = typer.Typer(help="A short text about the user, always before the model.", no_args_is_help=True)
notes = typer.Typer(help="Notes as in an agent's folder: MEMORY.md, memory/*.md.", no_args_is_help=True)


@space_command()
def profile(space: Space, *, as_of: AsOf = None) -> Shown:
    """Print the standing facts about the user that are always before the model, and what each was read from."""
    lines = space.profile.read(as_of=as_of)
    text = [f"{line}  {line.kind} {line.ref}" for line in lines]
    return Shown(lines, text or ["No standing facts are known yet, such as home, diet or languages."])


@identity.command()
@space_command()
def show(
    space: Space,
    *,
    history: Annotated[bool, typer.Option("--history", help="The versions kept, newest first.")] = False,
) -> Shown:
    """Print the identity, and how much of its room it takes."""
    if not history:
        return identity_shown(space)
    versions = space.identity.history(limit=_SHOWN_VERSIONS)
    lines = [f"version {each.version}, {each.at:%Y-%m-%d %H:%M}, by {each.origin}\n{each.text}\n" for each in versions]
    return Shown(versions, lines or ["There is no version yet."])


@identity.command()
@space_command(new_user=True)
def edit(space: Space, *, file: FromFile = None) -> Shown:
    """Write the identity anew: in your editor ($VISUAL, $EDITOR), or from a file."""
    if file is not None:
        return _shown(space.identity.write(text_of(file)))
    before = space.identity.read()
    text = edited(before.text, "identity.md", otherwise=_WITHOUT_EDITOR)
    with kept_if_refused(text, "identity.md", "identity edit --file"):
        return _shown(space.identity.write(text, version=before.version))


@identity.command()
@space_command(new_user=True)
def add(
    space: Space,
    line: Annotated[str, typer.Argument(metavar="LINE", help="What to add, such as 'Speaks Portuguese.'")],
    *,
    section: Annotated[str, typer.Option(metavar="NAME", help="The section; it is made if it is new.")] = "Notes",
) -> Shown:
    """Add a line to a section of the identity."""
    return _shown(space.identity.add(line, section=section))


@identity.command()
@space_command()
def remove(
    space: Space,
    what: Annotated[
        str, typer.Argument(metavar="SECTION|LINE", help="A section's title, a line, or words of one line only.")
    ],
) -> Shown:
    """Take a section or a line out of the identity."""
    return _shown(space.identity.remove(what))


@identity.command()
@space_command()
def undo(
    space: Space,
    *,
    to: Annotated[
        int | None,
        typer.Option(
            min=0, max=1_000_000_000, metavar="VERSION", help="The version to go back to. Default: the last one."
        ),
    ] = None,
) -> Shown:
    """Let an earlier version of the identity stand again. Undoing twice takes the undoing back."""
    return _shown(space.identity.undo(to=to))


@identity.command("forget-history")
@space_command()
def forget_history(space: Space) -> Shown:
    """Delete all versions of the identity but the current one, for good."""
    gone = space.identity.forget_history()
    return Shown({"deleted": gone}, [f"{counted(gone, 'earlier version')} deleted."])


def identity_shown(space: Space) -> Shown:
    """The identity, and how much of its room it takes."""
    return _shown(space.identity.read())


def _shown(identity: IdentityText) -> Shown:
    text = [f"{identity.text}\n"] if identity.text else []
    return Shown({**as_data(identity), "share": identity.share}, [*text, identity.usage])


@notes.command("list")
@space_command()
def list_notes(
    space: Space, prefix: Annotated[str, typer.Argument(metavar="PREFIX", help="Only paths that begin so.")] = ""
) -> Shown:
    """Print the paths, with the date of the last change and the size. Markdown is searched, other files are kept."""
    found = space.documents.list(prefix)
    lines = [
        f"{each.updated_at:%Y-%m-%d %H:%M}  {each.size:>9,}  {each.path}"
        + ("" if each.searched else "  (kept, not searched)")
        for each in found
    ]
    return Shown(found, lines or ["There are no notes."])


@notes.command("show")
@space_command()
def show_note(space: Space, path: NotePath) -> Shown:
    """Print a note."""
    return note_shown(space, path)


def note_shown(space: Space, path: str) -> Shown:
    """A note, or how large it is if it is no text."""
    document = space.documents.read(path)
    if document is None:
        _leave_without(path)
    if document.encoding == "utf-8":
        return Shown(document, [document.content.removesuffix("\n")])
    told = f"{len(document.data):,} bytes that are no text; `langmem-tiers notes export` writes the file."
    return Shown(document, [told])


@notes.command()
@command_of_space
def write(
    target: Target,
    path: NotePath,
    text: Annotated[str | None, typer.Argument(metavar="TEXT", help="What to write.")] = None,
    *,
    file: FromFile = None,
    append: Annotated[bool, typer.Option("--append", help="Add it at the end, on a line of its own.")] = False,
) -> Shown:
    """Write a note, or add to one."""
    if (text is None) == (file is None):
        raise typer.BadParameter("give either TEXT or --file.")
    given = text_of(file) if file is not None else text or ""
    with target.any_space() as space:
        document = space.documents.append(path, given) if append else space.documents.write(path, given)
    searched = "searched" if document.searched else "kept, not searched"
    return Shown(document, [f"{document.path}: {len(document.data):,} bytes, {searched}."])


@notes.command("import")
@space_command(new_user=True)
def import_notes(space: Space, folder: Folder) -> Shown:
    """Take in a folder of notes. Importing it again changes nothing; notes that it does not hold stay."""
    report = space.documents.import_folder(folder)
    with working("Embedding"):
        space.flush()
    counts = {"added": report.added, "changed": report.changed, "same": report.same}
    return Shown(report, _counted(counts, report.skipped))


@notes.command()
@space_command()
def export(space: Space, folder: Folder) -> Shown:
    """Write all notes into a folder, byte for byte as they were written or imported; other files in it stay."""
    report = space.documents.export_folder(folder)
    counts = {"written": report.written, "same": report.same}
    return Shown(report, _counted(counts, report.skipped), failed=bool(report.skipped))


@notes.command()
@space_command()
def delete(space: Space, path: NotePath) -> Shown:
    """Delete a note, and everything that was made of it."""
    if not space.documents.delete(path):
        _leave_without(path)
    return Shown({"path": path, "deleted": True}, [f"{path} is deleted."])


def _leave_without(path: str) -> NoReturn:
    leave(f"There is no note {path}. `langmem-tiers notes list` shows those there are.")


def _counted(counts: Mapping[str, Sequence[str]], skipped: Sequence[SkippedFile]) -> Iterator[str]:
    """How many files there were of each kind; those skipped are named on standard error."""
    yield ", ".join(f"{len(files):,} {kind}" for kind, files in {**counts, "skipped": skipped}.items()) + "."
    print_problems([f"{each.path}: {each.reason}" for each in skipped])
