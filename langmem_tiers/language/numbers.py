"""Number words: the only table of them."""

from __future__ import annotations

_UP_TO_TEN = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_TEENS = ("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_SMALL = (*_UP_TO_TEN, *_TEENS)
CARDINALS = {word: value for value, word in enumerate(_SMALL)} | {word: 10 * ten for ten, word in enumerate(_TENS, 2)}
ORDINALS = {word: value for value, word in enumerate(_ORDINALS, 1)}
_ARTICLES = {"a": 1, "an": 1, "couple of": 2, "a couple of": 2}


def cardinals(first: int, last: int) -> str:
    """A pattern for the number words from `first` to `last`, without an enclosing group.

    Example:
        >>> cardinals(2, 4)
        'two|three|four'
    """
    return "|".join(_SMALL[first : last + 1])


COUNT = rf"\d{{1,3}}|a couple of|couple of|an?|{cardinals(1, 12)}"
"""A pattern for what `counted` reads, without its group."""


def counted(number: str) -> int:
    """The count in a text: digits, or words such as "three" and "a couple of"."""
    if number.isdigit():
        return int(number)
    word = " ".join(number.casefold().split())
    return _ARTICLES[word] if word in _ARTICLES else CARDINALS[word]
