"""Pictures of the graph: SVG and HTML by themselves, PNG with matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from langmem_tiers.knowledge_graph.types import Subgraph, Timeline
from langmem_tiers.knowledge_graph.wording import left_out

if TYPE_CHECKING:
    from langmem_tiers.knowledge_graph.pictures.shapes import Picture

__all__ = ["draw", "draw_timeline"]

# Beyond so many entities and values a layout takes minutes, and nobody reads it.
_MOST_DRAWN = 200


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
        subgraph: What to draw; 2 to 80 entities are read well. Of more than 200 the nearest ones are drawn, and the
            picture says so; the table of a page has all relations.
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
    drawn = _drawable(subgraph)
    said = (*captions, *filter(None, [left_out(drawn.cut)]))
    picture = network(drawn, title=title or _started_at(subgraph), at=moment, captions=said)
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


def _drawable(subgraph: Subgraph) -> Subgraph:
    """As much of a part of the graph as can be laid out: its nearest entities, and the relations between them."""
    if len(subgraph.entities) + sum(each.object is None for each in subgraph.relations) <= _MOST_DRAWN:
        return subgraph
    nearest = sorted(subgraph.entities, key=lambda each: subgraph.distance.get(each.id, 0))[:_MOST_DRAWN]
    ids = {each.id for each in nearest}
    held = [
        each for each in subgraph.relations if each.subject.id in ids and (each.object is None or each.object.id in ids)
    ]
    values = _MOST_DRAWN - len(nearest)
    kept = [each for each in held if each.object is not None]
    kept += [each for each in held if each.object is None][: max(values, 0)]
    cut = f"{len(kept):,} of {len(subgraph.relations):,} relations are drawn"
    return replace(subgraph, entities=tuple(nearest), relations=tuple(kept), cut=(*subgraph.cut, cut))


def _drawn(picture: Picture, kind: str) -> bytes:
    from langmem_tiers.knowledge_graph.pictures.png import png
    from langmem_tiers.knowledge_graph.pictures.svg import svg

    return png(picture) if kind == "png" else svg(picture).encode()


def _started_at(subgraph: Subgraph) -> str:
    names = [each.name for each in subgraph.entities if subgraph.distance.get(each.id) == 0]
    return ", ".join(names) or "Knowledge graph"
