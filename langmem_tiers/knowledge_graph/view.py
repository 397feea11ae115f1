"""The graph of a space at one moment. Views are immutable; changes make new ones."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from langmem_tiers.knowledge_graph.conflicts import (
    FOREVER,
    Spans,
    add_spans,
    bounds,
    covered,
    nested_intervals,
    version_at,
)
from langmem_tiers.knowledge_graph.name_index import NameIndex
from langmem_tiers.knowledge_graph.naming import USER, names
from langmem_tiers.language import predicates, values
from langmem_tiers.lazy_property import lazy_property
from langmem_tiers.records import Entity
from langmem_tiers.storage.entities import EntityRow, entity

if TYPE_CHECKING:
    import networkx as nx

    from langmem_tiers.storage.relations import RelationRow

Node = int | str
"""The number of an entity that stands for itself, or `v17` for the value of relation 17."""
Beyond = dict[Node, dict[Node, dict[int, Any]]]
"""For each node its neighbours, and for each of these the edges there, keyed by the number of their relation."""


class Links(NamedTuple):
    """What a NetworkX `MultiDiGraph` consists of: the nodes with their attributes, and the edges from and to each."""

    nodes: dict[Node, Mapping[str, Any]]
    succ: Beyond
    pred: Beyond


class Asked(NamedTuple):
    """A filter on relations: those that hold at some time from `first` to `last`, as believed at `known_at`.

    Without `first` and `last` all times match; `known_at` None is now. UTC milliseconds.
    """

    first: int | None = None
    last: int | None = None
    known_at: int | None = None
    predicates: frozenset[str] | None = None
    mentioned: bool = False

    def holds(self, start: int, end: int, hidden: Spans = ()) -> bool:
        """Whether a period matches, apart from times of nested relations; an empty one never does.

        If all times match, nested times are ignored.
        """
        if start >= end:
            return False
        if (self.last is not None and start > self.last) or (self.first is not None and end <= self.first):
            return False
        if not hidden or self.first is None or self.last is None:
            return True
        return not covered(hidden, max(start, self.first), min(end, self.last + 1))


class Edge(NamedTuple):
    """A relation of an entity in sort order: stated before mentioned, open before ended, newest first."""

    mentioned: bool
    ended: bool
    back: int
    """The start, negated to sort newest first."""
    minus: int
    """The relation's number, negated to sort newest first."""
    end: int
    predicate: str

    @property
    def start(self) -> int:
        """The start of the relation."""
        return -self.back

    @property
    def number(self) -> int:
        """The relation."""
        return -self.minus


@dataclass(frozen=True, slots=True)
class Around:
    """The believed relations of one entity, sorted, and by predicate; starts and ends ascend."""

    edges: list[Edge]
    by_predicate: dict[str, list[Edge]]
    begins: tuple[list[int], list[int]]
    ends: tuple[list[int], list[int]]

    @classmethod
    def of(cls, edges: Iterable[Edge]) -> Around:
        """The edges in order."""
        ordered = sorted(edges)
        by_predicate: defaultdict[str, list[Edge]] = defaultdict(list)
        begins: tuple[list[int], list[int]] = ([], [])
        ends: tuple[list[int], list[int]] = ([], [])
        for edge in ordered:
            by_predicate[edge.predicate].append(edge)
            begins[edge.mentioned].append(edge.start)
            ends[edge.mentioned].append(edge.end)
        for listed in (*begins, *ends):
            listed.sort()
        return cls(ordered, dict(by_predicate), begins, ends)

    def changed(self, gone: Sequence[Edge], news: Sequence[Edge]) -> Around:
        """A copy with some edges removed and others added."""
        by_predicate = self.by_predicate.copy()
        for predicate in {edge.predicate for edge in (*gone, *news)}:
            by_predicate[predicate] = by_predicate.get(predicate, []).copy()
        begins, ends = (self.begins[0].copy(), self.begins[1].copy()), (self.ends[0].copy(), self.ends[1].copy())
        fresh = Around(self.edges.copy(), by_predicate, begins, ends)
        for edge in gone:
            _take(fresh.edges, edge)
            _take(by_predicate[edge.predicate], edge)
            _take(begins[edge.mentioned], edge.start)
            _take(ends[edge.mentioned], edge.end)
        for edge in news:
            insort(fresh.edges, edge)
            insort(by_predicate[edge.predicate], edge)
            insort(begins[edge.mentioned], edge.start)
            insort(ends[edge.mentioned], edge.end)
        return fresh

    def count(self, asked: Asked) -> int:
        """How many relations match, whatever their predicate: those begun by then, less those that ended."""
        kinds = (0, 1) if asked.mentioned else (0,)
        return sum(
            (len(self.begins[kind]) if asked.last is None else bisect_right(self.begins[kind], asked.last))
            - (0 if asked.first is None else bisect_right(self.ends[kind], asked.first))
            for kind in kinds
        )


Group = tuple[int, str]
"""An entity and a single-valued predicate: of its relations by that, one counts at a time."""


