"""Patterns that are compiled when they are first used: to compile them all takes a second. No business logic."""

from __future__ import annotations

import re
from typing import Any, cast
from weakref import WeakSet


def lazy_pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    """A regular expression that is compiled when it is first used, and checked no earlier.

    It has what a compiled one has; functions of `re` do not take it as an argument.
    """
    _made.add(made := _Lazy(source, flags))
    return cast("re.Pattern[str]", made)


def compile_all() -> None:
    """Compile all patterns of the modules that are loaded, so that no reply has to."""
    for each in [*_made]:
        _ = each.compiled


class _Lazy:
    """What stands for a pattern; what is asked of it is kept as its own.

    Without a lock, as those of `cached_property` have threads wait for the patterns of others, and a forked child for
    ever: a pattern that two threads compile at once is the same one.
    """

    compiled: re.Pattern[str]
    """The pattern itself."""

    def __init__(self, source: str, flags: int) -> None:
        self.pattern = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        asked = re.compile(self.pattern, self._flags) if name == "compiled" else getattr(self.compiled, name)
        setattr(self, name, asked)
        return asked


_made: WeakSet[_Lazy] = WeakSet()
