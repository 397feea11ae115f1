"""Remembering what a rule says of a text, for rules that are asked of the same texts again and again."""

from __future__ import annotations

import os
from collections.abc import Callable, Sized
from functools import wraps
from hashlib import blake2b
from threading import Lock
from typing import Concatenate, ParamSpec, TypeVar

_Given = ParamSpec("_Given")
_Said = TypeVar("_Said", bound=Sized)

# Questions about all that was said ask the same of thousands of messages. Of a text with many quotations, the answer is
# longer than the text.
_MOST, _MOST_PARTS = 4096, 100_000


def remembered(rule: Callable[Concatenate[str, _Given], _Said]) -> Callable[Concatenate[str, _Given], _Said]:
    """The rule, which keeps its answers on the texts that it was asked of last, but not the texts: some are very long.

    What it is given beside the text is hashable.
    """
    known: dict[tuple[object, ...], _Said] = {}
    parts, lock = 0, Lock()

    def forget() -> None:
        """Start over: in a forked child, the thread that held the lock is not there."""
        nonlocal parts, lock
        known.clear()
        parts, lock = 0, Lock()

    if hasattr(os, "register_at_fork"):  # Windows does not fork
        os.register_at_fork(after_in_child=forget)

    @wraps(rule)
    def answer(text: str, /, *given: _Given.args, **named: _Given.kwargs) -> _Said:
        nonlocal parts
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        key = (digest, given, *sorted(named.items()))
        with lock:
            if key in known:
                known[key] = known.pop(key)
                return known[key]
        found = rule(text, *given, **named)
        with lock:
            if key not in known:
                known[key] = found
                parts += len(found)
            while len(known) > 1 and (len(known) > _MOST or parts > _MOST_PARTS):
                parts -= len(known.pop(next(iter(known))))
        return found

    return answer
