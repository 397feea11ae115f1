"""What is known of those whom a message names: their relations as lines, and the drawers that these rest on.

A relation is found by the words of the message that it accounts for: the names of its ends, and what its predicate is
called. "Where did I live in 2023" is after what held in 2023, anything else after what holds now.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from langmem_tiers.clock import from_millis, to_millis
from langmem_tiers.knowledge_graph import asked, kinship, naming, once, predicates, resolving
from langmem_tiers.knowledge_graph.once import Told
from langmem_tiers.knowledge_graph.view import FOREVER, Asked, GraphView, bounds, version_at
from langmem_tiers.knowledge_graph.wording import date_words, period_words
from langmem_tiers.palace.words import asks_about_oneself, word_set, words
from langmem_tiers.recall.signals.temporal import spans
from langmem_tiers.settings import GraphSettings
from langmem_tiers.storage import relations

if TYPE_CHECKING:
    from langmem_tiers.knowledge_graph.types import GraphEvidence, Match
    from langmem_tiers.recall.query import Query
    from langmem_tiers.recall.request import RecallRequest
    from langmem_tiers.recall.sources import Snapshot
    from langmem_tiers.storage.relations import RelationRow

_DAY = 86_400_000
_BUILT_IN = GraphSettings()
# Of one entity so many relations are looked at, and of a message so many entities.
_LOOKED_AT, _ENTITIES = 200, 8
# A relation that accounts for less of a message says nothing to it.
_LEAST_SHARE = 0.3
# Who asks like this is after what was, too.
_BEFORE = {"before", "previously", "formerly", "former", "used", "earlier", "past", "ever", "history", "ago", "last"}
_BEFORE |= {"was", "were", "did", "had"}
# Words of the times that a message speaks of; what held then accounts for them.
_TIMES = {"last", "past", "previous", "year", "years", "month", "months", "week", "weeks", "day", "days", "ago", "back"}
_TIMES |= {"spring", "summer", "autumn", "fall", "winter", "early", "late", "beginning", "start", "end", "mid", "then"}
_TIMES |= word_set("january february march april may june july august september october november december today")
# Words of a message that ends something, or sets it right; one that says it again is no end.
_ENDS = re.compile(
    r"\b(?:no longer|not|never|no|any ?more|left|quit|sold|died|dead|passed away|broke up|split up|separated|divorced"
    r"|lost|former|ex|resigned|retired|fired|laid off|stopped|gave"
    r"|actually|correction|wrong|mistaken?|forget|scratch|new"
    r"|now|used to|moved|was|were)\b|n['’]t\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Related:
    """A relation that a message asks for, with the share of the message's words that it accounts for.

    `answers` says that the message asks what held at a time, and this did, or what holds of the user, where only one
    can: a line then tells that it does, also where the message that it rests on is quoted.
    """

    row: RelationRow
    text: str
    label: str
    share: float
    evidence: tuple[int, ...]
    answers: bool = False


def find(source: Snapshot, query: Query, request: RecallRequest, most: int) -> list[Related]:
    """The relations that fit, best first; nothing where the graph is empty or the message names nobody in it."""
    view = source.graph.view(source.moment)
    if not view.relations:
        return []
    search = _search(view, query, request)
    best = _once(view, sorted(search.hits(), key=lambda hit: (-hit[1], -hit[0])), search.known_at)[:most]
    rests = relations.evidence(source.connection, source.key, [each for one, _ in best for each in one.numbers])
    wanted = search.wanted()
    return [
        Related(
            row=one.row,
            text=_text(view, one.row),
            label=period_words(relations.period(one.version)),
            share=share,
            evidence=tuple(each.drawer for number in one.numbers for each in rests.get(number, ())),
            answers=one.row.predicate in wanted and search.is_answered_by(one.row),
        )
        for one, share in best
    ]


def _search(view: GraphView, query: Query, request: RecallRequest) -> _Search:
    """A message against a graph: whom it names, and the times that it is after."""
    now = to_millis(request.now)
    named = resolving.named_in(view, query.text, at=now)[:_ENTITIES]
    times = _spoken_of(query, request)
    known_at = None if request.until is None else to_millis(request.until)
    periods = [each._replace(known_at=known_at) for each in times or [_else_meant(query, now)]]
    return _Search(view, query, named, periods=periods, of_a_time=bool(times), known_at=known_at)


def _once(view: GraphView, hits: Sequence[tuple[int, float]], known_at: int | None) -> list[tuple[Told, float]]:
    """Relations with their share, each fact once."""
    rows = [view.relations[number] for number, _ in hits]
    noted = [(row, version) for row in rows if (version := version_at(row, known_at)) is not None]
    shares = dict(hits)
    return [(one, max(shares[number] for number in one.numbers)) for one in once.told(view, noted)]


def told(related: Sequence[Related]) -> dict[int, float]:
    """The drawers that relations rest on, with the best share of the message that these account for."""
    shares: dict[int, float] = {}
    for each in related:
        for drawer in each.evidence:
            shares[drawer] = max(shares.get(drawer, 0.0), each.share)
    return shares


@dataclass(frozen=True)
class _Search:
    """One message against one graph."""

    view: GraphView
    query: Query
    named: Sequence[Match]
    periods: Sequence[Asked]
    of_a_time: bool
    """Whether the message itself speaks of the times that are looked at."""
    known_at: int | None

    @cached_property
    def asked_for(self) -> Mapping[str, frozenset[str]]:
        """The words of the message that speak of predicates, with those."""
        return asked.asked(words(self.query.text))

    @cached_property
    def terms(self) -> frozenset[str]:
        """The words that a relation has to account for."""
        terms = frozenset(self.query.terms)
        if not self.of_a_time:
            return terms
        timeless = {term for term in terms - _TIMES if not any(sign.isdigit() for sign in term)}
        return frozenset(timeless) or terms

    def wanted(self) -> frozenset[str]:
        """The predicates asked for; none where all may be meant."""
        return frozenset().union(*self.asked_for.values())

    def is_answered_by(self, row: RelationRow) -> bool:
        """Whether a relation that is asked for is what held at the time, or the one that holds of the user now."""
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
        """Relations by number, with the share of the message that each accounts for; each once."""
        met: set[int] = set()
        for node, match in self._nodes():
            for number in self._of(node):
                if number not in met:
                    met.add(number)
                    share = self._share(self.view.relations[number], node, match)
                    if share >= _LEAST_SHARE:
                        yield number, share

    def _nodes(self) -> Iterator[tuple[int, Match]]:
        """The entities named; where all that is asked is who "my boss" is, the user before that one."""
        kin = next((match for match in self.named if match.found_by == "kinship"), None)
        user = self.view.user()
        if kin is not None and user is not None and self.asked_for and all(map(kinship.read, self.asked_for)):
            yield user, kin
        yield from ((self.view.canonical(match.entity.number), match) for match in self.named)

    def _of(self, node: int) -> Iterator[int]:
        """The relations of an entity that the message may be after: those asked for, else all."""
        for period in self.periods:
            found, _ = self.view.edges(node, period._replace(predicates=self.wanted() or None), _LOOKED_AT)
            yield from found

    def _share(self, row: RelationRow, node: int, match: Match) -> float:
        """How much of the message it accounts for, by words; of what is asked of the user, the predicate has to be."""
        accounts = {word for word, those in self.asked_for.items() if row.predicate in those}
        if self._turned(row, node, accounts):
            return 0.0
        accounts |= self._named_by(row.subject) | set(words(_target(self.view, row)))
        if match.found_by == "kinship":
            accounts |= self.terms & self.asked_for.keys()
        if self.view.user() == node and not accounts & (self.terms | self.asked_for.keys()):
            return 0.0
        return len(self.terms & accounts) / len(self.terms) * match.score if self.terms else 0.0

    def _turned(self, row: RelationRow, node: int, said: Collection[str]) -> bool:
        """Whether it is the other one's boss that somebody is, where their own is asked for."""
        forth = self.view.canonical(row.subject) == node or predicates.symmetric(row.predicate)
        return not forth and any(kinship.read(word) is not None for word in said) and self.view.user() == node

    def _named_by(self, number: int) -> set[str]:
        standing = self.view.canonical(number)
        names = (self.view.entities[standing].name, *self.view.aliases(standing))
        return {word for name in names for word in words(name)}


