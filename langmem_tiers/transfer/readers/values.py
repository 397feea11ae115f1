"""What several readers take out of foreign records alike; no format is known here."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from langmem_tiers.transfer.naming import is_text

_LONGEST_TEXT = 1000
_MOST_TEXTS = 50


def metadata(held: Mapping[str, object], *left_out: str) -> dict[str, object]:
    """The plain values of a foreign record that can stand in the metadata of an entry, without some of them."""
    kept = ((str(name), _plain(value)) for name, value in held.items() if name not in left_out)
    return {name: value for name, value in kept if value is not None and is_text(name)}


def digest(*parts: str) -> str:
    """A name for something that has none, the same each time it is read."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:20]


def _plain(value: object) -> object:
    if isinstance(value, str):
        return value if value and _is_short(value) else None
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, list) and 0 < len(value) <= _MOST_TEXTS:
        return value if all(isinstance(each, str) and _is_short(each) for each in value) else None
    return None


def _is_short(text: str) -> bool:
    return len(text) <= _LONGEST_TEXT and is_text(text)
