"""Remembering what a rule says of a text, for rules that are asked of the same texts again and again."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from hashlib import blake2b
from threading import Lock
from typing import Concatenate, ParamSpec, TypeVar

_Given = ParamSpec("_Given")
_Said = TypeVar("_Said")

# Questions about all that was said ask the same of thousands of messages.
_MOST = 4096


def remembered(
    rule: Callable[Concatenate[str, _Given], _Said],
) -> Callable[Concatenate[str, _Given], _Said]:
    """The rule, which keeps its answers on the last few thousand texts, but not the texts: some are very long.

    What it is given beside the text is hashable, and given by place.
    """
    known: dict[tuple[object, ...], _Said] = {}
    learning = Lock()

    @wraps(rule)
    def answer(text: str, /, *given: _Given.args, **more: _Given.kwargs) -> _Said:
        key = (blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest(), *given)
        try:
            return known[key]
        except KeyError:
            found = rule(text, *given, **more)
        with learning:
            while len(known) >= _MOST:
                del known[next(iter(known))]
            known[key] = found
        return found

    return answer
