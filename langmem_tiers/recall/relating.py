"""What is known of those whom a message names: their relations as lines, and the drawers that these rest on.

A relation is found by the words of the message that it accounts for: the names of its ends, and what its predicate is
called. "Where did I live in 2023" is after what held in 2023, anything else after what holds now.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from langmem_tiers.clock import from_millis, to_millis
from langmem_tiers.knowledge_graph import asked, naming, resolving
from langmem_tiers.knowledge_graph.view import FOREVER, Asked, GraphView, bounds, version_at
from langmem_tiers.knowledge_graph.wording import date_words, period_words
from langmem_tiers.palace.words import words
from langmem_tiers.recall.signals.temporal import spans
from langmem_tiers.storage import relations

if TYPE_CHECKING:
    from langmem_tiers.knowledge_graph.types import Match
    from langmem_tiers.recall.query import Query
    from langmem_tiers.recall.request import RecallRequest
    from langmem_tiers.recall.sources import Snapshot
    from langmem_tiers.storage.relations import RelationRow

_DAY = 86_400_000
# Of one entity so many relations are looked at, and of a message so many entities.
_LOOKED_AT, _ENTITIES = 200, 8
# A relation that accounts for less of a message says nothing to it.
_LEAST_SHARE = 0.3
# Who asks like this is after what was, too.
_BEFORE = {"before", "previously", "formerly", "former", "used", "earlier", "past", "ever", "history", "ago", "last"}
_BEFORE |= {"was", "were", "did", "had"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Related:
    """A relation that a message asks for, with the share of the message's words that it accounts for."""

    row: RelationRow
    text: str
    label: str
    share: float
    evidence: tuple[int, ...]


def find(source: Snapshot, query: Query, request: RecallRequest, most: int) -> list[Related]:
    """The relations that fit, best first; nothing where the graph is empty or the message names nobody in it."""
    view = source.graph.view(source.moment)
    if not view.relations:
        return []
    now = to_millis(request.now)
    named = resolving.named_in(view, query.text, at=now)[:_ENTITIES]
    if not named:
        return []
    search = _Search(view, query, named, periods=_periods(query, request, now))
    best = sorted(search.hits(), key=lambda hit: (-hit[1], -hit[0]))[:most]
    rests = relations.evidence(source.connection, source.key, [number for number, _ in best])
    return [
        Related(
            row=row,
            text=_text(view, row),
            label=_when(row, request),
            share=share,
            evidence=tuple(each.drawer for each in rests.get(number, ())),
        )
        for number, share in best
        for row in (view.relations[number],)
    ]


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

    def hits(self) -> Iterator[tuple[int, float]]:
        """Relations by number, with the share of the message that each accounts for; each once."""
        said = words(self.query.text)
        asked_for = asked.asked(said)
        met: set[int] = set()
        for match in self.named:
            node = self.view.canonical(match.entity.number)
            for number in self._of(node, asked_for):
                if number not in met:
                    met.add(number)
                    share = self._share(self.view.relations[number], match, asked_for)
                    if share >= _LEAST_SHARE:
                        yield number, share

    def _of(self, node: int, asked_for: dict[str, frozenset[str]]) -> Iterator[int]:
        """The relations of an entity that the message may be after: those asked for, else all."""
        wanted = frozenset().union(*asked_for.values()) if asked_for else None
        for period in self.periods:
            found, _ = self.view.edges(node, period._replace(predicates=wanted), _LOOKED_AT)
            yield from found

    def _share(self, row: RelationRow, match: Match, asked_for: dict[str, frozenset[str]]) -> float:
        """How much of the message it accounts for, by words; of what is asked of the user, the predicate has to be."""
        terms = set(self.query.terms)
        accounts = {word for word, those in asked_for.items() if row.predicate in those}
        accounts |= self._named_by(row.subject) | set(words(_target(self.view, row)))
        if match.found_by == "kinship":
            accounts |= {word for word in terms if word in asked_for and word not in accounts}
        if self.periods[0].first is not None:
            accounts |= {term for term in terms if any(sign.isdigit() for sign in term)}
        of_the_user = self.view.user() == self.view.canonical(match.entity.number)
        if of_the_user and not (accounts & terms or accounts & asked_for.keys()):
            return 0.0
        if not terms:
            return 0.0
        return len(terms & accounts) / len(terms) * match.score

    def _named_by(self, number: int) -> set[str]:
        row = self.view.entities[self.view.canonical(number)]
        return {word for name in (row.name, *row.aliases) for word in words(name)}


def _periods(query: Query, request: RecallRequest, now: int) -> list[Asked]:
    """The times that a message is after: those it speaks of, or now, or all where it asks what was before."""
    known_at = None if request.until is None else to_millis(request.until)
    times = spans(query.text, request.now.date())
    if times:
        return [
            Asked(first=round(each.start * _DAY), last=round(each.stop * _DAY) - 1, known_at=known_at) for each in times
        ]
    if _BEFORE & set(words(query.text)):
        return [Asked(known_at=known_at)]
    return [Asked(first=now, last=now, known_at=known_at)]


class Ended(NamedTuple):
    """Something that a drawer says and that holds no longer: "lives in Lisbon: until 2024-05", and what it led to."""

    text: str
    target: str


def ended(source: Snapshot, numbers: Collection[int], at: int) -> dict[int, list[Ended]]:
    """For drawers, what they say that holds no longer at a moment."""
    view = source.graph.view(source.moment)
    found: dict[int, list[Ended]] = {}
    if view.relations and numbers:
        for drawer, relation in relations.resting(source.connection, source.key, numbers):
            row = view.relations.get(relation)
            if row is not None and row.kind == "stated" and (until := _over(row, at)):
                target = _target(view, row)
                found.setdefault(drawer, []).append(Ended(f"{_predicate(row)} {target}: {until}", target))
    return found


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


def _when(row: RelationRow, request: RecallRequest) -> str:
    version = version_at(row, None if request.until is None else to_millis(request.until))
    return "" if version is None else period_words(relations.period(version))
