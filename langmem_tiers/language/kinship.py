"""Kinship: its words, the relation that each stands for, and which exclude each other.

"My sister Anna" is the relation `has_sister` from the speaker to Anna; the reverse form, as in "Anna is the sister of
Tom", is turned around.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from langmem_tiers.language.lazy_patterns import lazy_pattern
from langmem_tiers.language.word_lists import any_of, listed, phrases, table

Gender = Literal["he", "she"]

_TABLE = table("kinship")
_CANONICAL: dict[str, str] = {other: word for word, others in _TABLE["others"].items() for other in phrases(others)}
_SHE, _HE = listed("kinship", "she"), listed("kinship", "he")
PARTNERS = listed("kinship", "partners")
"""Those of whom one has one at a time, and who may become another of these."""
FAMILY = _SHE | _HE | listed("kinship", "either")
BY_BLOOD = FAMILY - PARTNERS
"""Those whom nothing ends, not even death."""
COMPANY = frozenset(phrases(_TABLE["company"]))
PLURALS: dict[str, str] = _TABLE["plurals"]
"""Words for several of them, each with the word for one."""
FORMER = frozenset(word for word in _CANONICAL.values() if word.startswith("former "))
_ONLY_ONE = listed("kinship", "only_one")
_MUTUAL = frozenset(phrases(_TABLE["mutual"]))
_ALL = sorted({*FAMILY, *COMPANY, *FORMER, *_CANONICAL}, key=lambda word: (-len(word), word))

WORDS = any_of(re.escape(word).replace(r"\-", "[- ]") for word in _ALL)
"""A pattern for one of the words."""

_MINE = lazy_pattern(
    rf"(?:my|our) (?:(?:little|big|older|younger|elder|eldest|oldest|youngest|twin|late|dear|only|own) )?({WORDS})",
    re.IGNORECASE,
)
_OF = lazy_pattern(
    rf"(?:is |was |are )?(?:(?:the|an?|my|our|his|her|their) )?(?P<kin>{WORDS})(?P<of>[ _]of|[ _]to)?", re.IGNORECASE
)
_HAS = lazy_pattern(rf"(?:has|have|had)[ _](?:an? )?(?P<kin>{WORDS})", re.IGNORECASE)
_IS_A = lazy_pattern(r"(?:is|was|are)\b", re.IGNORECASE)


class Kinship(NamedTuple):
    """A kinship predicate: the word for it, and whether subject and object have to change places."""

    word: str
    turned: bool


def canonical(word: str) -> str:
    """The word that represents all its synonyms: mother for mum.

    Example:
        >>> canonical("Mum")
        'mother'
    """
    plain = " ".join(word.casefold().replace("_", " ").split()).replace(" in law", "-in-law")
    return _CANONICAL.get(plain, plain)


def predicate(word: str) -> str:
    """The predicate from a person to their kin.

    Example:
        >>> predicate("mum")
        'has_mother'
    """
    return "has_" + canonical(word).replace(" ", "_").replace("-", "_")


def mine(mention: str) -> str | None:
    """The word in a mention such as "my older sister", None for any other mention.

    Example:
        >>> mine("my older sister")
        'sister'
    """
    match = _MINE.fullmatch(" ".join(mention.split()))
    return canonical(match[1]) if match else None


def read(said: str) -> Kinship | None:
    """The kinship that a predicate expresses, None if it is none.

    Example:
        >>> read("is the sister of")
        Kinship(word='sister', turned=True)
        >>> read("has sister")
        Kinship(word='sister', turned=False)
    """
    plain = " ".join(said.replace("_", " ").split())
    if has := _HAS.fullmatch(plain):
        return Kinship(canonical(has["kin"]), turned=False)
    match = _OF.fullmatch(plain)
    if match is None:
        return None
    return Kinship(canonical(match["kin"]), turned=bool(match["of"] or _IS_A.match(plain)))


def gender(word: str) -> Gender | None:
    """Whether this kin is "he" or "she", None if either is possible."""
    plain = canonical(word)
    if plain in _SHE:
        return "she"
    return "he" if plain in _HE else None


def only_one(word: str) -> bool:
    """Whether people have one of these at a time."""
    return canonical(word) in _ONLY_ONE


def mutual(word: str) -> bool:
    """Whether the relation is mutual: friends, cousins."""
    return canonical(word) in _MUTUAL


def exclude(first: str, second: str) -> bool:
    """Whether nobody is both to the same person: a sister is no mother, and is not introduced as a colleague.

    Example:
        >>> exclude("sister", "colleague"), exclude("friend", "colleague"), exclude("girlfriend", "wife")
        (True, False, False)
    """
    one, other = canonical(first), canonical(second)
    if one == other or not ({one, other} & FAMILY):
        return False
    if _partner(one) and _partner(other):
        return gender(one) is not None and gender(other) is not None and gender(one) != gender(other)
    if {one, other} <= {"child", "son", "daughter", "twin"} or {one, other} <= {"twin", "sister", "brother"}:
        return {one, other} in ({"son", "daughter"}, {"sister", "brother"})
    if _partner(one) or _partner(other):
        # A colleague may become a partner.
        return bool({one, other} & (FAMILY - PARTNERS))
    return True


def _partner(word: str) -> bool:
    return word.removeprefix("former ") in PARTNERS
