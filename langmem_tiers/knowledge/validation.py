"""Validation of what callers store: each check returns the stored form of a value, or raises."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from math import isfinite
from typing import Any, get_args

import orjson

from langmem_tiers import arguments
from langmem_tiers.clock import to_millis
from langmem_tiers.content import WITHHELD
from langmem_tiers.errors import DatabaseDamaged, InvalidInput, InvalidPeriod, InvalidText, SecretRefused, TextTooLong
from langmem_tiers.naming import check_category
from langmem_tiers.records import RefusedProposal
from langmem_tiers.settings import Settings
from langmem_tiers.trust import instructions, secrets
from langmem_tiers.types import Origin
from langmem_tiers.wording import beginning, type_of

DEFAULT_CATEGORY = "general"
_MOST_TAGS = 20
_LONGEST_TAG = 64
_LONGEST_METADATA = 10_000
# How much of a refused text is scanned for secrets, and how much is shown.
_MOST_READ = 4000
_LONGEST_SHOWN = 200
_AS_GIVEN = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS
_MASK = re.compile(r"\[secret: ([a-z ]+)\]")


def is_id(text: str) -> bool:
    """Whether a text may be the id of a record, as letters and digits are."""
    return text.strip().isalnum()


def origin(given: Any) -> Origin:
    """The author of a change.

    Raises:
        InvalidInput: it is not a known origin.
    """
    known = tuple(each for each in get_args(Origin) if each != "quoted")  # which only a message can be
    if given not in known:
        raise InvalidInput(f"{beginning(str(given), 80)!r} is no origin.", way_out=f"Give one of {', '.join(known)}.")
    found: Origin = given
    return found


def text(given: Any, what: str, settings: Settings) -> str:
    """A text of a document or the identity; secrets are masked if the settings say so.

    Args:
        given: The caller's value.
        what: What error messages call it, such as "document".
        settings: The memory's settings.

    Raises:
        InvalidText: it is not a string, or contains a lone surrogate.
        TextTooLong: it is longer than `settings.text.max_characters`.
        SecretRefused: it contains a secret, and secrets are refused.
    """
    if not isinstance(given, str):
        raise InvalidText(f"{type_of(given)} is no text for the {what}.", way_out="Give a str.")
    require_length(given, what, settings)
    require_unicode(given, what)
    return without_secrets(given, what, settings)


def content(given: str, settings: Settings) -> str:
    """The content of an entry, stripped; secrets are masked if the settings say so.

    Raises:
        InvalidText: it is empty, not a string, or contains a lone surrogate.
        TextTooLong: it is longer than `settings.knowledge.max_characters`.
        SecretRefused: it contains a secret, and secrets are refused.
    """
    said = arguments.any_text(given, "content").strip()
    if not said:
        raise InvalidText("The entry has no text.", way_out="Say what is to be remembered in a sentence.")
    require_unicode(said, "entry")
    most = settings.knowledge.max_characters
    if len(said) > most:
        raise TextTooLong(
            f"The entry has {len(said):,} characters; the limit is {most:,}.",
            way_out="Split it into single facts, or raise Settings.knowledge.max_characters.",
        )
    return without_secrets(said, "entry", settings)


def category(path: str | None, settings: Settings | None = None) -> str:
    """A category path in lower case, with '-' for blanks; the default category for none.

    Pass `settings` to check for secrets in what is stored; search filters go without.

    Raises:
        InvalidCategory: it is not a valid path.
        SecretRefused: it contains a secret, and secrets are refused.
    """
    if path is not None and not isinstance(path, str):
        raise InvalidInput(f"{type_of(path)} is no category.", way_out="Give a text such as 'work/habits'.")
    shown = path or ""
    if settings is not None:
        shown = name_without_secrets(shown, "category", settings)
    cleaned = "/".join("-".join(part.split()) for part in shown.strip().lower().split("/"))
    return check_category(cleaned, shown) if cleaned else DEFAULT_CATEGORY


def tags(given: Iterable[str], settings: Settings | None = None) -> tuple[str, ...]:
    """Tags in lower case, each once and on one line, without empty ones.

    Pass `settings` to check for secrets in what is stored; search filters go without.

    Raises:
        InvalidInput: it is not a list of strings, or there are more than 20.
        InvalidText: one is longer than 64 characters or contains a lone surrogate.
        SecretRefused: one contains a secret, and secrets are refused.
    """
    found = dict.fromkeys(_tag(each, settings) for each in arguments.several(given, "tags", "texts"))
    found.pop("", None)
    if len(found) > _MOST_TAGS:
        raise InvalidInput(f"There are {len(found)} tags; the limit is {_MOST_TAGS}.", way_out="Keep the telling ones.")
    return tuple(found)


def metadata(given: Mapping[str, Any] | None, settings: Settings) -> dict[str, Any]:
    """The caller's own JSON values.

    Raises:
        InvalidInput: it is not a mapping of names to JSON values, or is longer than 10,000 characters.
        SecretRefused: a name or a value in it is a secret, and secrets are refused.
    """
    if given is not None and not isinstance(given, Mapping):
        raise arguments.refused(given, "metadata", "a dict of JSON values")
    held = dict(given or {})
    if not held:
        return held
    try:
        stored = orjson.dumps(held, option=_AS_GIVEN)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"The metadata cannot be kept: {error}.", way_out="Give a dict of JSON values.") from error
    _require_json(held)
    if len(stored) > _LONGEST_METADATA:
        raise InvalidInput("The metadata is too long.", way_out="Keep it under 10,000 characters.")
    kept: dict[str, Any] = orjson.loads(stored)
    policy = settings.privacy.derived
    secret = () if policy == "keep" else secrets.find_in_values(kept)
    if secret and policy != "mask":
        raise _refused("metadata", secret[0].kind)
    return secrets.mask_values(kept) if secret else kept


def moment(given: datetime | None, what: str) -> int | None:
    """A moment in milliseconds.

    Raises:
        InvalidInput: it is not a datetime.
        NaiveDatetime: it has no time zone.
    """
    return None if given is None else to_millis(arguments.moment(given, what))


def period(since: datetime | None, until: datetime | None) -> tuple[int | None, int | None]:
    """The moments between which something is looked for, in milliseconds.

    Raises:
        InvalidInput: one is not a datetime.
        NaiveDatetime: one has no time zone.
        InvalidPeriod: the first is after the last.
    """
    first, last = moment(since, "since"), moment(until, "until")
    if first is not None and last is not None and first > last:
        raise InvalidPeriod(
            f"`since` ({since}) is after `until` ({until}).", way_out="Give the earlier one as `since`."
        )
    return first, last


def flags(text: str) -> tuple[str, ...]:
    """Warnings to show with a text: `instruction` if it reads like one to the agent."""
    return ("instruction",) if instructions.suspicious(text) else ()


def refusal(content: str, reason: str) -> RefusedProposal:
    """A refused text in a form safe to show."""
    shown = secrets.mask(" ".join(content[:_MOST_READ].split()))[:_LONGEST_SHOWN]
    return RefusedProposal(content=shown, reason=secrets.mask(reason))


def as_stored(text: str, what: str) -> str:
    """A stored text that is to be changed in part.

    Raises:
        DatabaseDamaged: its words were altered since, so what stands for them would be stored as somebody's.
    """
    if text == WITHHELD:
        raise DatabaseDamaged(
            f"The {what} is not as it was stored, so no part of it can be changed.",
            way_out=f"Write the whole {what} anew, or restore a backup; `langmem-tiers doctor --deep` names all of it.",
        )
    return text


def require_unicode(text: str, what: str) -> None:
    """Require a text that can be encoded.

    Raises:
        InvalidText: it contains a lone surrogate.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidText(f"The {what} holds a lone surrogate at character {error.start}.") from None


