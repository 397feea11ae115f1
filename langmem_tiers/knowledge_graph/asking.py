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
from langmem_tiers.knowledge_graph import periods, predicates, resolving, walking
from langmem_tiers.knowledge_graph.types import (
    Entity,
    GraphChange,
    Paths,
    Relation,
    Subgraph,
    Timeline,
    When,
)
from langmem_tiers.knowledge_graph.view import FOREVER, Asked, GraphView, bounds, version_at
from langmem_tiers.knowledge_graph.walking import Limits
from langmem_tiers.storage import entities, relations
from langmem_tiers.storage.change_log import moment

if TYPE_CHECKING:
    import networkx as nx

    from langmem_tiers.space import Space
    from langmem_tiers.storage.relations import RelationRow

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
        return {number: entities.entity(rows[number], {}) for number in numbers if number in rows}

    def relations(self, numbers: Collection[int], known_at: int | None) -> list[Relation]:
        """Relations as they were believed at a moment, in this order, with what they rest on."""
        rows = [self.view.relations[number] for number in numbers]
        ends = {number: self.view.canonical(number) for row in rows for number in _named(row)}
        standing = self.entities(set(ends.values()))
        known = {number: standing[end] for number, end in ends.items()}
        rests = relations.evidence(self.connection, self.space, list(numbers))
        made = []
        for row in rows:
            version = version_at(row, known_at)
            if version is not None:
                cause = None if version.cause is None else self.view.relations.get(version.cause)
                causes = {} if cause is None else {cause.number: cause.id}
                one = relations.relation(row, version, known, causes, tuple(rests.get(row.number, ())))
                made.append(one if row.believed else replace(one, withdrawn=True))
        return made


def neighbours(
    space: Space,
    which: Sequence[str],
    *,
    depth: int = 1,
    predicates: Collection[str] | None = None,
    as_of: When | None = None,
    known_at: When | None = None,
    ended: bool = False,
    mentioned: bool = False,
    limit: int | None = None,
) -> Subgraph:
    """What is around entities; see `KnowledgeGraph.neighbours`."""
    settings, now = space.memory.settings.graph, space.memory.clock()
    steps = arguments.whole(depth, "depth", least=1, most=settings.depth)
    most = arguments.optional_whole(limit, "limit", least=1)
    asked = _asked(now, as_of, known_at, ended=ended, mentioned=mentioned, of=predicates)
    limits = Limits(
        depth=steps,
        fan_out=settings.fan_out,
        results=most or settings.results,
        first=max(settings.fan_out, most or 0),
    )
    named = arguments.texts(which, "entities")
    with answering(space) as answer:
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


def paths(
    space: Space,
    start: str,
    end: str,
    *,
    depth: int = 4,
    limit: int = 5,
    as_of: When | None = None,
    known_at: When | None = None,
    ended: bool = False,
    mentioned: bool = False,
) -> Paths:
    """How two entities are connected; see `KnowledgeGraph.paths`."""
    settings, now = space.memory.settings.graph, space.memory.clock()
    asked = _asked(now, as_of, known_at, ended=ended, mentioned=mentioned)
    limits = Limits(
        depth=arguments.whole(depth, "depth", least=1, most=_LONGEST_WAY),
        fan_out=settings.fan_out,
        results=arguments.whole(limit, "limit", least=1),
        first=settings.fan_out,
    )
    with answering(space) as answer:
        first = resolving.required(answer.view, arguments.text(start, "start"))
        last = resolving.required(answer.view, arguments.text(end, "end"))
        if first == last:
            name = answer.view.entities[first].name
            raise InvalidInput(f"Both are {name}: there is no way from an entity to itself.", way_out="Name two.")
        found = walking.ways(answer.view, first, last, asked, limits)
        ways = [answer.relations(way, asked.known_at) for way in found.ways]
        return Paths(paths=tuple(map(tuple, ways)), cut=tuple(found.cut))


