"""Passing states: "Theo has a cold" and "I'm in Rome this week" hold for some days, whatever is said later."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta

from langmem_tiers.language.dates import due, spoken_on
from langmem_tiers.language.word_lists import named_pattern

_AILMENT = named_pattern("passing", "ailment")
_LASTING = named_pattern("passing", "lasting")
_STATE = named_pattern("passing", "state")
_MONTH = named_pattern("passing", "month")
# Days that a cold lasts, or what is so "at the moment"; and a month.
_DAYS, _DAYS_OF_MONTH = 14, 31


def passes(clause: str, said_at: datetime) -> datetime | None:
    """Until when a state holds that a clause tells of, as long as it is one that passes by itself.

    Example:
        >>> said_at = datetime(2026, 3, 2, 9, tzinfo=UTC)
        >>> f"{passes('My husband is away this week', said_at):%Y-%m-%d}", passes("My husband is away a lot", said_at)
        ('2026-03-09', None)
    """
    if _LASTING.search(clause):
        return None
    if _STATE.search(clause):
        return due(clause, said_at) or _after(said_at, _DAYS_OF_MONTH if _MONTH.search(clause) else _DAYS)
    return _after(said_at, _DAYS) if _AILMENT.search(clause) else None


def _after(said_at: datetime, days: int) -> datetime:
    return datetime.combine(spoken_on(said_at) + timedelta(days=days), time(), UTC)
