"""The graph as nodes and links for a picture to move through: the best-connected entities, or those around one.

Unlike a `Subgraph` it has all times at once, as the spans in which each relation holds: a time slider needs no query.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from langmem_tiers.clock import from_millis
from langmem_tiers.knowledge_graph.answers import answering, distinct_rows
from langmem_tiers.knowledge_graph.conflicts import FOREVER, Spans, bounds, version_at
from langmem_tiers.knowledge_graph.entity_lookup import required
from langmem_tiers.knowledge_graph.wording import is_event, period_words, predicate_in
from langmem_tiers.storage.relations import period

if TYPE_CHECKING:
    from langmem_tiers.context import SpaceContext
    from langmem_tiers.knowledge_graph.answers import Answers
    from langmem_tiers.knowledge_graph.view import GraphView, Node
    from langmem_tiers.storage.relations import RelationRow

NAMED = 60
"""How many nodes of a picture have room for their names, the first ones."""

# Sizes in the picture, in pixels: the diameters of nodes, and of those of values; names and words; distances.
_SMALLEST, _LARGEST, _VALUE, _FEW = 20.0, 50.0, 12.0, 12
_NAME_SIZE, _NAME_HIGH, _WIDEST, _LABEL_SIZE = 12.0, 18.0, 130.0, 10.0
_APART, _UNCROWDED, _MOST_CROWD, _WRITTEN = 62.0, 3, 40.0, 24

VALUE = "value"
"""The type of nodes that are no entity, but the value of a relation, such as a height."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NetworkNode:
    """An entity, or the value of a relation; `relations` counts those that it ever had."""

    id: str
    name: str
    type: str
    relations: int


@dataclass(frozen=True, kw_only=True, slots=True)
class NetworkLink:
    """A relation between two nodes; `when` is its time in words.

    It holds in each of the `spans`, UTC milliseconds, from the first until just before the second; None is an unknown
    start, or no end. What took place on a day holds from then on. `said_later` contradicts it though nothing ended it.
    """

    id: str
    source: str
    target: str
    words: str
    when: str
    spans: tuple[tuple[int | None, int | None], ...]
    mentioned: bool
    said_later: tuple[str, ...] = ()

    def holds(self, first: int, behind: int) -> bool:
        """Whether it holds at some time from `first` until before `behind`."""
        return any((start is None or start < behind) and (end is None or first < end) for start, end in self.spans)


@dataclass(frozen=True, kw_only=True, slots=True)
class Network:
    """A part of the graph at all times.

    `total` is how many entities there are to show in all, `first` and `last` the earliest and latest date at which
    something in this part began or ended.
    """

    nodes: tuple[NetworkNode, ...] = ()
    links: tuple[NetworkLink, ...] = ()
    total: int = 0
    first: datetime | None = None
    last: datetime | None = None


def best_connected(context: SpaceContext, *, most: int, mentioned: bool = False, values: bool = False) -> Network:
    """The entities with the most relations, and all relations between them.

    Args:
        context: The space.
        most: The maximum number of entities.
        mentioned: Include entities that were only mentioned together.
        values: Include the values that their relations lead to.
    """
    with answering(context) as answers:
        view = answers.view
        rows = [*_shown(view, view.relations.values(), mentioned=mentioned)]
        degrees = _degrees(view, rows)
        ranked = sorted(degrees, key=lambda number: (-degrees[number], number))
        inside = [row for row in _among(view, rows, ranked[:most]) if values or row.object is not None]
        later = _said_later(answers, inside, context.clock())
        return _network(view, ranked[:most], inside, degrees, len(ranked), later)


