"""Characters as users see them: an emoji family is one, and so is a letter with its accents (Unicode's UAX #29)."""

from __future__ import annotations

import regex

_CLUSTER = regex.compile(r"\X")
# A pair of these is one flag. `\X` takes quadratic time over a run of them, so pairs are counted as one plain sign.
_FLAG = regex.compile("[\U0001f1e6-\U0001f1ff]{2}")
# Text in Unicode's stream-safe format (UAX #15) has at most 30 marks behind a character. What piles up more counts
# again: else a whole book of marks would be one character.
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
