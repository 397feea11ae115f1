"""Building blocks of pictures before they become SVG or PNG: shapes, colours, text width, title and legend.

No business logic. Coordinates are pixels from the top left corner. Colours have semantic names; `LIGHT` and `DARK`
give their values.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from langmem_tiers.records import BUILT_IN_TYPES

Point = tuple[float, float]
Anchor = Literal["start", "middle", "end"]
Dashes = Literal["", "dashed", "dotted"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Box:
    """A rectangle with its top left corner at x, y. `line` is the colour of its border, `opacity` that of its fill."""

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
class DrawnLine:
    """A line through points; `arrow` adds an arrow head."""

    points: Sequence[Point]
    colour: str
    width: float = 1.3
    dashes: Dashes = ""
    arrow: bool = False
    head: float = 9


@dataclass(frozen=True, kw_only=True, slots=True)
class Words:
    """One line of text with its baseline at y."""

    x: float
    y: float
    text: str
    size: float
    colour: str = "ink"
    anchor: Anchor = "start"
    bold: bool = False
    italic: bool = False


Shape = Box | DrawnLine | Words


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """Shapes that belong together, such as an entity's box and name; `title` is the tooltip."""

    shapes: tuple[Shape, ...]
    title: str = ""
    name: str = ""
    """The search term that a click on it enters; empty for none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Picture:
    """Groups of shapes from back to front, and a text description."""

    width: float
    height: float
    groups: tuple[Group, ...]
    title: str
    description: str = field(default="")


def arrow_head(line: DrawnLine) -> tuple[Point, ...]:
    """The corners of the arrow head of a line."""
    tip = line.points[-1]
    before = next((each for each in reversed(line.points) if _far(each, tip) > 4), line.points[0])
    length = max(_far(before, tip), 0.01)
    along = ((tip[0] - before[0]) / length, (tip[1] - before[1]) / length)
    base = (tip[0] - line.head * along[0], tip[1] - line.head * along[1])
    side = (0.45 * line.head * along[1], 0.45 * line.head * along[0])
    return tip, (base[0] - side[0], base[1] + side[1]), (base[0] + side[0], base[1] - side[1])


def _far(one: Point, other: Point) -> float:
    return float(((one[0] - other[0]) ** 2 + (one[1] - other[1]) ** 2) ** 0.5)


# Colours.

# In a light and in a dark scheme.
_COLOURS = {
    "paper": ("#ffffff", "#15181d"),
    "ink": ("#1c2430", "#e8ebf0"),
    "quiet": ("#5d6878", "#a3adba"),
    "rule": ("#d5dae1", "#383f49"),
    "band": ("#f4f6f9", "#1d2127"),
    "edge": ("#3d4b5e", "#b4bfcd"),
    "past": ("#8d97a5", "#77818f"),
    "value": ("#fffbe8", "#332e19"),
    "value-line": ("#b59a3c", "#c9b45c"),
    "now": ("#c62f3d", "#ff7b86"),
    "kind-0": ("#d6e6fb", "#1c3350"),
    "kind-0-line": ("#2f6fc1", "#6ea8ee"),
    "kind-1": ("#ffe0c7", "#48290f"),
    "kind-1-line": ("#c4610f", "#f09a55"),
    "kind-2": ("#d5efd9", "#173a20"),
    "kind-2-line": ("#2c8540", "#69bd7c"),
    "kind-3": ("#e7dcf8", "#33244e"),
    "kind-3-line": ("#7446b8", "#b392ea"),
    "kind-4": ("#f8f0bf", "#39330b"),
    "kind-4-line": ("#948009", "#d0bb3c"),
    "kind-5": ("#fbd9e4", "#4a1a2d"),
    "kind-5-line": ("#c03468", "#ee7ca5"),
    "kind-6": ("#d0eff2", "#0f3a40"),
    "kind-6-line": ("#187f8c", "#56bfcd"),
    "kind-7": ("#e6e8ec", "#2b3038"),
    "kind-7-line": ("#626b79", "#a1abb9"),
    "kind-8": ("#eadfd3", "#3a2a1a"),
    "kind-8-line": ("#80562a", "#c89a68"),
    "kind-9": ("#e3edc4", "#2c3511"),
    "kind-9-line": ("#647d16", "#a9c24f"),
}
LIGHT: Mapping[str, str] = {name: light for name, (light, _) in _COLOURS.items()}
DARK: Mapping[str, str] = {name: dark for name, (_, dark) in _COLOURS.items()}
_OWN = ("kind-8", "kind-9")


def colours(types: Iterable[str]) -> dict[str, str]:
    """The colour of each entity type; custom types share the remaining colours, in alphabetical order."""
    named = {kind: f"kind-{place}" for place, kind in enumerate(BUILT_IN_TYPES)}
    own = sorted(set(types) - named.keys())
    return named | {kind: _OWN[place % len(_OWN)] for place, kind in enumerate(own)}


def legend_of_types(types: Collection[str]) -> list[tuple[str, str]]:
    """Entity types with their colours, in the order of a legend."""
    every = colours(types)
    return [(kind, every[kind]) for kind in every if kind in types]


# Measuring text without a font.

# In fractions of the font size, for the wide sans-serif fonts that pictures ask for.
_NARROW = dict.fromkeys("iIl|.,:;'!j", 0.33) | dict.fromkeys('ft()[]{} -/r"`', 0.42)
_WIDE = dict.fromkeys("mwMWQOGDH@%&—", 0.88)
_CAPITAL, _USUAL, _FULL = 0.7, 0.62, 1.02
_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
# Joiners used in emoji and in the scripts of India and Iran.
_KEPT = {"\u200c", "\u200d"}


def printable(text: str) -> str:
    """`text` on one line, without control characters."""
    seen = (each for each in " ".join(text.split()) if each in _KEPT or unicodedata.category(each) not in _UNSEEN)
    return "".join(seen)


def width(text: str, size: float) -> float:
    """The approximate width of `text` in pixels."""
    return size * sum(map(_part, text))


def wrapped(text: str, size: float, widest: float, most: int = 3) -> tuple[str, ...]:
    """`text` in at most `most` lines of at most `widest` pixels; the rest is replaced by "…"."""
    lines = list(_lines(printable(text), size, widest))
    if len(lines) <= most:
        return tuple(lines)
    last = fitting(" ".join(lines[most - 1 :]), size, widest)
    return (*lines[: most - 1], last)


def fitting(text: str, size: float, widest: float) -> str:
    """`text`, or as much of it as fits, with "…"."""
    text = printable(text)
    if width(text, size) <= widest:
        return text
    kept = ""
    for each in text:
        if width(kept + each + "…", size) > widest:
            break
        kept += each
    return kept.rstrip() + "…"


def _lines(text: str, size: float, widest: float) -> Iterator[str]:
    line = ""
    for word in _words(text, size, widest):
        longer = f"{line} {word}".strip()
        if line and width(longer, size) > widest:
            yield line
            line = word
        else:
            line = longer
    yield line


def _words(text: str, size: float, widest: float) -> Iterator[str]:
    """The words; those wider than a line are split."""
    for word in text.split():
        piece = ""
        for each in word:
            if width(piece + each, size) > widest:
                yield piece
                piece = ""
            piece += each
        yield piece


def _part(character: str) -> float:
    if character.isascii():
        return _NARROW.get(character) or _WIDE.get(character) or (_CAPITAL if character.isupper() else _USUAL)
    if unicodedata.combining(character) or unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    if unicodedata.east_asian_width(character) in "WF":
        return _FULL
    return _CAPITAL if character.isupper() else _USUAL + 0.06


# The frame of a drawing.

_MARGIN = 28.0
_NARROWEST = 560.0
_TITLE, _SMALL = 19.0, 12.0
_ROW = 22.0
_SAMPLE = 26.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Key:
    """A legend entry: a filled box, or a line."""

    text: str
    fill: str | None = None
    line: str = "edge"
    dashes: Dashes = ""


def framed(
    drawn: Iterable[Group], extent: tuple[float, float], *, title: str, keys: Sequence[Key], captions: Sequence[str]
) -> Picture:
    """What was drawn from 0, 0 to its extent, with title, legend and captions."""
    inner = max(extent[0], _NARROWEST)
    left, top = _MARGIN + (inner - extent[0]) / 2, _MARGIN + _TITLE + 20
    below = top + extent[1] + 24
    legend, bottom = _legend(keys, inner, below)
    lines = [line for each in captions for line in wrapped(each, _SMALL, inner)]
    captioned = [
        Words(x=_MARGIN, y=bottom + place * 18, text=line, size=_SMALL, colour="quiet")
        for place, line in enumerate(lines, 1)
    ]
    bottom += len(lines) * 18
    heading = Words(x=_MARGIN, y=_MARGIN + _TITLE, text=fitting(title, _TITLE, inner), size=_TITLE, bold=True)
    total = inner + 2 * _MARGIN
    paper = Box(x=0, y=0, width=total, height=bottom + _MARGIN, fill="paper")
    moved = (_moved(group, left, top) for group in drawn)
    return Picture(
        width=total,
        height=bottom + _MARGIN,
        groups=(Group(shapes=(paper,)), Group(shapes=(heading,)), *moved, Group(shapes=(*legend, *captioned))),
        title=title,
        description=" ".join(captions),
    )


def _legend(keys: Sequence[Key], inner: float, top: float) -> tuple[list[Shape], float]:
    shapes: list[Shape] = [DrawnLine(points=((_MARGIN, top), (_MARGIN + inner, top)), colour="rule", width=1)]
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
    return DrawnLine(points=points, colour=key.line, dashes=key.dashes, arrow=key.dashes != "dotted")


def _moved(group: Group, right: float, down: float) -> Group:
    shapes: list[Shape] = []
    for shape in group.shapes:
        if isinstance(shape, DrawnLine):
            shapes.append(replace(shape, points=tuple((x + right, y + down) for x, y in shape.points)))
        else:
            shapes.append(replace(shape, x=shape.x + right, y=shape.y + down))
    return replace(group, shapes=tuple(shapes))