def require_length(text: str, what: str, settings: Settings) -> None:
    """Require a text of permitted length.

    Raises:
        TextTooLong: it is longer than `settings.text.max_characters`.
    """
    if len(text) > settings.text.max_characters:
        raise TextTooLong(
            f"The {what} has {len(text):,} characters; the limit is {settings.text.max_characters:,}.",
            way_out="Split it, or raise Settings.text.max_characters.",
        )


def without_secrets(text: str, what: str, settings: Settings) -> str:
    """`text` treated as `settings.privacy.derived` says: kept, with its secrets masked, or refused.

    Raises:
        SecretRefused: it contains a secret, and secrets are refused.
    """
    policy = settings.privacy.derived
    found = () if policy == "keep" else secrets.find(text)
    if not found:
        return text
    if policy == "mask":
        return secrets.mask(text)
    raise _refused(what, found[0].kind)


def name_without_secrets(name: str, what: str, settings: Settings) -> str:
    """The same for a path or category, with masks made of characters allowed in names: `secret-aws-key`.

    Raises:
        SecretRefused: it contains a secret, and secrets are refused.
    """
    shown = without_secrets(name, what, settings)
    return shown if shown == name else _MASK.sub(lambda mask: f"secret-{mask[1].replace(' ', '-')}", shown)


def _refused(what: str, kind: str) -> SecretRefused:
    return SecretRefused(f"The {what} holds what looks like a secret ({kind}).")


def _require_json(held: Any) -> None:
    """Refuse values that JSON cannot represent faithfully: NaN, infinity, UUID."""
    waiting = [("", held)]
    while waiting:
        where, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [(f"{where}.{key}" if where else key, each) for key, each in value.items()]
        elif isinstance(value, list | tuple):
            waiting += [(f"{where}[{place}]", each) for place, each in enumerate(value)]
        elif not isinstance(value, str | int | float | None) or (isinstance(value, float) and not isfinite(value)):
            raise InvalidInput(
                f"The metadata cannot be kept: {beginning(where, 80)!a} is {beginning(str(value), 40)!a}, "
                "which JSON has no way to write.",
                way_out="Give texts, finite numbers, true, false, null, and lists and dicts of these.",
            )


def _tag(given: str, settings: Settings | None) -> str:
    if not isinstance(given, str):
        raise InvalidInput(f"{type_of(given)} is no tag.", way_out="Give tags as texts.")
    require_unicode(given, "tag")
    # Done before lower-casing, since keys are recognised by their case.
    shown = given if settings is None else without_secrets(given, "tag", settings)
    tag = " ".join(shown.split()).lower()
    if len(tag) > _LONGEST_TAG:
        raise InvalidText(
            f"The tag {beginning(tag, 40)!r}… is longer than {_LONGEST_TAG} characters.", way_out="Shorten it."
        )
    return tag
