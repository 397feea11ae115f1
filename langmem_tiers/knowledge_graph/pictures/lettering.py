"""How wide text is, and how it is broken into lines, without a font at hand. No business logic."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

# In parts of the font size, for the wide sans-serif fonts that pictures ask for.
_NARROW = dict.fromkeys("iIl|.,:;'!j", 0.33) | dict.fromkeys('ft()[]{} -/r"`', 0.42)
_WIDE = dict.fromkeys("mwMWQOGDH@%&—", 0.88)
_CAPITAL, _USUAL, _FULL = 0.7, 0.62, 1.02
_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
# Joiners that emoji and the scripts of India and Iran are written with.
_KEPT = {"\u200c", "\u200d"}


def printable(text: str) -> str:
    """`text` on one line, without what steers a display instead of being seen."""
    seen = (each for each in " ".join(text.split()) if each in _KEPT or unicodedata.category(each) not in _UNSEEN)
    return "".join(seen)


def width(text: str, size: float) -> float:
    """About how many pixels `text` takes."""
    return size * sum(map(_part, text))


def wrapped(text: str, size: float, widest: float, most: int = 3) -> tuple[str, ...]:
    """`text` in at most `most` lines of at most `widest` pixels; what has no room gives way to "…"."""
    lines = list(_lines(printable(text), size, widest))
    if len(lines) <= most:
        return tuple(lines)
    last = fitting(" ".join(lines[most - 1 :]), size, widest)
    return (*lines[: most - 1], last)


def fitting(text: str, size: float, widest: float) -> str:
    """`text`, or as much of it as fits, with "…"."""
    text = printable(text)
    if width(text, size) <= widest:
        return text
    kept = ""
    for each in text:
        if width(kept + each + "…", size) > widest:
            break
        kept += each
    return kept.rstrip() + "…"


def _lines(text: str, size: float, widest: float) -> Iterator[str]:
    line = ""
    for word in _words(text, size, widest):
        longer = f"{line} {word}".strip()
        if line and width(longer, size) > widest:
            yield line
            line = word
        else:
            line = longer
    yield line


def _words(text: str, size: float, widest: float) -> Iterator[str]:
    """The words, those that are wider than a line cut to pieces."""
    for word in text.split():
        piece = ""
        for each in word:
            if width(piece + each, size) > widest:
                yield piece
                piece = ""
            piece += each
        yield piece


def _part(character: str) -> float:
    if character.isascii():
        return _NARROW.get(character) or _WIDE.get(character) or (_CAPITAL if character.isupper() else _USUAL)
    if unicodedata.combining(character) or unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    if unicodedata.east_asian_width(character) in "WF":
        return _FULL
    return _CAPITAL if character.isupper() else _USUAL + 0.06
