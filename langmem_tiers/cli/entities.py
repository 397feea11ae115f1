"""`langmem-tiers entities`: who and what is spoken of, and which of them are the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from langmem_tiers.cli.graph import any_space, existing_space
from langmem_tiers.cli.graph_printing import (
    entity_data,
    print_apart,
    print_entities,
    print_entity,
    print_merges,
    print_pairs,
)
from langmem_tiers.cli.target import JsonFlag, Target, target_of
from langmem_tiers.cli.terminal import agreed, as_data, print_error, print_json, print_text

if TYPE_CHECKING:
    from langmem_tiers.records import Entity
    from langmem_tiers.space import Space

_Shown = TypeVar("_Shown")
Which = Annotated[str, typer.Argument(metavar="ENTITY", help="A name or an id.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    entities = typer.Typer(help="Who and what is spoken of, and which are the same.", no_args_is_help=True)
    entities.command("list")(list_entities)
    for command in (add, show, merge, unmerge, merges, pairs, apart, allow_merge, delete):
        entities.command()(command)
    app.add_typer(entities, name="entities")


def list_entities(
    context: typer.Context,
    text: Annotated[str | None, typer.Argument(metavar="TEXT", help="Only with this in a name.")] = None,
    *,
    type_: Annotated[
        str | None, typer.Option("--type", metavar="TYPE", help="Only of this type, such as person or place.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Most entities.")] = 20,
    json: JsonFlag = False,
) -> None:
    """Print the entities, those spoken of last first."""
    target = target_of(context, json=json)
    with existing_space(target) as space:
        found = space.graph.entities(type=type_, text=text, limit=limit + 1)
    if target.json:
        print_json([entity_data(each) for each in found[:limit]])
    else:
        print_entities(found[:limit], more=len(found) > limit)


def add(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="As it is written.")],
    *,
    type_: Annotated[str, typer.Option("--type", metavar="TYPE", help="Such as person or place.")] = "other",
    alias: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Another name; several times.")] = None,
    distinct: Annotated[
        bool, typer.Option("--distinct", help="Another one, also where somebody has the name already.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Have an entity known by NAME; where one is, TYPE and other names are added to it."""
    target = target_of(context, json=json)
    with any_space(target) as space:
        entity = space.graph.add_entity(name, type=type_, aliases=alias or (), distinct=distinct)
    if target.json:
        print_json(entity_data(entity))
    else:
        print_entities([entity], more=False)


def show(context: typer.Context, which: Which, *, json: JsonFlag = False) -> None:
    """Print an entity with all that is known about it, and where it was spoken of."""
    from langmem_tiers.knowledge_graph.ambiguity import require_entity

    target = target_of(context, json=json)
    with existing_space(target) as space:
        found = require_entity(space.graph.resolve, which)
        entity = space.graph.entity(found.id) or found
    if target.json:
        print_json(entity_data(entity))
    else:
        print_entity(entity)


def merge(
    context: typer.Context,
    source: Annotated[str, typer.Argument(metavar="ENTITY", help="A name or an id.")],
    into: Annotated[str, typer.Argument(metavar="SAME", help="The one that it is spoken of as from now on.")],
    *,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why.")] = "the same",
    json: JsonFlag = False,
) -> None:
    """Speak of ENTITY as SAME from now on; `unmerge` takes it back, relations and all."""
    target = target_of(context, json=json)
    with existing_space(target) as space:
        merged = space.graph.merge(source, into, reason=reason, origin="user")
    if target.json:
        print_json(merged)
    else:
        print_merges([merged])
        print_text(f"`langmem-tiers entities unmerge {merged.id}` takes it back.")


def unmerge(
    context: typer.Context,
    which: Annotated[int, typer.Argument(metavar="NUMBER", help="The merge, as `entities merges` prints it.")],
    *,
    json: JsonFlag = False,
) -> None:
    """Take back a merge: both have their own relations again, and are kept apart from now on."""
    target = target_of(context, json=json)
    with existing_space(target) as space:
        undone = space.graph.unmerge(which)
    if target.json:
        print_json(undone)
    else:
        print_merges([undone])


