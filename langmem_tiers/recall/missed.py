"""Why the search channels did not find a memory for a message, and how near it came on each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from langmem_tiers.clock import from_millis, to_millis
from langmem_tiers.knowledge_graph import entity_lookup
from langmem_tiers.knowledge_graph.wording import date_words
from langmem_tiers.language.words import codes, stem, words
from langmem_tiers.matching import coverage
from langmem_tiers.recall import candidates
from langmem_tiers.recall.derived_hits import LOOKED_AT
from langmem_tiers.recall.request import Query, RecallRequest
from langmem_tiers.recall.sources import SpaceSnapshot
from langmem_tiers.recall.telemetry import Stopwatch
from langmem_tiers.records import Relation
from langmem_tiers.wording import counted

if TYPE_CHECKING:
    from langmem_tiers.recall.references import NamedMemory
    from langmem_tiers.storage.embedding_cache import Vectors
    from langmem_tiers.types import MemoryKind

_ANY = -1.0
_EVERY = 1_000_000
_NAMED = 5


@dataclass(frozen=True, kw_only=True)
class Missed:
    """What each channel says of a memory that none of them found: its scores, and one reason for each."""

    scores: Mapping[str, float] = field(default_factory=dict)
    signals: Mapping[str, float] = field(default_factory=dict)
    factors: Mapping[str, float] = field(default_factory=dict)
    score: float | None = None
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Search:
    """A message that was searched for: with which words and vector, in which spaces."""

    sources: Sequence[SpaceSnapshot]
    query: Query
    vector: Vectors | None
    request: RecallRequest

    def source(self, space: str) -> SpaceSnapshot:
        """The space of this name."""
        return next(each for each in self.sources if each.name == space)


def missed(search: Search, named: NamedMemory) -> Missed:
    """Why the channels did not find a memory that was there."""
    if named.kind == "message":
        return _message(search, named.space, int(named.key))
    if isinstance(named.record, Relation):
        return Missed(reasons=_of_relation(search, named.space, named.record))
    return _note(search, named)


def _message(search: Search, space: str, number: int) -> Missed:
    """A message, as if it had been looked at all the same."""
    query, request = search.query, search.request
    said = {source.name: candidates.by_words(source, query, request) for source in search.sources}
    how = {"watch": Stopwatch(), "said": said, "needed": {space: {number: 0.0}}}
    ranked = candidates.find(search.sources, query, search.vector, request, **how)  # type: ignore[arg-type]
    found = next((each for each in ranked if each.key == (space, number)), None)
    if found is None:
        return Missed(reasons=("It is not among the current messages of its conversation.",))
    scores = {name: value for name, value in found.scores.items() if name != "needed"}
    nearer = _places(search, search.source(space), number)
    reasons = (*_reasons(search, scores, nearer), _named_in_graph(search, search.source(space)))
    signals = {name: value for name, value in found.signals.items() if name != "needed"}
    return Missed(scores=scores, signals=signals, factors=found.factors, score=found.score, reasons=reasons)


def _places(search: Search, source: SpaceSnapshot, number: int) -> dict[str, int]:
    """How many other messages each channel puts before this one."""
    store, at = source.store, source.drawers_at
    shares = coverage(*store.words.holding(at, search.query.terms), codes(search.query.terms)).best(_EVERY)
    before = {"keyword": sum(1 for share in shares.values() if share >= shares.get(number, 0.0)) - (number in shares)}
    if search.vector is not None and store.vectors is not None:
        most = search.request.settings.candidates
        near = store.vectors.similar(at, search.vector, most)
        before["vector"] = len([each for each in near if each != number])
    return before


def _note(search: Search, named: NamedMemory) -> Missed:
    """An entry, a summary, a document or an item: these are searched in pieces, of which the best counts."""
    source, how = search.source(named.space), search.request.settings
    all_of_them = how.model_copy(update={"min_similarity": _ANY})
    hits = source.store.notes.search(source.moment, search.query.terms, search.vector, _EVERY, settings=all_of_them)
    own = next((hit for hit in hits if (hit.kind, hit.ref) == (named.kind, named.key)), None)
    if own is None:
        return Missed(reasons=(_not_searched(named.kind, source, search.vector),))
    channels = {"keyword": own.keyword, "vector": own.vector}
    scores = {name: round(value, 4) for name, value in channels.items() if value is not None}
    fits = [hit for hit in hits if (hit.keyword or 0) > 0 or (hit.vector or 0) >= how.min_similarity]
    if own in fits:
        looked_at, place = how.knowledge * LOOKED_AT, fits.index(own) + 1
        reason = f"It matches, but {counted(place - 1, 'piece')} of entries, summaries and notes match better, and the "
        return Missed(scores=scores, reasons=(f"{reason}{looked_at} best were looked at.",))
    return Missed(scores=scores, reasons=(*_reasons(search, scores, {}), _named_in_graph(search, source)))


def _not_searched(kind: MemoryKind, source: SpaceSnapshot, vector: Vectors | None) -> str:
    if kind == "document":
        return "Only Markdown documents are searched."
    waits = "" if vector is None or source.store.vectors is None else ", and its vector may not be made yet"
    return f"It has none of the words of the message{waits}."


def _reasons(search: Search, scores: Mapping[str, float], nearer: Mapping[str, int]) -> tuple[str, ...]:
    """What the words and the meaning of a memory lack."""
    return _of_words(search, scores.get("keyword"), nearer), _of_meaning(search, scores.get("vector"), nearer)


def _of_words(search: Search, share: float | None, nearer: Mapping[str, int]) -> str:
    terms, most = search.query.terms, search.request.settings.candidates
    if not share:
        return (
            f"Words: it has none of {', '.join(terms[:_NAMED])}."
            if terms
            else "Words: the message has none to look for."
        )
    before = nearer.get("keyword", 0)
    covered = f"Words: it covers {share:.0%} of what the message says"
    return f"{covered}; {before:,} others cover as much or more, and the {most} best were looked at."


def _of_meaning(search: Search, similarity: float | None, nearer: Mapping[str, int]) -> str:
    settings = search.request.settings
    if search.vector is None:
        return "Meaning: without an embedder, only words are compared."
    if similarity is None:
        return "Meaning: it has no vector yet; background work makes it."
    if similarity < settings.min_similarity:
        return f"Meaning: its similarity is {similarity:.2f}, and at least {settings.min_similarity:.2f} is looked at."
    before = nearer.get("vector", 0)
    return f"Meaning: its similarity is {similarity:.2f}; the {before:,} that were looked at come nearer."


def _named_in_graph(search: Search, source: SpaceSnapshot) -> str:
    names = _names(search, source)
    if not names:
        return "Graph: the message names nobody and nothing that the graph knows."
    return f"Graph: the message names {', '.join(names)}, and no relation asked for rests on it."


def _names(search: Search, source: SpaceSnapshot) -> list[str]:
    view = source.store.graph.view(source.moment)
    found = entity_lookup.named_in(view, search.query.text, at=to_millis(search.request.now))
    return [match.entity.name for match in found[:_NAMED]]


def _of_relation(search: Search, space: str, relation: Relation) -> tuple[str, ...]:
    """Why a relation does not fit: whom the message names, and the time it asks about."""
    source, now = search.source(space), search.request.now
    names, ends = _names(search, source), [relation.subject.name, relation.target]
    if not names:
        return (f"Graph: the message names nobody that the graph knows, so not {' or '.join(ends)} either.",)
    if not set(names) & set(ends):
        return (f"Graph: the message names {', '.join(names)}, and this is about {' and '.join(ends)}.",)
    if not relation.period.holds(now):
        return (f"Graph: it held {_held(relation, now)}, and the message asks about another time.",)
    said = {stem(word) for word in words(search.query.text)}
    own = {stem(word) for word in words(f"{relation.said} {relation.predicate.replace('_', ' ')}")}
    shared = ", ".join(sorted(said & own)) or "no word of it"
    return (f"Graph: the message names {', '.join(names)}, but explains too little of itself by this: {shared}.",)


def _held(relation: Relation, now: datetime) -> str:
    period = relation.period
    if period.end is not None and period.end <= now:
        return f"until {date_words(period.end, period.end_unit)}"
    return f"from {date_words(period.start or from_millis(0), period.start_unit)}"
