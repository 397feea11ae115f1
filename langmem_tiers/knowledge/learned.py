"""What was learned of how to treat the user, as it is used: constraints, what to ask before, and what fades. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langmem_tiers.knowledge.types import Entry

ANTI_PATTERNS = "anti-patterns"
"""The category of what the agent should not do again, with a domain behind it."""
INFERRED = "user-preferences/inferred"
"""The category of preferences that nobody stated."""
PERMISSION = "requires_user_permission"
"""True in the metadata of what the agent is not to act upon without asking."""


def is_constraint(entry: Entry) -> bool:
    """Whether an entry binds the agent: not one that reads like an instruction, or that a tool brought."""
    return within(entry.category, ANTI_PATTERNS) and not entry.flags and entry.origin != "tool"


def needs_permission(metadata: Mapping[str, Any]) -> bool:
    """Whether the user is to be asked before something is acted upon."""
    return metadata.get(PERMISSION) in (True, "true")


def fading(entry: Entry, now: datetime, fade_days: float) -> float:
    """The share of its confidence that an entry has left: all of it, but for preferences that were inferred."""
    return left(entry.updated_at, now, fade_days) if within(entry.category, INFERRED) else 1.0


def left(borne_out: datetime, now: datetime, fade_days: float) -> float:
    """The share that is left when nothing has borne something out since then: half of it after so many days.

    Example:
        >>> from datetime import UTC
        >>> left(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC), fade_days=90)
        0.5
    """
    return float(0.5 ** (max(timedelta(0), now - borne_out) / timedelta(days=fade_days)))


def within(category: str, path: str) -> bool:
    """Whether a category is a path, or below it."""
    return category == path or category.startswith(f"{path}/")
