"""Entities and relations in words: what they are, and when they hold."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from langmem_tiers.language import predicates
from langmem_tiers.language.periods import Exactness
from langmem_tiers.records import Entity, Period, Relation, was_told
from langmem_tiers.trust.safety import relation_lowers

LISTED = 8
"""How many entities a message lists."""
Standing = Literal["holds", "ended", "coming", "never"]


def entity_words(entity: Entity, fact: str = "") -> str:
    """An entity with its id and one known fact: "[3f2a9c01d4e5] Anna (person, also Annie: is a nurse)".

    The other names help to tell namesakes apart, so three are enough.
    """
    also = f", also {', '.join(entity.aliases[:3])}" if entity.aliases else ""
    return f"[{entity.id}] {entity.name} ({entity.type}{also}{f': {fact}' if fact else ''})"


def listed(words: Sequence[str], total: int) -> str:
    """The first of several things on one line, and how many more there are."""
    shown = "; ".join(words[:LISTED])
    return f"{shown} and {total - LISTED} more" if total > LISTED else shown


def date_words(moment: datetime, unit: Exactness = "moment") -> str:
    """A date to its known precision: "2024", "2024-05" or "2024-05-17".

    Example:
        >>> date_words(datetime(2024, 5, 1), "month")
        '2024-05'
    """
    parts = (f"{moment.year:04}", f"{moment.month:02}", f"{moment.day:02}")
    return "-".join(parts[: {"year": 1, "month": 2}.get(unit, 3)])


def period_words(period: Period, *, planned: bool = False) -> str:
    """When something holds: "since 2024-05", "2021 – 2024-05", "until 2024-05", or an empty string if unknown.

    One day, month or year is itself: "2024-05-17". If only the date of the statement is known: "said 2024-05-17". Of
    what is only known as a plan, it is when that is to begin, or was: "planned for 2024-05".
    """
    start = None if period.start is None else date_words(period.start, period.start_unit)
    end = None if period.end is None else date_words(period.end, period.end_unit)
    if start is None:
        return "" if end is None else f"until {end}"
    if period.one_unit:
        return start
    if planned and period.start_stated:
        return f"planned for {start}" if end is None else f"planned for {start} – {end}"
    if not period.start_stated:
        return f"said {start}" if end is None else f"said {start}, until {end}"
    return f"since {start}" if end is None else f"{start} – {end}"


def predicate_words(relation: Relation) -> str:
    """The predicate in readable form."""
    return predicate_in(relation.predicate, relation.period)


def predicate_in(predicate: str, period: Period) -> str:
    """A stored predicate in readable form: "attends", or "attended" for an event that took place in a period."""
    return predicates.of_event(predicate) if is_event(predicate, period) else predicate.replace("_", " ")


def is_event(predicate: str, period: Period) -> bool:
    """Whether it took place on one day, or in one month or year: later that is over, and still so."""
    return period.one_unit and predicates.of_event(predicate) != ""


def relation_words(relation: Relation) -> str:
    """A relation as a sentence without its time."""
    return f"{relation.subject.name} {predicate_words(relation)} {relation.target}"


def asks_first(relation: Relation) -> bool:
    """Whether the agent is to ask the user before it acts on a relation that they did not state themselves."""
    told = was_told(relation.origin, relation.path, relation.authority)
    return not told and relation_lowers(relation.subject.name, predicate_words(relation), relation.target)


def standing(relation: Relation, at: datetime) -> Standing:
    """Whether a relation holds or has happened at a moment, has ended, is still to come, or holds at no time."""
    period = relation.period
    if relation.withdrawn or period.empty:
        return "never"
    if period.start is not None and period.start > at:
        return "coming"
    over = period.end is not None and period.end <= at and not is_event(relation.predicate, period)
    return "ended" if over else "holds"


def standing_words(relation: Relation, at: datetime) -> str:
    """When a relation holds, in words, and what was said later that contradicts it; if it holds at no time, why."""
    now = standing(relation, at)
    if now == "never":
        return _why_never(relation)
    when = period_words(relation.period)
    if now == "coming" and relation.period.end is None:
        when = when.replace("since", "from")
    return "; ".join(filter(None, (when, *relation.said_later)))


def _why_never(relation: Relation) -> str:
    if relation.reason == "repeated":
        return f"said by relation {relation.cause} as well"
    by = "" if relation.cause_target is None else f" by {relation.cause_target}"
    return f"not believed: {relation.reason}{by}"


def left_out(cut: Sequence[str]) -> str:
    """What an answer leaves out, as a sentence; an empty string if nothing."""
    return f"Not all is shown: {'; '.join(cut)}." if cut else ""
