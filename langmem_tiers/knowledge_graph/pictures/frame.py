"""What stands around a drawing: its title above, legend and captions below. No business logic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from langmem_tiers.knowledge_graph.pictures.lettering import fitting, width, wrapped
from langmem_tiers.knowledge_graph.pictures.shapes import Box, Dashes, Group, Line, Picture, Shape, Words

_MARGIN = 28.0
_NARROWEST = 560.0
_TITLE, _SMALL = 19.0, 12.0
_ROW = 22.0
_SAMPLE = 26.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Key:
    """An entry of the legend: a filled box, or a line."""

    text: str
    fill: str | None = None
    line: str = "edge"
    dashes: Dashes = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Drawing:
    """Groups of shapes between 0, 0 and their extent."""

    width: float
    height: float
    groups: tuple[Group, ...]


def framed(drawing: Drawing, *, title: str, keys: Sequence[Key], captions: Sequence[str]) -> Picture:
    """A drawing with all around it."""
    inner = max(drawing.width, _NARROWEST)
    left, top = _MARGIN + (inner - drawing.width) / 2, _MARGIN + _TITLE + 20
    below = top + drawing.height + 24
    legend, bottom = _legend(keys, inner, below)
    captioned, bottom = _captions(captions, inner, bottom)
    heading = Words(x=_MARGIN, y=_MARGIN + _TITLE, text=fitting(title, _TITLE, inner), size=_TITLE, bold=True)
    total = inner + 2 * _MARGIN
    paper = Box(x=0, y=0, width=total, height=bottom + _MARGIN, fill="paper")
    moved = (_moved(group, left, top) for group in drawing.groups)
    return Picture(
        width=total,
        height=bottom + _MARGIN,
        groups=(Group(shapes=(paper,)), Group(shapes=(heading,)), *moved, Group(shapes=(*legend, *captioned))),
        title=title,
        description=" ".join(captions),
    )


def _legend(keys: Sequence[Key], inner: float, top: float) -> tuple[list[Shape], float]:
    shapes: list[Shape] = [Line(points=((_MARGIN, top), (_MARGIN + inner, top)), colour="rule", width=1)]
    x, y = _MARGIN, top + _ROW
    for key in keys:
        taken = _SAMPLE + 8 + width(key.text, _SMALL) + 22
        if x > _MARGIN and x + taken > _MARGIN + inner:
            x, y = _MARGIN, y + _ROW
        shapes += [_sample(key, x, y), Words(x=x + _SAMPLE + 8, y=y, text=key.text, size=_SMALL)]
        x += taken
    return shapes, y + 8


def _sample(key: Key, x: float, y: float) -> Shape:
    if key.fill is not None:
        return Box(x=x, y=y - 12, width=_SAMPLE, height=15, fill=key.fill, line=key.line, radius=4)
    points = ((x, y - 4.5), (x + _SAMPLE, y - 4.5))
    return Line(points=points, colour=key.line, dashes=key.dashes, arrow=key.dashes != "dotted")


def _captions(captions: Sequence[str], inner: float, top: float) -> tuple[list[Shape], float]:
    lines = [line for each in captions for line in wrapped(each, _SMALL, inner)]
    shapes: list[Shape] = [
        Words(x=_MARGIN, y=top + (place + 1) * 18, text=line, size=_SMALL, colour="quiet")
        for place, line in enumerate(lines)
    ]
    return shapes, top + len(lines) * 18


def _moved(group: Group, right: float, down: float) -> Group:
    return Group(shapes=tuple(_shifted(group.shapes, right, down)), title=group.title, name=group.name)


def _shifted(shapes: Sequence[Shape], right: float, down: float) -> Iterator[Shape]:
    for shape in shapes:
        if isinstance(shape, Line):
            yield replace(shape, points=tuple((x + right, y + down) for x, y in shape.points))
        else:
            yield replace(shape, x=shape.x + right, y=shape.y + down)
