"""A subgraph as a picture: entities as boxes coloured by type, relations as arrows with their time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from langmem_tiers.knowledge_graph.pictures.canvas import (
    Box,
    Drawing,
    Group,
    Key,
    Line,
    Picture,
    Point,
    Words,
    colours,
    framed,
    width,
    wrapped,
)
from langmem_tiers.knowledge_graph.pictures.layout import Join, Size, place
from langmem_tiers.knowledge_graph.types import Subgraph
from langmem_tiers.knowledge_graph.wording import Standing, predicate_words, relation_words, standing, standing_words
from langmem_tiers.records import BUILT_IN_TYPES, Entity, Relation

_NAME, _LABEL = 13.0, 11.0
_WIDEST_NAME, _WIDEST_LABEL = 170.0, 150.0
# How many relations between the same two are written on their line.
_LISTED = 4
_STEPS = 48
# How many lines a box can have without crowding, and how much each further one lengthens them all.
_UNCROWDED, _CROWD = 3, 7.0

_LINES: dict[str, Key] = {
    "holds": Key(text="holds"),
    "coming": Key(text="still to come", line="edge", dashes="dashed"),
    "ended": Key(text="ended", line="past", dashes="dashed"),
    "never": Key(text="not believed", line="past", dashes="dotted"),
    "mentioned": Key(text="only spoken of together", line="past", dashes="dotted"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class _Piece:
    """An item that takes space: its lines of text, and its size."""

    lines: tuple[str, ...]
    size: Size


@dataclass(frozen=True, kw_only=True, slots=True)
class _Link:
    """Relations between the same two ends with the same status, drawn as one arrow."""

    start: int
    end: int
    kind: str
    relations: tuple[Relation, ...]


def network(subgraph: Subgraph, *, title: str, at: datetime, captions: Sequence[str] = ()) -> Picture:
    """The entities and relations of a subgraph; what ended before `at` is dashed and grey."""
    parts = _Parts.of(subgraph, at)
    groups = [*_arrows(parts), *_labels(parts, at), *_entities(parts, subgraph), *_values(parts)]
    sides = [
        (x + piece.size[0] / 2, y + piece.size[1] / 2)
        for (x, y), piece in zip(parts.centres, parts.pieces, strict=True)
    ]
    right, bottom = max((x for x, _ in sides), default=0), max((y for _, y in sides), default=0)
    drawing = Drawing(width=right, height=bottom, groups=tuple(groups))
    return framed(drawing, title=title, keys=list(_keys(parts)), captions=captions)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Parts:
    """What is drawn, and where: pieces and centres are those of entities, values and links, in this order."""

    entities: tuple[Entity, ...]
    values: tuple[Relation, ...]
    links: tuple[_Link, ...]
    pieces: tuple[_Piece, ...]
    centres: tuple[Point, ...]
    colours: dict[str, str]

    @classmethod
    def of(cls, subgraph: Subgraph, at: datetime) -> _Parts:
        """The laid-out parts."""
        entities = subgraph.entities
        values = tuple(relation for relation in subgraph.relations if relation.object is None)
        links = tuple(_links(subgraph.relations, entities, values, at))
        boxes = (*map(_entity_piece, entities), *map(_value_piece, values))
        pieces = (*boxes, *(_label_piece(link, at) for link in links))
        centres = place([each.size for each in pieces], list(_joins(links, pieces, len(boxes))))
        return cls(
            entities=entities,
            values=values,
            links=links,
            pieces=pieces,
            centres=tuple(centres),
            colours=colours(entity.type for entity in entities),
        )

    def placed_values(self) -> Iterator[tuple[Relation, _Piece, Point]]:
        """The values, each with its piece and centre."""
        first = len(self.entities)
        yield from zip(self.values, self.pieces[first:], self.centres[first:], strict=False)

    def placed_links(self) -> Iterator[tuple[_Link, _Piece, Point]]:
        """The links, each with the piece and centre of its label."""
        first = len(self.entities) + len(self.values)
        yield from zip(self.links, self.pieces[first:], self.centres[first:], strict=True)


def _links(
    relations: Sequence[Relation], entities: Sequence[Entity], values: Sequence[Relation], at: datetime
) -> list[_Link]:
    place_of = {entity.id: n for n, entity in enumerate(entities)}
    value_of = {relation.id: n for n, relation in enumerate(values, len(entities))}
    found: dict[tuple[int, int, str], list[Relation]] = {}
    for each in relations:
        start = place_of.get(each.subject.id)
        end = value_of.get(each.id) if each.object is None else place_of.get(each.object.id)
        if start is not None and end is not None:
            found.setdefault((start, end, _kind(each, at)), []).append(each)
    return [_Link(start=key[0], end=key[1], kind=key[2], relations=tuple(held)) for key, held in found.items()]


def _kind(relation: Relation, at: datetime) -> str:
    told: Standing = standing(relation, at)
    return "mentioned" if relation.kind == "mentioned" and told == "holds" else told


def _joins(links: Sequence[_Link], boxes: Sequence[_Piece], first_label: int) -> Iterator[Join]:
    joined = Counter(end for link in links for end in (link.start, link.end))
    for label, link in enumerate(links, first_label):
        for end in (link.start, link.end):
            crowd = _CROWD * max(0, joined[end] - _UNCROWDED)
            yield end, label, 0.3 * (boxes[end].size[0] + boxes[label].size[0]) + 26 + crowd


def _piece(lines: tuple[str, ...], size: float, around: float) -> _Piece:
    wide = max(width(line, size) for line in lines) + 2 * around
    return _Piece(lines=lines, size=(wide, len(lines) * size * 1.3 + around))


def _entity_piece(entity: Entity) -> _Piece:
    return _piece(wrapped(entity.name, _NAME, _WIDEST_NAME) or ("",), _NAME, 11)


def _value_piece(relation: Relation) -> _Piece:
    return _piece(wrapped(str(relation.value), _LABEL, _WIDEST_NAME) or ("",), _LABEL, 6)


def _label_piece(link: _Link, at: datetime) -> _Piece:
    return _piece(tuple(line for line, _ in _label_lines(link, at)), _LABEL, 3)


def _label_lines(link: _Link, at: datetime) -> Iterator[tuple[str, bool]]:
    """The label lines of an arrow, and whether each is a predicate."""
    for relation in link.relations[:_LISTED]:
        yield from ((line, True) for line in wrapped(predicate_words(relation), _LABEL, _WIDEST_LABEL, 2))
        if when := standing_words(relation, at):
            yield from ((line, False) for line in wrapped(when, _LABEL, _WIDEST_LABEL, 2))
    if len(link.relations) > _LISTED:
        yield f"… {len(link.relations) - _LISTED} more", False


def _arrows(parts: _Parts) -> Iterator[Group]:
    for link, _, through in parts.placed_links():
        style = _LINES[link.kind]
        start, end = parts.centres[link.start], parts.centres[link.end]
        points = _curve(start, through, end)
        if link.start != link.end:
            points = _outside(points, (start, parts.pieces[link.start].size), (end, parts.pieces[link.end].size))
        headed = link.kind != "mentioned" and link.start != link.end
        yield Group(shapes=(Line(points=points, colour=style.line, dashes=style.dashes, arrow=headed),))


def _curve(start: Point, through: Point, end: Point) -> list[Point]:
    """A quadratic curve between two points through a third."""
    pull_x = 2 * through[0] - (start[0] + end[0]) / 2
    pull_y = 2 * through[1] - (start[1] + end[1]) / 2
    return [
        (
            (1 - t) ** 2 * start[0] + 2 * t * (1 - t) * pull_x + t**2 * end[0],
            (1 - t) ** 2 * start[1] + 2 * t * (1 - t) * pull_y + t**2 * end[1],
        )
        for t in (step / _STEPS for step in range(_STEPS + 1))
    ]


def _outside(points: list[Point], start: tuple[Point, Size], end: tuple[Point, Size]) -> list[Point]:
    """The part of a line between two boxes."""
    first = max((n for n, point in enumerate(points) if _within(point, *start)), default=0)
    last = next((n for n in range(first + 1, len(points)) if _within(points[n], *end)), len(points) - 1)
    return [*points[first:last], _edge(points[last - 1], points[last], *end)]


def _within(point: Point, centre: Point, size: Size) -> bool:
    return abs(point[0] - centre[0]) <= size[0] / 2 and abs(point[1] - centre[1]) <= size[1] / 2


def _edge(outer: Point, inner: Point, centre: Point, size: Size) -> Point:
    """Where a line from one point to another enters a box."""
    low, high = 0.0, 1.0
    for _ in range(12):
        middle = (low + high) / 2
        here = (outer[0] + (inner[0] - outer[0]) * middle, outer[1] + (inner[1] - outer[1]) * middle)
        low, high = (low, middle) if _within(here, centre, size) else (middle, high)
    return outer[0] + (inner[0] - outer[0]) * low, outer[1] + (inner[1] - outer[1]) * low


def _labels(parts: _Parts, at: datetime) -> Iterator[Group]:
    for link, piece, centre in parts.placed_links():
        (wide, high), (x, y) = piece.size, centre
        paper = Box(x=x - wide / 2, y=y - high / 2, width=wide, height=high, fill="paper", radius=3, opacity=0.92)
        over = link.kind in ("ended", "never", "mentioned")
        words = (
            Words(
                x=x,
                y=_base(y, high, place_, _LABEL, 3),
                text=line,
                size=_LABEL,
                colour="quiet" if over or not predicate else "ink",
                anchor="middle",
                italic=not predicate,
            )
            for place_, (line, predicate) in enumerate(_label_lines(link, at))
        )
        told = "; ".join(
            f"{relation_words(each)} ({standing_words(each, at) or 'no date known'})" for each in link.relations
        )
        yield Group(shapes=(paper, *words), title=told)


def _entities(parts: _Parts, subgraph: Subgraph) -> Iterator[Group]:
    for entity, piece, centre in zip(parts.entities, parts.pieces, parts.centres, strict=False):
        colour = parts.colours[entity.type]
        box = _box(piece, centre, fill=colour, radius=piece.size[1] / 2.6)
        names = _names(piece, centre, _NAME, 11, bold=subgraph.distance.get(entity.id) == 0)
        also = f", also {', '.join(entity.aliases)}" if entity.aliases else ""
        yield Group(shapes=(box, *names), title=f"{entity.name} ({entity.type}{also})", name=entity.name)


def _values(parts: _Parts) -> Iterator[Group]:
    for relation, piece, centre in parts.placed_values():
        box = _box(piece, centre, fill="value", radius=0)
        yield Group(shapes=(box, *_names(piece, centre, _LABEL, 6)), title=str(relation.value))


def _box(piece: _Piece, centre: Point, *, fill: str, radius: float) -> Box:
    (wide, high), (x, y) = piece.size, centre
    return Box(x=x - wide / 2, y=y - high / 2, width=wide, height=high, fill=fill, line=f"{fill}-line", radius=radius)


def _names(piece: _Piece, centre: Point, size: float, around: float, *, bold: bool = False) -> Iterator[Words]:
    for place_, line in enumerate(piece.lines):
        base = _base(centre[1], piece.size[1], place_, size, around)
        yield Words(x=centre[0], y=base, text=line, size=size, anchor="middle", bold=bold)


def _base(y: float, high: float, line: int, size: float, around: float) -> float:
    """The baseline of a line of text in a box with its centre at y."""
    return y - high / 2 + around / 2 + (line + 0.8) * size * 1.3


def _keys(parts: _Parts) -> Iterator[Key]:
    there = {entity.type for entity in parts.entities}
    for kind in (*BUILT_IN_TYPES, *sorted(there - set(BUILT_IN_TYPES))):
        if kind in there:
            yield Key(text=kind, fill=parts.colours[kind], line=f"{parts.colours[kind]}-line")
    if parts.values:
        yield Key(text="value", fill="value", line="value-line")
    used = {link.kind for link in parts.links}
    yield from (key for kind, key in _LINES.items() if kind in used)
