"""Words in messages: plurals, the names of types with their article, and quoted texts. No business logic."""

from __future__ import annotations

import re

# Most characters of one that is recognised by its whole length.
_LONGEST_SECRET = 1_000
# In "user" and "unit", the u is spoken as in "you".
_VOWEL = re.compile("[aeio]|u(?!s|ni|u)", re.IGNORECASE)
# Control characters, marks that turn the reading direction, lone surrogates, and what nobody sees but a model reads:
# blank letters, spaces of no width, tags and selectors. Joiners stay between two letters that are not ASCII, and a
# selector of emoji stays behind what it selects.
_OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
    "|(?<![^\x00-\x7f\u200c\u200d])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f\u200c\u200d])"
    "|(?<=[\ufe0e\ufe0f])[\ufe0e\ufe0f]"
)


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


def safe(text: str) -> str:
    r"""`text` with everything that a terminal would obey, or that nobody sees, as escapes; newlines and tabs stay.

    Example:
        >>> safe("a\x1b[31mb")
        'a\\x1b[31mb'
    """
    return _OBEYED.sub(lambda found: found.group().encode("unicode_escape").decode(), text)
