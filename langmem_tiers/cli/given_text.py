"""Text that a command takes from a file or from standard input. No business logic."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from langmem_tiers.errors import UnreadableFile

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
