"""Checking values of foreign files, and names and paths made of them."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeVar, cast

from langmem_tiers.transfer.files import Malformed
from langmem_tiers.transfer.records import ImportedMessage, ImportedRole, LineProblem, Unit
from langmem_tiers.wording import beginning

Read = TypeVar("Read")

# Numbers of seconds below this are seconds, those above are in a smaller unit.
_LATEST = 1e11
_UNITS = (1, 1_000, 1_000_000)
_NUMERIC = re.compile(r"-?\d{9,}(\.\d+)?|-?\d+\.\d+")
_LONE = re.compile("[\ud800-\udfff]")
_ROLES: Mapping[str, ImportedRole] = {"user": "user", "assistant": "assistant"}


def tried(
    line: int, read: Callable[..., Read], *given: Any, where: str = "", unit: Unit = "record"
) -> Read | LineProblem:
    """What `read` makes of these values, a message with its place; if they are malformed, a problem that says why."""
    try:
        made = read(*given)
        return cast("Read", replace(made, line=line, unit=unit)) if isinstance(made, ImportedMessage) else made
    except Malformed as error:
        return LineProblem(line=line, reason=f"{where}: {error}" if where else str(error), unit=unit)


def mapping(value: object, what: str) -> Mapping[str, object]:
    """`value`, which must be a JSON object."""
    if not isinstance(value, dict):
        raise Malformed(f"{what} is {_kind(value)}, expected an object")
    return value


def sequence(value: object, what: str) -> list[object]:
    """`value`, which must be a JSON list."""
    if not isinstance(value, list):
        raise Malformed(f"{what} is {_kind(value)}, expected a list")
    return value


def text(entry: Mapping[str, object], name: str) -> str:
    """The text under `name`, which must be there, not blank, and without NUL; lone surrogates are replaced."""
    if name not in entry:
        raise Malformed(f"'{name}' is missing")
    value = entry[name]
    if not isinstance(value, str):
        raise Malformed(f"'{name}' is {_kind(value)}, expected text")
    if not value.strip():
        raise Malformed(f"'{name}' is empty")
    return _storable(value, name)


def optional_text(entry: Mapping[str, object], name: str) -> str | None:
    """The text under `name`; None if it is missing or null."""
    return None if entry.get(name) is None else text(entry, name)


def user(value: object, name: str) -> str | None:
    """Whose something is: a text or a whole number, as it is; None if nobody is named."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value.strip():
        return None
    # Repaired, the ids of two users could become one.
    if _LONE.search(value) or "\0" in value:
        raise Malformed(f"'{name}' holds a lone surrogate or a NUL character")
    return value


def role(entry: Mapping[str, object]) -> ImportedRole:
    """The role of a message: user or assistant, the two whose words are a conversation."""
    told = text(entry, "role")
    if told not in _ROLES:
        raise Malformed(f"'role' is {beginning(told, 40)!r}, expected user or assistant")
    return _ROLES[told]


def iso_time(value: str, name: str) -> datetime:
    """An ISO 8601 time in UTC; one without a zone is taken as UTC, so that every reader agrees on it."""
    try:
        moment = datetime.fromisoformat(value)
        return moment.replace(tzinfo=UTC) if moment.utcoffset() is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise Malformed(f"'{name}' is no ISO 8601 time: {beginning(value, 40)!r}") from error


def when(value: object, name: str) -> datetime | None:
    """The moment that another program wrote in one of the usual ways; None for nothing.

    ISO 8601, or a number of seconds, milliseconds or microseconds since 1970. Without a zone it is taken as UTC.
    """
    if value is None or value == "":
        return None
    if isinstance(value, str) and not _NUMERIC.fullmatch(value.strip()):
        return iso_time(value.strip(), name)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise Malformed(f"'{name}' is {_kind(value)}, expected a time")
    try:
        number = float(value)
        # Seconds until the year 5138, milliseconds until then, else microseconds.
        return datetime.fromtimestamp(next(number / unit for unit in _UNITS if abs(number / unit) < _LATEST), UTC)
    except (ValueError, OverflowError, OSError, StopIteration) as error:
        raise Malformed(f"'{name}' is no time: {beginning(str(value), 40)!r}") from error


