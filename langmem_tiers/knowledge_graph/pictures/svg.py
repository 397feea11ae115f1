"""A picture as SVG: text stays text, so every script that the viewer has a font for is shown and can be searched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from langmem_tiers.knowledge_graph.pictures import palette
from langmem_tiers.knowledge_graph.pictures.lettering import printable
from langmem_tiers.knowledge_graph.pictures.shapes import Box, Group, Line, Picture, Point, Shape, Words

# Wide ones first: pictures are laid out for them.
FONTS = "'DejaVu Sans', Verdana, 'Segoe UI', 'Noto Sans', system-ui, sans-serif"
_DASHES = {"dashed": "6 4", "dotted": "1.5 4"}


def svg(picture: Picture) -> str:
    """A file of its own, in the colours for light surroundings."""
    style = f"text{{font-family:{FONTS}}}"
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{"".join(_document(picture, style, palette.LIGHT))}\n'


def inline_svg(picture: Picture) -> str:
    """For a page that says what the colours are, as CSS variables."""
    variables = {name: f"var(--{name})" for name in palette.LIGHT}
    return "".join(_document(picture, "", variables))


def _document(picture: Picture, style: str, colour: Mapping[str, str]) -> Iterator[str]:
    wide, high = _number(picture.width), _number(picture.height)
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" viewBox="0 0 {wide} {high}" '
        f'role="group" aria-label="{_safe(picture.title)}">'
    )
    yield f"<title>{_safe(picture.title)}</title><desc>{_safe(picture.description)}</desc>"
    if style:
        yield f"<style>{style}</style>"
    for group in picture.groups:
        yield from _group(group, colour)
    yield "</svg>"


def _group(group: Group, colour: Mapping[str, str]) -> Iterator[str]:
    named = f' class="named" data-name="{_safe(group.name)}"' if group.name else ""
    yield f"\n<g{named}>"
    if group.title:
        yield f"<title>{_safe(group.title)}</title>"
    for shape in group.shapes:
        yield _shape(shape, colour)
    yield "</g>"


def _shape(shape: Shape, colour: Mapping[str, str]) -> str:
    if isinstance(shape, Box):
        return _box(shape, colour)
    return _line(shape, colour) if isinstance(shape, Line) else _words(shape, colour)


def _box(box: Box, colour: Mapping[str, str]) -> str:
    fill = "none" if box.fill is None else colour[box.fill]
    line = "" if box.line is None else f' stroke="{colour[box.line]}" stroke-width="1.4"'
    dashes = ' stroke-dasharray="4 3"' if box.dashed else ""
    opacity = f' fill-opacity="{box.opacity:g}"' if box.opacity < 1 else ""
    rounded = f' rx="{_number(box.radius)}"' if box.radius else ""
    return (
        f'<rect x="{_number(box.x)}" y="{_number(box.y)}" width="{_number(box.width)}" height="{_number(box.height)}"'
        f'{rounded} fill="{fill}"{opacity}{line}{dashes}/>'
    )


def _line(line: Line, colour: Mapping[str, str]) -> str:
    ink = colour[line.colour]
    dashes = f' stroke-dasharray="{_DASHES[line.dashes]}"' if line.dashes else ""
    drawn = (
        f'<path d="M{_path(line.points)}" fill="none" stroke="{ink}" stroke-width="{line.width:g}" '
        f'stroke-linecap="round"{dashes}/>'
    )
    return drawn + (f'<path d="M{_path(arrow_head(line))}Z" fill="{ink}"/>' if line.arrow else "")


def arrow_head(line: Line) -> tuple[Point, ...]:
    """The corners of the head on the end of a line."""
    tip = line.points[-1]
    before = next((each for each in reversed(line.points) if _far(each, tip) > 4), line.points[0])
    length = max(_far(before, tip), 0.01)
    along = ((tip[0] - before[0]) / length, (tip[1] - before[1]) / length)
    base = (tip[0] - line.head * along[0], tip[1] - line.head * along[1])
    side = (0.45 * line.head * along[1], 0.45 * line.head * along[0])
    return tip, (base[0] - side[0], base[1] + side[1]), (base[0] + side[0], base[1] - side[1])


def _far(one: Point, other: Point) -> float:
    return float(((one[0] - other[0]) ** 2 + (one[1] - other[1]) ** 2) ** 0.5)


def _path(points: Sequence[Point]) -> str:
    return "L".join(f"{_number(x)} {_number(y)}" for x, y in points)


def _words(words: Words, colour: Mapping[str, str]) -> str:
    bold = ' font-weight="bold"' if words.bold else ""
    italic = ' font-style="italic"' if words.italic else ""
    anchor = f' text-anchor="{words.anchor}"' if words.anchor != "start" else ""
    return (
        f'<text x="{_number(words.x)}" y="{_number(words.y)}" font-size="{words.size:g}" '
        f'fill="{colour[words.colour]}"{anchor}{bold}{italic}>{_safe(words.text)}</text>'
    )


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _safe(text: str) -> str:
    return escape(printable(text))
