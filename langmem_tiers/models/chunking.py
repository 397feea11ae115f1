"""Splitting a long text into pieces that get one vector each."""

from __future__ import annotations

import re
import unicodedata

from langmem_tiers.errors import InvalidSettings

# Best place first. Group 1 must precede the cut; the white space after it is included as far as it fits.
# The lookbehinds let a long run of the same character match from its start only, which keeps the time linear.
_PARAGRAPH = re.compile(r"()\n[^\S\n]*\n\s*")
_SENTENCE = re.compile(
    r"""((?<![.!?…؟।])[.!?…؟।]++["'”’»)\]]*+(?=\s) | (?<![。！？｡])[。！？｡]++[”’」』）】]*+ | (?=\n))\s*""", re.VERBOSE
)
_SPACE = re.compile(r"()\s+")
_LONGEST_STEP_BACK = 32
_JOINERS = frozenset("\u200d\ufe0e\ufe0f") | {chr(tone) for tone in range(0x1F3FB, 0x1F400)}


def split(text: str, limit: int) -> tuple[tuple[int, int], ...]:
    """Spans (start, stop) that cover `text` in order, without gaps or overlap, each of at most `limit` characters.

    A span ends at a paragraph, else a sentence or line, else white space, else anywhere; it is at least half full
    where the text allows, so the pieces are few. A blank text has none. Takes time linear in the text.

    Raises:
        InvalidSettings: the limit is below 1.

    Example:
        >>> split("One two. Three four.", 12)
        ((0, 9), (9, 20))
    """
    if limit < 1:
        raise InvalidSettings(f"A piece of {limit} characters is no piece.")
    spans: list[tuple[int, int]] = []
    start = 0 if text.strip() else len(text)
    while start < len(text):
        stop = _unjoined(text, start, _cut(text, start, start + limit))
        spans.append((start, stop))
        start = stop
    return tuple(spans)


def _cut(text: str, start: int, stop: int) -> int:
    """The end of the piece from `start`: the best kind of place in its second half, else the last in its first."""
    if stop >= len(text):
        return len(text)
    half = (start + stop + 1) // 2
    last = start
    for place in (_PARAGRAPH, _SENTENCE, _SPACE):
        found = _last_match(place, text, start, stop)
        if found >= half:
            return found
        last = max(last, found)
    return last if last > start else stop


def _last_match(place: re.Pattern[str], text: str, start: int, stop: int) -> int:
    """The end of the last match that begins before `stop`, capped at it; `start` if there is none."""
    last = start
    for match in place.finditer(text, start, stop + 1):  # one more: the white space may come right after the cut
        if match.end(1) <= stop:
            last = min(match.end(), stop)
    return last


def _unjoined(text: str, start: int, stop: int) -> int:
    """`stop`, moved back if it would split a character from its accent, its emoji sequence, or its surrogate."""
    for cut in range(stop, max(start, stop - _LONGEST_STEP_BACK), -1):
        if cut == len(text) or not _joined(text[cut - 1], text[cut]):
            return cut
    return stop


def _joined(left: str, right: str) -> bool:
    return (
        unicodedata.combining(right) != 0
        or right in _JOINERS
        or left == "\u200d"
        or ("\ud800" <= left <= "\udbff" and "\udc00" <= right <= "\udfff")
    )
