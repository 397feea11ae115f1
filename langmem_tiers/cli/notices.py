"""The library's warnings, such as a model out of reach, on standard error. No business logic."""

from __future__ import annotations

import logging

from langmem_tiers.cli.terminal import print_error

_EVERY_RECORD_HAS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


class _OnStandardError(logging.Handler):
    """Prints an event and its values on one line."""

    def emit(self, record: logging.LogRecord) -> None:
        values = (f"{name}={value}" for name, value in vars(record).items() if name not in _EVERY_RECORD_HAS)
        print_error(" ".join([record.getMessage(), *values]))


def show_warnings() -> None:
    """Print warnings from now on; a second call changes nothing."""
    logger = logging.getLogger("langmem_tiers")
    if not any(isinstance(handler, _OnStandardError) for handler in logger.handlers):
        logger.addHandler(_OnStandardError(logging.WARNING))
