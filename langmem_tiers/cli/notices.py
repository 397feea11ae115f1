"""The library's warnings, such as a model out of reach, on standard error. No business logic."""

from __future__ import annotations

import logging

from langmem_tiers.cli.terminal import print_error


class _OnStandardError(logging.Handler):
    """Prints an event with its fields on one line; a warning that was printed already is not printed again."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self.printed: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        line = record.getMessage()
        if line in self.printed and record.levelno < logging.ERROR:
            return
        self.printed.add(line)
        print_error(line)


def show_warnings() -> None:
    """Print warnings from now on, for the command that begins."""
    logger = logging.getLogger("langmem_tiers")
    for earlier in [handler for handler in logger.handlers if isinstance(handler, _OnStandardError)]:
        logger.removeHandler(earlier)
    logger.addHandler(_OnStandardError(logging.WARNING))
