"""Log records: an event and its fields, in the message for people and as attributes of the record for programs.

Ids, paths and foreign errors are somebody else's text: each is one line, without secrets and without anything that a
terminal would obey, so that none forges a record or a field.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import threading
import traceback
from time import monotonic
from typing import Any

from langmem_tiers.naming import space_mark
from langmem_tiers.wording import safe

# Fields that may quote a provider or a file; they are truncated, and stand at the end.
_QUOTING = ("reason", "hint")
_LONGEST = 300
# What would read like another field.
_AMBIGUOUS = re.compile(r'[\s="]')
# Seconds for which what was warned of is told as a detail.
_TOLD = 60.0


class Sparing:
    """Picks the level of an event that many spaces have at once: for each reason one warning a minute; thread-safe."""

    def __init__(self) -> None:
        self._told: dict[str, float] = {}
        self._lock = threading.Lock()

    def level(self, reason: str) -> int:
        """`logging.WARNING`, or `logging.DEBUG` where this reason had a warning within the last minute."""
        now = monotonic()
        with self._lock:
            self._told = {each: at for each, at in self._told.items() if now - at < _TOLD}
            if reason in self._told:
                return logging.DEBUG
            self._told[reason] = now
            return logging.WARNING


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
        trace: The error whose traceback is logged, True for the current one; each of its lines is indented.
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
    shown = tuple(_shown(name, value) for name, value in known.items())
    failed = sys.exception() if trace is True else trace or None
    file, line, function, _ = log.findCaller(stacklevel=2)
    caught = None if failed is None else (type(failed), failed, failed.__traceback__)
    record = log.makeRecord(log.name, level, file, line, text, shown, caught, function, extra={"event": event, **known})
    record.exc_text = None if failed is None else _traceback(failed)
    log.handle(record)


def _fit(name: str, value: object) -> Any:
    if isinstance(value, bool | int | float):
        return value
    text = _cleared(str(value))
    if name not in _QUOTING:
        return text.replace("\t", r"\t").replace("\n", r"\n")
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _shown(name: str, value: Any) -> Any:
    ambiguous = isinstance(value, str) and name not in _QUOTING and _AMBIGUOUS.search(value)
    return json.dumps(value, ensure_ascii=False) if ambiguous else value


def _traceback(error: BaseException) -> str:
    lines = _cleared("".join(traceback.format_exception(error))).rstrip().split("\n")
    return "\n".join(f"  {line}" for line in lines)


def _cleared(text: str) -> str:
    from langmem_tiers.trust.secrets import mask

    return safe(mask(text))
