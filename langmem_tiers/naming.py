"""Names of spaces and categories: what is allowed, and the folder of a space.

User input never becomes a path unchanged: a folder name is a readable slug plus a hash of the exact name.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import unicodedata
from urllib.parse import quote, unquote
from uuid import UUID

from langmem_tiers.errors import InvalidCategory, InvalidSpace, MissingUser
from langmem_tiers.wording import type_of

_LONGEST_PART = 128
_LONGEST_NAME = 512
_CATEGORY = re.compile(r"[A-Za-z0-9_-]{1,64}(/[A-Za-z0-9_-]{1,64})*")


def check_space(name: str) -> str:
    """`name` itself, if it is valid for a space.

    Raises:
        InvalidSpace: it is not a text, empty, absolute, has "..", or has over-long or unprintable parts.
    """
    if not isinstance(name, str):
        raise InvalidSpace(f"{type_of(name)} is no name of a space.")
    reason = _space_fault(name)
    if reason:
        raise InvalidSpace(f"{_shown(name)} cannot name a space: {reason}.")
    return name


def user_space(user_id: str | int | UUID | None) -> str:
    """The space of a user, `users/<id>`, with invalid characters escaped.

    Raises:
        MissingUser: the id is empty or None.
        InvalidSpace: it is too long, contains lone surrogates, or is neither a text, a whole number nor a UUID.
    """
    if isinstance(user_id, bool) or not isinstance(user_id, str | int | UUID | None):
        raise InvalidSpace(f"{type_of(user_id)} is no user id.", way_out="Give a text, a whole number or a UUID.")
    text = "" if user_id is None else str(user_id)
    if not text.strip():
        raise MissingUser("The user id is empty.", way_out="Give the id of a user, such as 'alice'.")
    try:
        # Not all at once: `quote` would escape every non-ASCII letter, making a name in another script too long.
        escaped = "".join(character if _plain(character) else quote(character, safe="") for character in text)
    except UnicodeEncodeError:
        raise InvalidSpace(f"The user id {_shown(text)} is not valid Unicode.") from None
    if len(escaped) > _LONGEST_PART:
        raise InvalidSpace(
            f"The user id {_shown(text)} is too long: {len(escaped)} characters, once escaped.",
            way_out=f"Give an id of at most {_LONGEST_PART} characters; some signs count three or more.",
        )
    return check_space("users/" + ({".": "%2E", "..": "%2E%2E"}.get(escaped, escaped)))


def is_personal(space: str) -> bool:
    """Whether a space is the own one of a user or an agent, or below it: `users/…`, `agents/…`."""
    return space.startswith(("users/", "agents/"))


def caller_space(who: str | int | UUID) -> str:
    """The own space of whoever calls: `users/…` and `agents/…` name it; everything else is a user id.

    Raises:
        MissingUser: it is empty.
        InvalidSpace: it is neither.
    """
    return check_space(who) if isinstance(who, str) and is_personal(who) else user_space(who)


def new_id() -> str:
    """A random id for a record: 12 hexadecimal characters, of which the first is a letter, so that none is a number."""
    return secrets.choice("abcdef") + secrets.token_hex(6)[1:]


def space_mark(name: str) -> str:
    """The name of a space in logs and telemetry: the same in every process, and without the user's id.

    A pseudonym: someone with a list of ids can find out which one it belongs to.

    Example:
        >>> space_mark("users/alice")
        '60aa4bbe595c'
    """
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def user_of(space: str) -> str | None:
    """The user id from which `user_space` made this name, None for any other space."""
    kind, _, escaped = space.partition("/")
    return unquote(escaped) if kind == "users" else None


def folder_name(space: str) -> str:
    """The folder of a space: readable, and distinct for distinct names on every file system."""
    # Long enough to make it infeasible to find a second name with the folder of a first.
    digest = hashlib.blake2b(space.encode(), digest_size=10).hexdigest()
    folded = unicodedata.normalize("NFKD", space).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", folded).strip("-")[:60]
    return f"{slug}-{digest}" if slug else digest


def check_category(path: str, given: str | None = None) -> str:
    """`path` itself, if it is a valid category; the message names `given`, which is how the caller wrote it.

    Raises:
        InvalidCategory: it is absolute, has "..", is too long, or has characters other than letters, digits, - _ and /.
    """
    if len(path) > _LONGEST_NAME or not _CATEGORY.fullmatch(path):
        raise InvalidCategory(f"{_shown(path if given is None else given)} is not a category.")
    return path


def _plain(character: str) -> bool:
    return character.isprintable() and character not in "/%\\"


def _space_fault(name: str) -> str:
    if len(name) > _LONGEST_NAME:
        return f"it is longer than {_LONGEST_NAME} characters"
    parts = name.split("/")
    faults = (_part_fault(part) for part in parts)
    return next((fault for fault in faults if fault), "")


def _part_fault(part: str) -> str:
    if not part.strip():
        return "a part of it is empty"
    if part in {".", ".."}:
        return "it holds a relative part"
    if len(part) > _LONGEST_PART:
        return f"a part of it is longer than {_LONGEST_PART} characters"
    if "\\" in part or not part.isprintable():
        return "it holds a control character, a lone surrogate or a backslash"
    return ""


def _shown(name: str) -> str:
    return ascii(name if len(name) <= 80 else name[:80] + "…")
