"""Candidates: everything the search channels of every source find, with the signals that rank it.

A recall examines some hundred drawers. Their signals are kept as columns until they are ranked, since one object per
drawer and step took longer than the search.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from math import isnan
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from langmem_tiers.clock import to_millis
from langmem_tiers.columns import tuples
from langmem_tiers.language.first_person import PREFERS, TELLS
from langmem_tiers.language.questions import asks_advice, spans
from langmem_tiers.language.words import codes
from langmem_tiers.matching import Covered, Values, coverage, matched
from langmem_tiers.recall import scoring
from langmem_tiers.recall.request import Query, RecallRequest
from langmem_tiers.recall.scoring import DrawerSpeaker
from langmem_tiers.recall.sources import Key, SpaceSnapshot
from langmem_tiers.recall.telemetry import Stopwatch
from langmem_tiers.storage import drawers
from langmem_tiers.storage.drawers import DrawerFacts
from langmem_tiers.storage.trips import Trip, one_trip

if TYPE_CHECKING:
    from langmem_tiers.storage.drawer_columns import Rows
    from langmem_tiers.storage.embedding_cache import Vectors

Column = NDArray[np.float64]
# Decimals to which scores, signals and factors are rounded.
_DECIMALS = 4
# How many of those said at the time asked about are looked at for being similar.
_MOST_THEN = 20
# How many drawers that were said later may be passed over for an earlier moment.
_LATER = 5_000


class FoundDrawer(NamedTuple):
    """A drawer found by some channel, with everything that ranked it: `scores` by channel, `signals` by name."""

    space: str
    own: bool
    facts: DrawerFacts
    key: Key
    scores: dict[str, float]
    signals: Mapping[str, float] = MappingProxyType({})
    factors: Mapping[str, float] = MappingProxyType({})
    score: float = 0.0


@dataclass(frozen=True, kw_only=True)
class ByWords:
    """What a source's keyword search finds, before anything is known of the query's meaning.

    `later` are the drawers that were said after the moment asked about, `only` those that are looked at, if not all.
    """

    covered: Covered
    hits: dict[int, float]
    later: frozenset[int]
    only: set[int] | None

    def most(self, wanted: int) -> int:
        """How many have to be found for as many as wanted to be left without those said later."""
        return wanted + min(len(self.later), _LATER)


def by_words(source: SpaceSnapshot, query: Query, request: RecallRequest) -> ByWords:
    """What contains a word of the query."""
    later, only, wanted = _said_later(source), _only(source, request), request.settings.candidates
    with one_trip(source.connection) as trip:
        trip.ask(source.store.words.holding, source.drawers_at, query.terms)
        # What is known is searched later on.
        source.store.notes.ask_ahead(trip, source.moment, query.terms)
    covered = coverage(*source.store.words.holding(source.drawers_at, query.terms), codes(query.terms))
    found = ByWords(covered=covered, hits={}, later=later, only=only)
    best = covered.best(found.most(wanted) if only is None else len(covered.numbers))
    return replace(found, hits=_best(best, wanted, later, only))


def find(
    sources: Sequence[SpaceSnapshot],
    query: Query,
    vector: Vectors | None,
    request: RecallRequest,
    *,
    watch: Stopwatch,
    said: Mapping[str, ByWords],
    beside: Callable[[SpaceSnapshot, Trip, Query, Vectors | None, RecallRequest], None] = lambda *_: None,
    from_graph: Mapping[str, Mapping[int, float]] = MappingProxyType({}),
    needed: Mapping[str, Mapping[int, float]] = MappingProxyType({}),
    then: Mapping[str, Sequence[int]] = MappingProxyType({}),
) -> list[FoundDrawer]:
    """All candidates, best first.

    `said` is what each source's keyword search found, `beside` has a trip ask for what else is about to be read.
    `from_graph` are the drawers that its graph names, with their fit, `needed` those that the message needs whatever
    their words, `then` those said in the months asked about, of which the nearest are always looked at.

    Raises:
        InvalidVector: the query's vector has another length than those stored.
    """
    found: list[FoundDrawer] = []
    for source in sources:
        named = {"graph": from_graph.get(source.name, {}), "needed": needed.get(source.name, {})}

        def ask(trip: Trip, source: SpaceSnapshot = source) -> None:
            beside(source, trip, query, vector, request)

        channels = _search(source, said[source.name], vector, request, watch, named, then.get(source.name, ()), ask)
        with watch.stage("fuse"):
            found += _ranked(source, channels, query, request)
    if len(sources) > 1:
        found.sort(key=lambda candidate: (-candidate.score, -candidate.facts.said_at, candidate.facts.number))
    return found


def standing(sources: Sequence[SpaceSnapshot], ranked: Sequence[FoundDrawer]) -> list[FoundDrawer]:
    """The candidates that are still current in these snapshots, with their facts as of then."""
    facts: dict[Key, DrawerFacts] = {}
    for source in sources:
        numbers = [found.facts.number for found in ranked if found.space == source.name]
        for each in source.store.columns.rows(source.drawers_at, numbers).facts():
            facts[source.name, each.number] = each
    return [found._replace(facts=facts[found.key]) for found in ranked if found.key in facts]


@dataclass(frozen=True, kw_only=True)
class _Channels:
    """The channels' scores for the candidates `rows`; NaN where a channel could not judge one."""

    rows: Rows
    keyword: Column
    vector: Column
    named: dict[str, Column]
    """Those that named any: the graph, and what the message needs."""
    match: Column
    previous: Column
    """How well the preceding drawer matches each."""


