"""What any text that is written on purpose has to be before it is stored."""

from __future__ import annotations

from typing import Any, get_args

from langmem_tiers.errors import InvalidInput, InvalidText, SecretRefused, TextTooLong
from langmem_tiers.settings import Settings
from langmem_tiers.types import Origin


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
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidText(f"The {what} holds a lone surrogate at character {error.start}.") from None
    return _without_secrets(text, what, settings)


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


def _without_secrets(text: str, what: str, settings: Settings) -> str:
    from langmem_tiers.trust import secrets

    policy = settings.privacy.derived
    found = () if policy == "keep" else secrets.find(text)
    if not found:
        return text
    if policy == "mask":
        return secrets.mask(text)
    raise SecretRefused(f"The {what} holds what looks like a secret ({found[0].kind}).")
