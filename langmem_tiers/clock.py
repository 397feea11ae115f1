"""Time as the package sees it: aware UTC datetimes outside, integer milliseconds in the records."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from langmem_tiers.errors import InvalidInput, NaiveDatetime

Clock = Callable[[], datetime]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def utc_now() -> datetime:
    """The current moment, in UTC."""
    return datetime.now(UTC)


def require_aware(moment: datetime, what: str = "datetime") -> datetime:
    """`moment` in UTC.

    Raises:
        NaiveDatetime: it has no time zone.
        InvalidInput: it is not a datetime, or in UTC before the year 1 or after the year 9999.
    """
    if not isinstance(moment, datetime):
        raise InvalidInput(f"The {what} is no datetime.", way_out="Give a datetime.datetime with a time zone.")
    if moment.tzinfo is None or moment.utcoffset() is None:
        raise NaiveDatetime(f"The {what} {moment.isoformat()} has no time zone.")
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise InvalidInput(
            f"The {what} {moment.isoformat()} is out of range in UTC.",
            way_out="Give one from the year 1 to 9999 in UTC.",
        ) from error


def to_millis(moment: datetime) -> int:
    """Milliseconds since 1970 of an aware datetime."""
    # In integers: a float would round the last moment of the year 9999 to one that no datetime can represent.
    return (require_aware(moment) - _EPOCH) // _MILLISECOND


def from_millis(millis: int) -> datetime:
    """The UTC datetime of milliseconds since 1970."""
    return _EPOCH + millis * _MILLISECOND


def paused(at: int, pause: int, now: int) -> int:
    """When a pause is over that began at a recorded moment, in milliseconds; now if that lies further ahead than it.

    The clock was ahead then, and has been set right: nobody would wait for it.

    Example:
        >>> paused(1000, 60, now=1010)
        1060
        >>> paused(9000, 60, now=1010)
        1010
    """
    return at + pause if at <= now + pause else now
