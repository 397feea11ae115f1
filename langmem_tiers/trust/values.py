"""Secrets in named values, such as those of a JSON object: a name tells what its value is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from langmem_tiers.trust import secrets
from langmem_tiers.trust.secrets import Secret


def find(values: Mapping[str, Any]) -> tuple[Secret, ...]:
    """The secrets in names and values, however deep they stand.

    Example:
        >>> [found.kind for found in find({"wifi": {"password": "swordfish"}})]
        ['password']
    """
    return tuple(_found(values, ""))


def mask(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values with `[secret: KIND]` in place of each secret.

    Example:
        >>> mask({"pin": 4821, "floor": 3})
        {'pin': '[secret: pin]', 'floor': 3}
    """
    return {secrets.mask(name): _masked(value, name) for name, value in values.items()}


def _found(value: Any, name: str) -> Iterable[Secret]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from secrets.find(key)
            yield from _found(each, key)
    elif isinstance(value, list):
        for each in value:
            yield from _found(each, name)
    else:
        yield from _in_plain(value, name)


def _masked(value: Any, name: str) -> Any:
    if isinstance(value, Mapping):
        return mask(value)
    if isinstance(value, list):
        return [_masked(each, name) for each in value]
    found = _in_plain(value, name)
    if not found:
        return value
    shown = secrets.mask(str(value))
    return f"[secret: {found[0].kind}]" if shown == str(value) else shown


def _in_plain(value: Any, name: str) -> tuple[Secret, ...]:
    """Secrets that a value holds by itself, or is because of its name."""
    if value is None or isinstance(value, bool):
        return ()
    held = secrets.find(str(value))
    if held:
        return held
    for shown in (f'{name}: "{value}"', f"{name}: {value}"):
        if found := tuple(each for each in secrets.find(shown) if each.start > len(name)):
            return found
    return ()
