"""Filters on the values of items, as all reference stores have them together.

Equality, also of nested objects and under dotted paths, and `$eq $ne $gt $gte $lt $lte`. What can not be compared does
not fit; it is no error.
"""

import operator
from collections.abc import Callable, Mapping
from typing import Any

from langmem_tiers.errors import InvalidInput

_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
_KNOWN = ("$eq", "$ne", *_ORDER)


def check(wanted: Any) -> None:
    """Nothing, if this can be a filter.

    Raises:
        InvalidInput: it is none, or has an unknown operator.
    """
    if wanted is None:
        return
    if not isinstance(wanted, Mapping):
        raise InvalidInput(f"A {type(wanted).__name__} is no filter.", way_out='Give a dict, such as {"kind": "note"}.')
    for name, condition in wanted.items():
        if str(name).startswith("$"):
            raise InvalidInput(
                f"There is no operator {name!r} over several fields.",
                way_out=f"Name fields, all of which have to fit; a field may have {', '.join(_KNOWN)}.",
            )
        if _has_operators(condition):
            unknown = next((each for each in condition if each not in _KNOWN), None)
            if unknown is not None:
                raise InvalidInput(f"There is no operator {unknown!r}.", way_out=f"There are {', '.join(_KNOWN)}.")
        elif isinstance(condition, Mapping):
            check(condition)


def fits(value: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    """Whether a value has all that a filter asks for."""
    return all(_matches(_at(value, path), condition) for path, condition in (wanted or {}).items())


def _matches(found: Any, condition: Any) -> bool:
    if _has_operators(condition):
        return all(_applies(found, name, operand) for name, operand in condition.items())
    if isinstance(condition, Mapping):
        return isinstance(found, Mapping) and fits(found, condition)
    if isinstance(condition, list | tuple):
        same = isinstance(found, list | tuple) and len(found) == len(condition)
        return same and all(_matches(one, other) for one, other in zip(found, condition, strict=True))
    return bool(found == condition)


def _applies(found: Any, name: str, operand: Any) -> bool:
    if name in ("$eq", "$ne"):
        return bool(_plain(found) == _plain(operand)) is (name == "$eq")
    compare = _ORDER[name]
    if _is_number(found) and _is_number(operand):
        return compare(found, operand)
    one, other = _as_number(found), _as_number(operand)
    if one is not None and other is not None:
        return compare(one, other)
    return isinstance(found, str) and isinstance(operand, str) and compare(found, operand)


def _at(value: Mapping[str, Any], path: str) -> Any:
    """What is under a name, else under a dotted path; None where there is nothing."""
    if path in value or "." not in str(path):
        return value.get(path)
    found: Any = value
    for name in path.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _has_operators(condition: Any) -> bool:
    return isinstance(condition, Mapping) and any(str(name).startswith("$") for name in condition)


def _plain(value: Any) -> Any:
    """Tuples come back from JSON as lists."""
    return list(value) if isinstance(value, tuple) else value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def _as_number(value: Any) -> float | None:
    """A number, also one that is written out."""
    if not isinstance(value, str | int | float):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None
