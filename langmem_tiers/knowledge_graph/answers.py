"""Turns a view of the graph, plus rows read at the same moment, into the records that callers get."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import Connection

from langmem_tiers import arguments
from langmem_tiers.clock import from_millis, to_millis
from langmem_tiers.context import SpaceContext
from langmem_tiers.knowledge import standing
from langmem_tiers.knowledge_graph.conflicts import bounds, displaced, version_at
from langmem_tiers.knowledge_graph.outdated import relation_line
from langmem_tiers.knowledge_graph.view import Asked, GraphView
from langmem_tiers.knowledge_graph.view_updates import merged_then
from langmem_tiers.language import periods
from langmem_tiers.language.periods import When
from langmem_tiers.language.predicates import normalise
from langmem_tiers.records import DISPLACING, Entity, GraphEvidence, Relation
from langmem_tiers.storage import merges, relations
from langmem_tiers.storage.change_log import Moment, moment
from langmem_tiers.storage.relations import RelationRow, VersionRow

if TYPE_CHECKING:
    import networkx as nx

    from langmem_tiers.store import SpaceStore


@dataclass(frozen=True, kw_only=True)
class Answers:
    """A view, with access to the rows behind it at the same moment."""

    view: GraphView
    store: SpaceStore
    moment: Moment

    @property
    def connection(self) -> Connection:
        """The connection that sees the rows."""
        return self.moment.connection

    @property
    def space(self) -> str:
        """The key of the space."""
        return self.store.key

    def entities(self, numbers: Iterable[int]) -> dict[int, Entity]:
        """Canonical entities, by number."""
        return {number: self.view.entity(number) for number in numbers if number in self.view.entities}

    def relations(self, numbers: Collection[int], known_at: int | None, at: datetime) -> list[Relation]:
        """Relations as believed at a moment, in this order, each fact once, with their evidence.

        What was said until `at` is held against them.
        """
        rows = [self.view.relations[number] for number in numbers]
        noted = [(row, version_at(row, known_at) or displaced(row, known_at)) for row in rows]
        facts = distinct(self.view, ((row, version) for row, version in noted if version is not None))
        causing = {each.version.cause for each in facts if each.version.cause in self.view.relations}
        causes = [self.view.relations[number] for number in causing if number is not None]
        ends = {number for row in (*rows, *causes) for number in (row.subject, row.object) if number is not None}
        known = {number: self.view.entity(self.view.canonical(number)) for number in ends}
        caused = {row.number: relations.cause(row, known) for row in causes}
        evidence = self._evidence(facts, known_at)
        made = [
            (each.row.believed, relations.relation(each.row, each.version, known, caused, evidence[each.row.number]))
            for each in facts
        ]
        return self.contradicted([one if believed else replace(one, withdrawn=True) for believed, one in made], at)

    def contradicted(self, found: Sequence[Relation], at: datetime) -> list[Relation]:
        """Relations with what was said later, until a moment, that contradicts them although nothing has ended them."""
        said = self.said_later([each.number for each in found if _is_current(each)], at)
        return [replace(each, said_later=said[each.number]) if each.number in said else each for each in found]

    def said_later(self, numbers: Iterable[int], at: datetime) -> dict[int, tuple[str, ...]]:
        """For those of the relations that were contradicted until a moment, what was said later."""
        lines = {number: relation_line(self.view, self.view.relations[number]) for number in numbers}
        return standing.in_relations(self.store, self.moment, lines, at)

    def _evidence(self, facts: Sequence[StatedFact], known_at: int | None) -> dict[int, tuple[GraphEvidence, ...]]:
        """The evidence of each relation, including that of relations that state the same fact."""
        also = repeated(self.view, facts, known_at)
        behind = {each.row.number: [*each.numbers, *also.get(each.row.number, ())] for each in facts}
        rests = relations.evidence(self.connection, self.space, [one for those in behind.values() for one in those])
        by_drawer = {
            number: {each.drawer: each for one in reversed(those) for each in rests.get(one, ())}
            for number, those in behind.items()
        }
        return {number: tuple(held[drawer] for drawer in sorted(held)) for number, held in by_drawer.items()}


def asked_for(
    now: datetime,
    *,
    predicates: Collection[str] | None = None,
    as_of: When | None = None,
    known_at: When | None = None,
    ended: bool = False,
    mentioned: bool = False,
) -> Asked:
    """A caller's filter on relations, checked; see `KnowledgeGraph.neighbours`.

    A year, month or day matches what held at any time in it.
    """
    first, behind = periods.span(now if as_of is None else as_of, now=now)
    known = None if known_at is None else periods.span(known_at, now=now)[1]
    every = arguments.flag(ended, "ended")
    of = None if predicates is None else arguments.texts(predicates, "predicates")
    return Asked(
        first=None if every else to_millis(first),
        last=None if every else to_millis(behind) - 1,
        known_at=None if known is None else to_millis(known) - 1,
        predicates=None if of is None else frozenset(map(normalise, of)),
        mentioned=arguments.flag(mentioned, "mentioned"),
    )


@contextmanager
def answering(context: SpaceContext, known_at: int | None = None) -> Iterator[Answers]:
    """The graph of a space now, with entities merged as they were at `known_at` (None: as they are now)."""
    with context.open() as store, store.reading() as connection:
        now = moment(connection, store.key)
        view = store.graph.view(now)
        if known_at is not None:
            view = merged_then(view, merges.every(connection, store.key), known_at)
        yield Answers(view=view, store=store, moment=now)


def _is_current(relation: Relation) -> bool:
    """Whether a relation is believed, said in so many words, and nothing has ended it."""
    return relation.kind == "stated" and not relation.withdrawn and relation.period.end is None


def heard(asked: Asked, now: datetime) -> datetime:
    """Until when what was said counts: now, or the moment asked about."""
    at = to_millis(now)
    if asked.first is not None and asked.last is not None:
        at = max(asked.first, min(at, asked.last))
    return from_millis(at if asked.known_at is None else min(at, asked.known_at))


def networkx_copy(view: GraphView, asked: Asked) -> nx.MultiDiGraph:
    """A copy of the selected relations; times are ISO 8601 strings, and unknown values are left out."""
    import networkx as nx

    copy = nx.MultiDiGraph()
    for node, data in view.links.nodes.items():
        if isinstance(node, int):
            copy.add_node(node, id=data["id"], name=data["name"], type=data["type"])
    hidden = view.hidden(asked.known_at)
    for row in distinct_rows(view, view.relations.values(), asked.known_at):
        version = version_at(row, asked.known_at)
        if version is None or not view.drawn(row):
            continue
        if not asked.holds(*bounds(version), hidden.get(row.number, ())):
            continue
        source, target = view.ends(row)
        if isinstance(target, str):
            copy.add_node(target, name=row.value if row.unit is None else f"{row.value} {row.unit}", type="value")
        period = relations.period(version)
        times = {"valid_from": period.start, "valid_to": period.end, "recorded_at": from_millis(version.recorded_at)}
        copy.add_edge(
            source,
            target,
            key=row.number,
            id=row.id,
            predicate=row.predicate,
            kind=row.kind,
            confidence=row.confidence / 100,
            **{name: at.isoformat() for name, at in times.items() if at is not None},
        )
    return copy


# What was said separately about two entities that have since been merged is shown once; stored relations keep each.


class StatedFact(NamedTuple):
    """A relation that represents `numbers`, which all state the same fact; `version` is their combined time."""

    row: RelationRow
    version: VersionRow
    numbers: tuple[int, ...]


def distinct(view: GraphView, noted: Iterable[tuple[RelationRow, VersionRow]]) -> list[StatedFact]:
    """Relations with their believed version, each fact once, at the place of the first that states it."""
    each = [StatedFact(row, version, (row.number,)) for row, version in noted]
    if not view.merged:
        return each
    by_fact: dict[Hashable, list[StatedFact]] = {}
    for one in each:
        by_fact.setdefault(_said(view, one), []).append(one)
    united = (one for same in by_fact.values() for one in (_united(same) if len(same) > 1 else same))
    place = {one.row.number: index for index, one in enumerate(each)}
    return sorted(united, key=lambda one: min(place[number] for number in one.numbers))


def distinct_rows(view: GraphView, given: Iterable[RelationRow], known_at: int | None = None) -> Iterator[RelationRow]:
    """Relations as believed at a moment (None: now), each fact once; other relations are passed through."""
    if not view.merged:
        yield from given
        return
    believed: list[tuple[RelationRow, VersionRow]] = []
    for row in given:
        version = version_at(row, known_at)
        if version is None:
            yield row
        else:
            believed.append((row, version))
    for one in distinct(view, believed):
        versions = (one.version if each.version == one.version.version else each for each in one.row.versions)
        yield one.row._replace(versions=tuple(versions))


def repeated(view: GraphView, shown: Sequence[StatedFact], known_at: int | None) -> dict[int, list[int]]:
    """For each relation that holds, the relations it displaced that state the same fact."""
    subjects = {view.canonical(one.row.subject) for one in shown} & view.merged.keys()
    by: dict[int, int] = {}
    for subject in subjects:
        for row in view.incident(subject):
            version = displaced(row, known_at)
            if version is not None and version.reason == "repeated" and version.cause is not None:
                by[row.number] = version.cause
    found: dict[int, list[int]] = {}
    for number in by:
        found.setdefault(_last_repeat(number, by), []).append(number)
    return found


def _last_repeat(number: int, by: Mapping[int, int]) -> int:
    """The relation that repeated one, or what repeated that since, and so on."""
    seen = {number}
    while (number := by[number]) in by and number not in seen:
        seen.add(number)
    return number


def alike(view: GraphView, number: int) -> list[int]:
    """The other relations that state the same fact for the same time, as believed now."""
    row = view.relations.get(number)
    if row is None or not view.merged:
        return []
    around = view.incident(view.canonical(row.subject))
    noted = [(each, version) for each in around if (version := version_at(each, None)) is not None]
    return [each for one in distinct(view, noted) if number in one.numbers for each in one.numbers if each != number]


def _said(view: GraphView, one: StatedFact) -> Hashable:
    """Identity of a fact; a relation untouched by merges, or that never holds, is a fact of its own."""
    row = one.row
    start, end = bounds(one.version)
    never = start >= end or one.version.reason in DISPLACING
    if never or not any(node in view.merged for node in view.ends(row)):
        return row.number
    return view.fact(row)


def _united(same: Sequence[StatedFact]) -> Iterator[StatedFact]:
    """Join the relations of one fact whose times touch; a gap in between keeps them apart."""
    waiting = sorted(same, key=lambda one: bounds(one.version))
    run = waiting[0]
    for one in waiting[1:]:
        if bounds(one.version)[0] > bounds(run.version)[1]:
            yield run
            run = one
        else:
            run = _both(run, one)
    yield run


def _both(first: StatedFact, second: StatedFact) -> StatedFact:
    """Combine two relations, `first` starting no later; the one of higher authority, or the older, represents both."""
    row, version = min(first[:2], second[:2], key=lambda one: (-one[0].authority, one[0].number))
    last = max(first.version, second.version, key=lambda each: bounds(each)[1])
    start = first.version
    whole = version._replace(
        valid_from=start.valid_from,
        from_unit=start.from_unit,
        from_stated=start.from_stated,
        valid_to=last.valid_to,
        to_unit=last.to_unit,
    )
    return StatedFact(row, whole, (*first.numbers, *second.numbers))
