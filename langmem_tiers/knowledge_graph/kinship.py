"""Kinship: the words for it, the relation that each stands for, and which exclude each other. Pure.

"My sister Anna" is the relation `has_sister` from the speaker to Anna; what is said the other way round, as in "Anna is
the sister of Tom", is turned.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

Gender = Literal["he", "she"]

_CANONICAL = {
    "mom": "mother",
    "mum": "mother",
    "mama": "mother",
    "dad": "father",
    "papa": "father",
    "sis": "sister",
    "bro": "brother",
    "hubby": "husband",
    "grandma": "grandmother",
    "granny": "grandmother",
    "gran": "grandmother",
    "nana": "grandmother",
    "grandpa": "grandfather",
    "granddad": "grandfather",
    "kid": "child",
    "fiancé": "fiance",
    "fiancée": "fiance",
    "fiancee": "fiance",
    "stepmom": "stepmother",
    "stepdad": "stepfather",
    "flatmate": "roommate",
    "housemate": "roommate",
    "co-worker": "colleague",
    "coworker": "colleague",
    "workmate": "colleague",
    "neighbor": "neighbour",
    "bestie": "best friend",
    "ex-wife": "former wife",
    "ex-husband": "former husband",
    "ex-girlfriend": "former girlfriend",
    "ex-boyfriend": "former boyfriend",
    "ex-partner": "former partner",
}
_SHE = frozenset(
    [
        "mother",
        "sister",
        "wife",
        "daughter",
        "aunt",
        "niece",
        "grandmother",
        "granddaughter",
        "girlfriend",
        "stepmother",
        "stepdaughter",
        "stepsister",
        "mother-in-law",
        "sister-in-law",
        "daughter-in-law",
    ]
)
_HE = frozenset(
    [
        "father",
        "brother",
        "husband",
        "son",
        "uncle",
        "nephew",
        "grandfather",
        "grandson",
        "boyfriend",
        "stepfather",
        "stepson",
        "stepbrother",
        "father-in-law",
        "brother-in-law",
        "son-in-law",
    ]
)
_EITHER = frozenset(["cousin", "child", "twin", "spouse", "partner", "fiance"])
PARTNERS = frozenset(["wife", "husband", "spouse", "partner", "girlfriend", "boyfriend", "fiance"])
"""Those of whom one has one at a time, and who may become another of these."""
FAMILY = _SHE | _HE | _EITHER
BY_BLOOD = FAMILY - PARTNERS
"""Those whom nothing ends, not even death."""
_COMPANY = (
    "best friend, friend, colleague, roommate, neighbour, boss, manager, landlord, landlady, teacher, coach, mentor"
    ", therapist, doctor, dentist, lawyer"
)
COMPANY = frozenset(_COMPANY.split(", "))
FORMER = frozenset(word for word in _CANONICAL.values() if word.startswith("former "))
_ONLY_ONE = frozenset(["mother", "father", "wife", "husband", "spouse", "partner", "girlfriend", "boyfriend", "fiance"])
_ALL = sorted({*FAMILY, *COMPANY, *FORMER, *_CANONICAL}, key=lambda word: (-len(word), word))

WORDS = "(?:" + "|".join(re.escape(word).replace(r"\-", "[- ]") for word in _ALL) + ")"
"""A pattern for one of the words."""

_MINE = re.compile(
    rf"(?:my|our) (?:(?:little|big|older|younger|elder|eldest|oldest|youngest|twin|late|dear|only|own) )?({WORDS})",
    re.IGNORECASE,
)
_OF = re.compile(
    rf"(?:is |was |are )?(?:(?:the|an?|my|our|his|her|their) )?(?P<kin>{WORDS})(?P<of>[ _]of|[ _]to)?", re.IGNORECASE
)
_HAS = re.compile(rf"(?:has|have|had)[ _](?:an? )?(?P<kin>{WORDS})", re.IGNORECASE)
_IS_A = re.compile(r"(?:is|was|are)\b", re.IGNORECASE)


class Kinship(NamedTuple):
    """A predicate that is kinship: the word for it, and whether subject and object have to change places."""

    word: str
    turned: bool


def canonical(word: str) -> str:
    """The word that stands for all of its kind: mother for mum.

    Example:
        >>> canonical("Mum")
        'mother'
    """
    plain = " ".join(word.casefold().replace("_", " ").split()).replace(" in law", "-in-law")
    return _CANONICAL.get(plain, plain)


def predicate(word: str) -> str:
    """The predicate from somebody to their kin.

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
    """The kinship that a predicate tells of, None where it is none.

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
    """Whether "he" or "she" is said of somebody of this kin, None where either may be."""
    plain = canonical(word)
    if plain in _SHE:
        return "she"
    return "he" if plain in _HE else None


def only_one(word: str) -> bool:
    """Whether people have one of these at a time."""
    return canonical(word) in _ONLY_ONE


def exclude(first: str, second: str) -> bool:
    """Whether nobody is both to the same person: a sister is no mother, and no colleague is introduced as one.

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
