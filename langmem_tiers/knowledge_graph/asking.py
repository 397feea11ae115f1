"""Questions of the graph: what is around an entity, the ways between two, timelines, and what changed.

Each is answered from one moment of the records, by the graph in memory; only the evidence of what is shown is read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from langmem_tiers import arguments
from langmem_tiers.clock import from_millis, to_millis
from langmem_tiers.errors import InvalidInput, InvalidPeriod
from langmem_tiers.knowledge_graph import once, periods, predicates, resolving, walking
from langmem_tiers.knowledge_graph.displaced import contradicted, displaced
from langmem_tiers.knowledge_graph.growing import merged_then
from langmem_tiers.knowledge_graph.happened import events
from langmem_tiers.knowledge_graph.types import (
    Entity,
    GraphChange,
    GraphEvidence,
    Paths,
    Relation,
    Subgraph,
    Timeline,
    When,
)
from langmem_tiers.knowledge_graph.view import FOREVER, Asked, GraphView, bounds, version_at
from langmem_tiers.knowledge_graph.walking import Limits
from langmem_tiers.storage import entities, merges, relations
from langmem_tiers.storage.change_log import moment

if TYPE_CHECKING:
    import networkx as nx

    from langmem_tiers.knowledge_graph.once import Told
    from langmem_tiers.space import Space
    from langmem_tiers.storage.entities import EntityRow
    from langmem_tiers.storage.relations import RelationRow, VersionRow

# Steps of a way between two entities.
_LONGEST_WAY = 6


@dataclass(frozen=True, kw_only=True)
class Answering:
    """A view, and what is read beside it at the same moment."""

    view: GraphView
    connection: Connection
    space: str

    def entities(self, numbers: Iterable[int]) -> dict[int, Entity]:
        """Entities that stand, by number."""
        rows = self.view.entities
        return {number: self._entity(rows[number]) for number in numbers if number in rows}

    def _entity(self, row: EntityRow) -> Entity:
        return entities.entity(row._replace(aliases=self.view.aliases(row.number)), {})

    def relations(self, numbers: Collection[int], known_at: int | None) -> list[Relation]:
        """Relations as they were believed at a moment, in this order and each fact once, with what they rest on."""
        rows = [self.view.relations[number] for number in numbers]
        noted = [(row, version_at(row, known_at) or displaced(row, known_at)) for row in rows]
        told = once.told(self.view, ((row, version) for row, version in noted if version is not None))
        causes = self._causes(each.version for each in told)
        known = self._ends((*rows, *causes))
        caused = {row.number: relations.cause(row, known) for row in causes}
        rests = self._rests(told, known_at)
        made = [
            (each.row.believed, relations.relation(each.row, each.version, known, caused, rests[each.row.number]))
            for each in told
        ]
        return [one if believed else replace(one, withdrawn=True) for believed, one in made]

    def _rests(self, told: Sequence[Told], known_at: int | None) -> dict[int, tuple[GraphEvidence, ...]]:
        """What relations rest on, with what those do that say the same."""
        also = once.repeated(self.view, told, known_at)
        behind = {each.row.number: [*each.numbers, *also.get(each.row.number, ())] for each in told}
        rests = relations.evidence(self.connection, self.space, [one for those in behind.values() for one in those])
        by_drawer = {
            number: {each.drawer: each for one in reversed(those) for each in rests.get(one, ())}
            for number, those in behind.items()
        }
        return {number: tuple(held[drawer] for drawer in sorted(held)) for number, held in by_drawer.items()}

    def _causes(self, versions: Iterable[VersionRow]) -> list[RelationRow]:
        """The relations that made others so."""
        numbers = {version.cause for version in versions if version.cause is not None}
        return [self.view.relations[number] for number in numbers if number in self.view.relations]

    def _ends(self, rows: Iterable[RelationRow]) -> dict[int, Entity]:
        """The entities that relations are between, by the numbers said."""
        ends = {number: self.view.canonical(number) for row in rows for number in _named(row)}
        standing = self.entities(set(ends.values()))
        return {number: standing[end] for number, end in ends.items()}


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Which relations somebody asks for, as they say it; see `KnowledgeGraph.neighbours`."""

    predicates: Collection[str] | None = None
    as_of: When | None = None
    known_at: When | None = None
    ended: bool = False
    mentioned: bool = False

    def asked(self, now: datetime) -> Asked:
        """The same, checked and in numbers. Of a year, month or day: what held at some time in it."""
        first, behind = periods.span(now if self.as_of is None else self.as_of, now=now)
        known = None if self.known_at is None else periods.span(self.known_at, now=now)[1]
        every = arguments.flag(self.ended, "ended")
        of = None if self.predicates is None else arguments.texts(self.predicates, "predicates")
        return Asked(
            first=None if every else to_millis(first),
            last=None if every else to_millis(behind) - 1,
            known_at=None if known is None else to_millis(known) - 1,
            predicates=None if of is None else frozenset(map(predicates.normalise, of)),
            mentioned=arguments.flag(self.mentioned, "mentioned"),
        )


