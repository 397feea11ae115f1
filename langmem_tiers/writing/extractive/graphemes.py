"""Cutting text where a reader sees it end: never inside a character of several code points, nor inside a mask."""

from __future__ import annotations

import re
import unicodedata

_JOINER = "\u200d"
_BLANKS = " \t\n\r\u00a0\u3000"
_MASK = re.compile(r"\[secret: [a-z ]{1,40}\]")
_LONGEST_MASK = 60


def cut(text: str, most: int) -> str:
    """The text in at most `most` characters: whole, or up to a word (without blanks: a character) and '…'."""
    if len(text) <= most:
        return text
    if most < 2:
        return ""
    end = _boundary(text, most - 1)
    blank = max(text.rfind(char, 0, end + 1) for char in _BLANKS)
    end = before_mask(text, blank if blank > most // 2 else end)
    return text[:end].rstrip(_BLANKS + ",;:-–—") + "…" if end > 0 else ""


def before_mask(text: str, place: int) -> int:
    """This place, or the beginning of the mask that it stands in."""
    around = _MASK.finditer(text, max(0, place - _LONGEST_MASK), place + _LONGEST_MASK)
    return next((mask.start() for mask in around if mask.start() < place < mask.end()), place)


def _boundary(text: str, place: int) -> int:
    """The last place up to this one between two characters as readers see them."""
    while place > 0 and _belongs_together(text, place):
        place -= 1
    return place


def _belongs_together(text: str, place: int) -> bool:
    behind, before = text[place], text[place - 1]
    if _JOINER in {behind, before} or unicodedata.category(behind) in {"Mn", "Mc", "Me"}:
        return True
    if 0x1F3FB <= ord(behind) <= 0x1F3FF or 0xE0020 <= ord(behind) <= 0xE007F or 0x1160 <= ord(behind) <= 0x11FF:
        return True
    return _is_flag(behind) and _flags_before(text, place) % 2 == 1


def _is_flag(char: str) -> bool:
    return 0x1F1E6 <= ord(char) <= 0x1F1FF


def _flags_before(text: str, place: int) -> int:
    count = 0
    while count < place and _is_flag(text[place - 1 - count]):
        count += 1
    return count
