"""Texts in the user's own editor, and what becomes of them when they cannot be saved. No business logic."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from langmem_tiers.cli.terminal import leave, print_error, text_of
from langmem_tiers.errors import MemoryTiersError


def edited(text: str, name: str, *, otherwise: str) -> str:
    """The text as it was saved in the editor: $VISUAL, else $EDITOR, else that of the system.

    `otherwise` says how to do without an editor, where there is none or no terminal for it.
    """
    chosen = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if chosen is None and not sys.stdin.isatty():
        leave(f"The editor needs a terminal, and this is none. {otherwise}")
    editor = chosen or ("notepad" if sys.platform == "win32" else "vi")
    with tempfile.TemporaryDirectory(prefix="langmem-tiers-") as folder:
        file = Path(folder) / name
        file.write_bytes(text.encode())
        try:
            subprocess.run([*shlex.split(editor), str(file)], check=True)
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            why = str(error).rstrip(".")
            print_error(f"The editor {editor} failed, and nothing was changed: {why}. {otherwise}")
            raise typer.Exit(1) from error
        return text_of(file)


@contextmanager
def kept_if_refused(text: str, name: str, command: str) -> Iterator[None]:
    """Write a text that is refused to a file, and say where and which command takes it: somebody wrote it by hand."""
    try:
        yield
    except MemoryTiersError as error:
        print_error(str(error))
        file = Path(name)
        handle, kept = tempfile.mkstemp(prefix=f"{file.stem}-", suffix=file.suffix)
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
        print_error(f"Your text is kept in {kept}: change it and give it with {command} {shlex.quote(kept)}.")
        raise typer.Exit(1) from error
