"""The graph channel: relations of the entities a message names, as lines, and the drawers they rest on.

A relation is scored by the words of the message that it explains: the names of its ends, and its predicate's words.
"Where did I live in 2023" asks for what held in 2023, anything else for what holds now.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from langmem_tiers.clock import to_millis
from langmem_tiers.knowledge_graph import entity_lookup, outdated
from langmem_tiers.knowledge_graph.answers import StatedFact, distinct
from langmem_tiers.knowledge_graph.conflicts import version_at
from langmem_tiers.knowledge_graph.outdated import asks_first, relation_line, target_words
from langmem_tiers.knowledge_graph.view import Asked, GraphView
from langmem_tiers.knowledge_graph.wording import period_words
from langmem_tiers.language import kinship, predicates
from langmem_tiers.language.calendar import MONTHS
from langmem_tiers.language.questions import spans
from langmem_tiers.language.word_lists import units
from langmem_tiers.language.words import asks_about_oneself, words
from langmem_tiers.lazy_property import lazy_property
from langmem_tiers.recall.request import Query, RecallRequest
from langmem_tiers.recall.sources import SpaceSnapshot
from langmem_tiers.settings import GraphSettings
from langmem_tiers.storage import relations

if TYPE_CHECKING:
    from langmem_tiers.knowledge_graph.types import Match
    from langmem_tiers.storage.relations import RelationRow

_DAY = 86_400_000
_BUILT_IN = GraphSettings()
# Limits: relations per entity, and entities per message.
_LOOKED_AT, _ENTITIES = 200, 8
# A relation that explains less of a message is irrelevant to it.
_LEAST_SHARE = 0.3
# Phrases that ask for the past as well.
_BEFORE = {"before", "previously", "formerly", "former", "used", "earlier", "past", "ever", "history", "ago", "last"}
_BEFORE |= {"was", "were", "did", "had"}
# Words for times in a message; relations that held then explain them.
_TIMES = {form for unit in units("counted") for form in (unit, f"{unit}s")}
_TIMES |= {*MONTHS, "today", "last", "past", "previous", "ago", "back"}
_TIMES |= {"spring", "summer", "autumn", "fall", "winter", "early", "late", "beginning", "start", "end", "mid", "then"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Related:
    """A relation that a message asks for, with the share of the message's words that it explains.

    `answers` means that it directly answers the message: it held at the time asked about, or is the user's present
    value of a single-valued predicate. It is then shown even if the message it rests on is quoted.
    """

    row: RelationRow
    text: str
    label: str
    share: float
    evidence: tuple[int, ...]
    asks_first: bool
    answers: bool = False


def find(source: SpaceSnapshot, query: Query, request: RecallRequest) -> list[Related]:
    """The relations that fit, best first; empty if the graph is, or the message names no one in it."""
    view = source.store.graph.view(source.moment)
    if not view.relations:
        return []
    search = _search(view, query, request)
    hits = sorted(search.hits(), key=lambda hit: (-hit[1], -hit[0]))
    best = _each_fact_once(view, hits)[: request.settings.candidates]
    rests = relations.evidence(source.connection, source.key, [each for fact, _ in best for each in fact.numbers])
    planned = outdated.planned(source.connection, source.key, [fact.row for fact, _ in best])
    wanted = search.wanted()
    return [
        Related(
            row=fact.row,
            text=relation_line(view, fact.row),
            label=period_words(relations.period(fact.version), planned=fact.row.number in planned),
            share=share,
            evidence=tuple(each.drawer for number in fact.numbers for each in rests.get(number, ())),
            asks_first=asks_first(view, fact.row),
            answers=fact.row.predicate in wanted and search.is_answered_by(fact.row),
        )
        for fact, share in best
    ]


def _search(view: GraphView, query: Query, request: RecallRequest) -> _Search:
    """A message against a graph: whom it names, and the times it asks about."""
    now = to_millis(request.now)
    said = spans(query.text, request.now.date())
    periods = [Asked(first=round(each.start * _DAY), last=round(each.stop * _DAY) - 1) for each in said]
    if not periods:  # it mentions no time: it asks about now, or about all times if it asks about the past
        periods = [Asked() if _asks_of_the_past(query.text) else Asked(first=now, last=now)]
    return _Search(
        view,
        query,
        entity_lookup.named_in(view, query.text, at=now)[:_ENTITIES],
        periods=periods,
        of_a_time=bool(said),
    )


def _asks_of_the_past(question: str) -> bool:
    """Whether it asks for what was, or for what happened: that is always past."""
    said = words(question)
    return not _BEFORE.isdisjoint(said) or predicates.asks_of_events(said)


def _each_fact_once(view: GraphView, hits: Sequence[tuple[int, float]]) -> list[tuple[StatedFact, float]]:
    rows = [view.relations[number] for number, _ in hits]
    noted = [(row, version) for row in rows if (version := version_at(row, None)) is not None]
    shares = dict(hits)
    return [(fact, max(shares[number] for number in fact.numbers)) for fact in distinct(view, noted)]


def drawers_behind(related: Sequence[Related]) -> dict[int, float]:
    """The drawers that relations rest on, each with the largest share of the message explained."""
    shares: dict[int, float] = {}
    for each in related:
        for drawer in each.evidence:
            shares[drawer] = max(shares.get(drawer, 0.0), each.share)
    return shares


@dataclass(frozen=True)
class _Search:
    """One message searched in one graph."""

    view: GraphView
    query: Query
    named: Sequence[Match]
    periods: Sequence[Asked]
    of_a_time: bool
    """Whether the message itself mentions these times."""

    @lazy_property
    def asked_for(self) -> Mapping[str, frozenset[str]]:
        """The words of the message that name predicates, with those predicates."""
        return predicates.asked(words(self.query.text))

    @lazy_property
    def terms(self) -> frozenset[str]:
        """The words that a relation has to explain."""
        terms = frozenset(self.query.terms)
        if not self.of_a_time:
            return terms
        timeless = {term for term in terms - _TIMES if not any(sign.isdigit() for sign in term)}
        return frozenset(timeless) or terms

    def wanted(self) -> frozenset[str]:
        """The predicates asked for; empty if any may be meant."""
        return frozenset().union(*self.asked_for.values())

    def is_answered_by(self, row: RelationRow) -> bool:
        """Whether a relation asked for is what held at the time, or the user's current one."""
        if self.of_a_time:
            return True
        of_now = all(period.first is not None for period in self.periods)
        own = self.view.canonical(row.subject) == self.view.user()
        return (
            of_now
            and own
            and predicates.single_valued(row.predicate, _BUILT_IN)
            and asks_about_oneself(self.query.text)
        )

    def hits(self) -> Iterator[tuple[int, float]]:
        """Relations by number, with the share of the message that each explains; each once."""
        met: set[int] = set()
        for node, match in self._nodes():
            for number in self._of(node):
                if number not in met and self._is_in_time(self.view.relations[number]):
                    met.add(number)
                    share = self._share(self.view.relations[number], node, match)
                    if share >= _LEAST_SHARE:
                        yield number, share

    def _is_in_time(self, row: RelationRow) -> bool:
        """Whether an event began in the time that the message mentions; what is so only has to hold then."""
        begun = row.last.valid_from
        if not self.of_a_time or begun is None or not predicates.of_event(row.predicate):
            return True
        exact = row.last.from_unit == "moment"
        return any(not exact or period.first is None or begun >= period.first for period in self.periods)

    def _nodes(self) -> Iterator[tuple[int, Match]]:
        """The entities named; if the message only asks who "my boss" is, the user comes before that one."""
        kin = next((match for match in self.named if match.found_by == "kinship"), None)
        user = self.view.user()
        if kin is not None and user is not None and self.asked_for and all(map(kinship.read, self.asked_for)):
            yield user, kin
        yield from ((self.view.canonical(match.entity.number), match) for match in self.named)

    def _of(self, node: int) -> Iterator[int]:
        """The relations of an entity that the message may ask for: the named predicates, else all."""
        for period in self.periods:
            found, _ = self.view.edges(node, period._replace(predicates=self.wanted() or None), _LOOKED_AT)
            yield from found

    def _share(self, row: RelationRow, node: int, match: Match) -> float:
        """The share of the message explained, by words; for a question about the user, the predicate must match."""
        accounts = {word for word, those in self.asked_for.items() if row.predicate in those}
        if self._turned(row, node, accounts):
            return 0.0
        accounts |= self._named_by(row.subject) | set(words(target_words(self.view, row)))
        if match.found_by == "kinship":
            accounts |= self.terms & self.asked_for.keys()
        if self.view.user() == node and not accounts & (self.terms | self.asked_for.keys()):
            return 0.0
        return len(self.terms & accounts) / len(self.terms) * match.score if self.terms else 0.0

    def _turned(self, row: RelationRow, node: int, said: Collection[str]) -> bool:
        """Whether it is the reverse: someone is the other one's boss, but the message asks for their own."""
        forth = self.view.canonical(row.subject) == node or predicates.symmetric(row.predicate)
        return not forth and any(kinship.read(word) is not None for word in said) and self.view.user() == node

    def _named_by(self, number: int) -> set[str]:
        standing = self.view.canonical(number)
        names = (self.view.entities[standing].name, *self.view.aliases(standing))
        return {word for name in names for word in words(name)}


def of_ids(source: SpaceSnapshot, ids: Mapping[str, float]) -> list[Related]:
    """Relations by id, each with the share of a message that it answers."""
    view = source.store.graph.view(source.moment)
    rows = [
        view.relations[view_row.number]
        for each in ids
        if (view_row := relations.of_id(source.connection, source.key, each))
    ]
    rests = relations.evidence(source.connection, source.key, [row.number for row in rows])
    planned = outdated.planned(source.connection, source.key, rows)
    return [
        Related(
            row=row,
            text=relation_line(view, row),
            label=period_words(relations.period(row.last), planned=row.number in planned),
            share=ids[row.id],
            evidence=tuple(each.drawer for each in rests.get(row.number, ())),
            asks_first=asks_first(view, row),
        )
        for row in rows
    ]


def text(source: SpaceSnapshot, relation_id: str) -> str:
    """A relation as shown; an empty string if it is gone."""
    row = relations.of_id(source.connection, source.key, relation_id)
    return "" if row is None else relation_line(source.store.graph.view(source.moment), row)
