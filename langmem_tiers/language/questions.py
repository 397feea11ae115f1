"""What a question asks for: history, several things, advice, earlier answers; and the times that it refers to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

from langmem_tiers.errors import InvalidPeriod
from langmem_tiers.language import kinship
from langmem_tiers.language.calendar import MONTHS, SEASONS, season
from langmem_tiers.language.dates import Side, times
from langmem_tiers.language.names import CALENDAR
from langmem_tiers.language.numbers import counted
from langmem_tiers.language.periods import When, after, span, written
from langmem_tiers.language.word_lists import finds, listed, named_pattern, named_patterns, table
from langmem_tiers.language.words import FIRST_PERSON, LOOKED_AT, meaningful_words, words

_LOOKED_AT = 2000
# All of them begin with a word, or at the beginning: nowhere else are they tried.
_HISTORY = re.compile(
    rf"(?:^|\b(?=\w))(?:{'|'.join(each.pattern for each in named_patterns('questions', 'history'))})", re.IGNORECASE
)
_SEVERAL = named_patterns("questions", "several")
_ADVICE = named_pattern("questions", "advice")
_ANSWERS = named_pattern("questions", "answers")
_UNIX = date(1970, 1, 1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAME_A_PERIOD = "Write last week, this month, the last 3 days, March 2026, 2026-03 or 2026-03-02."
# "This summer" is none that ended so many days ago.
_LONG_GONE = 150
# How far off people are when they name a time: some days for a day, some more for a month.
_DAYS_OFF: dict[str, int] = {"day": 4, "month": 10, "year": 20}
_STRETCH = named_pattern("questions", "stretch")
_VAGUE = {"few": 4, "several": 6}
_START_OF_YEAR = named_pattern("questions", "start_of_year")
_BOUNDED = named_pattern("questions", "bounded")
_BEFORE = {"before", "until", "till", "prior to"}
_SEASON = named_pattern("questions", "season")
_WENT_ON = named_pattern("questions", "went_on")
_THIS_WEEK = named_pattern("questions", "this_week")
_DATE_LIKE = re.compile(r"\s*\d{4}-")  # such as "2026-13": no date, and not the year either
_LAST_WEEK = named_pattern("questions", "last_week")
_LAST_TIME = named_pattern("questions", "last_time")
_LAST_TIMES = named_pattern("questions", "last_times")
_RECENTLY = named_pattern("questions", "recently")
_OF_CONVERSATIONS = named_pattern("questions", "of_conversations")
_AHEAD = named_pattern("questions", "ahead")
_NO_TOPIC = listed("words", "of_conversations") | CALENDAR
_LATEST = named_pattern("questions", "latest")
_ABOUT = named_pattern("questions", "about")
_NAME = re.compile(r"\b[^\W\d_a-z]")
_CLAUSE_END = re.compile(r"[?.!,;:\n]")
_LONGEST_MENTION = 60
# How many conversations "recently" means.
_RECENT = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class TimeSpan:
    """A period from `start` up to `stop`, in days since 1970, that tolerates being off by up to `margin` days.

    To a question about a month or a season (`strict`), only what was said in it or tells of a day in it belongs.
    """

    start: float
    stop: float
    margin: float
    strict: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class AskedConversations:
    """The conversations that a question is about: those of some periods, or the `latest` ones before this one."""

    spans: tuple[TimeSpan, ...] = ()
    latest: int = 0


def asked_conversations(query: str, asked: date) -> AskedConversations | None:
    """The conversations that a query asked on a given day is about, if it names a time and no topic.

    Example:
        >>> asked_conversations("What did we talk about last time?", date(2026, 3, 2))
        AskedConversations(spans=(), latest=1)
        >>> asked_conversations("What did we say about the boat last time?", date(2026, 3, 2)) is None
        True
    """
    shown = query[:LOOKED_AT]
    if not _OF_CONVERSATIONS.search(shown) or _AHEAD.search(shown) or not _has_no_topic(shown):
        return None
    several = _LAST_TIMES.search(shown)
    if several:
        return AskedConversations(latest=_VAGUE.get(several[1].casefold()) or int(counted(several[1])))
    if _LAST_TIME.search(shown):
        return AskedConversations(latest=1)
    named = _last_week(asked) if _LAST_WEEK.search(shown) else spans(shown, asked)
    if named:
        return AskedConversations(spans=named)
    return AskedConversations(latest=_RECENT) if _RECENTLY.search(shown) else None


def _has_no_topic(text: str) -> bool:
    said = words(text)
    of_us = not FIRST_PERSON.isdisjoint(word.partition("'")[0] for word in said) or "you" in said
    of_us = of_us or _WENT_ON.search(text) is not None
    return of_us and all(word in _NO_TOPIC or word[0].isdigit() for word in meaningful_words(text))


def _last_week(asked: date) -> tuple[TimeSpan]:
    monday = _day(asked) - asked.weekday()
    return (TimeSpan(start=monday - 7, stop=monday, margin=1.0),)


def asked_period(when: When, *, now: datetime) -> tuple[datetime, datetime]:
    """The first moment of a period, and the first one after it: of a date, or of words such as "last week".

    Weeks begin on Monday. Of several times, the period begins with the first and ends with the last.

    Raises:
        InvalidPeriod: it names no period.
        NaiveDatetime: it is a time without a zone.

    Example:
        >>> [f"{moment:%Y-%m-%d}" for moment in asked_period("last week", now=datetime(2026, 3, 4, tzinfo=UTC))]
        ['2026-02-23', '2026-03-02']
    """
    try:
        return span(when, now=now)
    except InvalidPeriod as error:
        named: Sequence[TimeSpan] = ()
        if isinstance(when, str) and not _DATE_LIKE.match(when):
            named = _periods(when, now.astimezone(UTC).date())
        if not named:
            raise InvalidPeriod(error.message.replace("date", "period"), way_out=_NAME_A_PERIOD) from error
    days = min(each.start for each in named), max(each.stop for each in named)
    first, last = (_EPOCH + timedelta(days=day) for day in days)
    return first, last


def _periods(text: str, asked: date) -> Sequence[TimeSpan]:
    shown = " ".join(text[:_LONGEST_MENTION].split())
    if _LAST_WEEK.search(shown):
        return _last_week(asked)
    return spans(shown, asked) or spans(f"in {shown}", asked)


def asked_about(query: str) -> str | None:
    """Whom or what a query asks all about, in its words; None if it asks for anything else.

    Example:
        >>> asked_about("What do you know about my brother Ben?"), asked_about("What do you know about me?")
        ('my brother Ben', None)
    """
    asked = query[:LOOKED_AT].replace("’", "'").rstrip(" ?.!")
    found = _ABOUT.search(asked)
    whom = asked[found.end() :] if found else ""
    return whom if 0 < len(whom) <= _LONGEST_MENTION and _CLAUSE_END.search(whom) is None else None


is_errand = finds("questions", "errand")
"""Whether a message asks for something to be done for somebody or something named: "Draft an email to Brightwater"."""

ERRANDS = listed("words", "errands")
"""Words that say what an errand is, and not whom or what it is about."""


def names_someone(mention: str) -> bool:
    """Whether a mention is a name or a kinship of the user: "Ben", "my older brother"."""
    return _NAME.search(mention) is not None or kinship.mine(mention) is not None


def asks_for_latest(query: str) -> bool:
    """Whether a query asks for the latest of several: newer messages answer it rather than older ones.

    Example:
        >>> asks_for_latest("Where did I last see my keys?"), asks_for_latest("Where was I last week?")
        (True, False)
    """
    return _LATEST.search(query[:LOOKED_AT]) is not None and not asks_advice(query)


def asks_history(query: str) -> bool:
    """Whether a message asks what was done, said or decided before, so that the archive should be searched.

    Example:
        >>> asks_history("How did we fix the login last week?"), asks_history("How do I fix the login?")
        (True, False)
    """
    return _HISTORY.search(" ".join(query[:_LOOKED_AT].replace("’", "'").split())) is not None


def asks_for_several(query: str) -> bool:
    """Whether a query asks for several things: a list, a count, or a comparison.

    Example:
        >>> asks_for_several("Which cities did I visit?"), asks_for_several("Which city did I visit in May?")
        (True, False)
    """
    asked = " ".join(query[:_LOOKED_AT].replace("’", "'").lower().split())
    return any(pattern.search(asked) for pattern in _SEVERAL)


def asks_advice(query: str) -> bool:
    """Whether a query asks for advice, so that preferences matter for the answer.

    Example:
        >>> asks_advice("Any tips for dinner tonight?"), asks_advice("When did I move?")
        (True, False)
    """
    return _ADVICE.search(query[:LOOKED_AT]) is not None


def asks_for_answers(query: str) -> bool:
    """Whether a query asks for earlier answers of the assistant ("you recommended")."""
    return _ANSWERS.search(query[:LOOKED_AT]) is not None


@lru_cache(maxsize=4)  # each step of a recall asks for those of one message
def spans(text: str, asked: date) -> tuple[TimeSpan, ...]:
    """The periods that a query asked on a given day refers to.

    Example:
        >>> [(span.start, span.stop) for span in spans("What did I do two weeks ago?", date(1970, 1, 20))]
        [(5, 6)]
    """
    shown = text[:LOOKED_AT]
    stretches = list(_stretches(shown, asked))
    rest = shown
    for pattern in (_STRETCH, _START_OF_YEAR, _THIS_WEEK, _BOUNDED, _SEASON) if stretches else ():
        rest = pattern.sub(" ", rest)
    side: Side | None = None if _AHEAD.search(shown) else "behind"
    named = (_named(moment) for moment in times(rest, asked, side))
    # The future has not been discussed yet, and what was said today is mostly still in the model's context.
    past = (span for span in named if span.start < _day(asked))
    return tuple(dict.fromkeys((*stretches, *past)))


def _stretches(text: str, asked: date) -> Iterator[TimeSpan]:
    today = _day(asked)
    for match in _STRETCH.finditer(text):
        number, unit, plural = match[1], match[2].casefold(), match[3]
        if number is None and plural is None:
            continue  # "last week" names a time, "the last day" does not
        count = 1 if number is None else _VAGUE.get(number.casefold()) or counted(number)
        days = count * table("units")[unit]["days"]
        yield TimeSpan(start=today - days, stop=today + 1, margin=max(2.0, days / 4))
    if _START_OF_YEAR.search(text):
        yield TimeSpan(start=_day(date(asked.year, 1, 1)), stop=today + 1, margin=_DAYS_OFF["month"])
    for match in _BOUNDED.finditer(text):
        for moment in times(f"in {match['when']}", asked, "behind"):
            named, before = _named(moment), match["side"].casefold() in _BEFORE
            start, stop = (0, named.start) if before else (named.start, today + 1)
            yield TimeSpan(start=start, stop=stop, margin=named.margin)
    if _THIS_WEEK.search(text):
        yield TimeSpan(start=today - asked.weekday(), stop=today + 1, margin=2.0)
    for match in () if _AHEAD.search(text) else _SEASON.finditer(text):
        if match["side"] or match["year"] or match[0].casefold() != match["season"].casefold():
            yield from _season(match, asked)


def _season(match: re.Match[str], asked: date) -> Iterator[TimeSpan]:
    """The season of a year; of a winter that is named by one year, those that begin and end in it."""
    first, side, today = SEASONS[match["season"].casefold()], (match["side"] or "").casefold(), _day(asked)
    begun = asked.year if asked.month >= first else asked.year - 1
    if match["year"]:
        years = [int(match["year"]) - (first == len(MONTHS)), int(match["year"])]
    elif side in {"last", "past", "previous"}:
        years = [begun - (season(begun, first)[1] > asked)]
    else:
        years = [begun]
    for year in dict.fromkeys(years):
        start, stop = map(_day, season(year, first))
        if start <= today and not (side == "this" and stop <= today - _LONG_GONE):
            yield TimeSpan(
                start=start, stop=today + 1 if side == "since" else stop, margin=_DAYS_OFF["month"], strict=True
            )


def _named(moment: str) -> TimeSpan:
    """The period of a date, month or year in the format of `times`."""
    start, unit = written(moment)
    stop = _day(after(start, unit).date())
    return TimeSpan(start=_day(start.date()), stop=stop, margin=_DAYS_OFF[unit], strict=unit == "month")


def _day(moment: date) -> int:
    return (moment - _UNIX).days