def around(context: SpaceContext, entity: str, *, most: int, mentioned: bool = False, values: bool = False) -> Network:
    """An entity first, those it is related to, the best connected of them, and the relations among all of these.

    Args:
        context: The space.
        entity: Id, name or alias.
        most: The maximum number of entities around it.
        mentioned: As for `best_connected`.
        values: As for `best_connected`.

    Raises:
        UnknownEntity, AmbiguousEntity: no entity, or several, have this name.
    """
    with answering(context) as answers:
        view = answers.view
        centre = required(view, entity)
        own = [*_shown(view, view.incident(centre), mentioned=mentioned)]
        beside = {number for row in own for number in _entities(view, row)} - {centre}
        near = {number: sum(1 for _ in view.incident(number)) for number in beside}
        chosen = [centre, *sorted(near, key=lambda number: (-near[number], number))[:most]]
        numbers = {row.number: row for number in chosen for row in view.incident(number)}
        rows = [*_shown(view, (numbers[each] for each in sorted(numbers)), mentioned=mentioned)]
        degrees = _degrees(view, rows) | near | {centre: len(own)}
        own_values = {row.number for row in own if row.object is None and values}
        inside = [row for row in _among(view, rows, chosen) if row.object is not None or row.number in own_values]
        later = _said_later(answers, inside, context.clock())
        return _network(view, chosen, inside, degrees, len(beside) + 1, later)


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where a node stands in the picture, and its diameter; in pixels, from the top left corner."""

    x: float
    y: float
    size: float


def places(part: Network) -> dict[str, Place]:
    """Where each node stands, by id, without overlaps, not even of the names of the first nodes (`NAMED`).

    The same part is always placed the same.
    """
    from langmem_tiers.knowledge_graph.pictures.layout import place

    sizes = _sizes(part)
    wide = [max(size, _name_width(node) if n < NAMED else 0) for n, (node, size) in enumerate(sizes.items())]
    high = [size + (_NAME_HIGH if n < NAMED else 0) for n, size in enumerate(sizes.values())]
    centres = place([*zip(wide, high, strict=True)], _joins(part, wide))
    shifts = [(each - size) / 2 for each, size in zip(high, sizes.values(), strict=True)]
    return {
        node.id: Place(x=x, y=y - shift, size=size)
        for (node, size), (x, y), shift in zip(sizes.items(), centres, shifts, strict=True)
    }


def _sizes(part: Network) -> dict[NetworkNode, float]:
    """The diameters of nodes: their areas grow with the number of relations."""
    most = max((node.relations for node in part.nodes), default=1)
    least, largest = (_SMALLEST, _LARGEST) if len(part.nodes) <= NAMED else (_SMALLEST / 2, _LARGEST / 2)
    grown = {node: least + (largest - least) * (node.relations / max(most, _FEW)) ** 0.5 for node in part.nodes}
    return {node: _VALUE if node.type == VALUE else round(size, 1) for node, size in grown.items()}


def _name_width(node: NetworkNode) -> float:
    from langmem_tiers.knowledge_graph.pictures.canvas import width

    return min(width(node.name, _NAME_SIZE), _WIDEST)


def _joins(part: Network, wide: Sequence[float]) -> list[tuple[int, int, float]]:
    """Which nodes are to stand how far apart: further where many meet, or where each arrow has its words beside it."""
    from langmem_tiers.knowledge_graph.pictures.canvas import width

    place_of = {node.id: number for number, node in enumerate(part.nodes)}
    joined = Counter(end for link in part.links for end in {link.source, link.target})
    written = len(part.links) <= _WRITTEN
    found = []
    for link in part.links:
        one, other = place_of[link.source], place_of[link.target]
        crowd = sum(max(0, joined[end] - _UNCROWDED) for end in (link.source, link.target))
        words = max(width(link.words, _LABEL_SIZE), width(link.when, _LABEL_SIZE)) if written else 0
        if one != other:
            found.append((one, other, 0.3 * (wide[one] + wide[other]) + _APART + words / 2 + min(crowd, _MOST_CROWD)))
    return found


def _among(view: GraphView, rows: Iterable[RelationRow], chosen: Iterable[int]) -> list[RelationRow]:
    """The relations that lead from one of these entities to another, or to a value."""
    there = frozenset(chosen)
    return [row for row in rows if there.issuperset(_entities(view, row))]


def _shown(view: GraphView, rows: Iterable[RelationRow], *, mentioned: bool) -> Iterator[RelationRow]:
    """The relations that hold at some time, each fact once."""
    for row in distinct_rows(view, rows):
        version = version_at(row, None)
        if version is None or not view.drawn(row) or (row.kind == "mentioned" and not mentioned):
            continue
        start, end = bounds(version)
        if start < end:
            yield row


def _entities(view: GraphView, row: RelationRow) -> set[int]:
    return {node for node in view.ends(row) if isinstance(node, int)}


def _degrees(view: GraphView, rows: Iterable[RelationRow]) -> Counter[int]:
    return Counter(number for row in rows for number in _entities(view, row))


def _said_later(answers: Answers, rows: Iterable[RelationRow], now: datetime) -> dict[int, tuple[str, ...]]:
    current = [row.number for row in rows if row.kind == "stated" and bounds(row.last)[1] >= FOREVER]
    return answers.said_later(current, now)


def _network(
    view: GraphView,
    chosen: list[int],
    rows: list[RelationRow],
    degrees: Mapping[int, int],
    total: int,
    later: Mapping[int, tuple[str, ...]],
) -> Network:
    hidden = view.hidden(None)
    moments = sorted(at for row in rows for at in bounds(row.last) if abs(at) < FOREVER)
    return Network(
        nodes=(
            *(_node(view, number, degrees[number]) for number in chosen),
            *(_value(row) for row in rows if row.object is None),
        ),
        links=tuple(_link(view, row, hidden.get(row.number, ()), later.get(row.number, ())) for row in rows),
        total=total,
        first=from_millis(moments[0]) if moments else None,
        last=from_millis(moments[-1]) if moments else None,
    )


def _node(view: GraphView, number: int, relations: int) -> NetworkNode:
    row = view.entities[number]
    return NetworkNode(id=row.id, name=row.name, type=row.type, relations=relations)


def _value(row: RelationRow) -> NetworkNode:
    written = row.value or ""
    return NetworkNode(
        id=_value_id(row), name=written if row.unit is None else f"{written} {row.unit}", type=VALUE, relations=1
    )


def _value_id(row: RelationRow) -> str:
    return f"value-{row.id}"


def _link(view: GraphView, row: RelationRow, hidden: Spans, later: tuple[str, ...]) -> NetworkLink:
    held = period(row.last)
    source, target = view.ends(row)
    return NetworkLink(
        id=row.id,
        source=_id(view, source, row),
        target=_id(view, target, row),
        words=predicate_in(row.predicate, held),
        when=period_words(held),
        spans=_spans(row, hidden, for_good=is_event(row.predicate, held)),
        mentioned=row.kind == "mentioned",
        said_later=later,
    )


def _id(view: GraphView, node: Node, row: RelationRow) -> str:
    return view.entities[node].id if isinstance(node, int) else _value_id(row)


def _spans(row: RelationRow, hidden: Spans, *, for_good: bool) -> tuple[tuple[int | None, int | None], ...]:
    """When a relation holds: its time without that of relations nested in it."""
    start, end = bounds(row.last)
    found: list[tuple[int, int]] = []
    for first, behind in (*hidden, (FOREVER, FOREVER)):
        stop = min(first, FOREVER if for_good else end)
        if start < stop:
            found.append((start, stop))
        start = max(start, behind)
    return tuple((None if a == -FOREVER else a, None if b == FOREVER else b) for a, b in found)
