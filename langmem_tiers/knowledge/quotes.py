"""Whether a quote occurs where it is said to. Pure."""

from __future__ import annotations

import unicodedata

_STRAIGHT = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "“": '"', "”": '"'})


def occurs(quote: str, text: str) -> bool:
    """Whether the words of a quote occur in a text: blanks, case and the shape of quotation marks do not matter.

    Example:
        >>> occurs("lives in  Oslo", "She lives in Oslo now.")
        True
    """
    return _even(quote) in _even(text)


def _even(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).translate(_STRAIGHT).casefold().split())
