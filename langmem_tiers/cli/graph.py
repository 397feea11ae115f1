"""`langmem-tiers graph` and `timeline`: who and what is known and how they relate, in the terminal or as a picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
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
from langmem_tiers.errors import MemoryTiersError, MergeRefused, NaiveDatetime, UnknownEntity, UnknownRelation

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
_ENTITIES = "`langmem-tiers entities list` shows those there are."


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
            more = _write(space, part, out, kind, at, wanted.words(at))
            print_written(target, out, part, more)
        elif target.json:
            print_json(subgraph_data(part))
        elif root is None:
            print_whole(part, at, wanted.nothing(space, root, part))
        else:
            print_neighbours(root, part, at, wanted.nothing(space, root, part))


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
    from langmem_tiers.knowledge_graph.ambiguity import require_entity
    from langmem_tiers.knowledge_graph.pictures import draw_timeline

    target = target_of(context, json=json)
    kind_named(out, _TIMELINES)
    with existing_space(target) as space:
        root, now = require_entity(space.graph.resolve, entity), space.memory.clock()
        found = space.graph.timeline(root.id, known_at=known_at, limit=limit)
        if out is not None:
            known = moment_meant(known_at, now)
            draw_timeline(found, out, at=now, captions=[f"All times, as believed on {known:%Y-%m-%d}."])
            print_written(target, out)
        elif target.json:
            print_json(timeline_data(found))
        else:
            print_timeline(found, now, _none_known(root, known_at))


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
        from langmem_tiers.knowledge_graph.ambiguity import require_entity
        from langmem_tiers.knowledge_graph.queries import overview

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
        root = require_entity(graph.resolve, self.entity)
        return root, graph.neighbours(
            root.id,
            depth=self.depth,
            as_of=self.as_of,
            known_at=self.known_at,
            ended=self.ended,
            mentioned=self.mentioned,
            limit=self.limit,
        )

    def nothing(self, space: Space, root: Entity | None, part: Subgraph) -> str:
        """What is said where nothing is shown, and which option shows something."""
        if part.relations:
            return ""
        if self.ended or not replace(self, ended=True, limit=1).part(space)[1].relations:
            return _none_known(root, self.known_at)
        when = f"as of {self.as_of}" if self.as_of else "now"
        believed = f", as believed on {self.known_at}" if self.known_at else ""
        return f"No relation{_of(root)} holds {when}{believed}; --all-times shows what was and what will be."

    def words(self, at: datetime) -> str:
        """Which times a picture shows."""
        shown = "All times" if self.ended else f"As of {self.as_of or f'{at:%Y-%m-%d}'}"
        return shown + (f", as believed on {self.known_at}." if self.known_at else ".")


def _none_known(of: Entity | None, known_at: str | None) -> str:
    """What is said where no relation of an entity, or none at all, was known at a moment, or is now."""
    if known_at is None:
        return f"No relation{_of(of)} is known."
    return f"No relation{_of(of)} was known on {known_at}; without --known-at, what is known now is shown."


def _of(entity: Entity | None) -> str:
    return "" if entity is None else f" of {entity.name}"


@contextmanager
def existing_space(target: Target) -> Iterator[Space]:
    """The space of the user named; errors say what to do on the command line."""
    with target.existing_memory() as memory, in_words_of_commands():
        yield target.space(memory)


@contextmanager
def any_space(target: Target) -> Iterator[Space]:
    """The space of a user who may be new; errors say what to do on the command line."""
    name = target.space_name()
    with target.memory() as memory, in_words_of_commands():
        yield memory.space(name)


@contextmanager
def in_words_of_commands() -> Iterator[None]:
    """Ways out as commands, where an error tells of one for whoever writes a program."""
    try:
        yield
    except MemoryTiersError as error:
        error.way_out = _ways_out().get(error.way_out, error.way_out)
        raise


def _ways_out() -> dict[str, str]:
    """By what an error says to whoever writes a program, what it says on the command line."""
    from langmem_tiers.knowledge_graph import ambiguity, importing, merging
    from langmem_tiers.language import predicates

    return {
        UnknownEntity.way_out: _ENTITIES,
        ambiguity.NONE_LIKE: f"No name is like it: {_ENTITIES}",
        UnknownRelation.way_out: "`langmem-tiers timeline ENTITY` shows the ids of its relations.",
        MergeRefused.way_out: "`langmem-tiers entities show ID` says what each is.",
        NaiveDatetime.way_out: "Add one, such as 2024-05-17T10:00+02:00, or Z for UTC.",
        merging.NO_MERGE: "`langmem-tiers entities merges` lists those that stand.",
        merging.UNDO: "`langmem-tiers entities unmerge NUMBER` undoes a merge, if they are two.",
        merging.KEPT_APART: "If they are one, `langmem-tiers entities allow-merge ID ID` takes that back.",
        predicates.OVER: "Say what held, such as 'lives in', with --to; `relations end ID` ends what is known.",
        predicates.NOT_SO: (
            "`relations withdraw ID` takes back what was never so, `relations end ID` ends what is over."
        ),
        importing.WAY_OUT: "Give a file that `langmem-tiers graph --out FILE.json` wrote.",
    }


def moment_meant(when: str | None, now: datetime) -> datetime:
    """The moment that tells what holds from what has ended: the last one of a year, month or day that has passed.

    Raises:
        InvalidPeriod: no date.
    """
    from langmem_tiers.language.periods import span

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
    from langmem_tiers.knowledge_graph.pictures import kind_of

    return kind_of(out, kinds)


def print_written(target: Target, out: Path, part: Subgraph | None = None, more: int = 0) -> None:
    """Say what was written where; `more` entities are in the file beside those of the part."""
    from langmem_tiers.knowledge_graph.wording import left_out

    if target.json:
        print_json({"path": str(out)})
        return
    entities = "" if part is None else f"{len(part.entities) + more:,} entities"
    merged = f" ({more:,} of them merged into others)" if more else ""
    held = "" if part is None else f": {entities}{merged}, {len(part.relations):,} relations"
    print_text(f"{out}{held}.")
    if part is not None and part.cut:
        print_text(left_out(part.cut))


def _write(space: Space, part: Subgraph, out: Path, kind: str, at: datetime, times: str) -> int:
    """Write a part; how many entities the file holds beside its own, because they were merged into these."""
    from langmem_tiers.knowledge_graph.exporting import export_part
    from langmem_tiers.knowledge_graph.pictures import draw, save

    if kind in _EXPORTS:
        written = export_part(space.context, part, kind)
        save(out, written.data)
        return written.merged
    counts = f"{len(part.entities):,} entities, {len(part.relations):,} relations."
    draw(part, out, at=at, captions=[f"{times} {counts}"])
    return 0
