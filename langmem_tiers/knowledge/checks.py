"""What an entry may be made of: each check gives the value as it is stored, or says what is wrong with it."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, get_args

import orjson

from langmem_tiers.clock import require_aware, to_millis
from langmem_tiers.errors import InvalidInput, InvalidText, SecretRefused, TextTooLong
from langmem_tiers.naming import check_category
from langmem_tiers.settings import Settings
from langmem_tiers.types import Origin

DEFAULT_CATEGORY = "general"
_MOST_TAGS = 20
_LONGEST_TAG = 64
_LONGEST_METADATA = 10_000


def new_id() -> str:
    """A name for an entry: 12 characters that nobody guesses."""
    return secrets.token_hex(6)


def origin(given: Origin) -> Origin:
    """Who makes a change.

    Raises:
        InvalidInput: it is none of those there are.
    """
    if given not in get_args(Origin):
        known = ", ".join(get_args(Origin))
        raise InvalidInput(f"{str(given)[:80]!r} is no origin.", way_out=f"Give one of {known}.")
    return given


def content(text: str, settings: Settings) -> str:
    """What an entry says, without blanks around it; secrets are masked where the settings say so.

    Raises:
        InvalidText: it is empty, no text, or holds a lone surrogate.
        TextTooLong: it is longer than `settings.knowledge.max_characters`.
        SecretRefused: it holds a secret, and these are refused.
    """
    if not isinstance(text, str) or not text.strip():
        raise InvalidText("The entry has no text.", way_out="Say what is to be remembered in a sentence.")
    text = _storable(text.strip(), "entry")
    most = settings.knowledge.max_characters
    if len(text) > most:
        raise TextTooLong(
            f"The entry has {len(text):,} characters; the limit is {most:,}.",
            way_out="Split it into single facts, or raise Settings.knowledge.max_characters.",
        )
    return _without_secrets(text, settings)


def category(path: str | None) -> str:
    """A category path in lower case, with '-' for blanks; the default one for none.

    Raises:
        InvalidCategory: it can not be one.
    """
    if path is not None and not isinstance(path, str):
        raise InvalidInput(f"A {type(path).__name__} is no category.", way_out="Give a text such as 'work/habits'.")
    parts = (path or "").strip().lower().split("/")
    cleaned = "/".join("-".join(part.split()) for part in parts)
    return check_category(cleaned) if cleaned else DEFAULT_CATEGORY


def tags(given: Iterable[str]) -> tuple[str, ...]:
    """Tags in lower case and each once, on one line, without those that are empty.

    Raises:
        InvalidInput: it is no list of texts, or there are more than 20.
        InvalidText: one is longer than 64 characters or holds a lone surrogate.
    """
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidInput("Tags are a list of texts.", way_out="Put a single tag in a list.")
    found = dict.fromkeys(_tag(each) for each in given)
    found.pop("", None)
    if len(found) > _MOST_TAGS:
        raise InvalidInput(f"There are {len(found)} tags; the limit is {_MOST_TAGS}.", way_out="Keep the telling ones.")
    return tuple(found)


def metadata(given: Mapping[str, Any] | None) -> dict[str, Any]:
    """The caller's own values, as JSON can hold them.

    Raises:
        InvalidInput: they are no mapping of names to JSON values, or longer than 10,000 characters.
    """
    try:
        stored = orjson.dumps(dict(given or {}))
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"The metadata can not be kept: {error}.", way_out="Give a dict of JSON values.") from error
    if len(stored) > _LONGEST_METADATA:
        raise InvalidInput("The metadata is too long.", way_out="Keep it under 10,000 characters.")
    kept: dict[str, Any] = orjson.loads(stored)
    return kept


def name(given: str | None, what: str) -> str | None:
    """The name of a project or an agent, None for an empty one.

    Raises:
        InvalidText: it holds a lone surrogate.
    """
    return _storable(given.strip(), what) or None if given else None


def moment(given: datetime | None, what: str) -> int | None:
    """A moment in milliseconds.

    Raises:
        NaiveDatetime: it has no time zone.
    """
    return None if given is None else to_millis(require_aware(given, what))


def flags(text: str) -> tuple[str, ...]:
    """What is to be known of a text before it is shown: `instruction` where it reads like one to the agent."""
    from langmem_tiers.trust.instructions import suspicious

    return ("instruction",) if suspicious(text) else ()


def _tag(given: str) -> str:
    if not isinstance(given, str):
        raise InvalidInput(f"A {type(given).__name__} is no tag.", way_out="Give tags as texts.")
    tag = _storable(" ".join(given.split()).lower(), "tag")
    if len(tag) > _LONGEST_TAG:
        raise InvalidText(f"The tag {tag[:40]!r}… is longer than {_LONGEST_TAG} characters.", way_out="Shorten it.")
    return tag


def _storable(text: str, what: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidText(f"The {what} holds a lone surrogate at character {error.start}.") from None
    return text


def _without_secrets(text: str, settings: Settings) -> str:
    from langmem_tiers.trust import secrets as hidden

    policy = settings.privacy.derived
    found = () if policy == "keep" else hidden.find(text)
    if not found:
        return text
    if policy == "mask":
        return hidden.mask(text)
    raise SecretRefused(f"The entry holds what looks like a secret ({found[0].kind}).")