def _spoken_of(query: Query, request: RecallRequest) -> list[Asked]:
    """The times that a message speaks of."""
    times = spans(query.text, request.now.date())
    return [Asked(first=round(each.start * _DAY), last=round(each.stop * _DAY) - 1) for each in times]


def _else_meant(query: Query, now: int) -> Asked:
    """The time that a message is after which speaks of none: now, or all where it asks what was before."""
    return Asked() if _BEFORE & set(words(query.text)) else Asked(first=now, last=now)


class Ended(NamedTuple):
    """Something that a drawer says and that holds no longer: "lives in Lisbon: until 2024-05", and what it led to."""

    text: str
    target: str


def ended(source: Snapshot, numbers: Collection[int], at: int) -> dict[int, list[Ended]]:
    """For drawers, what they say that holds no longer at a moment."""
    view = source.graph.view(source.moment)
    found: dict[int, list[Ended]] = {}
    if view.relations and numbers:
        resting = relations.resting(source.connection, source.key, numbers)
        rests = relations.evidence(source.connection, source.key, {relation for _, relation in resting})
        for drawer, relation in resting:
            row = view.relations.get(relation)
            says_so = row is not None and _says_the_end(row, drawer, rests.get(relation, ()))
            if row is not None and row.kind == "stated" and not says_so and (until := _over(row, at)):
                target = _target(view, row)
                found.setdefault(drawer, []).append(Ended(f"{_predicate(row)} {target}: {until}", target))
    return found


