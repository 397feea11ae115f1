"""Log records: an event and its fields, in the message for people and as attributes of the record for programs."""

from __future__ import annotations

import logging
from typing import Any

from langmem_tiers.naming import space_mark

# Fields that may quote a provider or a file; they are truncated and cleared of secrets.
_QUOTING = ("reason", "hint")
_LONGEST = 300


def say(
    log: logging.Logger,
    level: int,
    event: str,
    /,
    *,
    space: str | None = None,
    error: BaseException | str | None = None,
    trace: BaseException | bool = False,
    **fields: object,
) -> None:
    """Log an event.

    Every record has the attribute `event` and one for each field; fields that are None are left out.

    Args:
        log: The logger of the calling module.
        level: Such as `logging.WARNING`.
        event: Its name, which never changes; docs/observability.md lists them.
        space: The name of a space: it is logged as its mark.
        error: What went wrong: it is logged as the name of its class.
        trace: The error whose traceback is logged, True for the current one.
        fields: Numbers and names, never what was said.

    Example:
        >>> say(log, logging.WARNING, "usage_not_booked", space="users/alice", reason="The disk is full.")
    """
    if not log.isEnabledFor(level):
        return
    told = {
        "space": None if space is None else space_mark(space),
        **{name: value for name, value in fields.items() if name not in _QUOTING},
        "error": type(error).__name__ if isinstance(error, BaseException) else error,
        **{name: value for name, value in fields.items() if name in _QUOTING},
    }
    known = {name: _fit(name, value) for name, value in told.items() if value is not None}
    text = " ".join((event, *(f"{name}=%s" for name in known)))
    log.log(level, text, *known.values(), exc_info=trace or None, extra={"event": event, **known}, stacklevel=2)


def _fit(name: str, value: object) -> Any:
    if isinstance(value, bool | int | float):
        return value
    return _cleared(str(value)) if name in _QUOTING else str(value)


def _cleared(text: str) -> str:
    from langmem_tiers.trust.secrets import mask

    line = " ".join(mask(text).split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