def _search(
    source: SpaceSnapshot,
    said: ByWords,
    vector: Vectors | None,
    request: RecallRequest,
    watch: Stopwatch,
    named: Mapping[str, Mapping[int, float]],
    then: Sequence[int],
    ask: Callable[[Trip], None],
) -> _Channels:
    """Ask every channel; none gates another, and each then scores what the others found."""
    store, at, settings = source.store, source.drawers_at, request.settings
    index, covered, only = None if vector is None else store.vectors, said.covered, said.only
    with watch.stage("vector"):
        similar = _similar(source, said, vector, request, then)
    near = [drawer for drawer, similarity in similar.items() if similarity >= settings.min_similarity]
    with watch.stage("look_up"):
        found = {*said.hits, *near, *(number for each in named.values() for number in each)}
        found = found if only is None else found & only
        with one_trip(source.connection) as trip:
            # What was said just before them too, as the numbers have it, which most are right about.
            before = set[int]() if trip.idle else {number - 1 for number in found}
            others = set[int]() if trip.idle else found.union(before) - similar.keys() - {0}
            trip.ask(store.columns.rows, at, found)
            if index is not None and vector is not None and others:
                trip.ask(index.similarities, at, vector, others)
            ask(trip)
        rows = store.columns.rows(at, found)
    judged = np.concatenate([rows.numbers, rows.previous])
    with watch.stage("vector"):
        if index is not None and vector is not None:
            for these in (others, set(judged.tolist()) - similar.keys() - others - {0}):
                similar = (index.similarities(at, vector, these) if these else {}) | similar
    with watch.stage("fuse"):
        # If the keyword search found anything, not being found is a 0 as well.
        keyword = covered.of(judged) if len(covered.numbers) else np.full(len(judged), np.nan)
        by_meaning = _column(similar, judged)
        match = np.asarray(matched(keyword, by_meaning, settings))
        count = len(rows.numbers)
        return _Channels(
            rows=rows,
            keyword=keyword[:count],
            vector=by_meaning[:count],
            named={
                name: _column(scores, rows.numbers)
                for name, scores in named.items()
                if scores.keys() & set(rows.numbers.tolist())
            },
            match=match[:count],
            previous=np.where(rows.previous > 0, match[count:], 0.0),
        )


def _similar(
    source: SpaceSnapshot, said: ByWords, vector: Vectors | None, request: RecallRequest, then: Sequence[int]
) -> dict[int, float]:
    """The drawers nearest to the query, with how similar they are; those said `then` take nobody's place."""
    index = source.store.vectors
    if index is None or vector is None:
        return {}
    at, candidates, only = source.drawers_at, request.settings.candidates, said.only
    most = said.most(candidates)
    # Hardly any of the nearest ones may be about a project or a task, so those that are get compared themselves.
    found = index.similar(at, vector, most) if only is None else _nearest(index.similarities(at, vector, only), most)
    of_then = _nearest(index.similarities(at, vector, set(then)), _MOST_THEN) if then else {}
    return _best(found, candidates, said.later, only) | of_then


def _nearest(similar: dict[int, float], most: int) -> dict[int, float]:
    best = sorted(similar, key=lambda number: (-similar[number], number))
    return {number: similar[number] for number in best[:most]}


def _said_later(source: SpaceSnapshot) -> frozenset[int]:
    """The drawers that were said after the moment asked about."""
    until = source.moment.until
    return frozenset() if until is None else source.store.columns.said_after(source.drawers_at, until)


