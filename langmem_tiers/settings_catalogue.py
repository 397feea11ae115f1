"""What each setting is: its description, its default, and what it can be set to; read from `settings.py`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from langmem_tiers.settings import Settings
from langmem_tiers.settings_layers import Key, keys, value_of

SettingKind = Literal["switch", "choice", "whole number", "number", "text", "list", "table"]

_BOUNDS = {"ge": "at least {:,}", "gt": "more than {:,}", "le": "at most {:,}", "lt": "less than {:,}"}


@dataclass(frozen=True, kw_only=True, slots=True)
class SettingInfo:
    """A setting: `name` as in the file (`recall.limit`), what it does, and what it can be.

    `choices` are all values of a choice. `range` says in words what a number can be. `optional` means that it may be
    None, written "none".
    """

    key: Key
    name: str
    description: str
    kind: SettingKind
    default: Any
    choices: tuple[str, ...] = ()
    range: str = ""
    optional: bool = False


def setting(key: Key) -> SettingInfo:
    """What a setting is. `key` must be one of `settings_layers.keys()`."""
    field = type(value_of(Settings(), key[:-1])).model_fields[key[-1]]
    kind, optional = _without_none(field.annotation)
    return SettingInfo(
        key=key,
        name=".".join(key),
        description=field.description or "",
        kind=_kind(kind),
        default=field.default,
        choices=tuple(map(str, get_args(kind))) if get_origin(kind) is Literal else (),
        range=" and ".join(_bounds([*field.metadata, *_metadata(kind)])),
        optional=optional,
    )


def catalogue() -> tuple[SettingInfo, ...]:
    """All settings, group by group."""
    return tuple(map(setting, keys()))


def _without_none(annotation: Any) -> tuple[Any, bool]:
    """A type without None, and whether it may be None."""
    if get_origin(annotation) not in {Union, UnionType}:
        return annotation, False
    others = [each for each in get_args(annotation) if each is not NoneType]
    return others[0], len(others) < len(get_args(annotation))


def _metadata(kind: Any) -> tuple[Any, ...]:
    """What an annotated type says beside its type: of `Annotated[float, Field(le=7)]`, the field's."""
    if get_origin(kind) is not Annotated:
        return ()
    return tuple(inner for each in get_args(kind)[1:] for inner in getattr(each, "metadata", (each,)))


def _kind(kind: Any) -> SettingKind:
    bare = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    of = get_origin(bare) or bare
    if of is Literal:
        return "choice"
    kinds: dict[Any, SettingKind] = {bool: "switch", int: "whole number", float: "number", str: "text", dict: "table"}
    return kinds.get(of, "list")


def _bounds(metadata: list[Any]) -> Iterator[str]:
    for name, words in _BOUNDS.items():
        found = [getattr(each, name) for each in metadata if getattr(each, name, None) is not None]
        if found:
            yield words.format(found[0])
