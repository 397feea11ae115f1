"""The graph of a space at one moment. A view never changes once made: what comes later makes another one."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from langmem_tiers.knowledge_graph import nesting, predicates
from langmem_tiers.knowledge_graph.names import NameIndex
from langmem_tiers.knowledge_graph.naming import USER, names

if TYPE_CHECKING:
    import networkx as nx

    from langmem_tiers.storage.entities import EntityRow
    from langmem_tiers.storage.relations import RelationRow, VersionRow

Node = int | str
"""The number of an entity that stands for itself, or `v17` for the value of relation 17."""
FOREVER = 1 << 62


class Asked(NamedTuple):
    """Which relations count: what holds at some time from `first` to `last`, and was believed at `known_at`.

    Without `first` and `last` all times count; `known_at` None is now. UTC milliseconds.
    """

    first: int | None = None
    last: int | None = None
    known_at: int | None = None
    predicates: frozenset[str] | None = None
    mentioned: bool = False

    def holds(self, start: int, end: int, hidden: nesting.Spans = ()) -> bool:
        """Whether a period counts, without the times that others lie within; one that is empty never does.

        Where all times count, these do, too.
        """
        if start >= end:
            return False
        if (self.last is not None and start > self.last) or (self.first is not None and end <= self.first):
            return False
        if not hidden or self.first is None or self.last is None:
            return True
        return not nesting.covered(hidden, max(start, self.first), min(end, self.last + 1))


class Edge(NamedTuple):
    """A relation of an entity, as it is ordered: stated before mentioned, open before ended, newest first."""

    mentioned: bool
    ended: bool
    back: int
    """The beginning, counted backwards."""
    minus: int
    """The relation's number, counted backwards."""
    end: int
    predicate: str

    @property
    def start(self) -> int:
        """Since when it holds."""
        return -self.back

    @property
    def number(self) -> int:
        """The relation."""
        return -self.minus


