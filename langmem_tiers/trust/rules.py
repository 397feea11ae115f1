"""What a rule for one kind of secret is made of."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass


def always(value: str, match: re.Match[str]) -> bool:
    """Whatever fits the pattern is a secret."""
    return True


def scrambled(value: str, match: re.Match[str]) -> bool:
    """Does it look drawn by chance: digits among small and capital letters, or a long hexadecimal number?"""
    small, capital, digit = _SMALL.search(value), _CAPITAL.search(value), _DIGIT.search(value)
    return bool(digit and ((small and capital) or _HEXADECIMAL.search(value)))


_SMALL, _CAPITAL, _DIGIT = re.compile("[a-z]"), re.compile("[A-Z]"), re.compile("[0-9]")
_HEXADECIMAL = re.compile("[0-9a-f]{32}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """One kind of secret: the last named group of its pattern, or else all of a match, where `holds` agrees.

    Only a text with one of the `hints` in it needs to be searched. With `folded`, hints and pattern meet the text in
    small letters; `holds` is always given the value as it was written.
    """

    kind: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    holds: Callable[[str, re.Match[str]], bool] = always
    folded: bool = False

    def spans(self, text: str, folded: str) -> Iterator[tuple[int, int]]:
        """Where secrets of this kind stand in `text`, whose small letters are `folded`."""
        for match in self.pattern.finditer(folded if self.folded else text):
            start, stop = match.span(match.lastgroup or 0)
            if self.holds(text[start:stop], match):
                yield start, stop
