"""Paths of documents: what is allowed, and which of them are searched."""

from __future__ import annotations

import unicodedata
from typing import Any

from langmem_tiers.errors import InvalidPath

MEMORY = ("MEMORY.md", "memory.md")
"""The document for the system prompt: the first of these that is there."""

_LONGEST_PATH = 512
# What file systems can hold.
_LONGEST_NAME_BYTES = 255
_DEEPEST = 16
_MARKDOWN = (".md", ".markdown")
# Control characters, lone surrogates, line separators, and marks that turn the reading direction or hide.
_REFUSED = {"Cc", "Cs", "Cf", "Zl", "Zp"}
# Joiners that emoji and the scripts of India and Iran are written with.
_KEPT = {"\u200c", "\u200d"}
_SHOWN = 80


def clean(path: Any) -> str:
    """`path` as documents are kept under it: `.` parts left out, accents composed (NFC).

    Raises:
        InvalidPath: it is empty, absolute, hidden, climbs, is over-long or too deep, or holds what no file name should.
    """
    if not isinstance(path, str):
        raise InvalidPath(f"A {type(path).__name__} is no path.")
    if len(path) > _LONGEST_PATH:
        raise InvalidPath(f"{_shown(path)} is no path of a document: it is longer than {_LONGEST_PATH} characters.")
    parts = [part for part in unicodedata.normalize("NFC", path).split("/") if part != "."]
    reason = _fault(parts)
    if reason:
        raise InvalidPath(f"{_shown(path)} is no path of a document: {reason}.")
    return "/".join(parts)


def is_markdown(path: str) -> bool:
    """Whether a document is searched."""
    return path.casefold().endswith(_MARKDOWN)


def name(path: str) -> str:
    """What a searched document is called, to be found by: its path without the folder and suffix all of them have.

    Example:
        >>> name("memory/trips/lisbon.md"), name("MEMORY.md")
        ('trips/lisbon', '')
    """
    stem = path[: path.rindex(".")].removeprefix("memory/") if is_markdown(path) else path
    return "" if stem.casefold() == "memory" else stem


def _fault(parts: list[str]) -> str:
    if not parts:
        return "it names no file"
    if len(parts) > _DEEPEST:
        return f"it is more than {_DEEPEST} folders deep"
    return next((fault for part in parts if (fault := _part_fault(part))), "")


def _part_fault(part: str) -> str:
    if not part.strip():
        return "a part of it is empty" if not part else "a part of it is blank"
    if part.startswith("."):
        return "it climbs" if part == ".." else "a part of it begins with a dot: it would be hidden"
    if "\\" in part or any(unicodedata.category(sign) in _REFUSED and sign not in _KEPT for sign in part):
        return "it holds a backslash, a control character or an invisible one"
    if len(part.encode()) > _LONGEST_NAME_BYTES:
        return f"a part of it takes more than {_LONGEST_NAME_BYTES} bytes"
    return ""


def _shown(path: str) -> str:
    return ascii(path if len(path) <= _SHOWN else path[:_SHOWN] + "…")
