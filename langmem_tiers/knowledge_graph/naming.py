"""Entity names: which ones are valid, and when two are the same. Pure.

Accents count, and letters that only look alike stay different: "Аnna" with a Cyrillic letter is another entity. Such
pairs are shown as likely duplicates, and never merged silently.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from langmem_tiers.errors import InvalidText, SecretRefused, TextTooLong
from langmem_tiers.language import kinship
from langmem_tiers.language.slugs import name_key
from langmem_tiers.wording import beginning, type_of

LONGEST = 200
_LONGEST_TYPE = 40
USER = "user"
"""The name of the entity that is the user of the space."""
_SELF = frozenset({"i", "me", "my", "mine", "myself", "user", "the user", "this user"})
# "It", "Her" and "Them" are film titles, too.
_PRONOUNS = frozenset(["you", "your", "yours", "yourself", "he", "him", "his", "himself", "she", "hers", "herself"])
_NAMED = "Give the name of somebody or something, or 'user' for the user."
_ID = re.compile("[0-9a-f]{12}")
_TYPE = re.compile(r"\w+(?:[ -]\w+)*")
# Left-to-right marks and the like only affect display; joiners are part of some scripts.
_JOINERS = "\u200c\u200d"


def check(name: str, *, secrets: bool = False, what: str = "name") -> str:
    """A name in stored form: composed (NFC), on one line, with single blanks.

    Args:
        name: The name as given.
        secrets: Accept a name that looks like a secret.
        what: What error messages call it.

    Raises:
        InvalidText: it is empty or no string, only punctuation, contains unprintable characters, or reads like an
            instruction to the agent.
        TextTooLong: it is longer than 200 characters.
        SecretRefused: it looks like a secret.
    """
    if not isinstance(name, str):
        raise InvalidText(f"{type_of(name)} is no {what}.", way_out="Give a text.")
    if len(name) > 10 * LONGEST:
        raise _too_long(len(name), what)
    visible = "".join(sign for sign in name if sign in _JOINERS or unicodedata.category(sign) != "Cf")
    shown = unicodedata.normalize("NFC", " ".join(visible.split()))
    kinds = {unicodedata.category(sign)[0] for sign in shown}
    if not kinds & set("LNPS"):
        raise InvalidText(f"The {what} is empty.", way_out="Give the name of somebody or something.")
    if len(shown) > LONGEST:
        raise _too_long(len(shown), what)
    bad = next(filter(_unprintable, shown), None)
    if bad is not None:
        raise InvalidText(f"The {what} holds the character {bad!a}.", way_out="Give it in readable letters.")
    if not kinds & set("LNS"):
        raise InvalidText(
            f"The {what} {beginning(shown, 40)!a} is only punctuation.",
            way_out="Give one with a letter, a digit or a symbol.",
        )
    require_harmless(shown, what, secrets=secrets)
    return shown


def names(own: str, others: Iterable[str]) -> tuple[str, ...]:
    """Aliases, without repetitions and without the name itself."""
    by_slug = {name_key(name): name for name in reversed([*others])}
    return tuple(name for key, name in reversed(by_slug.items()) if key != name_key(own))


def slug(name: str) -> str:
    """The form in which names are compared; all that mean the user have that of "user"."""
    key = name_key(name)
    return USER if key in _SELF else key


def is_self(name: str) -> bool:
    """Whether a mention means the user of the space: "I", "me", "the user"."""
    return name_key(name) in _SELF


def require_no_pronoun(name: str) -> str:
    """Require a name that is not a pronoun such as "you" or "she".

    Raises:
        InvalidText: it refers to someone else each time.
    """
    if name_key(name) in _PRONOUNS:
        raise InvalidText(f"{name!a} is no name: it means another one each time.", way_out=_NAMED)
    return name


def require_name(name: str) -> str:
    """Require a name that means the same whoever says it, unlike "me", "you" or "my sister".

    Raises:
        InvalidText: its meaning depends on the speaker.
    """
    if is_self(name):
        raise InvalidText(f"{name!a} means the user of the space, and is no name.", way_out=_NAMED)
    if of_mine(name) is not None:
        raise InvalidText(f"{beginning(name, 80)!a} says whose it is, and is no name.", way_out=_NAMED)
    return require_no_pronoun(name)


def of_mine(name: str) -> str | None:
    """The noun in "my cat", or None for a proper name; capitalized, as in "My Chemical Romance", it is a name.

    Example:
        >>> of_mine("my cat"), of_mine("My Mum"), of_mine("My Chemical Romance")
        ('cat', 'Mum', None)
    """
    first, _, rest = " ".join(name.split()).partition(" ")
    if first.casefold() not in {"my", "our"} or not rest:
        return None
    titled = first.istitle() and rest[0].isupper() and kinship.mine(name) is None
    return None if titled else rest


def check_alias(name: str, of: str, *, secrets: bool = False) -> str:
    """An alias in stored form; `of` is the name of its entity.

    Raises:
        InvalidText: it cannot be a name, refers to the user of the space, or is relative to someone ("my sister").
        TextTooLong, SecretRefused: as `check`.
    """
    alias = check(name, secrets=secrets, what="alias")
    if is_self(alias) and not is_self(of):
        raise InvalidText(f"{alias!a} means the user of the space.", way_out="Leave it out, or merge the two.")
    what = of_mine(alias)
    if what is not None:
        raise InvalidText(
            f"{beginning(alias, 80)!a} says whose it is, and is no name.",
            way_out=f"Note the relation instead: the user has {what[:40]}.",
        )
    return alias


def is_id(text: str) -> bool:
    """Whether a text has the form of an entity or relation id: 12 hexadecimal digits."""
    return _ID.fullmatch(text) is not None


def check_type(given: str) -> str:
    """An entity type in lower case.

    Raises:
        InvalidText: it is not a word, or longer than 40 characters.
        SecretRefused: it looks like a secret.
    """
    if not isinstance(given, str):
        raise InvalidText(f"{type_of(given)} is no type of entity.", way_out="Give a word such as person.")
    return _checked_type(given[: 10 * _LONGEST_TYPE])


@lru_cache(maxsize=256)
def _checked_type(given: str) -> str:
    plain = name_key(given) or "other"
    plain = "organisation" if plain == "organization" else plain
    require_harmless(given, "type", secrets=False, way_out="Give a word such as person.")
    if len(plain) > _LONGEST_TYPE or not _TYPE.fullmatch(plain):
        raise InvalidText(f"{beginning(given, 40)!a} is no type of entity.", way_out="Give a word such as person.")
    return plain


def _unprintable(sign: str) -> bool:
    """Whether a sign is a control character, a part of one, private, or a code point that is never a character."""
    never = ord(sign) & 0xFFFE == 0xFFFE or 0xFDD0 <= ord(sign) <= 0xFDEF
    return never or unicodedata.category(sign) in {"Cc", "Cs", "Co"}


def require_harmless(text: str, what: str, *, secrets: bool, way_out: str = "Name somebody.") -> None:
    """Require that a text is safe to show to an agent; with `secrets`, it may hold secrets.

    Raises:
        SecretRefused, InvalidText: it looks like a secret or an instruction.
    """
    from langmem_tiers.trust import secrets as hidden
    from langmem_tiers.trust.instructions import suspicious

    reason = suspicious(text)
    if reason:
        raise InvalidText(f"The {what} reads like an instruction to the agent: it {reason}.", way_out=way_out)
    found = () if secrets else hidden.find(text)
    if found:
        raise SecretRefused(f"The {what} holds what looks like a secret ({found[0].kind}).")


def _too_long(length: int, what: str) -> TextTooLong:
    return TextTooLong(f"The {what} has {length:,} characters; the limit is {LONGEST}.", way_out="Give the name alone.")
