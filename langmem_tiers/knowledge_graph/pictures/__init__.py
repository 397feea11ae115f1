"""Pictures of the graph: SVG and HTML without dependencies, PNG with matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from langmem_tiers.errors import InvalidInput
from langmem_tiers.knowledge_graph.exporting import write_file
from langmem_tiers.knowledge_graph.pictures.canvas import Picture
from langmem_tiers.knowledge_graph.types import Subgraph, Timeline
from langmem_tiers.knowledge_graph.wording import left_out

__all__ = ["draw", "draw_timeline"]

# Beyond this many entities and values the layout takes minutes, and no one can read it.
_MOST_DRAWN = 200


def draw(
    subgraph: Subgraph,
    path: str | Path,
    *,
    at: datetime | None = None,
    title: str | None = None,
    captions: Sequence[str] = (),
) -> Path:
    """Draw the result of `neighbours` or `subgraph` to a file: .svg, .png (with matplotlib), or standalone .html.

    The same subgraph always gives the same picture.

    Args:
        subgraph: What to draw; 2 to 80 entities are readable. Of more than 200 only the nearest are drawn, and the
            picture says so; the table of a page has all relations.
        path: The file to write; an existing one is overwritten.
        at: The moment that separates what holds from what has ended; now by default.
        title: Shown above the picture; by default the entity the query started from.
        captions: Lines below it, before the notes on what was cut.

    Raises:
        InvalidInput: the file has another suffix.
        MissingExtra: a PNG was requested without matplotlib.
        StorageError: the file cannot be written.
    """
    from langmem_tiers.knowledge_graph.pictures.network import network
    from langmem_tiers.knowledge_graph.pictures.svg import page

    file, moment = Path(path), at or datetime.now(UTC)
    kind = kind_of(file, ("svg", "png", "html"))
    drawn = _drawable(subgraph)
    said = (*captions, *filter(None, [left_out(drawn.cut)]))
    started_at = ", ".join(each.name for each in subgraph.entities if subgraph.distance.get(each.id) == 0)
    picture = network(drawn, title=title or started_at or "Knowledge graph", at=moment, captions=said)
    data = "".join(page(picture, subgraph.relations, at=moment)).encode() if kind == "html" else _drawn(picture, kind)
    return write_file(file, data)


def draw_timeline(
    timeline: Timeline,
    path: str | Path,
    *,
    at: datetime | None = None,
    title: str | None = None,
    captions: Sequence[str] = (),
) -> Path:
    """Draw the timeline of an entity to a file, .svg or .png: one bar per relation; otherwise like `draw`."""
    from langmem_tiers.knowledge_graph.pictures.timeline_chart import bars

    file, moment = Path(path), at or datetime.now(UTC)
    kind = kind_of(file, ("svg", "png"))
    said = (*captions, *filter(None, [left_out(timeline.cut)]))
    picture = bars(timeline, title=title or timeline.entity.name, at=moment, captions=said)
    return write_file(file, _drawn(picture, kind))


def kind_of(path: Path, kinds: Sequence[str]) -> str:
    """The file format that a name's suffix selects.

    Raises:
        InvalidInput: it selects none.
    """
    suffix = path.suffix.lower().removeprefix(".")
    if suffix not in kinds:
        known = ", ".join(f".{each}" for each in kinds)
        raise InvalidInput(f"{path.name!a} names no kind of file that can be written.", way_out=f"End it in {known}.")
    return suffix


def _drawable(subgraph: Subgraph) -> Subgraph:
    """The part of a subgraph that can be laid out: the nearest entities and the relations between them."""
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
