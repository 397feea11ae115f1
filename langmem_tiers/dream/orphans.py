"""Orphans: relations of the graph that rest on nothing any more. Pure.

Only what was found by itself can be one: what an agent or the user said is theirs to take back, and what came without
messages, as a graph that was imported, never rested on any. One between two entities that were merged is none either:
nobody sees it, and it is needed where the merge is undone.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from langmem_tiers.dream.types import RelationSeen


def orphaned(seen: RelationSeen, at: datetime, mention_days: float) -> str | None:
    """Why a relation is an orphan; None where it is none.

    Example:
        >>> from datetime import UTC
        >>> now = datetime(2026, 3, 2, tzinfo=UTC)
        >>> orphaned(RelationSeen(id="a1b2c3d4e5f6", kind="stated", cited=2, standing=0, last_seen=now), now, 180)
        'no message that says so stands any more'
    """
    if seen.cited and not seen.standing:
        return "no message that says so stands any more"
    once = seen.kind == "mentioned" and seen.alone and seen.cited == 1
    if once and at - seen.last_seen >= timedelta(days=mention_days):
        return "two names were mentioned together once, long ago, and nothing else is known of either"
    return None
