"""Keys of names: slugs that identify wings and closets, and the keys of entities' names."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from langmem_tiers.language.words import folded, is_part_of_word

MAX_SLUG = 64
UNNAMED = "unnamed"

UNDECOMPOSED = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "ı": "i", "þ": "th", "ð": "d"})
"""Letters that no decomposition takes apart."""
_APOSTROPHES = str.maketrans({"'": "", "’": "", "ʼ": ""})
_POSSESSIVE = re.compile(r"(?<=\w)['’ʼ]s\b|(?<=s)['’ʼ](?!\w)", re.IGNORECASE)
# A letter with the accents that Latin, Greek and Cyrillic put on it.
_LATIN_ACCENTS = re.compile("([a-z\u00df-\u024f\u1e00-\u1eff])[\u0300-\u036f]+")
_ASCII_WORD = re.compile("[A-Za-z0-9]+")
_ARTICLES = frozenset({"the", "a", "an", "my", "our"})


def slugify(name: str) -> str:
    """The slug of a name: folded words joined by '-', at most 64 characters, 'unnamed' if empty.

    Diacritics of Latin letters are folded, letters of other scripts stay; a slug is its own slug.

    Example:
        >>> slugify("Café  Müller: plans!")
        'cafe-muller-plans'
    """
    return "-".join(slug_words(name))[:MAX_SLUG].strip("-") or UNNAMED


def slug_words(text: str) -> list[str]:
    """The folded words of any text, as in a slug."""
    plain = folded(text.translate(_APOSTROPHES))
    if not plain.isascii():
        bare = _LATIN_ACCENTS.sub(r"\1", unicodedata.normalize("NFD", plain.translate(UNDECOMPOSED)))
        plain = unicodedata.normalize("NFC", bare)
    if plain.isascii():
        return _ASCII_WORD.findall(plain)
    return "".join(char if is_part_of_word(char) else " " for char in plain).split()


@lru_cache(maxsize=4096)
def name_key(name: str) -> str:
    """The name in the form used for comparison: case, width and blanks do not matter, accents do. Accepts any text.

    Example:
        >>> name_key("  Café  MÜLLER "), name_key("Cafe Müller")
        ('café müller', 'cafe müller')
    """
    if name.isascii():  # then there is nothing to fold but case, and no sign that is not seen
        return " ".join(name.lower().split())
    return " ".join("".join(sign for sign in folded(name) if unicodedata.category(sign) != "Cf").split())


def same_subject(first: str, second: str) -> bool:
    """Whether two names mean one subject: equal except for case, article, possessive or plural.

    Example:
        >>> same_subject("the eFoil rebuild", "efoil rebuilds")
        True
    """
    return subject_key(first) == subject_key(second)


def subject_key(name: str) -> str:
    """A key that is equal for two names exactly if `same_subject` says so."""
    words = slug_words(_POSSESSIVE.sub("", name)) or [UNNAMED]
    if len(words) > 1 and words[0] in _ARTICLES:
        words = words[1:]
    return "-".join(_singular(word) for word in words)


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word
