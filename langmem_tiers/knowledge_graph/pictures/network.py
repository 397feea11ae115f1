"""A subgraph as a picture: entities as boxes coloured by type, relations as arrows with their time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from langmem_tiers.knowledge_graph.pictures.canvas import (
    Box,
    DrawnLine,
    Group,
    Key,
    Picture,
    Point,
    Words,
    colours,
    framed,
    legend_of_types,
    width,
    wrapped,
)
from langmem_tiers.knowledge_graph.pictures.layout import Join, Size, place
from langmem_tiers.knowledge_graph.types import Subgraph
from langmem_tiers.knowledge_graph.wording import Standing, predicate_words, relation_words, standing, standing_words
from langmem_tiers.records import Entity, Relation

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
class _Link:
    """Relations between the same two ends with the same status, drawn as one arrow.

    The ends are their places in the list of pieces: entities, then values, then links.
    """

    start: int
    end: int
    kind: str
    relations: tuple[Relation, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Piece:
    """An item that takes space: its lines of text, its size, and where its centre stands."""

    of: Entity | Relation | _Link
    lines: tuple[str, ...]
    size: Size
    centre: Point = (0, 0)


def network(subgraph: Subgraph, *, title: str, at: datetime, captions: Sequence[str] = ()) -> Picture:
    """The entities and relations of a subgraph; what ended before `at` is dashed and grey."""
    values = [relation for relation in subgraph.relations if relation.object is None]
    links = _links(subgraph.relations, subgraph.entities, values, at)
    pieces = [
        *(_piece(each, wrapped(each.name, _NAME, _WIDEST_NAME) or ("",), _NAME, 11) for each in subgraph.entities),
        *(_piece(each, wrapped(str(each.value), _LABEL, _WIDEST_NAME) or ("",), _LABEL, 6) for each in values),
        *(_piece(each, tuple(line for line, _ in _label_lines(each, at)), _LABEL, 3) for each in links),
    ]
    centres = place([each.size for each in pieces], list(_joins(links, pieces)))
    pieces = [replace(piece, centre=centre) for piece, centre in zip(pieces, centres, strict=True)]
    kinds = colours(entity.type for entity in subgraph.entities)
    groups = [
        *(_arrow(piece, piece.of, pieces) for piece in pieces if isinstance(piece.of, _Link)),
        *(_label(piece, piece.of, at) for piece in pieces if isinstance(piece.of, _Link)),
        *(_entity(piece, piece.of, kinds, subgraph) for piece in pieces if isinstance(piece.of, Entity)),
        *(_value(piece, piece.of) for piece in pieces if isinstance(piece.of, Relation)),
    ]
    right = max((each.centre[0] + each.size[0] / 2 for each in pieces), default=0)
    bottom = max((each.centre[1] + each.size[1] / 2 for each in pieces), default=0)
    return framed(groups, (right, bottom), title=title, keys=list(_keys(subgraph, links)), captions=captions)


def _links(
    relations: Sequence[Relation], entities: Sequence[Entity], values: Sequence[Relation], at: datetime
) -> list[_Link]:
    place_of = {id_: n for n, id_ in enumerate([*(each.id for each in entities), *(each.id for each in values)])}
    found: dict[tuple[int, int, str], list[Relation]] = {}
    for each in relations:
        start, end = place_of.get(each.subject.id), place_of.get(each.id if each.object is None else each.object.id)
        told: Standing = standing(each, at)
        kind = "mentioned" if each.kind == "mentioned" and told == "holds" else told
        if start is not None and end is not None:
            found.setdefault((start, end, kind), []).append(each)
    return [_Link(start=key[0], end=key[1], kind=key[2], relations=tuple(held)) for key, held in found.items()]


def _joins(links: Sequence[_Link], pieces: Sequence[_Piece]) -> Iterator[Join]:
    """How far each label is to stand from the ends of its arrow."""
    joined = Counter(end for link in links for end in (link.start, link.end))
    for label, link in enumerate(links, len(pieces) - len(links)):
        for end in (link.start, link.end):
            crowd = _CROWD * max(0, joined[end] - _UNCROWDED)
            yield end, label, 0.3 * (pieces[end].size[0] + pieces[label].size[0]) + 26 + crowd


def _piece(of: Entity | Relation | _Link, lines: tuple[str, ...], size: float, around: float) -> _Piece:
    wide = max(width(line, size) for line in lines) + 2 * around
    return _Piece(of=of, lines=lines, size=(wide, len(lines) * size * 1.3 + around))


def _label_lines(link: _Link, at: datetime) -> Iterator[tuple[str, bool]]:
    """The label lines of an arrow, and whether each is a predicate."""
    for relation in link.relations[:_LISTED]:
        yield from ((line, True) for line in wrapped(predicate_words(relation), _LABEL, _WIDEST_LABEL, 2))
        if when := standing_words(relation, at):
            yield from ((line, False) for line in wrapped(when, _LABEL, _WIDEST_LABEL, 2))
    if len(link.relations) > _LISTED:
        yield f"… {len(link.relations) - _LISTED} more", False


def _arrow(label: _Piece, link: _Link, pieces: Sequence[_Piece]) -> Group:
    style = _LINES[link.kind]
    start, end = pieces[link.start], pieces[link.end]
    points = _curve(start.centre, label.centre, end.centre)
    if link.start != link.end:
        points = _between(points, start, end)
    headed = link.kind != "mentioned" and link.start != link.end
    return Group(shapes=(DrawnLine(points=points, colour=style.line, dashes=style.dashes, arrow=headed),))


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


def _between(points: list[Point], start: _Piece, end: _Piece) -> list[Point]:
    """The part of a line between two boxes."""
    first = max((n for n, point in enumerate(points) if _within(point, start)), default=0)
    last = next((n for n in range(first + 1, len(points)) if _within(points[n], end)), len(points) - 1)
    # The line enters the box between its last two points; halving finds where.
    outer, inner = points[last - 1], points[last]
    low, high = 0.0, 1.0
    for _ in range(12):
        middle = (low + high) / 2
        here = (outer[0] + (inner[0] - outer[0]) * middle, outer[1] + (inner[1] - outer[1]) * middle)
        low, high = (low, middle) if _within(here, end) else (middle, high)
    edge = (outer[0] + (inner[0] - outer[0]) * low, outer[1] + (inner[1] - outer[1]) * low)
    return [*points[first:last], edge]


def _within(point: Point, box: _Piece) -> bool:
    (x, y), (wide, high) = box.centre, box.size
    return abs(point[0] - x) <= wide / 2 and abs(point[1] - y) <= high / 2


def _label(piece: _Piece, link: _Link, at: datetime) -> Group:
    over = link.kind in ("ended", "never", "mentioned")
    words = (
        Words(
            x=piece.centre[0],
            y=_base(piece, place_, _LABEL, 3),
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
    return Group(shapes=(_box(piece, fill="paper", line=None, radius=3, opacity=0.92), *words), title=told)


def _entity(piece: _Piece, entity: Entity, kinds: dict[str, str], subgraph: Subgraph) -> Group:
    colour = kinds[entity.type]
    box = _box(piece, fill=colour, line=f"{colour}-line", radius=piece.size[1] / 2.6)
    names = _names(piece, _NAME, 11, bold=subgraph.distance.get(entity.id) == 0)
    also = f", also {', '.join(entity.aliases)}" if entity.aliases else ""
    return Group(shapes=(box, *names), title=f"{entity.name} ({entity.type}{also})", name=entity.name)


def _value(piece: _Piece, relation: Relation) -> Group:
    box = _box(piece, fill="value", line="value-line", radius=0)
    return Group(shapes=(box, *_names(piece, _LABEL, 6)), title=str(relation.value))


def _box(piece: _Piece, *, fill: str, line: str | None, radius: float, opacity: float = 1) -> Box:
    (wide, high), (x, y) = piece.size, piece.centre
    left, top = x - wide / 2, y - high / 2
    return Box(x=left, y=top, width=wide, height=high, fill=fill, line=line, radius=radius, opacity=opacity)


def _names(piece: _Piece, size: float, around: float, *, bold: bool = False) -> Iterator[Words]:
    for place_, line in enumerate(piece.lines):
        base = _base(piece, place_, size, around)
        yield Words(x=piece.centre[0], y=base, text=line, size=size, anchor="middle", bold=bold)


def _base(piece: _Piece, line: int, size: float, around: float) -> float:
    """The baseline of a line of text."""
    return piece.centre[1] - piece.size[1] / 2 + around / 2 + (line + 0.8) * size * 1.3


def _keys(subgraph: Subgraph, links: Sequence[_Link]) -> Iterator[Key]:
    for kind, colour in legend_of_types({entity.type for entity in subgraph.entities}):
        yield Key(text=kind, fill=colour, line=f"{colour}-line")
    if any(relation.object is None for relation in subgraph.relations):
        yield Key(text="value", fill="value", line="value-line")
    used = {link.kind for link in links}
    yield from (key for kind, key in _LINES.items() if kind in used)
