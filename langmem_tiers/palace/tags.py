"""Semantic tags of a drawer: @p people, @l locations, @e events, @i items, @t times."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from langmem_tiers.palace.names import names
from langmem_tiers.palace.tag_people import people
from langmem_tiers.palace.tag_places import places
from langmem_tiers.palace.tag_things import events, items
from langmem_tiers.palace.tag_times import times

LONGEST = 40  # characters of a tag's value; a longer one is no name
# Kinds in the order they are written, each with its share of the sixteen.
_SHARES = {"p": 4, "l": 3, "e": 3, "i": 3, "t": 3}


def tags(text: str, *, speaker: str | None, said_at: datetime) -> tuple[str, ...]:
    """At most 16 tags of a message, casefolded, people first; relative times are resolved against `said_at`.

    English is understood best. A text in another language gets few tags or none: what is tagged can be relied on
    more than what is not.

    Example:
        >>> from datetime import UTC
        >>> tags("I flew to Lisbon with my sister Anna", speaker="Caroline", said_at=datetime(2023, 5, 8, tzinfo=UTC))
        ('@p caroline', '@p anna', '@p sister', '@l lisbon')
    """
    found = names(text)
    by_kind: dict[str, Iterable[str]] = {
        "p": people(text, found, speaker),
        "l": places(found),
        "e": events(text),
        "i": items(text),
        "t": times(text, said_at.date()),
    }
    return tuple(tag for kind, values in by_kind.items() for tag in _written(kind, values))


def _written(kind: str, values: Iterable[str]) -> list[str]:
    clean = [" ".join(value.split()).strip("-.'’ ") for value in values]
    return [f"@{kind} {value}" for value in clean if 0 < len(value) <= LONGEST][: _SHARES[kind]]
