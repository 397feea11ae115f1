"""Model usage: totals by day, session, source and model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Literal

from sqlalchemy import ColumnElement, Connection, func, select

from langmem_tiers.storage.schema import usages
from langmem_tiers.storage.statements import here, upsert

UsageBy = Literal["day", "session", "source", "model"]

# Work done on the way to a reply has its own limits and does not use the background's budget.
_UNBUDGETED = ("memory_embed", "memory_rerank")


@dataclass(frozen=True, kw_only=True, slots=True)
class UsageKey:
    """The key of a booking; `day` is YYYY-MM-DD in UTC, `session` empty for calls outside any session."""

    day: str
    session: str
    source: str
    model: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """Calls, failed calls, tokens, and cost in millionths of a currency unit."""

    calls: int = 0
    failures: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_micros: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(**{each.name: getattr(self, each.name) + getattr(other, each.name) for each in fields(Usage)})

    def __sub__(self, other: Usage) -> Usage:
        return Usage(**{each.name: getattr(self, each.name) - getattr(other, each.name) for each in fields(Usage)})


_COUNTED = tuple(each.name for each in fields(Usage))
_SUMS = [func.coalesce(func.sum(usages.c[name]), 0) for name in _COUNTED]


def add(connection: Connection, space: str, key: UsageKey, took: Usage) -> None:
    """Add numbers, possibly negative, to what is booked under a key."""
    row = upsert(usages).values(space=space, **asdict(key), **asdict(took))
    summed = {name: usages.c[name] + row.excluded[name] for name in _COUNTED}
    connection.execute(row.on_conflict_do_update(index_elements=["space", *asdict(key)], set_=summed))


def of_day(connection: Connection, space: str, day: str) -> Usage:
    """A day's total that counts against the budget."""
    return _total(connection, *here(usages, space, day=day))


def of_session(connection: Connection, space: str, session: str) -> Usage:
    """A session's total over all days that counts against the budget."""
    return _total(connection, *here(usages, space, session=session))


def grouped(connection: Connection, space: str, by: UsageBy, since: str | None) -> list[tuple[str, Usage]]:
    """Sums by one part of the key, in its order, from a day on."""
    name = usages.c[by]
    wanted = select(name, *_SUMS).where(*here(usages, space)).group_by(name).order_by(name)
    if since is not None:
        wanted = wanted.where(usages.c.day >= since)
    return [(str(row[0]), _usage(row[1:])) for row in connection.execute(wanted)]


def _total(connection: Connection, *where: ColumnElement[bool]) -> Usage:
    counted = select(*_SUMS).where(*where, usages.c.source.not_in(_UNBUDGETED))
    return _usage(connection.execute(counted).one())


def _usage(sums: Iterable[int]) -> Usage:
    return Usage(**dict(zip(_COUNTED, sums, strict=True)))
