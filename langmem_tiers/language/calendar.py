"""Months and weekdays: the one table of their names, and the patterns that find them."""

from __future__ import annotations

from datetime import date

MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
"""The first month of each season, as in the north; a season has three."""
SHORT_MONTHS = (*(month[:3] for month in MONTHS), "sept")
SHORT_WEEKDAYS = (*(day[:3] for day in WEEKDAYS), "tues", "thur", "thurs")

MONTH_NAMES = "|".join(MONTHS)
"""A pattern for a month in small letters, without its group; so are those below."""
MONTH_WRITTEN = (
    "Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    "|Nov(?:ember)?|Dec(?:ember)?"
)
"""A month as it is written, in short too: with a capital, since "may" and "march" are verbs without."""
WEEKDAY_NAMES = "|".join(WEEKDAYS)
WEEKDAY_WRITTEN = "(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?"
"""A weekday in small letters, in short too."""


def month_number(name: str) -> int:
    """The number of a month, 1 to 12, from its name or an abbreviation."""
    return SHORT_MONTHS.index(name[:3].casefold()) + 1


def weekday_number(name: str) -> int:
    """The number of a weekday, 0 for Monday, from its name or an abbreviation."""
    return SHORT_WEEKDAYS.index(name[:3].casefold())


def season(year: int, first: int) -> tuple[date, date]:
    """The first day of the season that begins with a month of a year, and the day after its last.

    Example:
        >>> [day.isoformat() for day in season(2025, SEASONS["winter"])]
        ['2025-12-01', '2026-03-01']
    """
    years, month = divmod(first + 2, len(MONTHS))
    return date(year, first, 1), date(year + years, month + 1, 1)
