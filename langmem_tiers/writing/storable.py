"""What any text that is written on purpose has to be before it is stored."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, get_args

from langmem_tiers.errors import InvalidInput, InvalidText, SecretRefused, TextTooLong
from langmem_tiers.settings import Settings
from langmem_tiers.types import Origin

_MASK = re.compile(r"\[secret: ([a-z ]+)\]")


def storable(text: Any, what: str, settings: Settings) -> str:
    """`text` as it may be stored: secrets are masked where the settings say so.

    Args:
        text: What the caller gave.
        what: What it is called in an error, such as "document".
        settings: The memory's settings.

    Raises:
        InvalidText: it is no text, or holds a lone surrogate.
        TextTooLong: it is longer than `settings.text.max_characters`.
        SecretRefused: it holds a secret, and these are refused.
    """
    if not isinstance(text, str):
        raise InvalidText(f"A {type(text).__name__} is no text for the {what}.", way_out="Give a str.")
    require_length(text, what, settings)
    require_unicode(text, what)
    return without_secrets(text, what, settings)


def require_unicode(text: str, what: str) -> None:
    """Refuse a text that no file can hold.

    Raises:
        InvalidText: it holds a lone surrogate.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidText(f"The {what} holds a lone surrogate at character {error.start}.") from None


def require_length(text: str, what: str, settings: Settings) -> None:
    """Refuse a text that is too long.

    Raises:
        TextTooLong: it is longer than `settings.text.max_characters`.
    """
    if len(text) > settings.text.max_characters:
        raise TextTooLong(
            f"The {what} has {len(text):,} characters; the limit is {settings.text.max_characters:,}.",
            way_out="Split it, or raise Settings.text.max_characters.",
        )


def known_origin(origin: Any) -> Origin:
    """`origin`, if it is one.

    Raises:
        InvalidInput: it is none.
    """
    if origin not in get_args(Origin):
        raise InvalidInput(f"{origin!r} is no origin.", way_out=f"An origin is one of {', '.join(get_args(Origin))}.")
    known: Origin = origin
    return known


def without_secrets(text: str, what: str, settings: Settings) -> str:
    """`text` as `settings.privacy.derived` wants it: kept, with its secrets masked, or refused.

    Raises:
        SecretRefused: it holds a secret, and these are refused.
    """
    from langmem_tiers.trust import secrets

    policy = settings.privacy.derived
    found = () if policy == "keep" else secrets.find(text)
    if not found:
        return text
    if policy == "mask":
        return secrets.mask(text)
    raise _refused(what, found[0].kind)


def name_without_secrets(name: str, what: str, settings: Settings) -> str:
    """The same for a path or a category, whose masks are of signs that names may hold: `secret-aws-key`.

    Raises:
        SecretRefused: it holds a secret, and these are refused.
    """
    shown = without_secrets(name, what, settings)
    return shown if shown == name else _MASK.sub(lambda mask: f"secret-{mask[1].replace(' ', '-')}", shown)


def values_without_secrets(values: Mapping[str, Any], what: str, settings: Settings) -> dict[str, Any]:
    """The same for JSON values and their names, however deep they stand.

    Raises:
        SecretRefused: there is a secret in them, and these are refused.
    """
    from langmem_tiers.trust import values as named

    policy = settings.privacy.derived
    found = () if policy == "keep" else named.find(values)
    if not found:
        return dict(values)
    if policy == "mask":
        return named.mask(values)
    raise _refused(what, found[0].kind)


def _refused(what: str, kind: str) -> SecretRefused:
    return SecretRefused(f"The {what} holds what looks like a secret ({kind}).")
