"""The moments that people and models mean by `since` and `until`."""

from calendar import monthrange
from datetime import UTC, date, datetime, time

from langmem_tiers.clock import require_aware
from langmem_tiers.errors import InvalidInput
from langmem_tiers.palace.tag_times import times

_SHOWN = 40
_LONGEST = 100


def first_moment(text: str | None, now: datetime) -> datetime | None:
    """The beginning of the day, month or year that a text names; a text with a clock time is that moment.

    Raises:
        InvalidInput: it names none.
    """
    return None if text is None else _moments(text, now)[0]


def last_moment(text: str | None, now: datetime) -> datetime | None:
    """The end of the day, month or year that a text names; a text with a clock time is that moment.

    Raises:
        InvalidInput: it names none.
    """
    return None if text is None else _moments(text, now)[1]


def _moments(text: str, now: datetime) -> tuple[datetime, datetime]:
    said = text.strip()[:_LONGEST]
    exact = _exact(said)
    if exact is not None:
        return exact, exact
    # Relative ones too: a model that is told "last week" passes it on.
    for named in (said, *times(said, now.date())):
        days = _days(named)
        if days is not None:
            return datetime.combine(days[0], time.min, UTC), datetime.combine(days[1], time.max, UTC)
    raise InvalidInput(f"{said[:_SHOWN]!a} is no date.", way_out=f"Write it as YYYY-MM-DD; today is {now:%Y-%m-%d}.")


def _exact(text: str) -> datetime | None:
    """A moment with a clock time, in UTC where it names no zone."""
    if ":" not in text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return require_aware(moment if moment.tzinfo else moment.replace(tzinfo=UTC))


def _days(text: str) -> tuple[date, date] | None:
    """The first and the last day of `2026`, `2026-03` or `2026-03-02`."""
    parts = text.split("-")
    if len(parts) > 3 or len(parts[0]) != 4 or not all(part.isascii() and part.isdecimal() for part in parts):
        return None
    try:
        year, month, day = (*map(int, parts), 0, 0)[:3]
        if day:
            return date(year, month, day), date(year, month, day)
        if month:
            return date(year, month, 1), date(year, month, monthrange(year, month)[1])
        return date(year, 1, 1), date(year, 12, 31)
    except ValueError:
        return None
