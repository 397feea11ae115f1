"""Candidates: the union of what every channel of every source finds, with the signals that rank it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from langmem_tiers.clock import to_millis
from langmem_tiers.palace.statements import PREFERS, TELLS
from langmem_tiers.palace.words import words
from langmem_tiers.recall import scoring
from langmem_tiers.recall.query import Query
from langmem_tiers.recall.signals.asked import Voice, asked
from langmem_tiers.recall.signals.coverage import coverage
from langmem_tiers.recall.signals.preference import asks_advice
from langmem_tiers.recall.signals.session import Evidence, evidence
from langmem_tiers.recall.signals.temporal import nearness, spans
from langmem_tiers.recall.sources import Snapshot
from langmem_tiers.recall.stopwatch import Stopwatch
from langmem_tiers.settings import RecallSettings
from langmem_tiers.storage.drawers import DrawerFacts

if TYPE_CHECKING:
    from langmem_tiers.storage.embedding_cache import Vectors


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """A drawer that some channel found, with everything that ranked it: `scores` by channel, `signals` by name."""

    space: str
    own: bool
    facts: DrawerFacts
    scores: dict[str, float]
    signals: dict[str, float] = field(default_factory=dict)
    factors: dict[str, float] = field(default_factory=dict)
    score: float = 0.0


def find(
    sources: Sequence[Snapshot],
    query: Query,
    vector: Vectors | None,
    *,
    now: datetime,
    settings: RecallSettings,
    watch: Stopwatch,
) -> list[Found]:
    """All candidates, best first.

    Raises:
        InvalidVector: the query's vector is of another length than those stored.
    """
    found: list[Found] = []
    for source in sources:
        channels = _Channels.search(source, query, vector, settings, watch)
        with watch.stage("fuse"):
            found += _signalled(source, channels, query, now, settings)
    with watch.stage("fuse"):
        moment = to_millis(now)
        ranked = [_scored(candidate, moment, settings) for candidate in found]
        ranked.sort(key=lambda candidate: (-candidate.score, -candidate.facts.said_at, candidate.facts.number))
    return ranked


def standing(sources: Sequence[Snapshot], ranked: Sequence[Found]) -> list[Found]:
    """Those of the candidates that stand in these snapshots, with the facts as they are there."""
    facts = {
        (source.name, number): each
        for source in sources
        for number, each in source.columns.facts(
            source.connection, [found.facts.number for found in ranked if found.space == source.name]
        ).items()
    }
    keyed = ((found, facts.get((found.space, found.facts.number))) for found in ranked)
    return [replace(found, facts=each) for found, each in keyed if each is not None]


@dataclass(frozen=True, kw_only=True)
class _Channels:
    """What the channels say: `facts` of the candidates, the drawer `previous` to each, and the scores of all these."""

    facts: Mapping[int, DrawerFacts]
    previous: Mapping[int, int]
    keyword: Mapping[int, float]
    vector: Mapping[int, float]

    @classmethod
    def search(
        cls, source: Snapshot, query: Query, vector: Vectors | None, settings: RecallSettings, watch: Stopwatch
    ) -> _Channels:
        """Ask every channel; none gates another, and each then judges what the others found."""
        with watch.stage("keyword"):
            covered = coverage(*source.words.holding(source.connection, query.terms))
            hits = covered.best(settings.candidates)
        with watch.stage("vector"):
            near = _nearest(source, vector, settings.candidates)
        numbers = hits.keys() | {drawer for drawer, similarity in near.items() if similarity >= settings.min_similarity}
        with watch.stage("look_up"):
            facts = source.columns.facts(source.connection, numbers)
            previous = source.columns.previous(source.connection, facts.keys())
        judged = facts.keys() | set(previous.values())
        with watch.stage("vector"):
            similar = _similarities(source, vector, judged - near.keys()) | near
        keyword = covered.of(list(judged)) if hits else {}
        return cls(facts=facts, previous=previous, keyword=keyword, vector=similar)

    def scores(self, drawer: int) -> dict[str, float]:
        """What each channel says of a drawer. Where the words found anything, not to be among it is a 0 as well."""
        said = {"keyword": self.keyword.get(drawer), "vector": self.vector.get(drawer)}
        return {channel: score for channel, score in said.items() if score is not None}

    def match(self, drawer: int, settings: RecallSettings) -> float:
        """How well a drawer matches by the channels that could judge it."""
        return scoring.matched(self.keyword.get(drawer), self.vector.get(drawer), settings)

    def previous_match(self, drawer: int, settings: RecallSettings) -> float:
        """How well the drawer before it matches, 0 where there is none."""
        before = self.previous.get(drawer)
        return 0.0 if before is None else self.match(before, settings)


def _nearest(source: Snapshot, vector: Vectors | None, most: int) -> dict[int, float]:
    if source.vectors is None or vector is None:
        return {}
    return source.vectors.similar(source.connection, vector, most)


def _similarities(source: Snapshot, vector: Vectors | None, numbers: set[int]) -> dict[int, float]:
    if source.vectors is None or vector is None:
        return {}
    return source.vectors.similarities(source.connection, vector, numbers)


def _signalled(
    source: Snapshot, channels: _Channels, query: Query, now: datetime, settings: RecallSettings
) -> list[Found]:
    """The candidates of a source with their signals."""
    found = list(channels.facts.values())
    match = {number: channels.match(number, settings) for number in channels.facts}
    # The same question asked before matches itself best: it is no evidence for its session.
    answers = ((facts.room, match[facts.number]) for facts in found if facts.content_hash != query.content_hash)
    sessions = evidence(answers)
    asked_for = _Asked.of(query, found)
    results = []
    for facts, time in zip(found, _timely(found, query, now), strict=True):
        session = sessions.get(facts.room, Evidence())
        signals = {
            "match": match[facts.number],
            "previous": channels.previous_match(facts.number, settings),
            "session": session.best,
            "support": session.support,
            "time": time,
            **asked_for.signals(facts),
        }
        scores = channels.scores(facts.number)
        results.append(Found(space=source.name, own=source.own, facts=facts, scores=scores, signals=signals))
    return results


class _Asked:
    """The signals of what a drawer is, as far as the query is after it."""

    def __init__(self, query: Query, speakers: set[str]) -> None:
        self._voice = asked(query.text, speakers)
        self._advice = asks_advice(query.text)

    @classmethod
    def of(cls, query: Query, found: Iterable[DrawerFacts]) -> _Asked:
        said = set(words(query.text))
        speakers = {facts.speaker for facts in found if facts.speaker}
        return cls(query, {speaker for speaker in speakers if not said.isdisjoint(words(speaker))})

    def signals(self, facts: DrawerFacts) -> dict[str, float]:
        return {
            "asked": self._voice(Voice(role=facts.role, speaker=facts.speaker)),
            "statement": float(bool(facts.states & TELLS)),
            "preference": float(self._advice and bool(facts.states & PREFERS)),
        }


def _timely(found: Sequence[DrawerFacts], query: Query, now: datetime) -> list[float]:
    times = spans(query.text, now.date())
    if not times:
        return [0.0] * len(found)
    near: list[float] = nearness(times, np.array([facts.said_at for facts in found], np.int64)).tolist()
    return near


def _scored(found: Found, now: int, settings: RecallSettings) -> Found:
    age = now - found.facts.said_at
    factors = scoring.factors(own=found.own, origin=found.facts.origin, age=age, settings=settings)
    return replace(found, factors=factors, score=scoring.score(found.signals, factors, settings))
