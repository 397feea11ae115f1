"""Characters as readers see them: counting them, and cutting texts between them.

An emoji family is one, and so is a letter with its accents (Unicode's UAX #29).
"""

from __future__ import annotations

import re
import unicodedata

import regex

_JOINER = "\u200d"
_BLANKS = " \t\n\r\u00a0\u3000"
_MASK = re.compile(r"\[secret: [a-z ]{1,40}\]")
_LONGEST_MASK = 60
_FLAGS = "".join(map(chr, range(0x1F1E6, 0x1F200)))
_CLUSTER = regex.compile(r"\X")
# Two of these make one flag. `\X` takes quadratic time on a run of them, so pairs are replaced by one plain character.
_FLAG = regex.compile("[\U0001f1e6-\U0001f1ff]{2}")
# Text in Unicode's stream-safe format (UAX #15) has at most 30 marks after a character. Any more are counted
# separately: otherwise a whole book of marks would be one character.
_LONGEST = 31


def count(text: str) -> int:
    r"""How many characters a reader sees in `text`.

    Example:
        >>> count("e\u0301"), count("\U0001f468\u200d\U0001f469\u200d\U0001f467"), count("\U0001f1e9\U0001f1ea")
        (1, 1, 1)
    """
    if text.isascii() and "\r" not in text:
        return len(text)
    found = _CLUSTER.finditer(_FLAG.sub("\u25a0", text))
    return sum(-(-(cluster.end() - cluster.start()) // _LONGEST) for cluster in found)


def cut(text: str, most: int) -> str:
    """The text in at most `most` characters: whole, or cut at a word (or a character, without blanks) plus '…'."""
    if len(text) <= most:
        return text
    if most < 2:
        return ""
    end = _boundary(text, most - 1)
    blank = max(text.rfind(char, 0, end + 1) for char in _BLANKS)
    end = before_mask(text, blank if blank > most // 2 else end)
    return text[:end].rstrip(_BLANKS + ",;:-–—") + "…" if end > 0 else ""


def one_line(text: str, most: int | None = None) -> str:
    """The text on one line with single blanks; of a line longer than `most` characters, its beginning plus '…'."""
    if most is None:
        return " ".join(text.split())
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def before_mask(text: str, place: int) -> int:
    """This position, or the start of the mask that it lies in."""
    around = _MASK.finditer(text, max(0, place - _LONGEST_MASK), place + _LONGEST_MASK)
    return next((mask.start() for mask in around if mask.start() < place < mask.end()), place)


def _boundary(text: str, place: int) -> int:
    """The last position up to this one that lies between two characters as readers see them."""
    while place > 0 and _belongs_together(text, place):
        place -= 1
    return place


def _belongs_together(text: str, place: int) -> bool:
    behind, before = text[place], text[place - 1]
    if _JOINER in {behind, before} or unicodedata.category(behind) in {"Mn", "Mc", "Me"}:
        return True
    if 0x1F3FB <= ord(behind) <= 0x1F3FF or 0xE0020 <= ord(behind) <= 0xE007F or 0x1160 <= ord(behind) <= 0x11FF:
        return True
    # Two of these make one flag.
    return behind in _FLAGS and (place - len(text[:place].rstrip(_FLAGS))) % 2 == 1
