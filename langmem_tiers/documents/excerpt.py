"""The beginning of a document, as much as fits into a number of tokens."""

from __future__ import annotations

import re
from collections.abc import Callable

from langmem_tiers.embeddings.chunking import split

_PARAGRAPH = re.compile(r"\n[^\S\n]*\n\s*")
_NOTE = "[… The rest of {name} is left out: {left:,} of its {total:,} characters. Search finds them.]"
# So many characters a token are more than any text has: what is longer does not fit, and need not be counted.
_MOST_A_TOKEN = 32
_LEAST_PIECE = 40


def beginning(text: str, name: str, most: int, count: Callable[[str], int]) -> str:
    """`text` if it takes at most `most` tokens, else its first paragraphs and a note of what is left out.

    A first paragraph that is too long by itself is cut behind a sentence, else at white space. Empty where not even
    the note fits.

    Args:
        text: The document.
        name: What the note calls it.
        most: Tokens, with the note.
        count: How many tokens a text takes, as it will be shown.
    """
    whole = text.strip()
    if not whole or (len(whole) <= most * _MOST_A_TOKEN and count(whole) <= most):
        return whole
    ends = _paragraph_ends(whole, most * _MOST_A_TOKEN)
    return _longest(whole, ends, name, most, count) or _longest(whole, _ends(whole, most), name, most, count)


def _longest(text: str, ends: list[int], name: str, most: int, count: Callable[[str], int]) -> str:
    """The text up to the last of these ends with which it fits, found by halving."""
    fits, low, high = "", 0, len(ends)
    while low < high:
        middle = (low + high) // 2
        shown = _with_note(text, ends[middle], name)
        if count(shown) <= most:
            fits, low = shown, middle + 1
        else:
            high = middle
    return fits


def _with_note(text: str, end: int, name: str) -> str:
    note = _NOTE.format(name=name, left=len(text) - end, total=len(text))
    return f"{text[:end].rstrip()}\n\n{note}"


def _paragraph_ends(text: str, most: int) -> list[int]:
    return [found.start() for found in _PARAGRAPH.finditer(text, 0, most) if found.start()]


def _ends(text: str, most: int) -> list[int]:
    """Ends within the first paragraph: behind sentences where they are, else between words."""
    first = _PARAGRAPH.search(text)
    paragraph = text[: min(first.start() if first else len(text), most * _MOST_A_TOKEN)]
    return [stop for _, stop in split(paragraph, _LEAST_PIECE)]
