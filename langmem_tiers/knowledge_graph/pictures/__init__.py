"""Pictures of the graph: SVG and HTML by themselves, PNG with matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from langmem_tiers.knowledge_graph.types import Subgraph, Timeline
from langmem_tiers.knowledge_graph.wording import left_out

if TYPE_CHECKING:
    from langmem_tiers.knowledge_graph.pictures.shapes import Picture

__all__ = ["draw", "draw_timeline"]


def draw(
    subgraph: Subgraph,
    path: str | Path,
    *,
    at: datetime | None = None,
    title: str | None = None,
    captions: Sequence[str] = (),
) -> Path:
    """Draw what `neighbours` or `subgraph` gave into a file: .svg, .png (with matplotlib), or .html, a page of its own.

    The same picture comes of the same subgraph.

    Args:
        subgraph: What to draw; 2 to 80 entities are read well.
        path: Where to; a file that is there is written over.
        at: The moment that tells what holds from what has ended; now by default.
        title: Above the picture; by default what the question began with.
        captions: Lines below it, before those that say what was cut.

    Raises:
        InvalidInput: the name ends in something else.
        MissingExtra: a PNG without matplotlib.
        StorageError: the file can not be written.
    """
    from langmem_tiers.knowledge_graph.pictures.network import network
    from langmem_tiers.knowledge_graph.pictures.page import page
    from langmem_tiers.knowledge_graph.pictures.saving import kind_of, now, save

    file, moment = Path(path), at or now()
    kind = kind_of(file, ("svg", "png", "html"))
    said = (*captions, *filter(None, [left_out(subgraph.cut)]))
    picture = network(subgraph, title=title or _started_at(subgraph), at=moment, captions=said)
    data = page(picture, subgraph.relations, at=moment).encode() if kind == "html" else _drawn(picture, kind)
    return save(file, data)


def draw_timeline(
    timeline: Timeline,
    path: str | Path,
    *,
    at: datetime | None = None,
    title: str | None = None,
    captions: Sequence[str] = (),
) -> Path:
    """Draw the timeline of an entity into a file, .svg or .png: a bar for each relation; otherwise as `draw`."""
    from langmem_tiers.knowledge_graph.pictures.bars import bars
    from langmem_tiers.knowledge_graph.pictures.saving import kind_of, now, save

    file, moment = Path(path), at or now()
    kind = kind_of(file, ("svg", "png"))
    said = (*captions, *filter(None, [left_out(timeline.cut)]))
    picture = bars(timeline, title=title or timeline.entity.name, at=moment, captions=said)
    return save(file, _drawn(picture, kind))


def _drawn(picture: Picture, kind: str) -> bytes:
    from langmem_tiers.knowledge_graph.pictures.png import png
    from langmem_tiers.knowledge_graph.pictures.svg import svg

    return png(picture) if kind == "png" else svg(picture).encode()


def _started_at(subgraph: Subgraph) -> str:
    names = [each.name for each in subgraph.entities if subgraph.distance.get(each.id) == 0]
    return ", ".join(names) or "Knowledge graph"
