"""`langmem-tiers directives`: the prompts that models are given, and those that a memory has in their place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from langmem_tiers.cli.target import JsonFlag, target_of
from langmem_tiers.cli.terminal import print_json, print_rich, print_text, safe
from langmem_tiers.errors import InvalidDirective

if TYPE_CHECKING:
    from pydantic import BaseModel

    from langmem_tiers.llm.directives import Directive, Directives


@dataclass(frozen=True, kw_only=True, slots=True)
class _Listed:
    name: str
    title: str
    path: str
    in_use: str
    problem: str


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    directives = typer.Typer(
        help="The prompts that models are given: look at them, write them out for editing.", no_args_is_help=True
    )
    directives.command("list")(list_directives)
    directives.command()(init)
    app.add_typer(directives, name="directives")


def list_directives(context: typer.Context, *, json: JsonFlag = False) -> None:
    """Print the prompts, and whether the memory has one of its own; exit code 1 if one of these can not be used."""
    from langmem_tiers.llm.directives import Directives

    target = target_of(context, json=json)
    with target.existing_memory() as memory:
        directives = Directives(memory.path)
        found = [_listed(each, directives) for each in directives.all()]
    if target.json:
        print_json(found)
    else:
        _print(found)
    if any(each.problem for each in found):
        raise typer.Exit(1)


def init(context: typer.Context, *, json: JsonFlag = False) -> None:
    """Write the built-in prompts into the memory folder, for editing; those that are there already stay as they are."""
    from langmem_tiers.llm.directives import Directives
    from langmem_tiers.storage.errors_border import translated

    target = target_of(context, json=json)
    with target.existing_memory() as memory, translated(memory.path):
        written = Directives(memory.path).init()
    if target.json:
        print_json(written)
        return
    for each in written:
        print_text(f"{each.path}: {each.title}.")
    print_text("Edit them; what you delete is the built-in again." if written else "All of them are there already.")


def _listed(directive: Directive, directives: Directives) -> _Listed:
    return _Listed(
        name=directive.name,
        title=directive.title,
        path=str(directive.path),
        in_use="your own" if directive.overridden else "built-in",
        problem=_problem(directive.name, directives),
    )


def _problem(name: str, directives: Directives) -> str:
    """Why a prompt can not be used; empty where it can."""
    try:
        schema = _schemas().get(name)
        if schema is None:
            directives.text(name)
        else:
            directives.prompt(name, schema, "")
    except InvalidDirective as error:
        return error.message
    return ""


def _schemas() -> dict[str, type[BaseModel]]:
    """What is asked for with the prompts that hold an example of a reply."""
    from langmem_tiers.dream import anti_patterns, preferences, synthesis

    return {
        anti_patterns.DIRECTIVE: anti_patterns.ToldAntiPatterns,
        preferences.DIRECTIVE: preferences.ToldPreferences,
        synthesis.DIRECTIVE: synthesis.ToldSynthesis,
    }


def _print(found: list[_Listed]) -> None:
    from rich.table import Table

    table = Table()
    for name in ("name", "what it is for", "in use"):
        table.add_column(name)
    for each in found:
        table.add_row(safe(each.name), safe(each.title), safe(each.in_use))
    print_rich(table, *(safe(each.problem) for each in found if each.problem))
