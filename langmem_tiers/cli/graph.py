"""`langmem-tiers graph` and `timeline`: who and what is known and how they relate, in the terminal or as a picture."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langmem_tiers.cli.graph_printing import graph_data, neighbours_lines, overview_lines, timeline_lines
from langmem_tiers.cli.target import Shown, space_command

if TYPE_CHECKING:
    from langmem_tiers.knowledge_graph.types import Subgraph
    from langmem_tiers.records import Entity
    from langmem_tiers.space import Space

Whom = Annotated[str | None, typer.Argument(metavar="ENTITY", help="A name or an id; all when it is left out.")]
AsOf = Annotated[
    str | None,
    typer.Option(metavar="DATE", help="What held then: 2024, 2024-05 or 2024-05-17; now when it is left out."),
]
KnownAt = Annotated[str | None, typer.Option(metavar="DATE", help="What was believed then; now when it is left out.")]
AllTimes = Annotated[bool, typer.Option("--all-times", help="Also what holds no longer, or not yet.")]
Mentioned = Annotated[bool, typer.Option("--mentioned", help="Also what was only spoken of together.")]
Most = Annotated[int | None, typer.Option(min=1, metavar="N", help="Most relations.")]

_EXPORTS = ("graphml", "json")
_KINDS = ("svg", "png", "html", *_EXPORTS)
_TIMELINES = ("svg", "png")


@space_command()
def graph(
    space: Space,
    entity: Whom = None,
    *,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    depth: Annotated[int, typer.Option(min=1, metavar="N", help="Steps from ENTITY.")] = 1,
    all_times: AllTimes = False,
    mentioned: Mentioned = False,
    limit: Most = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write it there: .svg, .png, .html, .graphml or .json.")
    ] = None,
) -> Shown:
    """Print or draw what is around ENTITY, or all that is known, the most connected first."""
    from langmem_tiers.knowledge_graph.entity_lookup import require_entity
    from langmem_tiers.knowledge_graph.pictures import kind_of

    kind = "" if out is None else kind_of(out, _KINDS)
    at = _moment(as_of, space.memory.clock())
    # Files for other programs hold all that is stored, unless something narrows it down.
    if out is not None and kind in _EXPORTS and all(each is None for each in (entity, as_of, known_at, limit)):
        space.graph.export(out)
        return Shown({"path": str(out)}, [f"Wrote {out}."])
    root = None if entity is None else require_entity(space.graph.resolve, entity)
    wanted = {"as_of": as_of, "known_at": known_at, "ended": all_times, "mentioned": mentioned, "limit": limit}
    part = _part(space, root, depth, wanted)
    if out is not None:
        times = "All times" if all_times else f"As of {as_of or f'{at:%Y-%m-%d}'}"
        return _written(space, part, out, kind, at, times + (f", as believed on {known_at}." if known_at else "."))
    nothing = "" if part.relations else _nothing(space, root, depth, wanted)
    lines = overview_lines(part, at, nothing) if root is None else neighbours_lines(root, part, at, nothing)
    return Shown(graph_data(part), lines)


@space_command()
def timeline(
    space: Space,
    entity: Annotated[str, typer.Argument(metavar="ENTITY", help="A name or an id.")],
    *,
    known_at: KnownAt = None,
    limit: Most = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw it there: .svg or .png.")] = None,
) -> Shown:
    """Print or draw everything that ever held of ENTITY, in the order it began."""
    from langmem_tiers.knowledge_graph.entity_lookup import require_entity
    from langmem_tiers.knowledge_graph.pictures import draw_timeline, kind_of

    if out is not None:
        kind_of(out, _TIMELINES)
    root, now = require_entity(space.graph.resolve, entity), space.memory.clock()
    found = space.graph.timeline(root.id, known_at=known_at, limit=limit)
    if out is None:
        return Shown(graph_data(found), timeline_lines(found, now, _none_known(root, known_at)))
    known = _moment(known_at, now)
    draw_timeline(found, out, at=now, captions=[f"All times, as believed on {known:%Y-%m-%d}."])
    return Shown({"path": str(out)}, [f"Wrote {out}."])


def _part(space: Space, root: Entity | None, depth: int, wanted: dict[str, Any]) -> Subgraph:
    """What is around an entity, or an overview."""
    from langmem_tiers.knowledge_graph.queries import overview

    if root is None:
        return overview(space.graph, now=space.memory.clock(), **wanted)
    return space.graph.neighbours(root.id, depth=depth, **wanted)


def _nothing(space: Space, root: Entity | None, depth: int, wanted: dict[str, Any]) -> str:
    """What is said where nothing is shown, and which option shows something."""
    if wanted["ended"] or not _part(space, root, depth, wanted | {"ended": True, "limit": 1}).relations:
        return _none_known(root, wanted["known_at"])
    when = f"as of {wanted['as_of']}" if wanted["as_of"] else "now"
    believed = f", as believed on {wanted['known_at']}" if wanted["known_at"] else ""
    return f"No relation{_of(root)} holds {when}{believed}; --all-times shows what was and what will be."


def _none_known(of: Entity | None, known_at: str | None) -> str:
    """What is said where no relation of an entity, or none at all, was known at a moment, or is now."""
    if known_at is None:
        return f"No relation{_of(of)} is known."
    return f"No relation{_of(of)} was known on {known_at}; without --known-at, what is known now is shown."


def _of(entity: Entity | None) -> str:
    return "" if entity is None else f" of {entity.name}"


def _moment(when: str | None, now: datetime) -> datetime:
    """The moment that tells what holds from what has ended: the last one of a year, month or day that has passed."""
    from langmem_tiers.language.periods import span

    if when is None:
        return now
    first, behind = span(when, now=now)
    return now if first <= now < behind else behind - timedelta(milliseconds=1)


def _written(space: Space, part: Subgraph, out: Path, kind: str, at: datetime, times: str) -> Shown:
    """Write a part to a file; one for other programs also holds the entities that were merged into those shown."""
    from langmem_tiers.knowledge_graph.exporting import export_part, write_file
    from langmem_tiers.knowledge_graph.pictures import draw
    from langmem_tiers.knowledge_graph.wording import left_out

    merged = 0
    if kind in _EXPORTS:
        written = export_part(space.context, part, kind)
        write_file(out, written.data)
        merged = written.merged
    else:
        counts = f"{len(part.entities):,} entities, {len(part.relations):,} relations."
        draw(part, out, at=at, captions=[f"{times} {counts}"])
    among = f" ({merged:,} of them merged into others)" if merged else ""
    told = f"Wrote {out}: {len(part.entities) + merged:,} entities{among}, {len(part.relations):,} relations."
    return Shown({"path": str(out)}, [told, *([left_out(part.cut)] if part.cut else [])])
