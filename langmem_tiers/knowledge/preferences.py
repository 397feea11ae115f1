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
    """The share of its confidence that an entry has left; only inferred preferences fade."""
    return left(entry.updated_at, now, fade_days) if within(entry.category, INFERRED) else 1.0


def left(borne_out: datetime, now: datetime, fade_days: float) -> float:
    """The confidence left without confirmation since a moment; it halves every `fade_days`.

    Example:
        >>> from datetime import UTC
        >>> left(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC), fade_days=90)
        0.5
    """
    return float(0.5 ** (max(timedelta(0), now - borne_out) / timedelta(days=fade_days)))


def within(category: str, path: str) -> bool:
    """Whether a category equals a path or is below it."""
    return category == path or category.startswith(f"{path}/")
