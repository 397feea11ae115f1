"""A small bar chart as SVG, made here: no script. Whoever cannot see it has the table below it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_WIDTH, _HEIGHT, _BOTTOM, _TOP = 640.0, 180.0, 22.0, 16.0
_GAP = 0.2  # of a bar's place


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A bar: where it stands in the picture, and what it says."""

    x: float
    y: float
    width: float
    height: float
    name: str
    value: int


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A chart for `chart.html`: its size, its bars, its highest value and the names below its ends."""

    title: str
    bars: tuple[Bar, ...]
    highest: int
    width: float = _WIDTH
    height: float = _HEIGHT
    floor: float = _HEIGHT - _BOTTOM
    top: float = _TOP


def bars(values: Sequence[tuple[str, int]], title: str) -> Chart | None:
    """A chart of numbers by name, in this order; None if there is nothing to see."""
    highest = max((value for _, value in values), default=0)
    if highest == 0:
        return None
    place, room = _WIDTH / len(values), _HEIGHT - _BOTTOM - _TOP
    made = []
    for number, (name, value) in enumerate(values):
        height = max(1.0, room * value / highest) if value else 0.0
        x, width = number * place + place * _GAP / 2, place * (1 - _GAP)
        made.append(Bar(x=x, y=_HEIGHT - _BOTTOM - height, width=width, height=height, name=name, value=value))
    return Chart(title=title, bars=tuple(made), highest=highest)
