"""A picture as PNG, drawn by matplotlib."""

from __future__ import annotations

import io
import logging
import unicodedata
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from langmem_tiers.errors import MissingExtra
from langmem_tiers.knowledge_graph.pictures.canvas import LIGHT, Box, DrawnLine, Picture, Shape, Words, arrow_head

# The picture's own pixels per inch, and how many times finer the file is.
_INCH = 100.0
_FINER = 2.0
# Maximum pixels per side; larger pictures are written at a lower resolution.
_MOST = 10_000.0
_FIRST = "DejaVu Sans"
# Tried first: they cover most scripts and render well at small sizes.
_LIKELY = ("Noto Sans", "Arial Unicode", "Segoe UI", "Hiragino", "Microsoft YaHei", "Malgun", "PingFang", "Nirmala")
_MISSING = "\u00b7"
# Comes with matplotlib, and has a box glyph for every character.
_OF_BOXES = "Last Resort High-Efficiency"
_POINTS = 72 / _INCH
_DASHES = {"": "solid", "dashed": (0, (5, 3.5)), "dotted": (0, (1, 3))}


def png(picture: Picture) -> bytes:
    """The bytes of the file; deterministic.

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
    shapes = [shape for group in picture.groups for shape in group.shapes]
    file = io.BytesIO()
    with _unremarked():
        axes = figure.add_axes((0, 0, 1, 1), xlim=(0, picture.width), ylim=(picture.height, 0))
        axes.set_axis_off()
        lettering = Lettering(words.text for words in shapes if isinstance(words, Words))
        for depth, shape in enumerate(shapes):
            _draw(axes, shape, lettering, depth)
        canvas: Any = FigureCanvasAgg(figure)
        canvas.print_png(file, metadata={"Software": None})
    return file.getvalue()


def _draw(axes: Any, shape: Shape, lettering: Lettering, depth: int) -> None:
    if isinstance(shape, Box):
        _draw_box(axes, shape, depth)
    elif isinstance(shape, DrawnLine):
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


def _draw_line(axes: Any, line: DrawnLine, depth: int) -> None:
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


# Fonts.


class Lettering:
    """Fonts that together cover as many characters of some texts as this machine can draw."""

    def __init__(self, texts: Iterable[str]) -> None:
        wanted = {ord(each) for text in texts for each in text}
        self._drawable = set(_characters_of(_FIRST)) & wanted
        self.families = [_FIRST]
        for family in _families():
            if wanted <= self._drawable:
                break
            if more := _characters_of(family) & (wanted - self._drawable):
                self.families.append(family)
                self._drawable |= more

    def drawable(self, text: str) -> str:
        """`text` with a dot for each run of characters that no font has, instead of empty boxes."""
        kept: list[str] = []
        for each in text:
            if ord(each) in self._drawable:
                kept.append(each)
            elif unicodedata.category(each) not in {"Cf", "Mn", "Me"} and kept[-1:] != [_MISSING]:
                kept.append(_MISSING)
        return "".join(kept)


@lru_cache(maxsize=1)
def _families() -> tuple[str, ...]:
    """The names of the installed fonts, the likely ones first."""
    from matplotlib import font_manager

    names = sorted({font.name for font in font_manager.fontManager.ttflist} - {_FIRST, _OF_BOXES})
    likely = [name for prefix in _LIKELY for name in names if name.startswith(prefix)]
    return tuple(dict.fromkeys([*likely, *names]))


@lru_cache(maxsize=1024)
def _characters_of(family: str) -> frozenset[int]:
    """The code points of a font; empty if matplotlib cannot draw it, as with colour emoji."""
    from matplotlib import font_manager

    path = next(font.fname for font in font_manager.fontManager.ttflist if font.name == family)
    try:
        return frozenset(font_manager.get_font(path).get_charmap())
    except (OSError, RuntimeError):  # deleted, or in a format that matplotlib cannot read
        return frozenset()


@contextmanager
def _unremarked() -> Iterator[None]:
    """Silence matplotlib's warnings about substituted fonts."""
    log = logging.getLogger("matplotlib.font_manager")

    def nothing(_: logging.LogRecord) -> bool:
        return False

    log.addFilter(nothing)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
            yield
    finally:
        log.removeFilter(nothing)
