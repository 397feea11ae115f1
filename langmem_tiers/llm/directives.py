"""The built-in prompts, and the texts that a memory has in their place."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from langmem_tiers.errors import InvalidDirective

FOLDER = "directives"
LONGEST = 20_000
"""Characters of the longest prompt that is taken."""


class Directives:
    """Prompt texts by name: `directives/<name>.md` in the memory folder where there is one, else the built-in.

    Files are read when they are asked for, so that an edit holds from the next use on.

    Example:
        >>> Directives(None).text("memory-rules").splitlines()[0]
        '# What to remember'
    """

    def __init__(self, memory: Path | None) -> None:
        self._folder = None if memory is None else memory / FOLDER

    def text(self, name: str) -> str:
        """The prompt of a name.

        Raises:
            InvalidDirective: the file in its place is unreadable, empty, too long or no UTF-8 text.
        """
        override = None if self._folder is None else self._folder / f"{name}.md"
        if override is None or not _there(override):
            return _built_in(name)
        return _read(override)


def _built_in(name: str) -> str:
    return (files("langmem_tiers.llm") / "prompts" / f"{name}.md").read_text(encoding="utf-8").strip()


def _there(file: Path) -> bool:
    """Whether there is something of that name, be it a link to nowhere: that is a mistake to tell of."""
    try:
        return file.is_symlink() or file.exists()
    except OSError as error:
        raise _invalid(file, f"can not be read ({error.strerror or error})") from error


def _read(file: Path) -> str:
    if file.exists() and not file.is_file():
        raise _invalid(file, "is no file")  # opening a pipe would wait for ever
    try:
        with file.open(encoding="utf-8") as opened:
            text = opened.read(LONGEST + 1)
    except UnicodeDecodeError as error:
        raise _invalid(file, "is no UTF-8 text") from error
    except OSError as error:
        raise _invalid(file, f"can not be read ({error.strerror or error})") from error
    if len(text) > LONGEST:
        raise _invalid(file, f"has more than {LONGEST:,} characters")
    if not text.strip() or "\x00" in text:
        raise _invalid(file, "is empty" if not text.strip() else "is no text")
    return text.strip()


def _invalid(file: Path, what: str) -> InvalidDirective:
    return InvalidDirective(f"The prompt {file} {what}.")
