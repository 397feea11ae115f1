"""English in messages: plurals, and the names of types with their article. No business logic."""

from __future__ import annotations

import re

# Most characters of one that is recognised by its whole length.
_LONGEST_SECRET = 1_000
# In "user" and "unit", the u is spoken as in "you".
_VOWEL = re.compile("[aeio]|u(?!s|ni|u)", re.IGNORECASE)


def counted(count: int, one: str, several: str = "") -> str:
    """A count with its noun; `several` is the plural, where it is not made with an s.

    Example:
        >>> counted(1, "note"), counted(2000, "note"), counted(0, "entry", "entries")
        ('1 note', '2,000 notes', '0 entries')
    """
    return f"{count:,} {one if count == 1 else several or one + 's'}"


def with_article(noun: str) -> str:
    """A noun with "a" or "an".

    Example:
        >>> with_article("uncle"), with_article("user"), with_article("Enum")
        ('an uncle', 'a user', 'an Enum')
    """
    return f"{'an' if _VOWEL.match(noun) else 'a'} {noun}"


def type_of(value: object) -> str:
    """The type of a value that cannot be used, to begin a sentence with.

    Example:
        >>> type_of(5), type_of({}), type_of(None)
        ('An int', 'A dict', 'None')
    """
    named = with_article(type(value).__name__)
    return "None" if value is None else f"{named[0].upper()}{named[1:]}"


def beginning(text: str, longest: int) -> str:
    """The beginning of a text that a message quotes, with secrets masked: cut off, none could be recognised.

    Example:
        >>> beginning("the password is hunter2", 16)
        'the password is '
    """
    from langmem_tiers.trust.secrets import mask

    return mask(text[: longest + _LONGEST_SECRET])[:longest]
