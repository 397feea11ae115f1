"""The book of what models took in a space, and whether its budget allows for more."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from langmem_tiers.settings import BudgetSettings
from langmem_tiers.storage import usages
from langmem_tiers.storage.database import Database
from langmem_tiers.storage.usages import Usage, UsageBy, UsageKey

MICROS = 1_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class UsageLine:
    """A sum of the book: `name` is the source, day, session or model that it is about.

    `failures` are calls that brought no reply; `cost` is in the currency of the prices in `Settings.model.budget`, as
    they were at the time.
    """

    name: str
    calls: int
    failures: int
    input_tokens: int
    output_tokens: int
    cost: float


class UsageBook:
    """Books usage in short transactions that may be lost at power loss, as notes about recalls may."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, key: UsageKey, took: Usage) -> None:
        """Book something; what is negative corrects what was booked before.

        Raises:
            StorageError: it is not booked.
        """
        with self._database.writing(durable=False) as connection:
            usages.add(connection, self._database.space, key, took)

    def begin(self, key: UsageKey, expected: Usage, budget: BudgetSettings) -> str | None:
        """Book what a call will take at most, unless that goes beyond the budget: then the limit in words.

        It is booked before the call is made, so that calls made at once, in other processes too, keep to one budget.

        Raises:
            StorageError: it is not booked.
        """
        with self._database.writing(durable=False) as connection:
            space = self._database.space
            day = usages.of_day(connection, space, key.day) + expected
            session = usages.of_session(connection, space, key.session) + expected if key.session else None
            limit = _exceeded(day, session, budget)
            if limit is None:
                usages.add(connection, space, key, expected)
        return limit

    def summary(self, *, since: date | None = None, by: UsageBy = "source") -> tuple[UsageLine, ...]:
        """Sums by source, day (UTC), session or model, in the order of their names, from a day on."""
        day = None if since is None else since.isoformat()
        with self._database.reading() as connection:
            found = usages.grouped(connection, self._database.space, by, day)
        return tuple(_line(name, took) for name, took in found)


def cost_micros(input_tokens: int, output_tokens: int, budget: BudgetSettings) -> int:
    """What tokens cost, in millionths: prices are for a million."""
    return round(input_tokens * budget.input_price + output_tokens * budget.output_price)


def _exceeded(day: Usage, session: Usage | None, budget: BudgetSettings) -> str | None:
    """The first limit that is exceeded."""
    limits = [
        (day.calls, budget.day_calls, "calls a day"),
        (_tokens(day), budget.day_tokens, "tokens a day"),
        (day.cost_micros / MICROS, budget.day_cost, "of money a day"),
    ]
    if session is not None:
        limits.append((session.calls, budget.session_calls, "calls a session"))
        limits.append((_tokens(session), budget.session_tokens, "tokens a session"))
    reached = (f"no more than {limit:,} {what}" for used, limit, what in limits if limit is not None and used > limit)
    return next(reached, None)


def _tokens(used: Usage) -> int:
    return used.input_tokens + used.output_tokens


def _line(name: str, took: Usage) -> UsageLine:
    return UsageLine(
        name=name,
        calls=took.calls,
        failures=took.failures,
        input_tokens=took.input_tokens,
        output_tokens=took.output_tokens,
        cost=took.cost_micros / MICROS,
    )
