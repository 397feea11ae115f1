"""The command `langmem-tiers`. Nothing heavier than Typer is loaded before a command needs it."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command line (default: the one of this process) and leave with its exit code.

    0: done. 1: refused or failed, with one line on standard error that says the way out. 2: wrong usage.
    130: stopped by Ctrl-C.
    """
    from langmem_tiers.cli.app import app
    from langmem_tiers.cli.terminal import print_error, tolerate_any_text
    from langmem_tiers.errors import MemoryTiersError

    tolerate_any_text()
    try:
        app(arguments, prog_name="langmem-tiers")
    except MemoryTiersError as error:
        print_error(str(error))
        sys.exit(1)
