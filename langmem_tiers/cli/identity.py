"""`langmem-tiers identity`: the user's core profile, as the model gets it, and changing it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from langmem_tiers.cli.editor import edited
from langmem_tiers.cli.given_text import FromFile, text_of
from langmem_tiers.cli.target import JsonFlag, Target, target_of
from langmem_tiers.cli.terminal import as_data, print_error, print_json, print_text
from langmem_tiers.errors import MemoryTiersError

if TYPE_CHECKING:
    from langmem_tiers.identity.identity import Identity
    from langmem_tiers.identity.types import IdentityText, IdentityVersion

_SHOWN_VERSIONS = 20


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    identity = typer.Typer(help="The user's core profile, always before the model.", no_args_is_help=True)
    for command in (show, edit, add, remove, undo):
        identity.command()(command)
    app.add_typer(identity, name="identity")


def show(
    context: typer.Context,
    *,
    history: Annotated[bool, typer.Option("--history", help="The versions kept, newest first.")] = False,
    json: JsonFlag = False,
) -> None:
    """Print the identity, and how much of its room it takes."""
    target = target_of(context, json=json)
    with _existing(target) as identity:
        if history:
            _print_history(identity.history(limit=_SHOWN_VERSIONS), target)
        else:
            _print(identity.read(), target)


def edit(context: typer.Context, *, file: FromFile = None, json: JsonFlag = False) -> None:
    """Write the identity anew: in your editor ($VISUAL, $EDITOR), or from a file."""
    target = target_of(context, json=json)
    with _any(target) as identity:
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
    with _any(target) as identity:
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
    with _existing(target) as identity:
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
    with _existing(target) as identity:
        _print(identity.undo(to=to), target)


@contextmanager
def _existing(target: Target) -> Iterator[Identity]:
    from langmem_tiers.identity.identity import Identity

    with target.existing_memory() as memory:
        yield Identity(target.space(memory))


@contextmanager
def _any(target: Target) -> Iterator[Identity]:
    """The identity of a user who may be new."""
    from langmem_tiers.identity.identity import Identity

    name = target.space_name()
    with target.memory() as memory:
        yield Identity(memory.space(name))


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
