"""`langmem-tiers entities`: who and what is spoken of, and which of them are the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from langmem_tiers.cli.graph_printing import (
    apart_lines,
    entities_lines,
    entity_lines,
    graph_data,
    merges_lines,
    pairs_lines,
)
from langmem_tiers.cli.target import NewUser, Shown, Target, command_of_space, space_command
from langmem_tiers.cli.terminal import as_data, leave, require_agreed

if TYPE_CHECKING:
    from langmem_tiers.records import Entity
    from langmem_tiers.space import Space

Which = Annotated[str, typer.Argument(metavar="ENTITY", help="A name or an id.")]
Other = Annotated[str, typer.Argument(metavar="OTHER", help="Another one.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]

entities = typer.Typer(help="Who and what is spoken of, and which are the same.", no_args_is_help=True)


@entities.command("list")
@space_command()
def list_entities(
    space: Space,
    text: Annotated[str | None, typer.Argument(metavar="TEXT", help="Only with this in a name.")] = None,
    *,
    type_: Annotated[
        str | None, typer.Option("--type", metavar="TYPE", help="Only of this type, such as person or place.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Most entities.")] = 20,
) -> Shown:
    """Print the entities, those spoken of last first."""
    found = space.graph.entities(type=type_, text=text, limit=limit + 1)
    return Shown(graph_data(found[:limit]), entities_lines(found[:limit], more=len(found) > limit))


@entities.command()
@command_of_space
def add(
    target: Target,
    name: Annotated[str, typer.Argument(metavar="NAME", help="As it is written.")],
    *,
    type_: Annotated[str, typer.Option("--type", metavar="TYPE", help="Such as person or place.")] = "other",
    alias: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Another name; several times.")] = None,
    distinct: Annotated[
        bool, typer.Option("--distinct", help="Another one, also where somebody has the name already.")
    ] = False,
    new: NewUser = False,
) -> Shown:
    """Have an entity known by NAME; where one is, TYPE and other names are added to it."""
    with target.any_space() if new else target.space_to_change() as space:
        entity = space.graph.add_entity(name, type=type_, aliases=alias or (), distinct=distinct)
    return Shown(graph_data(entity), entities_lines([entity]))


@entities.command()
@space_command()
def show(space: Space, which: Which) -> Shown:
    """Print an entity with all that is known about it, and where it was spoken of."""
    return entity_shown(space, which)


def entity_shown(space: Space, which: str) -> Shown:
    """An entity, and the messages that speak of it."""
    from langmem_tiers.knowledge_graph.entity_lookup import require_entity

    found = require_entity(space.graph.resolve, which)
    entity = space.graph.entity(found.id) or found
    return Shown(graph_data(entity), entity_lines(entity))


@entities.command()
@space_command()
def merge(
    space: Space,
    source: Which,
    into: Annotated[str, typer.Argument(metavar="SAME", help="The one that it is spoken of as from now on.")],
    *,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why.")] = "the same",
) -> Shown:
    """Speak of ENTITY as SAME from now on; `unmerge` takes it back, relations and all."""
    merged = space.graph.merge(source, into, reason=reason, origin="user")
    return Shown(merged, [*merges_lines([merged]), f"`langmem-tiers entities unmerge {merged.id}` takes it back."])


@entities.command()
@space_command()
def unmerge(
    space: Space,
    which: Annotated[int, typer.Argument(metavar="NUMBER", help="The merge, as `entities merges` prints it.")],
) -> Shown:
    """Take back a merge: both have their own relations again, and are kept apart from now on."""
    undone = space.graph.unmerge(which)
    return Shown(undone, merges_lines([undone]))


@entities.command()
@space_command()
def merges(
    space: Space,
    *,
    undone: Annotated[bool, typer.Option("--undone", help="Also those that were taken back.")] = False,
) -> Shown:
    """Print which entities were merged, and why, the newest first."""
    found = space.graph.merges(undone=undone)
    return Shown(found, merges_lines(found))


@entities.command()
@space_command()
def pairs(
    space: Space,
    *,
    limit: Annotated[int, typer.Option(min=1, help="Most pairs.")] = 20,
    apart: Annotated[bool, typer.Option("--apart", help="Those that are kept apart instead.")] = False,
) -> Shown:
    """Print those that may be the same and that nobody has judged, the likeliest first."""
    if apart:
        kept = space.graph.kept_apart()[:limit]
        return Shown(kept, apart_lines(kept))
    found = space.graph.likely_pairs(limit=limit)
    return Shown(found, pairs_lines(found, lambda entity: _fact(space, entity)))


@entities.command()
@space_command()
def apart(space: Space, first: Which, second: Other) -> Shown:
    """Say that two entities are not the same, whatever they are called."""
    space.graph.keep_apart(first, second)
    told = f"{first} and {second} are kept apart; `langmem-tiers entities allow-merge` takes it back."
    return Shown({"apart": [first, second]}, [told])


@entities.command()
@space_command()
def allow_merge(space: Space, first: Which, second: Other) -> Shown:
    """Take back that two entities are kept apart; the memory then judges them anew."""
    were = space.graph.allow_merge(first, second)
    told = f"{first} and {second} {'are' if were else 'were not'} kept apart{' no longer' if were else ''}."
    return Shown({"were_apart": were}, [told])


@entities.command()
@space_command()
def delete(space: Space, which: Which, *, yes: Yes = False) -> Shown:
    """Delete an entity, those merged into it, and all their relations, for good."""
    entity = space.graph.entity(which)
    if entity is None:
        leave(f"There is no entity {which}. `langmem-tiers entities list` shows those there are.")
    require_agreed(f"Delete {entity.id}, {entity.name} ({entity.type}), and its relations for good?", yes=yes)
    gone = as_data(space.graph.delete_entity(entity.id))
    told = f"{entity.name} is deleted: {gone['entities']:,} entities, {gone['relations']:,} relations."
    return Shown(gone, [told])


def _fact(space: Space, entity: Entity) -> str:
    """Something known of an entity, to tell it from others of its name."""
    from langmem_tiers.knowledge_graph.wording import predicate_words, relation_words

    for each in space.graph.neighbours(entity.id, ended=True, limit=1).relations:
        return f"{predicate_words(each)} {each.target}" if each.subject.id == entity.id else relation_words(each)
    return ""