@dataclass(frozen=True, slots=True)
class Around:
    """What is believed now of the relations of one entity, in order, and by predicate; begins and ends ascend."""

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
        """The same without some edges and with others."""
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
        """How many of them count, whatever their predicate: those that began by then, less those that ended."""
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
    """The relations that others lie within, with the times at which these hold instead: by group, and by node."""

    groups: Mapping[Group, Mapping[int, nesting.Spans]] = field(default_factory=dict)
    by_node: Mapping[Node, Mapping[int, nesting.Spans]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class GraphView:
    """The graph of a space at one moment, for any number of threads.

    `graph` is read only: its nodes are entities that stand for themselves and values, its edges are keyed by the number
    of their relation. `entities` and `relations` are all there are, with those that were merged or withdrawn.
    """

    graph: nx.MultiDiGraph
    entities: Mapping[int, EntityRow]
    relations: Mapping[int, RelationRow]
    names: NameIndex
    ids: Mapping[str, int]
    """The numbers of entities by id."""
    around: dict[int, Around] = field(default_factory=dict, repr=False)
    """Filled as entities are asked for."""
    merged: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """By each entity that others were merged into, over any number of steps, the numbers of these."""
    single: Callable[[str], bool] = predicates.single_by_default
    """Whether of a predicate's relations one counts at a time."""
    nested: Nested = field(default_factory=Nested)
    """What is believed now of relations that others lie within."""
    lost: bool = False
    """Whether the view before this one held what is deleted now."""

    def canonical(self, number: int) -> int:
        """The entity that stands for this one: itself, or what it was merged into in the end."""
        return canonical(self.entities, number)

    def standing(self, numbers: Iterable[int]) -> list[int]:
        """The entities that stand for these, each once, in order."""
        roots = dict.fromkeys(map(self.canonical, numbers))
        return [root for root in roots if root in self.entities]

    def aliases(self, number: int) -> tuple[str, ...]:
        """The other names of an entity that stands, with those of what was merged into it."""
        own = self.entities[number]
        parts = [self.entities[each] for each in self.merged.get(number, ())]
        return names(own.name, (*own.aliases, *(name for row in parts for name in (row.name, *row.aliases))))

    def ends(self, row: RelationRow) -> tuple[Node, Node]:
        """The nodes that a relation leads from and to."""
        return ends(self.entities, row)

    def other(self, row: RelationRow, node: int) -> Node:
        """Where a relation leads, seen from one of its ends."""
        subject, target = self.ends(row)
        return target if subject == node else subject

    def user(self) -> int | None:
        """The entity that is the user of the space, once there is one."""
        held = self.standing(self.names.by_slug.get(USER, ()))
        people = [number for number in held if self.entities[number].type == "person"]
        return next(iter(people or held), None)

    def incident(self, node: Node) -> Iterator[RelationRow]:
        """All relations of a node, in no order, each once."""
        if node not in self.graph:
            return
        for beyond in self.graph._succ[node].values():
            yield from map(_row, beyond.values())
        for before, edges in self.graph._pred[node].items():
            if before != node:
                yield from map(_row, edges.values())

    def edges(self, node: int, asked: Asked, most: int) -> tuple[list[int], int]:
        """The first relations of an entity that count, in order, and how many count in all."""
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

    def hidden(self, known_at: int | None) -> Mapping[int, nesting.Spans]:
        """All relations that others lie within, with the times at which these hold."""
        found: dict[int, nesting.Spans] = {}
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
        """The groups that a relation is in: at both of its ends where it says the same of both."""
        if row.kind != "stated" or not self.single(row.predicate):
            return ()
        subject = (self.canonical(row.subject), row.predicate)
        if row.object is None or not predicates.symmetric(row.predicate):
            return (subject,)
        return tuple(dict.fromkeys((subject, (self.canonical(row.object), row.predicate))))

    def grouped(self, node: int) -> dict[Group, list[RelationRow]]:
        """The relations of an entity in the groups around it."""
        found: defaultdict[Group, list[RelationRow]] = defaultdict(list)
        for row in self.incident(node):
            for group in self.groups_of(row):
                if group[0] == node:
                    found[group].append(row)
        return found

    def _uncounted(self, asked: Asked, hidden: Mapping[int, nesting.Spans]) -> int:
        """How many relations would count, but for others that lie within their time."""
        times = [(bounds(self.relations[number].last), spans) for number, spans in hidden.items()]
        return sum(asked.holds(*both) and not asked.holds(*both, spans) for both, spans in times)

    def _hidden(self, node: int, known_at: int | None) -> Mapping[int, nesting.Spans]:
        """The relations of an entity that others lie within, with the times at which these hold."""
        if known_at is None:
            return self.nested.by_node.get(node, {})
        groups = {group for row in self.incident(node) for group in self.groups_of(row)}
        found: dict[int, nesting.Spans] = {}
        for other in {group[0] for group in groups}:
            for rows in self.grouped(other).values():
                add_spans(found, gaps(rows, known_at))
        return found

    def drawn(self, row: RelationRow) -> bool:
        """Whether a relation is an edge: both of its ends are there."""
        return all(node in self.graph for node in self.ends(row))

    def _around(self, node: int) -> Around:
        held = self.around.get(node)
        if held is None:
            held = self.around[node] = Around.of(edges(self.incident(node), None))
        return held


def canonical(entities: Mapping[int, EntityRow], number: int) -> int:
    """The entity that stands for this one; a circle, which only a damaged file can have, ends at its lowest number."""
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


def version_at(row: RelationRow, known_at: int | None) -> VersionRow | None:
    """What was believed of a relation at a moment (None: is believed now), None where it was not."""
    for version in reversed(row.versions):
        if known_at is None:
            return version if version.until is None else None
        if version.recorded_at <= known_at:
            return version if version.until is None or known_at < version.until else None
    return None


def edges(rows: Iterable[RelationRow], known_at: int | None) -> Iterator[Edge]:
    """Those of some relations that were believed at a moment to hold at some time, as they are ordered."""
    for row in rows:
        version = version_at(row, known_at)
        if version is not None:
            start, end = bounds(version)
            if start < end:
                yield Edge(row.kind != "stated", end < FOREVER, -start, -row.number, end, row.predicate)


def gaps(rows: Iterable[RelationRow], known_at: int | None) -> dict[int, nesting.Spans]:
    """Of the relations of a group those that others lie within, with the times at which these hold."""
    versions = ((row.number, version_at(row, known_at)) for row in rows)
    return nesting.gaps([nesting.Held(*bounds(version), number) for number, version in versions if version is not None])


def add_spans(found: dict[int, nesting.Spans], more: Mapping[int, nesting.Spans]) -> None:
    """Add times to those of the same relations."""
    for number, spans in more.items():
        found[number] = nesting.united((*found.get(number, ()), *spans))


def bounds(version: VersionRow) -> tuple[int, int]:
    """Beginning and end as numbers that can be compared."""
    start = -FOREVER if version.valid_from is None else version.valid_from
    return start, FOREVER if version.valid_to is None else version.valid_to


def in_ranges(held: Collection[int], ranges: Iterable[tuple[int, int]]) -> Iterator[int]:
    """The numbers held that lie in ranges, each of which includes its last."""
    for first, last in ranges:
        if last - first < len(held):
            yield from (number for number in range(first, last + 1) if number in held)
        else:
            yield from [number for number in held if first <= number <= last]


def _counting(ordered: Sequence[Edge], asked: Asked, hidden: Mapping[int, nesting.Spans]) -> Iterator[int]:
    """The relations that count: stated before mentioned, then those that still hold, then the newest."""
    for edge in chain(_current_first(ordered, False, asked), _current_first(ordered, True, asked)):
        wanted = asked.predicates is None or edge.predicate in asked.predicates
        if not wanted or (edge.mentioned and not asked.mentioned):
            continue
        if asked.holds(edge.start, edge.end, hidden.get(edge.number, ())):
            yield edge.number


def _current_first(ordered: Sequence[Edge], mentioned: bool, asked: Asked) -> Iterator[Edge]:
    """The edges of a kind: what holds at the end of the time that is asked for, and then what had ended by then."""
    starts = [bisect_left(ordered, (mentioned, ended)) for ended in (False, True)]
    stop = bisect_left(ordered, (mentioned + 1,))
    still = (ordered[place] for place in range(*starts))
    closed = range(starts[1], stop)
    if asked.last is None:
        return chain(still, (ordered[place] for place in closed))
    last = asked.last
    later = (ordered[place] for place in closed if ordered[place].end > last)
    over = (ordered[place] for place in closed if ordered[place].end <= last)
    return chain(merge(still, later, key=_newest), over)


def _newest(edge: Edge) -> tuple[int, int]:
    return edge.back, edge.minus


def _take(ordered: list[Any], gone: Any) -> None:
    place = bisect_left(ordered, gone)
    if ordered[place : place + 1] == [gone]:
        del ordered[place]


def _row(data: Mapping[str, Any]) -> RelationRow:
    row: RelationRow = data["relation"]
    return row
