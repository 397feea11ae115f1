"""Which of several servers something is on. No business logic."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import TypeVar

T = TypeVar("T")


def chosen(name: str, among: Sequence[T]) -> T:
    """The one that belongs to a name: the same one as long as there are as many, in the same order."""
    number = int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big")
    return among[number % len(among)]
