"""Candidates: the union of what every channel of every source finds, with the signals that rank it.

A recall looks at some hundred drawers. Their signals are columns until they are ranked: one object a drawer and step
took longer than the search.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import isnan
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from langmem_tiers.clock import to_millis
from langmem_tiers.matching import Covered, Values, coverage, matched
from langmem_tiers.palace.statements import PREFERS, TELLS
from langmem_tiers.palace.words import words
from langmem_tiers.recall import scoring
from langmem_tiers.recall.query import Query
from langmem_tiers.recall.signals import asked
from langmem_tiers.recall.signals.preference import asks_advice
from langmem_tiers.recall.signals.session import Evidence, evidence
from langmem_tiers.recall.signals.temporal import nearness, spans
from langmem_tiers.recall.sources import Snapshot
from langmem_tiers.recall.stopwatch import Stopwatch
from langmem_tiers.settings import RecallSettings
from langmem_tiers.storage.drawers import DrawerFacts

if TYPE_CHECKING:
    from langmem_tiers.storage.drawer_columns import Rows
    from langmem_tiers.storage.embedding_cache import Vectors

Column = NDArray[np.float64]
# Scores, signals and factors are told to so many decimals.
_DECIMALS = 4


class Found(NamedTuple):
    """A drawer that some channel found, with everything that ranked it: `scores` by channel, `signals` by name."""

    space: str
    own: bool
    facts: DrawerFacts
    scores: dict[str, float]
    signals: Mapping[str, float] = MappingProxyType({})
    factors: Mapping[str, float] = MappingProxyType({})
    score: float = 0.0


def find(
    sources: Sequence[Snapshot],
    query: Query,
    vector: Vectors | None,
    *,
    now: datetime,
    settings: RecallSettings,
    watch: Stopwatch,
    told: Mapping[str, Mapping[int, float]] = MappingProxyType({}),
) -> list[Found]:
    """All candidates, best first; `told` are the drawers that the graph names in each source, with how well they fit.

    Raises:
        InvalidVector: the query's vector is of another length than those stored.
    """
    found: list[Found] = []
    for source in sources:
        channels = _Channels.search(source, query, vector, settings, watch, told.get(source.name, {}))
        with watch.stage("fuse"):
            found += _ranked(source, channels, query, now, settings)
    if len(sources) > 1:
        found.sort(key=lambda candidate: (-candidate.score, -candidate.facts.said_at, candidate.facts.number))
    return found


def standing(sources: Sequence[Snapshot], ranked: Sequence[Found]) -> list[Found]:
    """Those of the candidates that stand in these snapshots, with the facts as they are there."""
    facts = {
        (source.name, each.number): each
        for source in sources
        for each in source.columns.rows(
            source.moment, [found.facts.number for found in ranked if found.space == source.name]
        ).facts()
    }
    keyed = ((found, facts.get((found.space, found.facts.number))) for found in ranked)
    return [found._replace(facts=each) for found, each in keyed if each is not None]


@dataclass(frozen=True, kw_only=True)
class _Channels:
    """What the channels say of the candidates `rows`: NaN where a channel could not judge one."""

    rows: Rows
    keyword: Column
    vector: Column
    match: Column
    previous: Column
    graph: Column

    @classmethod
    def search(
        cls,
        source: Snapshot,
        query: Query,
        vector: Vectors | None,
        settings: RecallSettings,
        watch: Stopwatch,
        told: Mapping[int, float],
    ) -> _Channels:
        """Ask every channel; none gates another, and each then judges what the others found."""
        with watch.stage("keyword"):
            covered = coverage(*source.words.holding(source.moment, query.terms))
            hits = covered.best(settings.candidates)
        with watch.stage("vector"):
            near = _nearest(source, vector, settings.candidates)
        numbers = hits.keys() | {drawer for drawer, similarity in near.items() if similarity >= settings.min_similarity}
        with watch.stage("look_up"):
            rows = source.columns.rows(source.moment, numbers | told.keys())
        judged = np.concatenate([rows.numbers, rows.previous])
        with watch.stage("vector"):
            similar = _similarities(source, vector, set(judged.tolist()) - near.keys() - {0}) | near
        with watch.stage("fuse"):
            return cls.judged(rows, _shares(covered, judged), _column(similar, judged), settings, told)

    @classmethod
    def judged(
        cls, rows: Rows, keyword: Column, vector: Column, settings: RecallSettings, told: Mapping[int, float]
    ) -> _Channels:
        """From what the channels say of the candidates and, behind these, of the drawers previous to them."""
        match = np.asarray(matched(keyword, vector, settings))
        own, before = slice(len(rows.numbers)), slice(len(rows.numbers), None)
        previous = np.where(rows.previous > 0, match[before], 0.0)
        graph = _column(told, rows.numbers)
        return cls(
            rows=rows, keyword=keyword[own], vector=vector[own], match=match[own], previous=previous, graph=graph
        )

    def told(self) -> dict[str, Column]:
        """What the graph says of the candidates, where it says anything."""
        return {} if np.isnan(self.graph).all() else {"graph": self.graph}


def _nearest(source: Snapshot, vector: Vectors | None, most: int) -> dict[int, float]:
    if source.vectors is None or vector is None:
        return {}
    return source.vectors.similar(source.moment, vector, most)


def _similarities(source: Snapshot, vector: Vectors | None, numbers: Collection[int]) -> dict[int, float]:
    if source.vectors is None or vector is None or not numbers:
        return {}
    return source.vectors.similarities(source.moment, vector, numbers)


def _shares(covered: Covered, drawers: NDArray[np.int64]) -> Column:
    """Where the words found anything, not to be among it is a 0 as well."""
    return covered.of(drawers) if len(covered.numbers) else np.full(len(drawers), np.nan)


def _column(scores: Mapping[int, float], drawers: NDArray[np.int64]) -> Column:
    return np.array([scores.get(drawer, np.nan) for drawer in drawers.tolist()])


def _ranked(
    source: Snapshot, channels: _Channels, query: Query, now: datetime, settings: RecallSettings
) -> list[Found]:
    """The candidates of a source with their signals and score, best first."""
    rows = channels.rows
    if not len(rows.numbers):
        return []
    signals = _signals(channels, query, now)
    trust = np.array([scoring.trust(voice.origin, settings) for voice in rows.voices])[rows.voice]
    age = (to_millis(now) - rows.said_at).astype(np.float64)
    factors = scoring.factors(own=source.own, trust=trust, age=age, settings=settings)
    score = np.asarray(scoring.score(signals, factors, settings))
    channel = {"keyword": channels.keyword, "vector": channels.vector, **channels.told()}
    told = zip(rows.facts(), _told(channel), _told(signals), _told(factors), score.tolist(), strict=True)
    found = [Found(source.name, source.own, *each) for each in told]
    return [found[place] for place in np.lexsort((rows.numbers, -rows.said_at, -score)).tolist()]


def _signals(channels: _Channels, query: Query, now: datetime) -> dict[str, Column]:
    """The signals by name, of every candidate."""
    rows = channels.rows
    # The same question asked before matches itself best: it is no evidence for its session.
    answers = zip(rows.room.tolist(), channels.match.tolist(), rows.content_hash, strict=True)
    sessions = evidence((room, match) for room, match, content in answers if content != query.content_hash)
    evident = [sessions.get(room, Evidence()) for room in rows.room.tolist()]
    return {
        "match": channels.match,
        "previous": channels.previous,
        "session": np.array([each.best for each in evident]),
        "support": np.array([each.support for each in evident]),
        "time": _time(rows, query, now),
        "asked": _asked(rows, query),
        "statement": (rows.states & TELLS > 0).astype(np.float64),
        "preference": (rows.states & PREFERS > 0) * float(asks_advice(query.text)),
        **{name: np.nan_to_num(share) for name, share in channels.told().items()},
    }


def _time(rows: Rows, query: Query, now: datetime) -> Column:
    times = spans(query.text, now.date())
    return nearness(times, rows.said_at) if times else np.zeros(len(rows.numbers))


def _asked(rows: Rows, query: Query) -> Column:
    """Whether the query is after who said each; only of those who are heard among the candidates."""
    heard = {place: rows.voices[place] for place in set(rows.voice.tolist())}
    said = set(words(query.text))
    named = {voice.speaker for voice in heard.values() if voice.speaker and not said.isdisjoint(words(voice.speaker))}
    after = asked.asked(query.text, named)
    values = {place: after(asked.Voice(role=each.role, speaker=each.speaker)) for place, each in heard.items()}
    return np.array([values[place] for place in rows.voice.tolist()])


def _told(columns: Mapping[str, Values]) -> Iterator[dict[str, float]]:
    """For each drawer its values by name, without those that are not known."""
    names = list(columns)
    table = np.stack(np.broadcast_arrays(*columns.values())).T
    known = np.isfinite(table).all()
    for values in np.round(table, _DECIMALS).tolist():
        told = dict(zip(names, values, strict=True))
        yield told if known else {name: value for name, value in told.items() if not isnan(value)}
