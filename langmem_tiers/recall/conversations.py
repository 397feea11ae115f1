"""The conversations that a question is about as a whole ("What did we talk about last time?"), instead of a search."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta

from langmem_tiers.clock import to_millis
from langmem_tiers.language.first_person import TELLS
from langmem_tiers.language.questions import AskedConversations, TimeSpan
from langmem_tiers.recall.candidates import FoundDrawer
from langmem_tiers.recall.request import RecallRequest
from langmem_tiers.recall.sources import SpaceSnapshot
from langmem_tiers.storage import drawers, rooms
from langmem_tiers.storage.drawers import DrawerFacts

_DAY = 86_400_000
_UNIX = date(1970, 1, 1)
# Days of the longest period of which the days that messages name are looked for.
_A_YEAR = 366
# Most conversations of a period; of more, the latest are meant.
_MOST = 40
# What a user tells says most about a conversation, then what else the user says.
_TOLD, _SAID, _REPLIED = 0.9, 0.6, 0.4


def find(sources: Sequence[SpaceSnapshot], asked: AskedConversations, request: RecallRequest) -> list[FoundDrawer]:
    """The messages of these conversations, what tells most first; none if there was no conversation then."""
    found = [
        FoundDrawer(
            source.name, source.own, facts, (source.name, facts.number), {"conversation": 1.0}, score=_worth(facts)
        )
        for source in sources
        for facts in source.store.columns.rows(source.drawers_at, _numbers(source, asked, request)).facts()
        if facts.said_at < _end(request)
    ]
    return sorted(found, key=lambda each: (-each.score, each.facts.said_at, each.key))


def _numbers(source: SpaceSnapshot, asked: AskedConversations, request: RecallRequest) -> list[int]:
    now = _end(request)
    if asked.latest:
        return list(_said(source, 0, now, most=asked.latest, but=request.session))
    for margins in (False, True):
        spans = [_moments(span, with_margin=margins) for span in asked.spans]
        numbers = [each for since, until in spans for each in _said(source, since, min(until, now))]
        numbers += about(source, asked.spans) if not margins else []
        if numbers:
            return list(dict.fromkeys(numbers))
    return []


def about(source: SpaceSnapshot, spans: Iterable[TimeSpan]) -> list[int]:
    """The messages that tell of a day or a month in one of these periods, unless that is longer than a year."""
    held = (span for span in spans if span.stop - span.start <= _A_YEAR)
    days = ((_UNIX + timedelta(days=each) for each in (span.start, span.stop - 1)) for span in held)
    return [each for first, last in days for each in drawers.about(source.connection, source.key, first, last)]


def within(source: SpaceSnapshot, spans: Iterable[TimeSpan]) -> list[int]:
    """The messages that were said in the months and seasons among these periods."""
    moments = (_moments(span, with_margin=False) for span in spans if span.strict)
    return [each for since, until in moments for each in _said(source, since, until)]


def _end(request: RecallRequest) -> int:
    """The first millisecond that does not count any more."""
    return to_millis(request.as_of) + 1


def _said(source: SpaceSnapshot, since: int, until: int, most: int = _MOST, but: str | None = None) -> Iterator[int]:
    connection, space = source.connection, source.key
    meant = rooms.latest(connection, space, most, since=since, until=until, but=but)
    yield from drawers.said(connection, space, [room.number for room in meant], since=since, until=until)


def _moments(span: TimeSpan, *, with_margin: bool) -> tuple[int, int]:
    margin = span.margin if with_margin else 0
    return int((span.start - margin) * _DAY), int((span.stop + margin) * _DAY)


def _worth(facts: DrawerFacts) -> float:
    if facts.role != "user":
        return _REPLIED
    return _TOLD if facts.states & TELLS else _SAID
