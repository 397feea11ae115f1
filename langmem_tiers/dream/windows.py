"""Windows of time that stand open: relations of which only one can hold at a time, and several have no end.

They are closed when what comes next is said, or when two entities become one. These are left: what was said before the
settings told that the predicate has one value at a time.
"""

from __future__ import annotations

from sqlalchemy import Connection

from langmem_tiers.dream.types import WindowsSeen
from langmem_tiers.knowledge_graph import grouping, predicates
from langmem_tiers.settings import Settings
from langmem_tiers.storage import entities, orphans


def open_windows(connection: Connection, space: str, settings: Settings, most: int) -> tuple[WindowsSeen, ...]:
    """Those that a dream may close, none of which it has to."""
    groups = [each for each in orphans.several_open(connection, space) if _has_one_value(each[1], settings)]
    ends = entities.canonical_of(connection, space, {subject for subject, _ in groups})
    named = dict.fromkeys((ends[subject], predicate) for subject, predicate in groups)
    found = (seen(connection, space, subject, predicate) for subject, predicate in [*named][:most])
    return tuple(each for each in found if each.closing)


def seen(connection: Connection, space: str, subject: int, predicate: str) -> WindowsSeen:
    """What closing would change of an entity's relations by a predicate."""
    rows = [row for row, _ in grouping.settled(connection, space, subject, predicate, {})]
    entity = entities.by_numbers(connection, space, [subject])[subject]
    highest = max((row.authority for row in rows), default=0)
    return WindowsSeen(subject=entity.id, predicate=predicate, closing=len(rows), authority=highest)


def _has_one_value(predicate: str, settings: Settings) -> bool:
    return predicates.single_valued(predicate, settings.graph)
