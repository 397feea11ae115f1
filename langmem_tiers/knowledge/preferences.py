"""The use of learned preferences: which entries bind the agent, need permission, or fade. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from langmem_tiers.content import content_hash
from langmem_tiers.trust import safety

if TYPE_CHECKING:
    from langmem_tiers.records import Entry

ANTI_PATTERNS = "anti-patterns"
"""The category of what the agent should not do again; a domain follows behind a slash."""
INFERRED = "user-preferences/inferred"
"""The category of preferences that nobody stated."""
PERMISSION = "requires_user_permission"
"""True in the metadata of what the agent is not to act upon without asking."""

CONFIRMED = "confirmed_by_user"
"""In the metadata: the hash of the content that the user has confirmed, so that another content is not confirmed."""


def is_constraint(entry: Entry) -> bool:
    """Whether an entry binds the agent: not if it is flagged, came from a tool, or waits for the user."""
    trusted = not entry.flags and entry.origin != "tool" and not needs_permission(entry.metadata)
    return within(entry.category, ANTI_PATTERNS) and trusted


def held_back(content: str, category: str, metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """The metadata of an entry, which waits for the user if its content or category makes the assistant less careful.

    An anti-pattern is shown behind "Do not repeat:", so "Asking before deleting files" as one is read as "Stop asking".
    A confirmation of other words goes: its hash would stay when these are forgotten.
    """
    if metadata.get(CONFIRMED) == content_hash(content).hex():
        return metadata
    kept = {name: value for name, value in metadata.items() if name != CONFIRMED}
    avoided = within(category, ANTI_PATTERNS) and _DOING.match(content) is not None
    told = f"Stop {content[:1].lower()}{content[1:]}" if avoided else content
    return {**kept, PERMISSION: True} if safety.lowers(told) or _category_lowers(category) else kept


@lru_cache(maxsize=1024)
def _category_lowers(category: str) -> bool:
    """Whether the words of a category make the assistant less careful; there are few of them."""
    return safety.lowers(category) is not None


_DOING = re.compile(r"\W*\w+ing\b")


def confirmed(content: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of an entry that the user has confirmed."""
    kept = {name: value for name, value in metadata.items() if name != PERMISSION}
    return {**kept, CONFIRMED: content_hash(content).hex()}


def waits(entry: Entry) -> bool:
    """Whether an entry would be in force if the user confirmed it."""
    return entry.active and needs_permission(entry.metadata)


def needs_permission(metadata: Mapping[str, Any]) -> bool:
    """Whether the user must be asked before the agent acts on it."""
    return metadata.get(PERMISSION) in (True, "true")


def fading(entry: Entry, now: datetime, fade_days: float) -> float:
    """The share of its confidence that an entry has left.

    Only inferred preferences fade: by half in every `fade_days` that nothing confirms them.
    """
    if not within(entry.category, INFERRED):
        return 1.0
    return float(0.5 ** (max(timedelta(0), now - entry.updated_at) / timedelta(days=fade_days)))


def within(category: str, path: str) -> bool:
    """Whether a category equals a path or is below it."""
    return category == path or category.startswith(f"{path}/")
