"""`langmem-tiers relations`: how entities relate, said and corrected by hand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from langmem_tiers.cli.graph import any_space, existing_space
from langmem_tiers.cli.graph_printing import (
    print_changes,
    print_history,
    print_landed,
    print_paths,
    print_relations,
    relation_data,
)
from langmem_tiers.cli.target import JsonFlag, Target, target_of
from langmem_tiers.cli.terminal import agreed, as_data, print_error, print_json, print_text

if TYPE_CHECKING:
    from langmem_tiers.records import Relation
    from langmem_tiers.space import Space

Id = Annotated[str, typer.Argument(metavar="ID", help="The relation's id, as `graph` and `timeline` print it.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    relations = typer.Typer(help="How entities relate, said and corrected by hand.", no_args_is_help=True)
    for command in (add, end, withdraw, delete, history, between, changes):
        relations.command()(command)
    relations.command("import")(import_relations)
    app.add_typer(relations, name="relations")


def add(
    context: typer.Context,
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
    json: JsonFlag = False,
) -> None:
    """Have it known that SUBJECT relates so to OBJECT, on the user's own word. Names that are new become entities."""
    target = target_of(context, json=json)
    with any_space(target) as space:
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
        if target.json:
            changed = [relation_data(each) for each in landed.changed]
            print_json({"relation": relation_data(landed.relation), "outcome": landed.outcome, "changed": changed})
        else:
            print_landed(landed, space.memory.clock())


def end(
    context: typer.Context,
    which: Id,
    *,
    at: Annotated[str | None, typer.Option(metavar="DATE", help="Since when; now when it is left out.")] = None,
    json: JsonFlag = False,
) -> None:
    """Say that a relation holds no longer; it stays in the timeline."""
    target = target_of(context, json=json)
    with existing_space(target) as space:
        _print(target, space, space.graph.end_relation(which, at, origin="user"))


def withdraw(context: typer.Context, which: Id, *, json: JsonFlag = False) -> None:
    """Say that a relation was never so; what it had ended holds again. `--known-at` still sees it."""
    target = target_of(context, json=json)
    with existing_space(target) as space:
        _print(target, space, space.graph.withdraw_relation(which, origin="user"))


def delete(context: typer.Context, which: Id, *, yes: Yes = False, json: JsonFlag = False) -> None:
    """Delete a relation with its history, for good."""
    from langmem_tiers.knowledge_graph.wording import relation_words

    target = target_of(context, json=json)
    with existing_space(target) as space:
        relation = space.graph.relation(which)
        if relation is None:
            print_error(
                f"There is no relation {which}. `langmem-tiers timeline ENTITY` shows the ids of its relations."
            )
            raise typer.Exit(1)
        if not yes and not agreed(f"Delete {relation.id}, “{relation_words(relation)}”, for good?"):
            print_error("Nothing was deleted. With --yes, it is done without a question.")
            raise typer.Exit(1)
        deleted = space.graph.delete_relation(relation.id)
    if target.json:
        print_json(deleted)
    else:
        print_text(f"{deleted.id} is deleted.")


def history(context: typer.Context, which: Id, *, json: JsonFlag = False) -> None:
    """Print what was believed of a relation's time, oldest first, and why it changed."""
    target = target_of(context, json=json)
    with existing_space(target) as space:
        known = space.graph.history(which)
        if target.json:
            print_json([relation_data(each) for each in known])
        else:
            print_history(known, space.memory.clock())


def between(
    context: typer.Context,
    start: Annotated[str, typer.Argument(metavar="ENTITY", help="A name or an id.")],
    end_: Annotated[str, typer.Argument(metavar="OTHER", help="Another one.")],
    *,
    depth: Annotated[int, typer.Option(min=1, max=6, metavar="N", help="Most steps of a way.")] = 4,
    limit: Annotated[int, typer.Option(min=1, max=100, metavar="N", help="Most ways.")] = 5,
    as_of: Annotated[str | None, typer.Option(metavar="DATE", help="What held then; now when it is left out.")] = None,
    all_times: Annotated[bool, typer.Option("--all-times", help="Also what holds no longer, or not yet.")] = False,
    json: JsonFlag = False,
) -> None:
    """Print how ENTITY and OTHER are connected, the shortest way first."""
    from langmem_tiers.knowledge_graph.ambiguity import require_entity

    target = target_of(context, json=json)
    with existing_space(target) as space:
        ends = require_entity(space.graph.resolve, start), require_entity(space.graph.resolve, end_)
        found = space.graph.paths(ends[0].id, ends[1].id, depth=depth, limit=limit, as_of=as_of, ended=all_times)
        if target.json:
            print_json({"paths": [[relation_data(each) for each in way] for way in found.paths], "cut": found.cut})
        else:
            when = "" if all_times else f" as of {as_of}" if as_of else " now; --all-times looks at all times"
            nothing = f"No way leads from {ends[0].name} to {ends[1].name} in {depth} steps{when}."
            print_paths(found, space.memory.clock(), nothing)


def changes(
    context: typer.Context,
    since: Annotated[str, typer.Argument(metavar="SINCE", help="A day, month or year, such as 2024-05.")],
    until: Annotated[str | None, typer.Argument(metavar="UNTIL", help="Another; now when it is left out.")] = None,
    *,
    entity: Annotated[str | None, typer.Option(metavar="NAME", help="Only of this entity.")] = None,
    json: JsonFlag = False,
) -> None:
    """Print what began and what ended between two dates."""
    from langmem_tiers.knowledge_graph.ambiguity import require_entity

    target = target_of(context, json=json)
    with existing_space(target) as space:
        whose = None if entity is None else require_entity(space.graph.resolve, entity).id
        found = space.graph.changes(since, until, entity=whose)
    if target.json:
        print_json([{"at": each.at, "what": each.what, "relation": relation_data(each.relation)} for each in found])
    else:
        print_changes(found)


def import_relations(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `graph --out FILE.json` wrote.")],
    *,
    json: JsonFlag = False,
) -> None:
    """Take in the entities and relations of a file, with both times; what is there already is left as it is."""
    target = target_of(context, json=json)
    with any_space(target) as space:
        imported = as_data(space.graph.import_(file))
    if target.json:
        print_json(imported)
    else:
        counts = [f"{count:,} {name}" for name, count in imported.items() if count]
        print_text(f"{', '.join(counts) or 'Nothing was in it'}.")


def _print(target: Target, space: Space, relation: Relation) -> None:
    if target.json:
        print_json(relation_data(relation))
    else:
        print_relations([relation], space.memory.clock())
