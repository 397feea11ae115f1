"""`langmem-tiers browse`: a memory in the whole terminal, by keys alone."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from langmem_tiers.cli.recall import asked_on_purpose
from langmem_tiers.cli.target import OfSpace, target_of
from langmem_tiers.cli.terminal import leave
from langmem_tiers.errors import MissingExtra

if TYPE_CHECKING:
    pass


def browse(context: typer.Context, *, space: OfSpace = None) -> None:
    """Look through a memory in the whole terminal, search it, and correct it; `q` leaves."""
    target = target_of(context, space=space)
    if target.json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        leave(
            "browse needs a terminal, and this is none. `langmem-tiers palace`, `knowledge list`, `recall QUERY` and"
            " `show REFERENCE` print the same, also with --json."
        )
    _require_textual()
    from langmem_tiers.cli.browser import Browser

    with target.existing_memory(settings=asked_on_purpose(), background=True) as memory:
        Browser(target.only_space(memory)).run()


def _require_textual() -> None:
    try:
        import textual  # noqa: F401 - whether it is there
    except ImportError as error:
        raise MissingExtra("textual", "browse") from error
