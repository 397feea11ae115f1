"""What an entry may be made of: each check gives the value as it is stored, or says what is wrong with it."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from datetime import datetime
from math import isfinite
from typing import Any, get_args

import orjson

from langmem_tiers import arguments
from langmem_tiers.clock import to_millis
from langmem_tiers.errors import InvalidInput, InvalidText, TextTooLong
from langmem_tiers.naming import check_category
from langmem_tiers.settings import Settings
from langmem_tiers.types import Origin
from langmem_tiers.writing import storable

DEFAULT_CATEGORY = "general"
_MOST_TAGS = 20
_LONGEST_TAG = 64
_LONGEST_METADATA = 10_000
_AS_GIVEN = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS


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
    if not arguments.any_text(text, "content").strip():
        raise InvalidText("The entry has no text.", way_out="Say what is to be remembered in a sentence.")
    text = text.strip()
    storable.require_unicode(text, "entry")
    most = settings.knowledge.max_characters
    if len(text) > most:
        raise TextTooLong(
            f"The entry has {len(text):,} characters; the limit is {most:,}.",
            way_out="Split it into single facts, or raise Settings.knowledge.max_characters.",
        )
    return storable.without_secrets(text, "entry", settings)


def category(path: str | None, settings: Settings | None = None) -> str:
    """A category path in lower case, with '-' for blanks; the default one for none.

    Secrets are looked for by the `settings` of what is stored; what is only searched for goes without.

    Raises:
        InvalidCategory: it can not be one.
        SecretRefused: it holds a secret, and these are refused.
    """
    if path is not None and not isinstance(path, str):
        raise InvalidInput(f"A {type(path).__name__} is no category.", way_out="Give a text such as 'work/habits'.")
    shown = path or ""
    if settings is not None:
        shown = storable.name_without_secrets(shown, "category", settings)
    parts = shown.strip().lower().split("/")
    cleaned = "/".join("-".join(part.split()) for part in parts)
    return check_category(cleaned) if cleaned else DEFAULT_CATEGORY


def tags(given: Iterable[str], settings: Settings | None = None) -> tuple[str, ...]:
    """Tags in lower case and each once, on one line, without those that are empty.

    Secrets are looked for by the `settings` of what is stored; what is only searched for goes without.

    Raises:
        InvalidInput: it is no list of texts, or there are more than 20.
        InvalidText: one is longer than 64 characters or holds a lone surrogate.
        SecretRefused: one holds a secret, and these are refused.
    """
    found = dict.fromkeys(_tag(each, settings) for each in arguments.several(given, "tags", "texts"))
    found.pop("", None)
    if len(found) > _MOST_TAGS:
        raise InvalidInput(f"There are {len(found)} tags; the limit is {_MOST_TAGS}.", way_out="Keep the telling ones.")
    return tuple(found)


def metadata(given: Mapping[str, Any] | None, settings: Settings) -> dict[str, Any]:
    """The caller's own values, as JSON can hold them.

    Raises:
        InvalidInput: they are no mapping of names to JSON values, or longer than 10,000 characters.
        SecretRefused: a name or a value in them is a secret, and these are refused.
    """
    if given is not None and not isinstance(given, Mapping):
        raise arguments.refused(given, "metadata", "a dict of JSON values")
    held = dict(given or {})
    try:
        stored = orjson.dumps(held, option=_AS_GIVEN)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"The metadata can not be kept: {error}.", way_out="Give a dict of JSON values.") from error
    _require_json(held)
    if len(stored) > _LONGEST_METADATA:
        raise InvalidInput("The metadata is too long.", way_out="Keep it under 10,000 characters.")
    kept: dict[str, Any] = orjson.loads(stored)
    return storable.values_without_secrets(kept, "metadata", settings)


def _require_json(held: Any) -> None:
    """Nothing, where values come back as they were given: JSON has no NaN, no infinity and no UUID.

    Raises:
        InvalidInput: one of them would come back as another one.
    """
    waiting = [("", held)]
    while waiting:
        where, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [(f"{where}.{key}" if where else key, each) for key, each in value.items()]
        elif isinstance(value, list | tuple):
            waiting += [(f"{where}[{place}]", each) for place, each in enumerate(value)]
        elif not isinstance(value, str | int | float | None) or (isinstance(value, float) and not isfinite(value)):
            raise InvalidInput(
                f"The metadata can not be kept: {where[:80]!a} is {str(value)[:40]!a}, which JSON has no way to write.",
                way_out="Give texts, finite numbers, true, false, null, and lists and dicts of these.",
            )


def name(given: str | None, what: str) -> str | None:
    """The name of a project or an agent, None for an empty one.

    Raises:
        InvalidText: it is no text, or holds a lone surrogate.
    """
    return None if given is None else arguments.text(given, what).strip() or None


def moment(given: datetime | None, what: str) -> int | None:
    """A moment in milliseconds.

    Raises:
        InvalidInput: it is no datetime.
        NaiveDatetime: it has no time zone.
    """
    return None if given is None else to_millis(arguments.moment(given, what))


def flags(text: str) -> tuple[str, ...]:
    """What is to be known of a text before it is shown: `instruction` where it reads like one to the agent."""
    from langmem_tiers.trust.instructions import suspicious

    return ("instruction",) if suspicious(text) else ()


def _tag(given: str, settings: Settings | None) -> str:
    if not isinstance(given, str):
        raise InvalidInput(f"A {type(given).__name__} is no tag.", way_out="Give tags as texts.")
    storable.require_unicode(given, "tag")
    # Before it is put into small letters: keys are known by theirs.
    shown = given if settings is None else storable.without_secrets(given, "tag", settings)
    tag = " ".join(shown.split()).lower()
    if len(tag) > _LONGEST_TAG:
        raise InvalidText(f"The tag {tag[:40]!r}… is longer than {_LONGEST_TAG} characters.", way_out="Shorten it.")
    return tag
