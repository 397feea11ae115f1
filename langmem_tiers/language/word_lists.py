"""The word lists of `data/`: read once, as sets and tables. No business logic."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def table(name: str) -> dict[str, Any]:
    """The content of `data/NAME.toml`; do not modify it."""
    return tomllib.loads(files(__package__).joinpath("data", f"{name}.toml").read_text(encoding="utf-8"))


def listed(name: str, key: str) -> frozenset[str]:
    """The words that `data/NAME.toml` lists under a key."""
    return word_set(table(name)[key])


def word_set(text: str) -> frozenset[str]:
    """The words of a text as a set."""
    return frozenset(text.split())


def phrases(text: str) -> tuple[str, ...]:
    """The comma-separated phrases of a text, in order."""
    return tuple(" ".join(phrase.split()) for phrase in text.split(",") if phrase.strip())
