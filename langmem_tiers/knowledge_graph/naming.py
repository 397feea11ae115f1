"""Names of entities: what can be one, and when two are the same. Pure.

Accents are kept, and letters that only look alike stay different: whoever writes "Аnna" with a Cyrillic letter names
another entity. Two such are shown as a likely pair, never merged silently.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from langmem_tiers.errors import InvalidText, SecretRefused, TextTooLong
from langmem_tiers.knowledge_graph import kinship

LONGEST = 200
_LONGEST_TYPE = 40
USER = "user"
"""The name of the entity that is the user of the space."""
_SELF = frozenset({"i", "me", "my", "mine", "myself", "user", "the user", "this user"})
# "It", "Her" and "Them" are names of films, too.
_PRONOUNS = frozenset(["you", "your", "yours", "yourself", "he", "him", "his", "himself", "she", "hers", "herself"])
_NAMED = "Give the name of somebody or something, or 'user' for the user."
_ID = re.compile("[0-9a-f]{12}")
_TYPE = re.compile(r"\w+(?:[ -]\w+)*")
# Left-to-right marks and the like change how a name is shown, not what it is; joiners are part of some scripts.
_JOINERS = "\u200c\u200d"


def check(name: str, *, secrets: bool = False, what: str = "name") -> str:
    """A name as it is stored: composed (NFC), on one line, with single blanks.

    Args:
        name: As it was said.
        secrets: True takes a name that looks like a secret, too.
        what: What messages call it.

    Raises:
        InvalidText: it is empty, no text, only punctuation, holds what can not be shown, or reads like an instruction
            to the agent.
        TextTooLong: it is longer than 200 characters.
        SecretRefused: it looks like a secret.
    """
    if not isinstance(name, str):
        raise InvalidText(f"A {type(name).__name__} is no {what}.", way_out="Give a text.")
    if len(name) > 10 * LONGEST:
        raise _too_long(len(name), what)
    shown = unicodedata.normalize("NFC", " ".join(_visible(name).split()))
    kinds = {unicodedata.category(sign)[0] for sign in shown}
    if not kinds & set("LNPS"):
        raise InvalidText(f"The {what} is empty.", way_out="Give the name of somebody or something.")
    if len(shown) > LONGEST:
        raise _too_long(len(shown), what)
    bad = next(
        (sign for sign in shown if unicodedata.category(sign) in {"Cc", "Cs", "Co"} or _no_character(sign)), None
    )
    if bad is not None:
        raise InvalidText(f"The {what} holds the character {bad!a}.", way_out="Give it in readable letters.")
    if not kinds & set("LNS"):
        raise InvalidText(
            f"The {what} {shown[:40]!a} is only punctuation.", way_out="Give one with a letter, a digit or a symbol."
        )
    _require_harmless(shown, what, secrets=secrets)
    return shown


def slug(name: str) -> str:
    """The name as it is compared: case, width and blanks do not matter, accents do; also of a text that is no name.

    Example:
        >>> slug("  Café  MÜLLER "), slug("Cafe Müller")
        ('café müller', 'cafe müller')
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return " ".join("".join(sign for sign in folded if unicodedata.category(sign) != "Cf").split())


def names(own: str, others: Iterable[str]) -> tuple[str, ...]:
    """Other names than its own, each once."""
    by_slug = {slug(name): name for name in reversed([*others])}
    return tuple(name for key, name in reversed(by_slug.items()) if key != slug(own))


def is_self(name: str) -> bool:
    """Whether a mention means the user of the space: "I", "me", "the user"."""
    return slug(name) in _SELF


def require_no_pronoun(name: str) -> str:
    """A name that is no word such as "you" or "she".

    Raises:
        InvalidText: it means another one each time.
    """
    if slug(name) in _PRONOUNS:
        raise InvalidText(f"{name!a} is no name: it means another one each time.", way_out=_NAMED)
    return name


def require_name(name: str) -> str:
    """A name that is one whoever reads it, and not "me", "you" or "my sister".

    Raises:
        InvalidText: whom it means depends on who says it.
    """
    if is_self(name):
        raise InvalidText(f"{name!a} means the user of the space, and is no name.", way_out=_NAMED)
    if of_mine(name) is not None:
        raise InvalidText(f"{name[:80]!a} says whose it is, and is no name.", way_out=_NAMED)
    return require_no_pronoun(name)


def of_mine(name: str) -> str | None:
    """What "my cat" says somebody has, None for a name; in capitals, as in "My Chemical Romance", it is one.

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
    """Another name of an entity as it is stored; `of` is the one that it goes by.

    Raises:
        InvalidText: it can be no name, or means the user of the space, or says whose somebody is.
        TextTooLong, SecretRefused: as `check`.
    """
    alias = check(name, secrets=secrets, what="alias")
    if is_self(alias) and not is_self(of):
        raise InvalidText(f"{alias!a} means the user of the space.", way_out="Leave it out, or merge the two.")
    what = of_mine(alias)
    if what is not None:
        raise InvalidText(
            f"{alias[:80]!a} says whose it is, and is no name.",
            way_out=f"Note the relation instead: the user has {what[:40]}.",
        )
    return alias


def is_id(text: str) -> bool:
    """Whether a text is written like the id of an entity or a relation: 12 hexadecimal digits."""
    return _ID.fullmatch(text) is not None


def check_type(given: str) -> str:
    """A type of entity in small letters.

    Raises:
        InvalidText: it is no word, or longer than 40 characters.
    """
    if not isinstance(given, str):
        raise InvalidText(f"A {type(given).__name__} is no type of entity.", way_out="Give a word such as person.")
    plain = slug(given[: 10 * _LONGEST_TYPE]) or "other"
    plain = "organisation" if plain == "organization" else plain
    if len(plain) > _LONGEST_TYPE or not _TYPE.fullmatch(plain):
        raise InvalidText(f"{given[:40]!a} is no type of entity.", way_out="Give a word such as person.")
    return plain


def _visible(name: str) -> str:
    return "".join(sign for sign in name if sign in _JOINERS or unicodedata.category(sign) != "Cf")


def _no_character(sign: str) -> bool:
    """Code points that Unicode keeps free of characters for ever."""
    return ord(sign) & 0xFFFE == 0xFFFE or 0xFDD0 <= ord(sign) <= 0xFDEF


def _require_harmless(name: str, what: str, *, secrets: bool) -> None:
    from langmem_tiers.trust import secrets as hidden
    from langmem_tiers.trust.instructions import suspicious

    reason = suspicious(name)
    if reason:
        raise InvalidText(f"The {what} reads like an instruction to the agent: it {reason}.", way_out="Name somebody.")
    found = () if secrets else hidden.find(name)
    if found:
        raise SecretRefused(f"The {what} holds what looks like a secret ({found[0].kind}).")


def _too_long(length: int, what: str) -> TextTooLong:
    return TextTooLong(f"The {what} has {length:,} characters; the limit is {LONGEST}.", way_out="Give the name alone.")