def _says_the_end(row: RelationRow, drawer: int, rests: Sequence[GraphEvidence]) -> bool:
    """Whether a drawer is what ended a relation, or took it back, rather than one that says it."""
    version = version_at(row, None) or row.last
    several = len({each.drawer for each in rests}) > 1
    if version.reason not in {"ended", "withdrawn"} or not several or drawer != rests[-1].drawer:
        return False
    return any(_ENDS.search(each.quote) for each in rests if each.drawer == drawer)


def text(source: Snapshot, relation_id: str) -> str:
    """A relation as it is shown, empty where it is gone."""
    row = relations.of_id(source.connection, source.key, relation_id)
    return "" if row is None else _text(source.graph.view(source.moment), row)


def _text(view: GraphView, row: RelationRow) -> str:
    return f"{_name(view, row.subject)} {_predicate(row)} {_target(view, row)}"


def _predicate(row: RelationRow) -> str:
    return row.predicate.replace("_", " ")


def _name(view: GraphView, number: int) -> str:
    """The name of the entity that stands for a number."""
    name = view.entities[view.canonical(number)].name
    return "The user" if name == naming.USER else name


def _target(view: GraphView, row: RelationRow) -> str:
    """What a relation leads to, in words."""
    if row.object is not None:
        return _name(view, row.object)
    return str(row.value) if row.unit is None else f"{row.value} {row.unit}"


def _over(row: RelationRow, at: int) -> str:
    """Until when a relation held, empty where it still does."""
    version = version_at(row, None)
    if version is None:
        return "not so"
    start, end = bounds(version)
    if start < end and (end == FOREVER or end > at):
        return ""
    return f"until {date_words(from_millis(end), version.to_unit)}" if start < end else "not so"
