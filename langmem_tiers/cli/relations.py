"""`langmem-tiers relations`: how entities relate, said and corrected by hand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from langmem_tiers.cli.graph_printing import (
    changes_lines,
    graph_data,
    history_lines,
    landed_lines,
    paths_lines,
    relations_lines,
)
from langmem_tiers.cli.target import Shown, space_command
from langmem_tiers.cli.terminal import as_data, leave, require_agreed

if TYPE_CHECKING:
    from langmem_tiers.space import Space

Id = Annotated[str, typer.Argument(metavar="ID", help="The relation's id, as `graph` and `timeline` print it.")]

relations = typer.Typer(help="How entities relate, said and corrected by hand.", no_args_is_help=True)


@relations.command()
@space_command(new_user=True)
def add(
    space: Space,
    subject: Annotated[str, typer.Argument(metavar="SUBJECT", help="Who or what: a name or an id.")],
    predicate: Annotated[str, typer.Argument(metavar="PREDICATE", help="In any words, such as 'lives in'.")],
    target_name: Annotated[str | None, typer.Argument(metavar="OBJECT", help="A name or an id; or --value.")] = None,
    *,
    value: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What is no entity, such as 20; a text as it stands.")
    ] = None,
    unit: Annotated[str | None, typer.Option(metavar="TEXT", help="Of the value, such as Ah.")] = None,
    valid_from: Annotated[
        str | None, typer.Option("--from", metavar="DATE", help="Since when, such as 2024-05.")
    ] = None,
    valid_to: Annotated[
        str | None, typer.Option("--to", metavar="DATE", help="The first day that it does not hold any more.")
    ] = None,
    subject_type: Annotated[str, typer.Option(metavar="TYPE", help="Of SUBJECT, such as person.")] = "other",
    object_type: Annotated[str, typer.Option(metavar="TYPE", help="Of OBJECT, such as place.")] = "other",
    evidence: Annotated[
        list[str] | None, typer.Option(metavar="POINTER", help="A message that says so; several times.")
    ] = None,
) -> Shown:
    """Have it known that SUBJECT relates so to OBJECT, on the user's own word. Names that are new become entities."""
    landed = space.graph.add_relation(
        subject,
        predicate,
        target_name,
        value=value,
        unit=unit,
        subject_type=subject_type,
        object_type=object_type,
        valid_from=valid_from,
        valid_to=valid_to,
        evidence=evidence or (),
        origin="user",
    )
    return Shown(graph_data(landed), landed_lines(landed, space.memory.clock()))


@relations.command()
@space_command()
def end(
    space: Space,
    which: Id,
    *,
    at: Annotated[str | None, typer.Option(metavar="DATE", help="Since when; now when it is left out.")] = None,
) -> Shown:
    """Say that a relation holds no longer; it stays in the timeline."""
    ended = space.graph.end_relation(which, at, origin="user")
    return Shown(graph_data(ended), relations_lines([ended], space.memory.clock()))


@relations.command()
@space_command()
def withdraw(space: Space, which: Id) -> Shown:
    """Say that a relation was never so; what it had ended holds again. `--known-at` still sees it."""
    withdrawn = space.graph.withdraw_relation(which, origin="user")
    return Shown(graph_data(withdrawn), relations_lines([withdrawn], space.memory.clock()))


@relations.command()
@space_command()
def delete(
    space: Space, which: Id, *, yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False
) -> Shown:
    """Delete a relation with its history, for good."""
    from langmem_tiers.knowledge_graph.wording import relation_words

    relation = space.graph.relation(which)
    if relation is None:
        leave(f"There is no relation {which}. `langmem-tiers timeline ENTITY` shows the ids of its relations.")
    require_agreed(f"Delete {relation.id}, “{relation_words(relation)}”, for good?", yes=yes)
    return Shown(space.graph.delete_relation(relation.id), [f"{relation.id} is deleted."])


@relations.command()
@space_command()
def history(space: Space, which: Id) -> Shown:
    """Print what was believed of a relation's time, oldest first, and why it changed."""
    known = space.graph.history(which)
    return Shown(graph_data(known), history_lines(known, space.memory.clock()))


@relations.command()
@space_command()
def between(
    space: Space,
    start: Annotated[str, typer.Argument(metavar="ENTITY", help="A name or an id.")],
    end_: Annotated[str, typer.Argument(metavar="OTHER", help="Another one.")],
    *,
    depth: Annotated[int, typer.Option(min=1, max=6, metavar="N", help="Most steps of a way.")] = 4,
    limit: Annotated[int, typer.Option(min=1, max=100, metavar="N", help="Most ways.")] = 5,
    as_of: Annotated[str | None, typer.Option(metavar="DATE", help="What held then; now when it is left out.")] = None,
    all_times: Annotated[bool, typer.Option("--all-times", help="Also what holds no longer, or not yet.")] = False,
) -> Shown:
    """Print how ENTITY and OTHER are connected, the shortest way first."""
    from langmem_tiers.knowledge_graph.entity_lookup import require_entity

    ends = require_entity(space.graph.resolve, start), require_entity(space.graph.resolve, end_)
    found = space.graph.paths(ends[0].id, ends[1].id, depth=depth, limit=limit, as_of=as_of, ended=all_times)
    when = "" if all_times else f" as of {as_of}" if as_of else " now; --all-times looks at all times"
    nothing = f"No way leads from {ends[0].name} to {ends[1].name} in {depth} steps{when}."
    return Shown(graph_data(found), paths_lines(found, space.memory.clock(), nothing))


@relations.command()
@space_command()
def changes(
    space: Space,
    since: Annotated[str, typer.Argument(metavar="SINCE", help="A day, month or year, such as 2024-05.")],
    until: Annotated[str | None, typer.Argument(metavar="UNTIL", help="Another; now when it is left out.")] = None,
    *,
    entity: Annotated[str | None, typer.Option(metavar="NAME", help="Only of this entity.")] = None,
) -> Shown:
    """Print what began and what ended between two dates."""
    from langmem_tiers.knowledge_graph.entity_lookup import require_entity

    whose = None if entity is None else require_entity(space.graph.resolve, entity).id
    found = space.graph.changes(since, until, entity=whose)
    return Shown(graph_data(found), changes_lines(found))


@relations.command("import")
@space_command(new_user=True)
def import_relations(
    space: Space, file: Annotated[Path, typer.Argument(metavar="FILE", help="What `graph --out FILE.json` wrote.")]
) -> Shown:
    """Take in the entities and relations of a file, with both times; what is there already is left as it is."""
    imported = as_data(space.graph.import_(file))
    counts = [f"{count:,} {name}" for name, count in imported.items() if count]
    return Shown(imported, [f"{', '.join(counts) or 'Nothing was in it'}."])