def neighbours(space: Space, which: Sequence[str], wanted: Wanted, *, depth: int, limit: int | None) -> Subgraph:
    """What is around entities; see `KnowledgeGraph.neighbours`."""
    settings, now = space.memory.settings.graph, space.memory.clock()
    steps = _steps(depth, settings.depth)
    most = arguments.optional_whole(limit, "limit", least=1)
    asked = wanted.asked(now)
    limits = Limits(
        depth=steps,
        fan_out=settings.fan_out,
        results=most or settings.results,
        first=max(settings.fan_out, most or 0),
    )
    named = arguments.texts(which, "entities")
    with answering(space, asked.known_at) as answer:
        starts = dict.fromkeys(resolving.required(answer.view, name) for name in named)
        return around(answer, list(starts), asked, limits)


def around(answer: Answering, starts: Sequence[int], asked: Asked, limits: Limits) -> Subgraph:
    """What is around entities that are known by number."""
    walked = walking.around(answer.view, starts, asked, limits)
    found = answer.entities(walked.distance)
    return Subgraph(
        entities=tuple(found.values()),
        relations=tuple(answer.relations(walked.relations, asked.known_at)),
        distance={found[number].id: steps for number, steps in walked.distance.items()},
        cut=tuple(walked.cut),
    )


def paths(space: Space, start: str, end: str, wanted: Wanted, *, depth: int, limit: int) -> Paths:
    """How two entities are connected; see `KnowledgeGraph.paths`."""
    settings, asked = space.memory.settings.graph, wanted.asked(space.memory.clock())
    limits = Limits(
        depth=arguments.whole(depth, "depth", least=1, most=_LONGEST_WAY),
        fan_out=settings.fan_out,
        results=arguments.whole(limit, "limit", least=1),
        first=settings.fan_out,
    )
    with answering(space, asked.known_at) as answer:
        first = resolving.required(answer.view, arguments.text(start, "start"))
        last = resolving.required(answer.view, arguments.text(end, "end"))
        if first == last:
            name = answer.view.entities[first].name
            raise InvalidInput(f"Both are {name}: there is no way from an entity to itself.", way_out="Name two.")
        found = walking.ways(answer.view, first, last, asked, limits)
        ways = [answer.relations(way, asked.known_at) for way in found.ways]
        return Paths(paths=tuple(map(tuple, ways)), cut=tuple(found.cut))


def timeline(space: Space, entity: str, *, known_at: When | None = None, limit: int | None = None) -> Timeline:
    """Everything that was ever said of an entity; see `KnowledgeGraph.timeline`. What is cut is what began first."""
    most = arguments.optional_whole(limit, "limit", least=1) or space.memory.settings.graph.results
    asked = Wanted(known_at=known_at, ended=True).asked(space.memory.clock())
    with answering(space, asked.known_at) as answer:
        number = resolving.required(answer.view, arguments.text(entity, "entity"))
        held = [answer.view.relations[each] for each in answer.view.edges(number, asked, FOREVER)[0]]
        rows = [*held, *(row for row in answer.view.incident(number) if contradicted(row, asked.known_at))]
        ordered = sorted(rows, key=lambda row: (_began(row, asked.known_at), row.number))
        shown = [row.number for row in ordered[-most:]]
        cut = (walking.cut_words(answer.view, number, len(shown), len(rows)),) if len(shown) < len(rows) else ()
        return Timeline(
            entity=answer.entities([number])[number],
            relations=tuple(answer.relations(shown, asked.known_at)),
            cut=cut,
        )


