"""Having somebody change a text in their own editor. No business logic."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import typer

from langmem_tiers.cli.given_text import text_of
from langmem_tiers.cli.terminal import print_error


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
