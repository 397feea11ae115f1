"""What a picture is made of, before it becomes SVG or PNG. No business logic.

Coordinates are pixels from the upper left corner. Colours are named by what they mean; `palette` says what they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

Point = tuple[float, float]
Anchor = Literal["start", "middle", "end"]
Dashes = Literal["", "dashed", "dotted"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Box:
    """A rectangle with its upper left corner at x, y. `line` is the colour of its edge, `opacity` that of its fill."""

    x: float
    y: float
    width: float
    height: float
    fill: str | None = None
    line: str | None = None
    radius: float = 0
    opacity: float = 1
    dashed: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """A line through points; `arrow` puts a head on its end."""

    points: Sequence[Point]
    colour: str
    width: float = 1.3
    dashes: Dashes = ""
    arrow: bool = False
    head: float = 9


@dataclass(frozen=True, kw_only=True, slots=True)
class Words:
    """One line of text, its base line at y."""

    x: float
    y: float
    text: str
    size: float
    colour: str = "ink"
    anchor: Anchor = "start"
    bold: bool = False
    italic: bool = False


Shape = Box | Line | Words


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """Shapes that belong together, such as an entity's box and name; `title` is all that is known of them."""

    shapes: tuple[Shape, ...]
    title: str = ""
    name: str = ""
    """What a click on it looks for, empty for nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Picture:
    """Groups of shapes, those behind first, and in words what they show."""

    width: float
    height: float
    groups: tuple[Group, ...]
    title: str
    description: str = field(default="")
