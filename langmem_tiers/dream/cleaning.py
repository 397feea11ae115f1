"""Cleaning up categories: of twins such as `food`, `foods` and `Food`, the one that more entries use is kept. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from langmem_tiers.dream import grounds
from langmem_tiers.dream.types import EntrySeen, RefineEntry
from langmem_tiers.knowledge.synonyms import CLASSES, spelled
from langmem_tiers.knowledge.wordings import forms

# Names of categories that mean the same; the first of each line stands for all of them.
_TWINS = """
    work job career employment
    family relatives
    hobby pastime
    food meal cuisine
    health wellness
    travel trip journey
    finance money
    preference pref
    location place
"""
_CLASSES = CLASSES | {name: line.split()[0] for line in _TWINS.strip().splitlines() for name in line.split()}
_PARTS = re.compile(r"[-_]+")


def folded(entries: Iterable[EntrySeen]) -> list[RefineEntry]:
    """The entries that are filed under the twin of a category which more entries use, and where they belong.

    What the user filed is left there, and so is what is filed for a use of its own, such as anti-patterns.

    Example of what comes of two entries in `food` and one in `foods`: the one goes to `food`.
    """
    seen = tuple(entries)
    kept = _kept(Counter(entry.category for entry in seen))
    return [
        RefineEntry(
            id=entry.id, category=kept[entry.category], why=f"{entry.category} is {kept[entry.category]}", path="rule"
        )
        for entry in seen
        if kept[entry.category] != entry.category and not filed_on_purpose(entry)
    ]


def filed_on_purpose(entry: EntrySeen) -> bool:
    """Whether somebody who may not be overruled chose its category."""
    return entry.path == "user" or grounds.special(entry.category) is not None or bool(grounds.untouchable(entry))


def _kept(used: Mapping[str, int]) -> dict[str, str]:
    """For each category the one of its twins that stays: most used, of equals the shortest."""
    twins: dict[tuple[str, ...], list[str]] = {}
    for name in used:
        twins.setdefault(_key(name), []).append(name)
    best = {key: min(names, key=lambda name: (-used[name], len(name), name)) for key, names in twins.items()}
    return {name: name if grounds.special(name) else best[_key(name)] for name in used}


def _key(category: str) -> tuple[str, ...]:
    """What twins have in common: the parts of a path, each in one case, number, spelling and word."""
    return tuple(" ".join(map(_canonical, filter(None, _PARTS.split(part)))) for part in category.casefold().split("/"))


def _canonical(word: str) -> str:
    found = sorted(forms(spelled(word)), key=len)
    return next((_CLASSES[form] for form in found if form in _CLASSES), found[0])
