"""Plans of the user that are still to come, for questions such as "What do I have coming up?"."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta

from langmem_tiers.knowledge import standing
from langmem_tiers.language import plans
from langmem_tiers.language.dates import spoken_on
from langmem_tiers.recall.request import Query, RecallRequest
from langmem_tiers.recall.sources import SpaceSnapshot
from langmem_tiers.types import Drawer

# For so long a plan without a day counts as one, and how many of these are shown.
_UNDATED, _MOST_UNDATED = timedelta(days=60), 3
_MOST = 20


def ahead(source: SpaceSnapshot, said: Mapping[int, Drawer], query: Query, request: RecallRequest) -> list[int]:
    """Of these messages, those that tell of what is to come in the time asked about: the nearest first.

    What fell through is left out; plans without a day come last, unless a time is asked about.
    """
    today = spoken_on(request.as_of)
    asked = asked_for(query, request)
    nearest = {number: _nearest(drawer, today, asked) for number, drawer in said.items()}
    dated = sorted((day, number) for number, day in nearest.items() if day is not None)
    undated = [] if asked else _undated(said, today)
    found = [*(number for _, number in dated[:_MOST]), *(number for number in undated if nearest[number] is None)]
    over = standing.in_drawers(source.store, source.moment, found, request.as_of)
    return [number for number in found if number not in over]


def asked_for(query: Query, request: RecallRequest) -> list[plans.Days]:
    """The times to come that a question names."""
    return plans.asked_ahead(query.text, request.as_of)


def _nearest(drawer: Drawer, today: date, asked: list[plans.Days]) -> date | None:
    """The first day from today on that a message tells of, of those asked about."""
    told = [days for days in plans.days_ahead(drawer.content, drawer.said_at) if days[1] >= today]
    meant = [days for days in told if not asked or any(_meet(days, each) for each in asked)]
    return min((max(first, today) for first, _ in meant), default=None)


def _meet(days: plans.Days, others: plans.Days) -> bool:
    return days[0] <= others[1] and others[0] <= days[1]


def _undated(said: Mapping[int, Drawer], today: date) -> list[int]:
    lately = sorted((number for number in said if spoken_on(said[number].said_at) >= today - _UNDATED), reverse=True)
    return [number for number in lately if plans.is_undated(said[number].content)][:_MOST_UNDATED]
