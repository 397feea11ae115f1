"""The use of learned preferences: which entries bind the agent, need permission, or fade. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langmem_tiers.records import Entry

ANTI_PATTERNS = "anti-patterns"
"""The category of what the agent should not do again; a domain follows behind a slash."""
INFERRED = "user-preferences/inferred"
"""The category of preferences that nobody stated."""
PERMISSION = "requires_user_permission"
"""True in the metadata of what the agent is not to act upon without asking."""


def is_constraint(entry: Entry) -> bool:
    """Whether an entry binds the agent: not if it reads like an instruction, or came from a tool."""
    return within(entry.category, ANTI_PATTERNS) and not entry.flags and entry.origin != "tool"


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