def _only(source: SpaceSnapshot, request: RecallRequest) -> set[int] | None:
    """The drawers of the project and the task that the request is limited to; None without a limit."""
    if request.project is None and request.task is None:
        return None
    return drawers.numbers_about(source.connection, source.key, request.project, request.task)


def _best(found: dict[int, float], most: int, later: frozenset[int], only: Collection[int] | None) -> dict[int, float]:
    """The best drawers, of which those that were said later, or are not looked at, take nobody's place."""
    if only is not None:
        return dict([each for each in found.items() if each[0] in only and each[0] not in later][:most])
    if not later:
        return found
    in_time = [number for number in found if number not in later][:most]
    return {number: found[number] for number in {**dict.fromkeys(list(found)[:most]), **dict.fromkeys(in_time)}}


def _column(scores: Mapping[int, float], drawers: NDArray[np.int64]) -> Column:
    return np.array(list(map(scores.get, drawers.tolist(), repeat(np.nan))), np.float64)


def _ranked(source: SpaceSnapshot, channels: _Channels, query: Query, request: RecallRequest) -> list[FoundDrawer]:
    """The candidates of a source with their signals and score, best first."""
    rows, settings = channels.rows, request.settings
    if not len(rows.numbers):
        return []
    signals = _signals(channels, query, request)
    trust = np.array([scoring.trust(voice.origin, settings) for voice in rows.voices])[rows.voice]
    age = (to_millis(request.now) - rows.said_at).astype(np.float64)
    factors = scoring.factors(own=source.own, trust=trust, age=age, settings=settings)
    score = np.asarray(scoring.score(signals, factors, settings))
    channel = {"keyword": channels.keyword, "vector": channels.vector, **channels.named}
    by_field = {
        "space": repeat(source.name),
        "own": repeat(source.own),
        "facts": rows.facts(),
        "key": zip(repeat(source.name), rows.numbers.tolist()),
        "scores": _by_drawer(channel, len(score)),
        "signals": _by_drawer(signals, len(score)),
        "factors": _by_drawer(factors, len(score)),
        "score": score.tolist(),
    }
    found = list(tuples(FoundDrawer, by_field))
    return [found[place] for place in np.lexsort((rows.numbers, -rows.said_at, -score)).tolist()]


def _signals(channels: _Channels, query: Query, request: RecallRequest) -> dict[str, Column]:
    """All candidates' signals by name."""
    rows = channels.rows
    # An earlier identical question matches itself best: that is no evidence for its session.
    again = [content == query.content_hash for content in rows.content_hash]
    best, support = scoring.evidence(rows.room, np.where(again, 0.0, channels.match))
    times = spans(query.text, request.now.date())
    signals: dict[str, Column] = {
        "match": channels.match,
        "previous": channels.previous,
        "session": best,
        "support": support,
        "time": scoring.nearness(times, rows.said_at) if times else np.zeros(len(rows.numbers)),
        "asked": _asked(rows, query),
        "statement": (rows.states & TELLS > 0).astype(np.float64),
        "preference": ((rows.states & PREFERS > 0) & asks_advice(query.text)).astype(np.float64),
    }
    if query.latest:
        signals["latest"] = scoring.newness(np.nan_to_num(channels.match), rows.room, rows.said_at)
    return signals | {name: np.nan_to_num(column) for name, column in channels.named.items()}


def _asked(rows: Rows, query: Query) -> Column:
    """Whether the query asks for each candidate's speaker; considers only speakers among the candidates."""
    voices = rows.voice.tolist()
    heard = {place: rows.voices[place] for place in set(voices)}
    after = scoring.asked(query.text, {voice.speaker for voice in heard.values() if voice.speaker})
    values = {place: after(DrawerSpeaker(role=each.role, speaker=each.speaker)) for place, each in heard.items()}
    return np.array([values[place] for place in voices])


def _by_drawer(columns: Mapping[str, Values], count: int) -> Iterable[dict[str, float]]:
    """The values of each of so many drawers by name, without unknown ones."""
    table = np.empty((count, len(columns)))
    for place, column in enumerate(columns.values()):
        table[:, place] = column
    by_name = map(dict, map(zip, repeat(tuple(columns)), np.round(table, _DECIMALS).tolist()))
    if np.isfinite(table).all():
        return by_name
    return ({name: value for name, value in each.items() if not isnan(value)} for each in by_name)
