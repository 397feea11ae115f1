"""Secrets in a text: keys, tokens, passwords and card numbers, found by rules for each kind.

Nothing is a secret for looking random alone: hashes, ids and long words do too, and stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from langmem_tiers.trust.key_formats import KeyFormat, formats_in
from langmem_tiers.trust.passwords import PASSWORDS
from langmem_tiers.trust.secret_patterns import CARDS, CODES, TOKENS, SecretRule

# If two rules match the same secret, the first one names it: formats of issuers before these.
_RULES = (*TOKENS, *PASSWORDS, *CODES, *CARDS)


def _by_hint(*, folded: bool) -> dict[str, list[int]]:
    """Each hint with the indexes of its rules: most texts contain no hint, and need no further search."""
    hints: dict[str, list[int]] = {}
    for place, rule in enumerate(_RULES):
        for hint in rule.hints if rule.folded is folded else ():
            hints.setdefault(hint, []).append(place)
    return hints


_FORMATS_FIRST = 1_000
_HINTS, _FOLDED_HINTS = _by_hint(folded=False), _by_hint(folded=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class Secret:
    """The position of a secret in a text, and its kind, such as `aws key` or `password`."""

    start: int
    stop: int
    kind: str


def find(text: str) -> tuple[Secret, ...]:
    """The secrets in a text, in order, without overlaps.

    Example:
        >>> find("the password is hunter2")
        (Secret(start=16, stop=23, kind='password'),)
    """
    found = _matches(text)
    if "\\" in text:
        # An escape, as in JSON or an error's message, ends in a letter or digit and would seem to be part of the key.
        found += _matches(_ESCAPE.sub(lambda escape: " " * len(escape[0]), text))
    return _merged(sorted(found))


_ESCAPE = re.compile(r"\\(?:[abfnrtv0]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})")


def _matches(text: str) -> list[tuple[int, int, int, str]]:
    """Start, place of the rule, stop and kind of whatever a rule takes for a secret."""
    # İ is the only character that becomes two in lower case: positions in both texts must be the same.
    folded = text.replace("İ", "i").lower()
    hinted = [place for hint, places in _HINTS.items() if hint in text for place in places]
    hinted += [place for hint, places in _FOLDED_HINTS.items() if hint in folded for place in places]
    rules: list[tuple[int, SecretRule | KeyFormat]] = [(_FORMATS_FIRST + place, _RULES[place]) for place in set(hinted)]
    rules += formats_in(text, folded)
    return [(start, place, stop, rule.kind) for place, rule in rules for start, stop in rule.spans(text, folded)]


def mask(text: str) -> str:
    """`text` with `[secret: KIND]` in place of each secret; masking again changes nothing.

    Example:
        >>> mask("the password is hunter2, as ever")
        'the password is [secret: password], as ever'
    """
    found = find(text)
    if not found:
        return text
    parts, done = [], 0
    for secret in found:
        parts += [text[done : secret.start], f"[secret: {secret.kind}]"]
        done = secret.stop
    return "".join([*parts, text[done:]])


def find_in_values(values: Mapping[str, Any]) -> tuple[Secret, ...]:
    """The secrets in names and values, such as those of a JSON object, at any depth: names tell what values are.

    Example:
        >>> [found.kind for found in find_in_values({"wifi": {"password": "swordfish"}})]
        ['password']
    """
    return tuple(_found(values, ""))


def mask_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values with `[secret: KIND]` in place of each secret.

    Example:
        >>> mask_values({"pin": 4821, "floor": 3})
        {'pin': '[secret: pin]', 'floor': 3}
    """
    return {mask(name): _masked(value, name) for name, value in values.items()}


def _merged(found: list[tuple[int, int, int, str]]) -> tuple[Secret, ...]:
    """Overlapping secrets merged into one, of the kind that begins first."""
    apart: list[Secret] = []
    for start, _, stop, kind in found:
        if apart and start < apart[-1].stop:
            last = apart.pop()
            start, stop, kind = last.start, max(last.stop, stop), last.kind  # noqa: PLW2901
        apart.append(Secret(start=start, stop=stop, kind=kind))
    return tuple(apart)


def _found(value: Any, name: str) -> Iterable[Secret]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from find(key)
            yield from _found(each, key)
    elif isinstance(value, list):
        for each in value:
            yield from _found(each, name)
    else:
        yield from _in_plain(value, name)


def _masked(value: Any, name: str) -> Any:
    if isinstance(value, Mapping):
        return mask_values(value)
    if isinstance(value, list):
        return [_masked(each, name) for each in value]
    found = _in_plain(value, name)
    if not found:
        return value
    shown = mask(str(value))
    return f"[secret: {found[0].kind}]" if shown == str(value) else shown


def _in_plain(value: Any, name: str) -> tuple[Secret, ...]:
    """Secrets inside a value, or the value itself because of its name."""
    if value is None or isinstance(value, bool):
        return ()
    held = find(str(value))
    if held:
        return held
    for shown in (f'{name}: "{value}"', f"{name}: {value}"):
        if found := tuple(each for each in find(shown) if each.start > len(name)):
            return found
    return ()
