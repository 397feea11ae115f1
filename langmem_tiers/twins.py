"""Async twins of blocking methods, which run them in a thread."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from langmem_tiers.threads import to_thread

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


def twin(method: Callable[_Given, _Result]) -> Callable[_Given, Coroutine[Any, Any, _Result]]:
    """The asynchronous twin of a method; give it the same name with an `a` in front."""

    @wraps(method)
    async def in_thread(*args: _Given.args, **kwargs: _Given.kwargs) -> _Result:
        return await to_thread(method, *args, **kwargs)

    in_thread.__name__ = f"a{method.__name__}"
    in_thread.__qualname__ = f"{method.__qualname__.removesuffix(method.__name__)}a{method.__name__}"
    in_thread.__doc__ = f"`{method.__name__}` in a thread."
    return in_thread
