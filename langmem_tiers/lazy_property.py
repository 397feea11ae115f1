"""Properties that are found out when they are first asked for, and kept. No business logic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

_Value = TypeVar("_Value")


class lazy_property(Generic[_Value]):
    """Like `functools.cached_property`, but without the lock that this has on Python 3.11.

    That one is for all objects of a class: a value that takes long to find, such as one read from a database that
    another process has locked, kept those of all other users waiting. Here, two threads that ask the same object at
    the same moment both find the value.
    """

    def __init__(self, find: Callable[[Any], _Value]) -> None:
        self._find = find
        self.__doc__ = find.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type) -> _Value: ...

    def __get__(self, instance: object | None, owner: type) -> Self | _Value:
        if instance is None:
            return self
        # The first that was found stays, so that all have the same one; it is then found there, and not asked for here.
        found: _Value = instance.__dict__.setdefault(self._name, self._find(instance))
        return found
