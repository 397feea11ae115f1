"""Asynchronous twins of methods that block for a few milliseconds; no business logic."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import update_wrapper
from typing import Any, Concatenate, ParamSpec, TypeVar

Self = TypeVar("Self")
P = ParamSpec("P")
T = TypeVar("T")


def twin(method: Callable[Concatenate[Self, P], T]) -> Callable[Concatenate[Self, P], Coroutine[Any, Any, T]]:
    """The method as one to await: it takes, gives and raises the same, and does its work in a thread."""

    async def awaited(self: Self, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(method, self, *args, **kwargs)

    update_wrapper(awaited, method)
    awaited.__name__ = f"a{method.__name__}"
    awaited.__qualname__ = f"{method.__qualname__.rpartition('.')[0]}.{awaited.__name__}"
    awaited.__doc__ = f"`{method.__name__}` in a thread."
    return awaited
