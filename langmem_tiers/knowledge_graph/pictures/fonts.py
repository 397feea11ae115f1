"""The fonts of this machine that can draw what a picture says. No business logic."""

from __future__ import annotations

import logging
import unicodedata
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache

_FIRST = "DejaVu Sans"
# Looked into before all others: they hold most scripts, and are drawn well at small sizes.
_LIKELY = ("Noto Sans", "Arial Unicode", "Segoe UI", "Hiragino", "Microsoft YaHei", "Malgun", "PingFang", "Nirmala")
_MISSING = "\u00b7"
# Comes with matplotlib, and has a box for every character there is.
_OF_BOXES = "Last Resort High-Efficiency"


class Lettering:
    """Fonts that together hold as many of the characters of some texts as this machine can draw."""

    def __init__(self, texts: Iterable[str]) -> None:
        wanted = {ord(each) for text in texts for each in text}
        self._drawable = set(_characters_of(_FIRST)) & wanted
        self.families = [_FIRST]
        for family in self._others(wanted):
            more = _characters_of(family) & (wanted - self._drawable)
            if more:
                self.families.append(family)
                self._drawable |= more

    def _others(self, wanted: set[int]) -> Iterator[str]:
        """Other fonts, as long as characters are missing."""
        for family in _families():
            if wanted <= self._drawable:
                return
            yield family

    def drawable(self, text: str) -> str:
        """`text` with a dot for each run of characters that no font has: an empty box would say no more."""
        kept: list[str] = []
        for each in text:
            if ord(each) in self._drawable:
                kept.append(each)
            elif unicodedata.category(each) not in {"Cf", "Mn", "Me"} and kept[-1:] != [_MISSING]:
                kept.append(_MISSING)
        return "".join(kept)


@lru_cache(maxsize=1)
def _families() -> tuple[str, ...]:
    """The names of the fonts there are, the likely ones first."""
    from matplotlib import font_manager

    names = sorted({font.name for font in font_manager.fontManager.ttflist} - {_FIRST, _OF_BOXES})
    likely = [name for prefix in _LIKELY for name in names if name.startswith(prefix)]
    return tuple(dict.fromkeys([*likely, *names]))


@lru_cache(maxsize=1024)
def _characters_of(family: str) -> frozenset[int]:
    """The code points that a font holds; none of one that matplotlib can not draw, such as of coloured emoji."""
    from matplotlib import font_manager

    path = next(font.fname for font in font_manager.fontManager.ttflist if font.name == family)
    try:
        return frozenset(font_manager.get_font(path).get_charmap())
    except (OSError, RuntimeError):  # gone, or of a kind that matplotlib can not read
        return frozenset()


@contextmanager
def unremarked() -> Iterator[None]:
    """No word of matplotlib's about fonts: which one stands in for a bold one that there is not is its own affair."""
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
