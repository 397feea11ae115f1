"""The command `langmem-tiers`. Nothing heavier than Typer is loaded before a command needs it."""

from __future__ import annotations

import sys
from collections.abc import Sequence

_BEFORE_THE_COMMAND = ("--path", "--user")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command line (default: the one of this process) and leave with its exit code.

    0: done. 1: refused or failed, with one line on standard error that says the way out. 2: wrong usage.
    130: stopped by Ctrl-C.
    """
    from langmem_tiers.cli.app import app
    from langmem_tiers.cli.terminal import drop_output, prepare_streams, print_error
    from langmem_tiers.errors import MemoryTiersError

    try:
        prepare_streams()
        app(arguments, prog_name="langmem-tiers")
    except SystemExit as left:
        if hint := _hint(left):
            print_error(hint)
        raise
    except MemoryTiersError as error:
        print_error(str(error))
        sys.exit(1)
    except OSError as error:
        if error.filename is not None:
            raise  # about a file; what cannot be printed, be it typer's help, has no name
        drop_output()
        print_error(f"The output could not be written: {error.strerror or error}.")
        sys.exit(1)


def _hint(left: SystemExit) -> str:
    """What to say besides about wrong usage: typer leaves because of the error that it has shown."""
    option = getattr(left.__context__, "option_name", None)
    if option not in _BEFORE_THE_COMMAND:
        return ""
    return f"{' and '.join(_BEFORE_THE_COMMAND)} go before the command: langmem-tiers {option} … COMMAND"
