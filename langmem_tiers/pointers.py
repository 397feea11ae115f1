"""AAAK pointers: the addresses of rooms and drawers, such as `§W-042/R-11/D-007`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from langmem_tiers.errors import InvalidPointer

# Models write typographic hyphens; a 64-bit key can hold eighteen digits.
_HYPHEN = "[-\u2010\u2011\u2013]"
_POINTER = re.compile(
    rf"(?<![\w/])(?:§\s*)?W{_HYPHEN}([0-9]{{1,18}})/R{_HYPHEN}([0-9]{{1,18}})(?:/D{_HYPHEN}([0-9]{{1,18}}))?(?![\w/])",
    re.IGNORECASE | re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Pointer:
    """The address of a drawer, or of a room when `drawer` is None.

    Example:
        >>> str(Pointer(42, 11, 7))
        '§W-042/R-11/D-007'
    """

    wing: int
    room: int
    drawer: int | None = None

    def __str__(self) -> str:
        if self.drawer is None:
            return f"§W-{self.wing:03d}/R-{self.room:02d}"
        return drawer_pointer(self.wing, self.room, self.drawer)


def drawer_pointer(wing: int, room: int, drawer: int) -> str:
    """The pointer of a drawer as text, without building a `Pointer`."""
    return f"§W-{wing:03d}/R-{room:02d}/D-{drawer:03d}"


def parse_pointer(text: str) -> Pointer:
    """The pointer in a text: with or without '§' and zeros, upper or lower case, blanks around it allowed.

    Raises:
        InvalidPointer: the text is anything else.
    """
    match = _POINTER.fullmatch(text.strip())
    if match is None:
        raise InvalidPointer(f"{text[:80]!r} is no pointer.")
    return _pointer(match)


def find_pointers(text: str) -> tuple[Pointer, ...]:
    """The pointers cited in a text, each once, in order of first mention."""
    return tuple(dict.fromkeys(_pointer(match) for match in _POINTER.finditer(text)))


def _pointer(match: re.Match[str]) -> Pointer:
    wing, room, drawer = match.groups()
    return Pointer(int(wing), int(room), int(drawer) if drawer else None)
