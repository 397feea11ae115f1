"""`langmem-tiers directives`: the prompts that models are given."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from langmem_tiers.cli.target import Shown, Target, command
from langmem_tiers.cli.terminal import wrapped
from langmem_tiers.errors import InvalidDirective
from langmem_tiers.wording import safe

if TYPE_CHECKING:
    from pydantic import BaseModel

    from langmem_tiers.models.directives import Directives

directives = typer.Typer(
    help="The prompts that models are given: look at them, write them out for editing.", no_args_is_help=True
)


@directives.command("list")
@command
def list_directives(target: Target) -> Shown:
    """Print the prompts, and whether the memory has one of its own; exit code 1 if one of these cannot be used."""
    from rich.table import Table

    from langmem_tiers.models.directives import Directives

    with target.existing_memory() as memory:
        known = Directives(memory.path, memory.settings.directives)
        found = [
            {
                "name": each.name,
                "title": each.title,
                "path": str(each.path),
                "in_use": "your own" if each.overridden else "built-in",
                "problem": _problem(each.name, known),
            }
            for each in known.all()
        ]
    table = Table("name", "what it is for", "in use")
    for each in found:
        table.add_row(safe(each["name"]), safe(each["title"]), each["in_use"])
    problems = [each["problem"] for each in found if each["problem"]]
    return Shown(found, [table, *map(wrapped, problems)], failed=bool(problems))


@directives.command()
@command
def init(target: Target) -> Shown:
    """Write the built-in prompts into the memory folder, for editing; those that are there already stay as they are."""
    from langmem_tiers.models.directives import Directives
    from langmem_tiers.storage.errors_border import translated

    with target.existing_memory() as memory, translated(memory.path):
        written = Directives(memory.path, memory.settings.directives).init()
    after = "Edit them; what you delete is the built-in again." if written else "All of them are there already."
    return Shown(written, [*(f"{each.path}: {each.title}." for each in written), after])


def _problem(name: str, directives: Directives) -> str:
    """Why a prompt cannot be used; empty where it can."""
    try:
        if schema := _schemas().get(name):
            directives.prompt(name, schema, "")
        else:
            directives.text(name)
    except InvalidDirective as error:
        return error.message
    return ""


def _schemas() -> dict[str, type[BaseModel]]:
    """What is asked for with the prompts that hold an example of a reply."""
    from langmem_tiers.dream import anti_patterns, preferences, synthesis

    return {
        anti_patterns.DIRECTIVE: anti_patterns.AntiPatternsReply,
        preferences.DIRECTIVE: preferences.PreferencesReply,
        synthesis.DIRECTIVE: synthesis.SynthesisReply,
    }
