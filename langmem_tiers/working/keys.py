"""Keys of working memory: paths such as `session/abc123/inbox`, whose first two parts are the namespace."""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple, get_args
from urllib.parse import quote

from langmem_tiers.errors import InvalidKey
from langmem_tiers.wording import type_of

NamespaceKind = Literal["session", "patrol", "subagent"]
KINDS: tuple[NamespaceKind, ...] = get_args(NamespaceKind)
INDEX = "index"
"""What the key of a long value ends in where its outline is meant: `inbox-index`, beside `inbox-1`, `inbox-2`, …"""

LONGEST = 256
"""Most characters of a full key that is written; those of its parts, which are read, have a few more."""

_LONGEST_READ = LONGEST + len(f"-{INDEX}")
_OF_PART = re.compile(rf"(?P<key>.+)-(?P<part>{INDEX}|[1-9]\d{{0,4}})")


class PartOfKey(NamedTuple):
    """A key of a long value, and which part of it is meant: its number from 1 on, None for the outline."""

    key: str
    part: int | None


def namespace_of(kind: NamespaceKind, name: str) -> str:
    """The namespace of a session, patrol or subagent, with characters that no key has escaped.

    Raises:
        InvalidKey: the kind is none of these, or the name is empty or too long.

    Example:
        >>> namespace_of("session", "team a/42")
        'session/team a%2F42'
    """
    if kind not in KINDS:
        raise InvalidKey(f"{_shown(kind)} is no kind of namespace.", way_out=f"Give one of {', '.join(KINDS)}.")
    if not isinstance(name, str):
        raise InvalidKey(f"{type_of(name)} is no name of a {kind}.")
    try:
        escaped = "".join(each if each.isprintable() and each not in "/%\\" else quote(each, safe="") for each in name)
    except UnicodeEncodeError:
        raise InvalidKey(f"{_shown(name)} is not valid Unicode.") from None
    return namespace(f"{kind}/{ {'.': '%2E', '..': '%2E%2E'}.get(escaped, escaped) }")


def namespace(given: Any) -> str:
    """A namespace as a caller gives it.

    Raises:
        InvalidKey: it does not have two valid parts, of which the first is a kind.
    """
    parts = _parts(given)
    if len(parts) != 2 or parts[0] not in KINDS:
        raise InvalidKey(
            f"{_shown(given)} is no namespace of working memory.",
            way_out=f"Write one such as session/monday; it begins with one of {', '.join(KINDS)}.",
        )
    return "/".join(parts)


def prefix(given: Any) -> str:
    """A path below which entries are looked for; empty for all of them.

    Raises:
        InvalidKey: it is no path.
    """
    if isinstance(given, str) and not given.strip("/ "):
        return ""
    return "/".join(_parts(given.rstrip("/") if isinstance(given, str) else given))


def full(given: Any, own: str) -> str:
    """The full key that a caller means, who may leave out the own namespace, if there is one.

    Raises:
        InvalidKey: it is no key, or there is no namespace that it could be in.
    """
    parts = _parts(given)
    if parts[0] in KINDS:
        if len(parts) < 3:
            raise InvalidKey(f"{_shown(given)} is a namespace and no key.")
        return "/".join(parts)
    if not own:
        raise InvalidKey(
            f"{_shown(given)} does not say whose working memory it is in.",
            way_out=f"Write the full path, such as session/monday/inbox; it begins with one of {', '.join(KINDS)}.",
        )
    return f"{own}/{'/'.join(parts)}"


def namespace_in(key: str) -> str:
    """The namespace of a full key."""
    return "/".join(key.split("/", 2)[:2])


def part_of(key: str) -> PartOfKey | None:
    """What a key such as `inbox-3` or `inbox-index` means if `inbox` is a long value; None if it can mean neither."""
    match = _OF_PART.fullmatch(key)
    if match is None:
        return None
    return PartOfKey(match["key"], None if match["part"] == INDEX else int(match["part"]))


def _parts(given: Any) -> list[str]:
    if not isinstance(given, str):
        raise InvalidKey(f"{type_of(given)} is no key of working memory.")
    fault = _fault(given)
    if fault:
        raise InvalidKey(f"{_shown(given)} is no key of working memory: {fault}.")
    return given.split("/")


def _fault(key: str) -> str:
    if len(key) > _LONGEST_READ:
        return f"it is longer than {LONGEST} characters"
    parts = key.split("/")
    if any(not part or part != part.strip() for part in parts):
        return "a part of it is empty, or begins or ends with a blank"
    if any(part in {".", ".."} for part in parts):
        return "it holds a relative part"
    if "\\" in key or not key.isprintable():
        return "it holds a control character, a lone surrogate or a backslash"
    return ""


def _shown(key: Any) -> str:
    text = str(key)
    return ascii(text if len(text) <= 80 else text[:80] + "…")
