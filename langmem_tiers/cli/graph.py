"""`langmem-tiers graph` and `timeline`: who and what is known and how they relate, in the terminal or as a picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from langmem_tiers.cli.graph_printing import (
    print_neighbours,
    print_timeline,
    print_whole,
    subgraph_data,
    timeline_data,
)
from langmem_tiers.cli.target import JsonFlag, Target, target_of
from langmem_tiers.cli.terminal import print_json, print_text
from langmem_tiers.errors import AmbiguousEntity, MemoryTiersError, MergeRefused, UnknownEntity, UnknownRelation

if TYPE_CHECKING:
    from langmem_tiers.knowledge_graph.types import Entity, Subgraph
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
# The ways out of the errors themselves speak to whoever writes a program.
_WAYS_OUT: dict[type[MemoryTiersError], str] = {
    AmbiguousEntity: "Name the one that is meant by its id.",
    UnknownEntity: "`langmem-tiers entities list` shows those there are.",
    UnknownRelation: "`langmem-tiers timeline ENTITY` shows the ids of its relations.",
    MergeRefused: "`langmem-tiers entities show ID` says what each is.",
}


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(graph)
    app.command()(timeline)


def graph(
    context: typer.Context,
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
    json: JsonFlag = False,
) -> None:
    """Print or draw what is around ENTITY, or all that is known, the most connected first."""
    target = target_of(context, json=json)
    kind = kind_named(out, _KINDS)
    wanted = _Wanted(
        entity=entity,
        depth=depth,
        as_of=as_of,
        known_at=known_at,
        ended=all_times,
        mentioned=mentioned,
        limit=limit,
    )
    with existing_space(target) as space:
        at = moment_meant(as_of, space.memory.clock())
        if out is not None and wanted.everything and kind in _EXPORTS:
            space.graph.export(out)
            print_written(target, out)
            return
        root, part = wanted.part(space)
        if out is not None:
            _write(space, part, out, kind, at, wanted.words(at))
            print_written(target, out, part)
        elif target.json:
            print_json(subgraph_data(part))
        elif root is None:
            print_whole(space.name, part, at)
        else:
            print_neighbours(root, part, at)


def timeline(
    context: typer.Context,
    entity: Annotated[str, typer.Argument(metavar="ENTITY", help="A name or an id.")],
    *,
    known_at: KnownAt = None,
    limit: Most = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw it there: .svg or .png.")] = None,
    json: JsonFlag = False,
) -> None:
    """Print or draw everything that ever held of ENTITY, in the order it began."""
    from langmem_tiers.knowledge_graph.meant import meant
    from langmem_tiers.knowledge_graph.pictures import draw_timeline

    target = target_of(context, json=json)
    kind_named(out, _TIMELINES)
    with existing_space(target) as space:
        root, now = meant(space.graph, entity), space.memory.clock()
        found = space.graph.timeline(root.id, known_at=known_at, limit=limit)
        if out is not None:
            known = moment_meant(known_at, now)
            draw_timeline(found, out, at=now, captions=[f"All times, as believed on {known:%Y-%m-%d}."])
            print_written(target, out)
        elif target.json:
            print_json(timeline_data(found))
        else:
            print_timeline(found, now)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Wanted:
    """Which part of the graph a command is about."""

    entity: str | None
    depth: int
    as_of: str | None
    known_at: str | None
    ended: bool
    mentioned: bool
    limit: int | None

    @property
    def everything(self) -> bool:
        """Whether nothing narrows it down: files for other programs then hold all that is stored."""
        return self.entity is None and self.as_of is None and self.known_at is None and self.limit is None

    def part(self, space: Space) -> tuple[Entity | None, Subgraph]:
        """The entity named, if there is one, and what is around it, or an overview."""
        from langmem_tiers.knowledge_graph.meant import meant
        from langmem_tiers.knowledge_graph.overview import overview

        graph = space.graph
        if self.entity is None:
            return None, overview(
                graph,
                as_of=self.as_of,
                known_at=self.known_at,
                ended=self.ended,
                mentioned=self.mentioned,
                limit=self.limit,
                now=space.memory.clock(),
            )
        root = meant(graph, self.entity)
        return root, graph.neighbours(
            root.id,
            depth=self.depth,
            as_of=self.as_of,
            known_at=self.known_at,
            ended=self.ended,
            mentioned=self.mentioned,
            limit=self.limit,
        )

    def words(self, at: datetime) -> str:
        """Which times a picture shows."""
        shown = "All times" if self.ended else f"As of {self.as_of or f'{at:%Y-%m-%d}'}"
        return shown + (f", as believed on {self.known_at}." if self.known_at else ".")


@contextmanager
def existing_space(target: Target) -> Iterator[Space]:
    """The space of the user named; errors say what to do on the command line."""
    with target.existing_memory() as memory, in_words_of_commands():
        yield target.space(memory)


@contextmanager
def in_words_of_commands() -> Iterator[None]:
    """Ways out as commands, where an error tells of one for whoever writes a program."""
    try:
        yield
    except tuple(_WAYS_OUT) as error:
        if error.way_out == type(error).way_out:
            error.way_out = _WAYS_OUT[type(error)]
        raise


def moment_meant(when: str | None, now: datetime) -> datetime:
    """The moment that tells what holds from what has ended: the last one of a year, month or day that has passed.

    Raises:
        InvalidPeriod: no date.
    """
    from langmem_tiers.knowledge_graph.periods import span

    if when is None:
        return now
    first, behind = span(when, now=now)
    return now if first <= now < behind else behind - timedelta(milliseconds=1)


def kind_named(out: Path | None, kinds: Sequence[str]) -> str:
    """What kind of file is wanted, told before anything is looked up.

    Raises:
        InvalidInput: one that there is not.
    """
    if out is None:
        return ""
    from langmem_tiers.knowledge_graph.pictures.saving import kind_of

    return kind_of(out, kinds)


def print_written(target: Target, out: Path, part: Subgraph | None = None) -> None:
    """Say what was written where."""
    from langmem_tiers.knowledge_graph.wording import left_out

    if target.json:
        print_json({"path": str(out)})
        return
    held = "" if part is None else f": {len(part.entities):,} entities, {len(part.relations):,} relations"
    print_text(f"{out}{held}.")
    if part is not None and part.cut:
        print_text(left_out(part.cut))


def _write(space: Space, part: Subgraph, out: Path, kind: str, at: datetime, times: str) -> None:
    from langmem_tiers.knowledge_graph.partial import exported
    from langmem_tiers.knowledge_graph.pictures import draw
    from langmem_tiers.knowledge_graph.pictures.saving import save

    if kind in _EXPORTS:
        save(out, exported(space.graph, part, kind))
    else:
        counts = f"{len(part.entities):,} entities, {len(part.relations):,} relations."
        draw(part, out, at=at, captions=[f"{times} {counts}"])
