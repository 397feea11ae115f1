"""The values of items: as JSON, and as the text that is searched."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, time
from enum import Enum
from typing import Any
from uuid import UUID

from langgraph.store.base import get_text_at_path

from langmem_tiers.embeddings.chunking import split
from langmem_tiers.errors import InvalidInput
from langmem_tiers.settings import Settings
from langmem_tiers.storage.notes import NoteText
from langmem_tiers.trust import secrets
from langmem_tiers.writing.storable import require_length

WHOLE = "$"


def dumped(value: Mapping[str, Any], key: str, settings: Settings) -> str:
    """A value as it is stored.

    Raises:
        InvalidInput: JSON can not hold it.
        TextTooLong: it is longer than `settings.text.max_characters`.
    """
    if not isinstance(value, Mapping):
        raise InvalidInput(f"The value of {key!r} is of type {type(value).__name__}.", way_out="Give a dict.")
    try:
        text = json.dumps(dict(value), default=_as_json, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        reason = str(error) or type(error).__name__
        raise InvalidInput(
            f"The value of {key!r} can not be stored: {reason}.", way_out="Give what JSON can hold."
        ) from error
    require_length(text, f"value of {key!r}", settings)
    return text


def loaded(text: str) -> dict[str, Any]:
    """A value as it was given, as far as JSON keeps it; a copy of one's own each time."""
    value: dict[str, Any] = json.loads(text)
    return value


def is_memory(value: Mapping[str, Any]) -> bool:
    """Whether langmem wrote it: its tools as `{"content": …}`, its managers as `{"kind": …, "content": {…}}`."""
    if set(value) == {"content"}:
        return isinstance(value["content"], str | Mapping)
    return (
        set(value) == {"kind", "content"} and isinstance(value["kind"], str) and isinstance(value["content"], Mapping)
    )


def pieces(
    value: Mapping[str, Any], index: Sequence[str] | None, fields: Sequence[str] | None, settings: Settings
) -> list[NoteText]:
    """What of a value is searched: the paths given, else the fields, else all of it; secrets are masked."""
    paths = (WHOLE,) if index is None and fields is None else (index or fields or ())
    limit = settings.documents.chunk_characters
    found: dict[str, None] = {}
    for text in (text for path in paths for text in _texts(value, path)):
        # A lone surrogate is kept in the value; no index can hold one.
        shown = text.encode("utf-8", "replace").decode()
        if settings.privacy.derived != "keep":
            shown = secrets.mask(shown)
        found |= dict.fromkeys(shown[start:stop].strip() for start, stop in split(shown, limit))
    return [NoteText(text=piece) for piece in found if piece]


def _texts(value: Mapping[str, Any], path: str) -> list[str]:
    if path == WHOLE:
        return [_readable(value)]
    return get_text_at_path(value, path)


def _readable(value: Mapping[str, Any]) -> str:
    """A value as a person would write it down: what langmem wrote as its sentence, others as names and values."""
    told = value["content"] if is_memory(value) else value
    if isinstance(told, Mapping) and set(told) == {"content"}:
        told = told["content"]
    return told if isinstance(told, str) else "\n".join(_lines(told, ""))


def _lines(value: Any, name: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        for inner, each in value.items():
            yield from _lines(each, f"{name}.{inner}" if name else str(inner))
    elif isinstance(value, list | tuple) and any(isinstance(each, Mapping | list | tuple) for each in value):
        for each in value:
            yield from _lines(each, name)
    elif value is not None and value != []:
        shown = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        yield f"{name}: {shown}" if name else shown


def _as_json(value: Any) -> Any:
    if isinstance(value, date | time):  # a datetime is a date
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Enum):
        return value.value
    raise TypeError(f"a {type(value).__name__} is nothing that JSON can hold")
