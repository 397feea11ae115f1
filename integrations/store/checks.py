"""Checking the operations of a store, and its filters."""

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from langgraph.store.base import GetOp, InvalidNamespaceError, ListNamespacesOp, Op, PutOp, SearchOp

from langmem_tiers import arguments
from langmem_tiers.errors import InvalidInput
from langmem_tiers.integrations.store.naming import several
from langmem_tiers.wording import type_of

_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
_KNOWN = ("$eq", "$ne", *_ORDER)


def check_filter(wanted: Any) -> None:
    """Check that this is a filter.

    Raises:
        InvalidInput: it is none, or has an unknown operator.
    """
    if wanted is None:
        return
    if not isinstance(wanted, Mapping):
        raise InvalidInput(f"{type_of(wanted)} is not a filter.", way_out='Give a dict like {"kind": "note"}.')
    for name, condition in wanted.items():
        if str(name).startswith("$"):
            raise InvalidInput(
                f"There is no operator {name!r} over several fields.",
                way_out=f"Give fields, all of which must match; a field may have {', '.join(_KNOWN)}.",
            )
        if _has_operators(condition):
            unknown = next((each for each in condition if each not in _KNOWN), None)
            if unknown is not None:
                raise InvalidInput(f"There is no operator {unknown!r}.", way_out=f"There are {', '.join(_KNOWN)}.")
        elif isinstance(condition, Mapping):
            check_filter(condition)


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
    if isinstance(found, int | float) and isinstance(operand, int | float):
        return compare(found, operand)
    one, other = _as_number(found), _as_number(operand)
    if one is not None and other is not None:
        return compare(one, other)
    return isinstance(found, str) and isinstance(operand, str) and compare(found, operand)


def _at(value: Mapping[str, Any], path: str) -> Any:
    """The value under a name, or else under a dotted path; None if there is none."""
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


def _as_number(value: Any) -> float | None:
    """A number, possibly written as text."""
    if not isinstance(value, str | int | float):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


_MINUTE = 60_000
_TTL = ("default_ttl", "refresh_on_read", "omit_expired", "sweep_interval_minutes")
_FORBIDDEN = {".": "periods ('.')", "\0": "NUL bytes"}


def check(op: Op) -> None:
    """Check that an operation can be carried out.

    Raises:
        InvalidNamespaceError: a label is empty, no text, or holds "." or NUL.
        InvalidInput: it is no op, or an argument cannot be used.
    """
    if isinstance(op, GetOp | PutOp):
        _item(op)
    elif isinstance(op, SearchOp):
        labels(op.namespace_prefix)
        check_filter(op.filter)
        if op.query is not None:
            arguments.any_text(op.query, "query")
        _page(op)
    elif isinstance(op, ListNamespacesOp):
        for condition in op.match_conditions or ():
            arguments.one_of(condition.match_type, "match_type", ("prefix", "suffix"))
            labels(condition.path)
        arguments.optional_whole(op.max_depth, "max_depth", least=1)
        _page(op)
    else:
        raise InvalidInput(f"{type_of(op)} is not an op of a store.", way_out="There are get, search, put and list.")


def labels(namespace: Any) -> None:
    """Check that these can be the labels of a namespace.

    Raises:
        InvalidNamespaceError: one cannot.
    """
    for label in several(namespace):
        fault = _fault(label)
        if fault:
            raise InvalidNamespaceError(f"Invalid namespace label {label!r} in {namespace!r}: {fault}.")


def milliseconds(ttl: float | None, name: str = "ttl") -> int | None:
    """Minutes in milliseconds.

    Raises:
        InvalidInput: it is no number of minutes.
    """
    if ttl is None:
        return None
    if isinstance(ttl, bool) or not isinstance(ttl, int | float) or not math.isfinite(ttl) or not 0 <= ttl <= 10**9:
        raise arguments.refused(ttl, name, "minutes, or None to keep it for ever")
    return round(ttl * _MINUTE)


def ttl_config(given: Any) -> None:
    """Check a configuration of how long items are kept.

    Raises:
        InvalidInput: it is no dict, has an unknown name, or a value that cannot be used.
    """
    if given is None:
        return
    if not isinstance(given, Mapping):
        raise arguments.refused(given, "ttl", 'a dict such as {"default_ttl": 60}, in minutes')
    unknown = next((name for name in given if name not in _TTL), None)
    if unknown is not None:
        raise InvalidInput(f"`ttl` has no {str(unknown)!r}.", way_out=f"There are {', '.join(_TTL)}.")
    milliseconds(given.get("default_ttl"), "default_ttl")
    for name in ("refresh_on_read", "omit_expired"):
        if given.get(name) is not None:
            arguments.flag(given[name], name)


def _item(op: GetOp | PutOp) -> None:
    if isinstance(op, PutOp) and not op.namespace:
        raise InvalidNamespaceError("Namespace cannot be empty.")
    labels(op.namespace)
    arguments.text(op.key, "key")
    if isinstance(op, PutOp):
        milliseconds(op.ttl)
        if op.index is not None and op.index is not False:
            arguments.texts(op.index, "index")


def _page(op: SearchOp | ListNamespacesOp) -> None:
    arguments.whole(op.limit, "limit", least=0)
    arguments.whole(op.offset, "offset", least=0)


def _fault(label: Any) -> str:
    if not isinstance(label, str):
        return f"labels are texts, not of type {type(label).__name__}"
    if not label:
        return "labels cannot be empty"
    for sign, name in _FORBIDDEN.items():
        if sign in label:
            return f"labels cannot hold {name}"
    try:
        label.encode()
    except UnicodeEncodeError:
        return "it contains a lone surrogate"
    return ""
