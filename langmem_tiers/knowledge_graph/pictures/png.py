"""A picture as PNG, drawn by matplotlib."""

from __future__ import annotations

import io
from typing import Any

from langmem_tiers.errors import MissingExtra
from langmem_tiers.knowledge_graph.pictures.fonts import Lettering, unremarked
from langmem_tiers.knowledge_graph.pictures.palette import LIGHT
from langmem_tiers.knowledge_graph.pictures.shapes import Box, Line, Picture, Shape, Words
from langmem_tiers.knowledge_graph.pictures.svg import arrow_head

# Pixels to an inch of the picture's own, and how many times finer the file is.
_INCH = 100.0
_FINER = 2.0
# Pixels on a side: beyond it, the file is less fine.
_MOST = 10_000.0
_POINTS = 72 / _INCH
_DASHES = {"": "solid", "dashed": (0, (5, 3.5)), "dotted": (0, (1, 3))}


def png(picture: Picture) -> bytes:
    """The bytes of the file; the same ones for the same picture.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("matplotlib", "pictures") from error
    finer = min(_FINER, _MOST / max(picture.width, picture.height))
    figure = Figure(figsize=(picture.width / _INCH, picture.height / _INCH), dpi=_INCH * finer)
    with unremarked():
        return _painted(picture, figure, FigureCanvasAgg)


def _painted(picture: Picture, figure: Any, canvas: Any) -> bytes:
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, picture.width), ylim=(picture.height, 0))
    axes.set_axis_off()
    shapes = [shape for group in picture.groups for shape in group.shapes]
    lettering = Lettering(words.text for words in shapes if isinstance(words, Words))
    for depth, shape in enumerate(shapes):
        _draw(axes, shape, lettering, depth)
    file = io.BytesIO()
    canvas(figure).print_png(file, metadata={"Software": None})
    return file.getvalue()


def _draw(axes: Any, shape: Shape, lettering: Lettering, depth: int) -> None:
    if isinstance(shape, Box):
        _draw_box(axes, shape, depth)
    elif isinstance(shape, Line):
        _draw_line(axes, shape, depth)
    else:
        _draw_words(axes, shape, lettering, depth)


def _draw_box(axes: Any, box: Box, depth: int) -> None:
    from matplotlib.colors import to_rgba
    from matplotlib.patches import FancyBboxPatch

    fill = (0, 0, 0, 0) if box.fill is None else to_rgba(LIGHT[box.fill], box.opacity)
    line = "none" if box.line is None else LIGHT[box.line]
    round_ = f"round,pad=0,rounding_size={box.radius}" if box.radius else "square,pad=0"
    dashes: Any = "--" if box.dashed else "-"
    patch = FancyBboxPatch(
        (box.x, box.y),
        box.width,
        box.height,
        boxstyle=round_,
        facecolor=fill,
        edgecolor=line,
        linewidth=1.4 * _POINTS,
        linestyle=dashes,
        zorder=depth,
    )
    axes.add_patch(patch)


def _draw_line(axes: Any, line: Line, depth: int) -> None:
    across, down = zip(*line.points, strict=True)
    axes.plot(
        across,
        down,
        color=LIGHT[line.colour],
        linewidth=line.width * _POINTS,
        linestyle=_DASHES[line.dashes],
        solid_capstyle="round",
        zorder=depth,
        scalex=False,
        scaley=False,
    )
    if line.arrow:
        corners = list(zip(*arrow_head(line), strict=True))
        axes.fill(*corners, color=LIGHT[line.colour], linewidth=0, zorder=depth)


def _draw_words(axes: Any, words: Words, lettering: Lettering, depth: int) -> None:
    axes.text(
        words.x,
        words.y,
        lettering.drawable(words.text),
        fontsize=words.size * _POINTS,
        fontfamily=lettering.families,
        fontweight="bold" if words.bold else "normal",
        fontstyle="italic" if words.italic else "normal",
        color=LIGHT[words.colour],
        horizontalalignment={"start": "left", "middle": "center", "end": "right"}[words.anchor],
        verticalalignment="baseline",
        parse_math=False,
        zorder=depth,
    )