def timeline(space: Space, entity: str, *, known_at: When | None = None, limit: int | None = None) -> Timeline:
    """Everything that ever held of an entity; see `KnowledgeGraph.timeline`. What is cut is what began first."""
    most = arguments.optional_whole(limit, "limit", least=1) or space.memory.settings.graph.results
    asked = _asked(space.memory.clock(), None, known_at, ended=True)
    with answering(space) as answer:
        number = resolving.required(answer.view, arguments.text(entity, "entity"))
        rows = [answer.view.relations[each] for each in answer.view.edges(number, asked, FOREVER)[0]]
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
        raise InvalidPeriod("The second moment lies before the first.", way_out="Name the earlier one first.")
    with answering(space) as answer:
        events = sorted(_events(answer.view, first, behind, _whose(answer.view, entity)))
        found = {each.number: each for each in answer.relations({number for _, _, number in events}, None)}
        return tuple(
            GraphChange(at=from_millis(at), what="ended" if not began else "began", relation=found[number])
            for at, began, number in events
        )


def networkx(space: Space, *, as_of: When | None = None, known_at: When | None = None) -> nx.MultiDiGraph:
    """A copy of the graph; see `KnowledgeGraph.networkx`.

    Nodes have `name` and `type`, and entities their `id`; edges have the `id`, `predicate`, `kind`, `confidence` and
    times of the relation. Times are texts in ISO 8601, and what is not known is left out, as in GraphML.
    """
    asked = _asked(space.memory.clock(), as_of, known_at, ended=as_of is None, mentioned=True)
    with answering(space) as answer:
        return _copied(answer.view, asked)


@contextmanager
def answering(space: Space) -> Iterator[Answering]:
    """The graph of a space at this moment."""
    with space.memory.use(space.name) as store, store.reading() as connection:
        view = store.graph.view(moment(connection, store.key))
        yield Answering(view=view, connection=connection, space=store.key)


def _asked(
    now: datetime,
    as_of: When | None,
    known_at: When | None,
    *,
    ended: bool = False,
    mentioned: bool = False,
    of: Collection[str] | None = None,
) -> Asked:
    """The relations that are asked for. Of a year, month or day: what held at some time in it."""
    first, behind = periods.span(now if as_of is None else as_of, now=now)
    known = None if known_at is None else periods.span(known_at, now=now)[1]
    every = arguments.flag(ended, "ended")
    return Asked(
        first=None if every else to_millis(first),
        last=None if every else to_millis(behind) - 1,
        known_at=None if known is None else to_millis(known) - 1,
        predicates=None if of is None else frozenset(map(predicates.normalise, arguments.texts(of, "predicates"))),
        mentioned=arguments.flag(mentioned, "mentioned"),
    )


def _named(row: RelationRow) -> tuple[int, ...]:
    return (row.subject,) if row.object is None else (row.subject, row.object)


def _began(row: RelationRow, known_at: int | None) -> int:
    version = version_at(row, known_at)
    return -FOREVER if version is None else bounds(version)[0]


def _whose(view: GraphView, entity: str | None) -> Iterable[RelationRow]:
    if entity is None:
        return filter(view.drawn, view.relations.values())
    return view.incident(resolving.required(view, arguments.text(entity, "entity")))


def _events(view: GraphView, first: int, behind: int, rows: Iterable[RelationRow]) -> Iterator[tuple[int, bool, int]]:
    """Moment, whether it is a beginning, and the relation, of what was stated and is believed."""
    for row in rows:
        version = version_at(row, None) if row.kind == "stated" else None
        if version is None:
            continue
        start, end = bounds(version)
        if start < end:
            yield from ((at, at == start, row.number) for at in (start, end) if first <= at < behind)


def _copied(view: GraphView, asked: Asked) -> nx.MultiDiGraph:
    import networkx as nx

    copy = nx.MultiDiGraph()
    for node, data in view.graph.nodes(data=True):
        if isinstance(node, int):
            copy.add_node(node, id=data["id"], name=data["name"], type=data["type"])
    for row in view.relations.values():
        version = version_at(row, asked.known_at)
        if version is None or not asked.holds(*bounds(version)) or not view.drawn(row):
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
