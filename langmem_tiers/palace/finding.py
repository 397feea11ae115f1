"""Finding with regular expressions whose matches begin with known words: these are looked for as plain text first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator


def beginning_with(words: Iterable[str], pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    r"""What `pattern.finditer(text)` finds, if each of its matches begins with one of the words or the text.

    Many times faster where the words are rare.

    Example:
        >>> [match.group() for match in beginning_with(["my"], re.compile(r"\bmy \w+"), "amy, my dog and my cat")]
        ['my dog', 'my cat']
    """
    end = 0
    for place in sorted({0, *(place for word in words if word in text for place in _places(word, text))}):
        if place >= end and (match := pattern.match(text, place)):
            end = match.end()
            yield match


def _places(word: str, text: str) -> Iterator[int]:
    place = text.find(word)
    while place >= 0:
        yield place
        place = text.find(word, place + 1)