def dates(**told: object) -> dict[str, Any]:
    """Moments by the fields of a record, as `when` reads them, and how many times could not be read.

    Where several values are given in a tuple, the first that tells a time counts.
    """
    found: dict[str, Any] = {"unreadable_times": 0}
    for name, given in told.items():
        found[name] = None
        for value in given if isinstance(given, tuple) else (given,):
            try:
                found[name] = when(value, name)
            except Malformed:
                found["unreadable_times"] += 1
            if found[name] is not None:
                break
    return found


def some_text(entry: Mapping[str, object], *names: str) -> str | None:
    """The first text under one of these names that is not blank; None if there is none that can be stored."""
    for name in names:
        value = entry.get(name)
        if isinstance(value, str) and value.strip():
            return _storable(value, name)
    return None


def objects(value: object) -> list[Mapping[str, object]]:
    """The objects of a list; none for anything else."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def texts(value: object) -> tuple[str, ...]:
    """The texts of a list that are not blank; none for anything else."""
    return tuple(each for each in value if isinstance(each, str) and each.strip()) if isinstance(value, list) else ()


def _storable(value: str, name: str) -> str:
    if "\0" in value:
        raise Malformed(f"'{name}' holds a NUL character")
    return _LONE.sub("\N{REPLACEMENT CHARACTER}", value)


_KINDS = {dict: "an object", list: "a list", str: "text", bool: "true or false", int: "a number", float: "a number"}


def _kind(value: object) -> str:
    return _KINDS.get(type(value), "null")


FOLDER = "imported"
"""Where imported documents stand."""

_SIGNS = re.compile(r"[^\w.-]+")
_CATEGORY = re.compile(r"[^a-z0-9_-]+")
_LONGEST = 64
_DEEPEST = 8
_MOST_TAGS = 20


def document_path(source: str, *names: str) -> str:
    """The path of a Markdown document, such as `imported/letta/support/persona.md`; no name can leave the folder."""
    parts = [FOLDER, source]
    for name in names:
        composed = unicodedata.normalize("NFC", name if is_text(name) else name.encode("ascii", "replace").decode())
        parts.append(_SIGNS.sub("-", composed).strip(".-_")[:_LONGEST].strip(".-_"))
    path = "/".join(part for part in parts if part)
    return path if path.endswith(".md") else f"{path}.md"


class DocumentPaths:
    """Paths of the documents of one file, no two of them the same: a name that was taken is numbered."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._taken: Counter[str] = Counter()

    def path(self, *names: str) -> str:
        """The path of the next document of these names."""
        path = document_path(self._source, *names)
        self._taken[path.casefold()] += 1
        number = self._taken[path.casefold()]
        return path if number == 1 else f"{path.removesuffix('.md')}~{number}.md"


def category(told: str | None) -> str | None:
    """A category as entries have it, `work/habits`; None if nothing is left of it."""
    folded = unicodedata.normalize("NFKD", told or "").encode("ascii", "ignore").decode().lower()
    parts = [_CATEGORY.sub("-", part).strip("-")[:_LONGEST] for part in folded.split("/")]
    return "/".join([part for part in parts if part][:_DEEPEST]) or None


def tags(told: tuple[str, ...]) -> tuple[str, ...]:
    """The first tags that entries can have."""
    fitting = dict.fromkeys(" ".join(tag.split()).lower() for tag in told if is_text(tag))
    return tuple([tag for tag in fitting if 0 < len(tag) <= _LONGEST][:_MOST_TAGS])


def is_text(name: str) -> bool:
    """Whether a text can be stored: it holds no lone surrogate."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


_LONGEST_TEXT = 1000
_MOST_TEXTS = 50


def metadata(held: object, *left_out: str) -> dict[str, object]:
    """The plain values of a foreign record that entries can hold as metadata, without some; none of anything else."""
    items = held.items() if isinstance(held, dict) else ()
    kept = ((str(name), _plain(value)) for name, value in items if name not in left_out)
    return {name: value for name, value in kept if value is not None and is_text(name)}


def digest(*parts: str) -> str:
    """A name for something that has none, the same each time it is read."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:20]


def _plain(value: object) -> object:
    """A value that metadata can hold, None for any other."""
    if isinstance(value, bool | int | float):
        return value
    listed = value if isinstance(value, list) else [value]
    short = all(isinstance(each, str) and len(each) <= _LONGEST_TEXT and is_text(each) for each in listed)
    return value if value and short and len(listed) <= _MOST_TEXTS else None
