"""The wrong value beside the right one: "I work at Acme, not Axis" says that another statement with "Axis" is wrong.

Only one about the same property is: who works at Acme, not Axis, may still know somebody at Axis.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from langmem_tiers.language.names import KIN
from langmem_tiers.language.synonyms import NUMBERS
from langmem_tiers.language.word_lists import alternatives, named_pattern, table, word_set
from langmem_tiers.language.words import STOPWORDS, stem, words

_CONTRAST = named_pattern("contrasts", "contrast")
_KIN = f"(?:{alternatives('vocabulary', 'kin')})"
_PROPERTIES = {f"on {name}": named_pattern("properties", name, kin=_KIN) for name in table("patterns")["properties"]}
_HEDGED = named_pattern("contrasts", "hedged")
_NO_VALUE = word_set(table("patterns")["contrasts"]["no_value"])
_JUDGED = word_set(table("patterns")["contrasts"]["judged"])
_IT = re.compile(r"^(?:[Ii]t|[Tt]hat|[Tt]hey)(?:'s|'re| is| are| was| were)\b")
_TOKEN = re.compile(r"[\w€$£%]+(?:['&.-][\w€$£%]+)*+|[,;:.!?()]")
_NEXT = word_set(table("patterns")["contrasts"]["behind_a_value"])
_BEINGS = frozenset(map(stem, KIN)) | {"user"}
_NUMBERS = frozenset(map(stem, NUMBERS))
_JOINS = frozenset({",", "and", "or"})
_ON = word_set(table("patterns")["contrasts"]["goes_on"])


class Contrast(NamedTuple):
    """The wrong value by the stems of its words, and the properties of which it is one; `right` is the rest.

    Without a property, it is the one of whatever was said before with the wrong value.
    """

    right: str
    wrong: frozenset[str]
    properties: frozenset[str]


def contrast(clause: str) -> Contrast | None:
    """What a clause sets against a wrong value; None if it does not, or only for some occasions.

    Example:
        >>> contrast("I work at Acme, not Bosch").wrong
        frozenset({'bosch'})
    """
    match = _CONTRAST.match(clause)
    if match is None or _HEDGED.search(match["right"]):
        return None
    wrong = value_of(match["wrong"])
    if not wrong or not _NO_VALUE.isdisjoint(words(match["wrong"])):
        return None
    if is_judged(match["right"]):
        return None
    if _IT.match(match["right"]):
        return Contrast(match["right"], wrong, frozenset())
    about = _properties(match["right"], wrong)
    return Contrast(match["right"], wrong, about) if about else None


def is_judged(right: str) -> bool:
    """Whether "it" is merely called something in these words, rather than given a value: "it's fun"."""
    it = _IT.match(right)
    return it is not None and not _JUDGED.isdisjoint(words(right[it.end() :]))


def value_of(said: str) -> frozenset[str]:
    """A value by the stems of its words."""
    return frozenset(stem(word) for word in words(said) if word not in STOPWORDS)


def given(clause: str, value: frozenset[str]) -> frozenset[str]:
    """The properties that a clause gives this value, and no other beside it."""
    said = _up_to(clause, value)
    return _properties(clause if _is_number(value) else said, value) if said else frozenset()


def _properties(clause: str, value: frozenset[str]) -> frozenset[str]:
    """Of which properties a clause gives a value at its end: by its other words, and by what they are about."""
    told = [stem(word) for word in words(clause) if word not in STOPWORDS]
    about = {name for name, said in _PROPERTIES.items() if said.search(clause)}
    others = told if _is_number(value) else told[: len(told) - len(value)]
    return frozenset({*others, *about}) - _BEINGS - _NUMBERS - value


def _is_number(value: frozenset[str]) -> bool:
    return all(word.isdigit() or word in _NUMBERS for word in value)


def _up_to(clause: str, value: frozenset[str]) -> str:
    """A clause up to a value; empty if it does not give it, as "coffee" in "coffee machine"."""
    tokens = [*_TOKEN.finditer(clause)]
    said = [token[0].casefold() for token in tokens]
    for last in range(len(value) - 1, len(tokens)):
        if _is_value(said, last, value) and not _is_joined(said, last - len(value) + 1, last):
            behind = said[last + 1] if last + 1 < len(said) else "."
            if behind in _NEXT or _is_number(value) or not behind[0].isalnum():
                return clause[: tokens[last].end()]
    return ""


def is_one_of_several(clause: str, value: frozenset[str]) -> bool:
    """Whether a clause gives this value beside others, so that they may be right: "peanuts and milk"."""
    said = [token[0].casefold() for token in _TOKEN.finditer(clause)]
    places = (place for place in range(len(value) - 1, len(said)) if _is_value(said, place, value))
    return any(_is_joined(said, last - len(value) + 1, last) for last in places)


def _is_value(said: Sequence[str], last: int, value: frozenset[str]) -> bool:
    return frozenset(map(stem, said[last - len(value) + 1 : last + 1])) == value


def _is_joined(said: Sequence[str], first: int, last: int) -> bool:
    """Whether another value stands beside one: "peanuts and milk"."""
    behind = said[last + 1 : last + 3]
    goes_on = len(behind) > 1 and behind[0] in _JOINS and behind[1] not in _ON
    return goes_on or (first > 0 and said[first - 1] in _JOINS)