@dataclass(frozen=True, kw_only=True)
class Nested:
    """Relations with others nested in them, with the times of the nested ones: by group, and by node."""

    groups: Mapping[Group, Mapping[int, Spans]] = field(default_factory=dict)
    by_node: Mapping[Node, Mapping[int, Spans]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class GraphView:
    """The graph of a space at one moment, for any number of threads.

    The nodes of `links` are canonical entities and values. `entities` and `relations` are complete, including merged
    and withdrawn ones.
    """

    links: Links
    entities: Mapping[int, EntityRow]
    relations: Mapping[int, RelationRow]
    names: NameIndex
    ids: Mapping[str, int]
    """Entity numbers by id."""
    around: dict[int, Around] = field(default_factory=dict, repr=False)
    """Filled on demand."""
    merged: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """For each canonical entity, the numbers of all entities merged into it."""
    single: Callable[[str], bool] = predicates.single_by_default
    """Whether only one relation by a predicate holds at a time."""
    nested: Nested = field(default_factory=Nested)
    """The believed relations that have others nested in them."""
    lost: bool = False
    """Whether the previous view held records that are now deleted."""

    @lazy_property
    def graph(self) -> nx.MultiDiGraph:
        """The nodes and edges for the algorithms of NetworkX, read only; to import those takes longer than a recall."""
        import networkx as nx

        graph = nx.MultiDiGraph()
        # NetworkX makes its own graph views this way: by setting the dictionaries that a graph consists of.
        graph._node, graph._adj, graph._pred = self.links
        return graph

    def canonical(self, number: int) -> int:
        """The canonical entity: itself, or the one it was merged into in the end."""
        return canonical(self.entities, number)

    def standing(self, numbers: Iterable[int]) -> list[int]:
        """The canonical entities of these, each once, in order."""
        roots = dict.fromkeys(map(self.canonical, numbers))
        return [root for root in roots if root in self.entities]

    def entity(self, number: int) -> Entity:
        """A canonical entity as callers get it, without its evidence."""
        return entity(self.entities[number]._replace(aliases=self.aliases(number)), {})

    def target(self, row: RelationRow) -> str:
        """The name of what a relation leads to, or the value without its unit."""
        return row.value or "" if row.object is None else self.entities[self.canonical(row.object)].name

    def aliases(self, number: int) -> tuple[str, ...]:
        """The aliases of a canonical entity, with those of the entities merged into it."""
        own = self.entities[number]
        parts = [self.entities[each] for each in self.merged.get(number, ())]
        return names(own.name, (*own.aliases, *(name for row in parts for name in (row.name, *row.aliases))))

    def ends(self, row: RelationRow) -> tuple[Node, Node]:
        """The nodes that a relation leads from and to."""
        return ends(self.entities, row)

    def fact(self, row: RelationRow) -> Hashable:
        """What a relation states: the same for all relations that state it, at whatever time."""
        subject, target = self.ends(row)
        if row.object is None:
            return row.kind, row.predicate, subject, values.key(row.value or "", row.unit)
        between = frozenset((subject, target)) if predicates.symmetric(row.predicate) else (subject, target)
        return row.kind, row.predicate, between

    def other(self, row: RelationRow, node: int) -> Node:
        """The other end of a relation, seen from one of its ends."""
        subject, target = self.ends(row)
        return target if subject == node else subject

    def user(self) -> int | None:
        """The entity of the user of the space, if there is one."""
        held = self.standing(self.names.by_slug.get(USER, ()))
        people = [number for number in held if self.entities[number].type == "person"]
        return next(iter(people or held), None)

    def incident(self, node: Node) -> Iterator[RelationRow]:
        """All relations of a node, unordered, each once."""
        if node not in self.links.nodes:
            return
        for beyond in self.links.succ[node].values():
            yield from (edge["relation"] for edge in beyond.values())
        for before, edges in self.links.pred[node].items():
            if before != node:
                yield from (edge["relation"] for edge in edges.values())

    def edges(self, node: int, asked: Asked, most: int) -> tuple[list[int], int]:
        """The first matching relations of an entity, in order, and how many match in all."""
        hidden = self._hidden(node, asked.known_at)
        if asked.known_at is None and asked.predicates is None:
            held = self._around(node)
            total = held.count(asked) - self._uncounted(asked, hidden)
            return list(islice(_counting(held.edges, asked, hidden), min(most, total))), total
        if asked.known_at is None:
            by_predicate = self._around(node).by_predicate
            known = chain(*(by_predicate.get(each, ()) for each in asked.predicates or ()))
        else:
            known = chain(edges(self.incident(node), asked.known_at))
        found = list(_counting(sorted(known), asked, hidden))
        return found[:most], len(found)

    def hidden(self, known_at: int | None) -> Mapping[int, Spans]:
        """All relations that have others nested in them, with the times of the nested ones."""
        found: dict[int, Spans] = {}
        if known_at is None:
            for held in self.nested.groups.values():
                add_spans(found, held)
            return found
        by_group: defaultdict[Group, list[RelationRow]] = defaultdict(list)
        for row in self.relations.values():
            for group in self.groups_of(row):
                by_group[group].append(row)
        for rows in by_group.values():
            add_spans(found, gaps(rows, known_at))
        return found

    def groups_of(self, row: RelationRow) -> tuple[Group, ...]:
        """The groups of a relation: at both of its ends if its predicate is symmetric."""
        if row.kind != "stated" or not self.single(row.predicate):
            return ()
        subject = (self.canonical(row.subject), row.predicate)
        if row.object is None or not predicates.symmetric(row.predicate):
            return (subject,)
        return tuple(dict.fromkeys((subject, (self.canonical(row.object), row.predicate))))

    def grouped(self, node: int) -> dict[Group, list[RelationRow]]:
        """The relations in the groups around an entity."""
        found: defaultdict[Group, list[RelationRow]] = defaultdict(list)
        for row in self.incident(node):
            for group in self.groups_of(row):
                if group[0] == node:
                    found[group].append(row)
        return found

    def _uncounted(self, asked: Asked, hidden: Mapping[int, Spans]) -> int:
        """How many relations are left out only because another one is nested in them at that time."""
        times = [(bounds(self.relations[number].last), spans) for number, spans in hidden.items()]
        return sum(asked.holds(*both) and not asked.holds(*both, spans) for both, spans in times)

    def _hidden(self, node: int, known_at: int | None) -> Mapping[int, Spans]:
        """The relations of an entity that have others nested in them, with the times of the nested ones."""
        if known_at is None:
            return self.nested.by_node.get(node, {})
        groups = {group for row in self.incident(node) for group in self.groups_of(row)}
        found: dict[int, Spans] = {}
        for other in {group[0] for group in groups}:
            for rows in self.grouped(other).values():
                add_spans(found, gaps(rows, known_at))
        return found

    def drawn(self, row: RelationRow) -> bool:
        """Whether a relation is an edge, i.e. both of its ends exist."""
        return all(node in self.links.nodes for node in self.ends(row))

    def _around(self, node: int) -> Around:
        held = self.around.get(node)
        if held is None:
            held = self.around[node] = Around.of(edges(self.incident(node), None))
        return held


def canonical(entities: Mapping[int, EntityRow], number: int) -> int:
    """The canonical entity; a cycle, only possible in a damaged file, ends at its lowest number."""
    passed: list[int] = []
    while (row := entities.get(number)) is not None and row.merged_into is not None:
        if number in passed:
            return min(passed[passed.index(number) :])
        passed.append(number)
        number = row.merged_into
    return number


def ends(entities: Mapping[int, EntityRow], row: RelationRow) -> tuple[Node, Node]:
    """The nodes that a relation leads from and to."""
    target = f"v{row.number}" if row.object is None else canonical(entities, row.object)
    return canonical(entities, row.subject), target


def edges(rows: Iterable[RelationRow], known_at: int | None) -> Iterator[Edge]:
    """The edges of these relations that match a filter, sorted."""
    for row in rows:
        version = version_at(row, known_at)
        if version is not None:
            start, end = bounds(version)
            if start < end:
                yield Edge(row.kind != "stated", end < FOREVER, -start, -row.number, end, row.predicate)


def gaps(rows: Iterable[RelationRow], known_at: int | None) -> dict[int, Spans]:
    """The relations of a group that have others nested in them, with the times of the nested ones."""
    versions = ((row.number, version_at(row, known_at)) for row in rows)
    return nested_intervals((number, version) for number, version in versions if version is not None)


def _counting(ordered: Sequence[Edge], asked: Asked, hidden: Mapping[int, Spans]) -> Iterator[int]:
    """Matching relations: stated before mentioned, then current ones, then newest first."""
    for edge in chain(_current_first(ordered, False, asked), _current_first(ordered, True, asked)):
        wanted = asked.predicates is None or edge.predicate in asked.predicates
        if not wanted or (edge.mentioned and not asked.mentioned):
            continue
        if asked.holds(edge.start, edge.end, hidden.get(edge.number, ())):
            yield edge.number


def _current_first(ordered: Sequence[Edge], mentioned: bool, asked: Asked) -> Iterator[Edge]:
    """The edges of a kind: those that hold at the end of the requested time, then those ended by then."""
    starts = [bisect_left(ordered, (mentioned, ended)) for ended in (False, True)]
    stop = bisect_left(ordered, (mentioned + 1,))
    still = (ordered[place] for place in range(*starts))
    closed = range(starts[1], stop)
    if asked.last is None:
        return chain(still, (ordered[place] for place in closed))
    last = asked.last
    later = (ordered[place] for place in closed if ordered[place].end > last)
    over = (ordered[place] for place in closed if ordered[place].end <= last)
    return chain(merge(still, later, key=lambda edge: (edge.back, edge.minus)), over)


def _take(ordered: list[Any], gone: Any) -> None:
    place = bisect_left(ordered, gone)
    if ordered[place : place + 1] == [gone]:
        del ordered[place]
