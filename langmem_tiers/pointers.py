"""AAAK pointers: the addresses of rooms and drawers, such as `§W-042/R-11/D-007`.

What another space holds is told apart by its name: `§W-042/R-11/D-007@teams/research`, `3f2a9c01d4e5@global`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from langmem_tiers.errors import InvalidPointer
from langmem_tiers.wording import beginning

# Models write typographic hyphens; a 64-bit key can hold eighteen digits.
_HYPHENS = "-\u2010\u2011\u2013"
_HYPHEN = f"[{_HYPHENS}]"
_BESIDE = "@"
# A name ends with a letter, a digit or an escape: the full stop behind it ends a sentence.
SPACE_NAME = rf"(?u:[{_HYPHENS}\w%./]{{0,4000}}\w)"
"""A pattern for the name of a space behind the "@" of a reference."""
_POINTER = re.compile(
    rf"(?<![\w/])(?:§\s*)?W{_HYPHEN}([0-9]{{1,18}})/R{_HYPHEN}([0-9]{{1,18}})(?:/D{_HYPHEN}([0-9]{{1,18}}))?"
    rf"(?:@({SPACE_NAME}))?(?![\w/@])",
    re.IGNORECASE | re.ASCII,
)
_TYPOGRAPHIC = str.maketrans(dict.fromkeys(_HYPHENS, "-"))
_PLAIN = frozenset("-_./")


@dataclass(frozen=True, slots=True)
class Pointer:
    """The address of a drawer, or of a room when `drawer` is None; `space` is the name of the space if it says one.

    Example:
        >>> str(Pointer(42, 11, 7))
        '§W-042/R-11/D-007'
        >>> str(Pointer(42, 11, 7, "teams/research"))
        '§W-042/R-11/D-007@teams/research'
    """

    wing: int
    room: int
    drawer: int | None = None
    space: str | None = None

    def __str__(self) -> str:
        room = f"§W-{self.wing:03d}/R-{self.room:02d}"
        address = room if self.drawer is None else drawer_pointer(self.wing, self.room, self.drawer)
        return address if self.space is None else beside(address, self.space)


def drawer_pointer(wing: int, room: int, drawer: int) -> str:
    """The pointer of a drawer as text, without building a `Pointer`."""
    return f"§W-{wing:03d}/R-{room:02d}/D-{drawer:03d}"


def beside(reference: str, space: str) -> str:
    """A pointer, an id or a path of another space, with the name of that space.

    Example:
        >>> beside("3f2a9c01d4e5", "teams/R & D")
        '3f2a9c01d4e5@teams/R%20%26%20D'
    """
    last = len(space) - 1
    signs = (
        sign if sign.isalnum() or (sign in _PLAIN and place < last) else _escape(sign)
        for place, sign in enumerate(space)
    )
    return f"{reference}{_BESIDE}{''.join(signs)}"


def split_reference(reference: str) -> tuple[str, str | None]:
    """The id in a reference, and the name of the space that it is said to be in, None for the own.

    Example:
        >>> split_reference("3f2a9c01d4e5@teams/research")
        ('3f2a9c01d4e5', 'teams/research')
    """
    name, at, space = reference.partition(_BESIDE)
    return name, _unescaped(space) if at else None


def named(space: str, names: Collection[str]) -> str | None:
    """Which of these names a text from a reference means: the very one, else the only one that looks like it."""
    if space in names:
        return space
    alike = [name for name in names if _folded(name) == _folded(space)]
    return alike[0] if len(alike) == 1 else None


def parse_pointer(text: str) -> Pointer:
    """The pointer in a text: with or without '§' and zeros, upper or lower case, blanks around it allowed.

    Raises:
        InvalidPointer: the text is anything else.
    """
    match = _POINTER.fullmatch(text.strip())
    if match is None:
        raise InvalidPointer(f"{beginning(text, 80)!r} is no pointer.")
    return _pointer(match)


def find_pointers(text: str) -> tuple[Pointer, ...]:
    """The pointers cited in a text, each once, in order of first mention."""
    return tuple(dict.fromkeys(_pointer(match) for match in _POINTER.finditer(text)))


def located_pointers(text: str) -> Iterator[tuple[Pointer, int, int]]:
    """Every pointer cited in a text, in order, with where it begins and ends there."""
    for match in _POINTER.finditer(text):
        yield _pointer(match), match.start(), match.end()


def _pointer(match: re.Match[str]) -> Pointer:
    wing, room, drawer, space = match.groups()
    return Pointer(int(wing), int(room), int(drawer) if drawer else None, _unescaped(space) if space else None)


def _escape(sign: str) -> str:
    return "".join(f"%{byte:02X}" for byte in sign.encode())


def _unescaped(written: str) -> str:
    """The name as it is: a hyphen that a model made typographic was a plain one, as others are escaped."""
    return unquote(written.translate(_TYPOGRAPHIC))


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold().translate(_TYPOGRAPHIC)
