"""Since when and until when something holds, and when it happened, according to a clause."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from typing import NamedTuple

from langmem_tiers.language.calendar import MONTHS, month_number
from langmem_tiers.language.dates import DAY, moments, spoken_on, times
from langmem_tiers.language.numbers import counted
from langmem_tiers.language.periods import after, written
from langmem_tiers.language.word_lists import finds, named_pattern, named_patterns

NEWS = timedelta(days=60)
"""What began within this time before it was told is news; what began earlier may be over by then."""

_DATE = re.compile(r"(?:1[89]|20)\d\d(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?)?")
_NUMERIC = re.compile(r"\d{3,}(?:-\d+)*")
_LEADING = named_pattern("validity", "leading")
_FROM_TO = named_pattern("validity", "from_to")
_SINCE = named_pattern("validity", "since")
_UNTIL = named_pattern("validity", "until")
_FOR = named_pattern("validity", "for")
_WRITTEN = named_patterns("validity", "written")
_FIRST_YEAR, _YEARS_AHEAD = 1900, 50
_LEAP_YEAR = 2000
_WITHIN_A_UNIT = named_pattern("validity", "within_a_unit")
_WEEKEND = re.compile(r"\bweekends?\b", re.IGNORECASE)
_SLASHED = re.compile(r"\b(?P<on>[Oo]n (?:the )?)?(?P<first>\d{1,2})/(?P<second>\d{1,2})/(?P<year>(?:19|20)\d\d)\b")
_PART_OF_YEAR = re.compile(r"\b(?:the )?(?P<part>end|beginning|start) of (?P<year>(?:19|20)\d\d)\b")


class StatedTime(NamedTuple):
    """Since when and until when, as dates such as "2024-05"; empty if not said."""

    since: str = ""
    until: str = ""


def resolve(said: str, said_at: datetime) -> str:
    """The date that words such as "since 2021" or "last May" mean; empty if they mean none.

    Example:
        >>> from datetime import UTC
        >>> resolve("last May", datetime(2026, 3, 2, tzinfo=UTC))
        '2025-05'
    """
    text = _LEADING.sub("", " ".join(said.split()))
    if _NUMERIC.fullmatch(text):
        return text if _DATE.fullmatch(text) and _exists(text) else ""
    found = moments(f"since {text}", said_at, ahead=False, happened=True)
    return found[0] if len(found) == 1 else ""


def of_state(clause: str, said_at: datetime, *, over: bool = False) -> StatedTime:
    """When the state in a clause began and ended: "since 2021", "from 2015 to 2019", "for three years".

    For one that is `over`, it is unknown which three years.
    """
    clause = _plain(clause)
    if both := _FROM_TO.search(clause):
        return StatedTime(resolve(both["since"], said_at), resolve(both["until"], said_at))
    since, until = _SINCE.search(clause), _UNTIL.search(clause)
    span = StatedTime(
        resolve(since["since"], said_at) if since else "",
        resolve(until["until"], said_at) if until else "",
    )
    lasting = None if span.since or span.until or over else _FOR.search(clause)
    if lasting is None:
        return span
    # As precise as "three years ago".
    count, unit = counted(lasting[1]), lasting[2].rstrip("s")
    found = times(f"{count} {unit}{'' if count == 1 else 's'} ago", spoken_on(said_at))
    return StatedTime(since=found[0] if found else "")


def lasts(clause: str) -> bool:
    """Whether a clause says for how many years something was so."""
    return _FOR.search(clause) is not None


def of_event(clause: str, said_at: datetime, *, ahead: bool = False) -> str:
    """The one date in a clause; empty if there is none, or several."""
    found = [_refined(each, clause) for each in moments(_plain(clause), said_at, ahead=ahead, happened=not ahead)]
    if len(found) != 1:
        return ""
    moment, today = found[0], spoken_on(said_at).isoformat()
    return moment if ahead or moment <= today[: len(moment)] else ""


is_vague = finds("validity", "vague")
"""Whether a clause names a time that cannot be dated: "in the 90s", "when I was a child"."""


def within(clause: str, said_at: datetime) -> str:
    """Like `of_event`, for something known only to the week or weekend: the month that most of it is in."""
    moment = of_event(clause, said_at)
    if not (DAY.fullmatch(moment) and _WITHIN_A_UNIT.search(clause)):
        return moment
    day = date.fromisoformat(moment)
    # A weekend is named by its Saturday; of a week, most days are in the month of its Thursday.
    middle = day if _WEEKEND.search(clause) else day + timedelta(days=3 - day.weekday())
    return middle.isoformat()[:7]


def _plain(clause: str) -> str:
    """The clause with only the year if a date like 05/06/2023 is ambiguous."""
    return _SLASHED.sub(_unclear, clause)


def _unclear(slashed: re.Match[str]) -> str:
    first, second = int(slashed["first"]), int(slashed["second"])
    clear = first == second or max(first, second) > len(MONTHS)
    return slashed[0] if clear else f"{'in ' if slashed['on'] else ''}{slashed['year']}"


def _refined(moment: str, clause: str) -> str:
    """The month for "the end of 2023"."""
    part = _PART_OF_YEAR.search(clause)
    if part is None or moment != part["year"]:
        return moment
    return f"{moment}-{'12' if part['part'] == 'end' else '01'}"


def is_impossible(clause: str, said_at: datetime) -> bool:
    """Whether a clause names an impossible date, or a year beyond a human lifetime."""
    last = said_at.year + _YEARS_AHEAD
    return any(_is_wrong(match, last) for pattern in _WRITTEN for match in pattern.finditer(clause))


def _is_wrong(match: re.Match[str], last: int) -> bool:
    parts = match.groupdict()
    year = int(parts.get("year") or _LEAP_YEAR)
    name = parts.get("month")
    month = month_number(name) if name else int(parts.get("number") or 1)
    try:
        date(year, month, int(parts.get("day") or 1))
    except ValueError:
        return True
    return not _FIRST_YEAR <= year <= last


def the_end_of(moment: str) -> str:
    """The first date after a year, month or day: the end of something that was so "in 2019"."""
    start, unit = written(moment)
    return after(start, unit).date().isoformat()[: len(moment)]


def _exists(moment: str) -> bool:
    try:
        date.fromisoformat(f"{moment}-01-01"[:10] if len(moment) < 10 else moment)
    except ValueError:
        return False
    return True
