"""`langmem-tiers usage`: what models took."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from langmem_tiers.cli.target import JsonFlag, target_of
from langmem_tiers.cli.terminal import print_error, print_json, print_rich, print_text, safe

if TYPE_CHECKING:
    from rich.table import Table

    from langmem_tiers.llm.usage_book import UsageLine
    from langmem_tiers.memory import Memory

_NUMBERS = ("calls", "failures", "input_tokens", "output_tokens", "cost")


@dataclass(frozen=True, kw_only=True, slots=True)
class _OfSpace:
    space: str
    by_source: tuple[UsageLine, ...]
    by_day: tuple[UsageLine, ...]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(usage)


def usage(
    context: typer.Context,
    *,
    days: Annotated[int, typer.Option(min=1, max=36_500, help="How many days back, today (UTC) being the first.")] = 30,
    json: JsonFlag = False,
) -> None:
    """Print what models took for the user's space, or for every space when no user is named: by source and by day."""
    target = target_of(context, json=json)
    with target.existing_memory() as memory:
        since = memory.clock().date() - timedelta(days=days - 1)
        found = [_of_space(memory, space.name, since) for space in target.spaces(memory)]
        if target.json:
            print_json({"path": memory.path, "since": str(since), "spaces": found})
        else:
            _print(found, since)
        for folder in target.unreadable(memory):
            print_error(f"Not counted: {folder}, whose space can not be told. `langmem-tiers doctor` says the way out.")


def _of_space(memory: Memory, name: str, since: date) -> _OfSpace:
    from langmem_tiers.llm.usage_book import UsageBook

    with memory.use(name) as store:
        book = UsageBook(store.database)
        return _OfSpace(
            space=name, by_source=book.summary(since=since, by="source"), by_day=book.summary(since=since, by="day")
        )


def _print(found: list[_OfSpace], since: date) -> None:
    used = [each for each in found if each.by_source]
    if not used:
        print_text(f"No model was asked since {since}.")
    for each in used:
        print_text(f"{each.space}, since {since}")
        print_rich(_table("source", each.by_source), _table("day", each.by_day))


def _table(what: str, lines: tuple[UsageLine, ...]) -> Table:
    from rich.table import Table

    table = Table()
    table.add_column(what)
    for name in _NUMBERS:
        table.add_column(name.replace("_", " "), justify="right")
    for line in lines:
        table.add_row(safe(line.name), *(_figure(getattr(line, name)) for name in _NUMBERS))
    return table


def _figure(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4f}"