def changes(
    space: Space, since: When, until: When | None = None, *, entity: str | None = None
) -> tuple[GraphChange, ...]:
    """What began and ended; see `KnowledgeGraph.changes`. A year, month or day named as `until` is within."""
    now = space.memory.clock()
    first = to_millis(periods.span(since, now=now)[0])
    behind = to_millis(now) + 1 if until is None else to_millis(periods.span(until, now=now)[1])
    if behind <= first:
        if until is None:
            raise InvalidPeriod("The first moment is still to come.", way_out="Name the second one, too.")
        raise InvalidPeriod("The second moment lies before the first.", way_out="Name the earlier one first.")
    with answering(space) as answer:
        rows = once.rows(answer.view, _whose(answer.view, entity))
        happened = sorted(events(rows, first, behind))
        found = {each.number: each for each in answer.relations({event.number for event in happened}, None)}
        return tuple(
            GraphChange(at=from_millis(event.at), what=event.what, relation=found[event.number]) for event in happened
        )


def networkx(space: Space, *, as_of: When | None = None, known_at: When | None = None) -> nx.MultiDiGraph:
    """A copy of the graph; see `KnowledgeGraph.networkx`.

    Nodes have `name` and `type`, and entities their `id`; edges have the `id`, `predicate`, `kind`, `confidence` and
    times of the relation. Times are texts in ISO 8601, and what is not known is left out, as in GraphML.
    """
    wanted = Wanted(as_of=as_of, known_at=known_at, ended=as_of is None, mentioned=True)
    asked = wanted.asked(space.memory.clock())
    with answering(space, asked.known_at) as answer:
        return _copied(answer.view, asked)


@contextmanager
def answering(space: Space, known_at: int | None = None) -> Iterator[Answering]:
    """The graph of a space at this moment, with those as one who were merged at `known_at` (None: are now)."""
    with space.memory.use(space.name) as store, store.reading() as connection:
        view = store.graph.view(moment(connection, store.key))
        if known_at is not None:
            view = merged_then(view, merges.every(connection, store.key), known_at)
        yield Answering(view=view, connection=connection, space=store.key)


def _steps(depth: int, most: int) -> int:
    steps = arguments.whole(depth, "depth", least=1)
    if steps > most:
        raise InvalidInput(
            f"{steps:,} steps are more than the {most} that Settings.graph.depth allows.", way_out="Go less far."
        )
    return steps


def _named(row: RelationRow) -> tuple[int, ...]:
    return (row.subject,) if row.object is None else (row.subject, row.object)


def _began(row: RelationRow, known_at: int | None) -> int:
    version = version_at(row, known_at)
    return -FOREVER if version is None else bounds(version)[0]


def _whose(view: GraphView, entity: str | None) -> Iterable[RelationRow]:
    if entity is None:
        return filter(view.drawn, view.relations.values())
    return view.incident(resolving.required(view, arguments.text(entity, "entity")))


def _copied(view: GraphView, asked: Asked) -> nx.MultiDiGraph:
    import networkx as nx

    copy = nx.MultiDiGraph()
    for node, data in view.graph.nodes(data=True):
        if isinstance(node, int):
            copy.add_node(node, id=data["id"], name=data["name"], type=data["type"])
    hidden = view.hidden(asked.known_at)
    for row in once.rows(view, view.relations.values(), asked.known_at):
        version = version_at(row, asked.known_at)
        if version is None or not view.drawn(row):
            continue
        if not asked.holds(*bounds(version), hidden.get(row.number, ())):
            continue
        source, target = view.ends(row)
        if isinstance(target, str):
            copy.add_node(target, name=row.value if row.unit is None else f"{row.value} {row.unit}", type="value")
        copy.add_edge(
            source, target, key=row.number, **_attributes(row, relations.period(version), version.recorded_at)
        )
    return copy


def _attributes(row: RelationRow, period: Any, recorded_at: int) -> dict[str, Any]:
    times = {"valid_from": period.start, "valid_to": period.end, "recorded_at": from_millis(recorded_at)}
    return {
        "id": row.id,
        "predicate": row.predicate,
        "kind": row.kind,
        "confidence": row.confidence / 100,
        **{name: at.isoformat() for name, at in times.items() if at is not None},
    }
