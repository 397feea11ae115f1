"""Candidates: the union of what every channel of every source finds, scored and ranked."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from langmem_tiers.clock import to_millis
from langmem_tiers.recall import fusion
from langmem_tiers.recall.query import Query
from langmem_tiers.recall.sources import Snapshot
from langmem_tiers.recall.stopwatch import Stopwatch
from langmem_tiers.settings import RecallSettings
from langmem_tiers.storage import drawers, keyword
from langmem_tiers.storage.drawers import DrawerFacts

if TYPE_CHECKING:
    from langmem_tiers.storage.embedding_cache import Vectors


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """A drawer that some channel found, with everything that ranked it."""

    space: str
    own: bool
    facts: DrawerFacts
    scores: dict[str, float]
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
    found = [each for source in sources for each in _in_source(source, query, vector, settings, watch)]
    with watch.stage("fuse"):
        moment = to_millis(now)
        ranked = [_scored(candidate, moment, settings) for candidate in found]
        ranked.sort(key=lambda candidate: (-candidate.score, -candidate.facts.said_at, candidate.facts.number))
    return ranked


def _in_source(
    source: Snapshot, query: Query, vector: Vectors | None, settings: RecallSettings, watch: Stopwatch
) -> list[Found]:
    with watch.stage("keyword"):
        hits = dict(keyword.search(source.connection, query.terms, settings.candidates))
    with watch.stage("vector"):
        similar = _similar(source, vector, hits, settings)
    with watch.stage("look_up"):
        standing = drawers.standing(source.connection, source.key, hits.keys() | similar.keys())
    # The same question asked before matches itself best: it is no measure for how well its answers match.
    answers = {number for number, facts in standing.items() if facts.content_hash != query.content_hash}
    matched = fusion.normalised(hits, settings.normalisation, len(query.terms), among=answers)
    return [
        Found(space=source.name, own=source.own, facts=facts, scores=_scores(number, matched, similar))
        for number, facts in standing.items()
        if number in matched or similar.get(number, -1.0) >= settings.min_similarity
    ]


def _similar(
    source: Snapshot, vector: Vectors | None, hits: Collection[int], settings: RecallSettings
) -> dict[int, float]:
    """Similarities of the nearest drawers, and of those that the words found: no channel gates another."""
    if source.vectors is None or vector is None:
        return {}
    near = source.vectors.similar(source.connection, vector, settings.candidates)
    return source.vectors.similarities(source.connection, vector, set(hits) - near.keys()) | near


def _scores(number: int, matched: dict[int, float], similar: dict[int, float]) -> dict[str, float]:
    """What each channel says of a drawer. Where the words found anything, not to be among it is a 0 as well."""
    scores = {}
    if matched:
        scores["keyword"] = matched.get(number, 0.0)
    if number in similar:
        scores["vector"] = similar[number]
    return scores


def _scored(found: Found, now: int, settings: RecallSettings) -> Found:
    factors = fusion.factors(own=found.own, origin=found.facts.origin, age=now - found.facts.said_at, settings=settings)
    score = fusion.fused(found.scores.get("keyword"), found.scores.get("vector"), settings)
    for factor in factors.values():
        score *= factor
    return Found(space=found.space, own=found.own, facts=found.facts, scores=found.scores, factors=factors, score=score)
