"""Time as the package sees it: aware UTC datetimes outside, integer milliseconds in the records."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from langmem_tiers.errors import NaiveDatetime

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """The current moment, in UTC."""
    return datetime.now(UTC)


def require_aware(moment: datetime, what: str = "datetime") -> datetime:
    """`moment` in UTC.

    Raises:
        NaiveDatetime: it has no time zone.
    """
    if moment.tzinfo is None or moment.utcoffset() is None:
        raise NaiveDatetime(f"The {what} {moment.isoformat()} has no time zone.")
    return moment.astimezone(UTC)


def to_millis(moment: datetime) -> int:
    """Milliseconds since 1970 of an aware datetime."""
    return round(require_aware(moment).timestamp() * 1000)


def from_millis(millis: int) -> datetime:
    """The UTC datetime of milliseconds since 1970."""
    return datetime.fromtimestamp(millis / 1000, UTC)