def merges(
    context: typer.Context,
    *,
    undone: Annotated[bool, typer.Option("--undone", help="Also those that were taken back.")] = False,
    json: JsonFlag = False,
) -> None:
    """Print which entities were merged, and why, the newest first."""
    target = target_of(context, json=json)
    with existing_space(target) as space:
        found = space.graph.merges(undone=undone)
    _print(target, found, print_merges)


def pairs(
    context: typer.Context,
    *,
    limit: Annotated[int, typer.Option(min=1, help="Most pairs.")] = 20,
    apart: Annotated[bool, typer.Option("--apart", help="Those that are kept apart instead.")] = False,
    json: JsonFlag = False,
) -> None:
    """Print those that may be the same and that nobody has judged, the likeliest first."""
    target = target_of(context, json=json)
    with existing_space(target) as space:
        if apart:
            _print(target, space.graph.kept_apart()[:limit], print_apart)
            return
        found = space.graph.likely_pairs(limit=limit)
        facts = {each.id: _fact(space, each) for pair in found for each in (pair.first, pair.second)}
    _print(target, found, partial(print_pairs, facts=facts))


def apart(
    context: typer.Context,
    first: Annotated[str, typer.Argument(metavar="ENTITY", help="A name or an id.")],
    second: Annotated[str, typer.Argument(metavar="OTHER", help="Another one.")],
    *,
    json: JsonFlag = False,
) -> None:
    """Say that two entities are not the same, whatever they are called."""
    target = target_of(context, json=json)
    with existing_space(target) as space:
        space.graph.keep_apart(first, second)
    if target.json:
        print_json({"apart": [first, second]})
    else:
        print_text(f"{first} and {second} are kept apart; `langmem-tiers entities allow-merge` takes it back.")


def allow_merge(
    context: typer.Context,
    first: Annotated[str, typer.Argument(metavar="ENTITY", help="A name or an id.")],
    second: Annotated[str, typer.Argument(metavar="OTHER", help="Another one.")],
    *,
    json: JsonFlag = False,
) -> None:
    """Take back that two entities are kept apart; the memory then judges them anew."""
    target = target_of(context, json=json)
    with existing_space(target) as space:
        were = space.graph.allow_merge(first, second)
    if target.json:
        print_json({"were_apart": were})
    else:
        print_text(f"{first} and {second} {'are' if were else 'were not'} kept apart{' no longer' if were else ''}.")


def delete(context: typer.Context, which: Which, *, yes: Yes = False, json: JsonFlag = False) -> None:
    """Delete an entity, those merged into it, and all their relations, for good."""
    target = target_of(context, json=json)
    with existing_space(target) as space:
        entity = space.graph.entity(which)
        if entity is None:
            print_error(f"There is no entity {which}. `langmem-tiers entities list` shows those there are.")
            raise typer.Exit(1)
        if not yes and not agreed(f"Delete {entity.id}, {entity.name} ({entity.type}), and its relations for good?"):
            print_error("Nothing was deleted. With --yes, it is done without a question.")
            raise typer.Exit(1)
        deleted = space.graph.delete_entity(entity.id)
    if target.json:
        print_json(deleted)
    else:
        gone = as_data(deleted)
        print_text(f"{entity.name} is deleted: {gone['entities']:,} entities, {gone['relations']:,} relations.")


def _print(target: Target, found: Sequence[_Shown], printed: Callable[[Sequence[_Shown]], None]) -> None:
    if target.json:
        print_json(found)
    else:
        printed(found)


def _fact(space: Space, entity: Entity) -> str:
    """Something known of an entity, to tell it from others of its name."""
    from langmem_tiers.knowledge_graph.wording import predicate_words, relation_words

    known = space.graph.neighbours(entity.id, ended=True, limit=1).relations[:1]
    return "".join(
        f"{predicate_words(each)} {each.target}" if each.subject.id == entity.id else relation_words(each)
        for each in known
    )
