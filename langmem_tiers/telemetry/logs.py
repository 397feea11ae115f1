"""Log records: an event and its fields, in the message for people and as attributes of the record for programs."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from langmem_tiers.naming import space_mark

# What may quote a provider or a file, and is cut and cleared of secrets.
_QUOTING = ("reason", "hint")
_LONGEST = 300
# So many characters in common with what was sent are no coincidence, nor is a whole line that is not very short.
_QUOTE, _WORDS = 24, 8
# Of an error's message, where a repetition is looked for.
_LOOKED_AT = 2000


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

    Every record has the attribute `event` and one for each field; those that are None are left out.

    Args:
        log: The logger of the module that tells.
        level: Such as `logging.WARNING`.
        event: Its name, which stays the same; docs/observability.md lists them.
        space: The name of a space: it is told by its mark.
        error: What went wrong: it is told by the name of its class.
        trace: The error whose traceback is told, True for the one at hand.
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


def without_quotes(error: BaseException, sent: Iterable[str], longest: int) -> str:
    """An error in words: its class alone where its message repeats what was sent, as some servers' do.

    Args:
        error: Of a provider's client.
        sent: The texts that the provider was given.
        longest: Most characters of the message.
    """
    said, name = str(error)[:_LOOKED_AT], type(error).__name__
    if any(_repeats(said, text) for text in sent):
        return f"{name}: its message repeats what was sent, and is left out"
    return f"{name}: {said[:longest]}"


def _repeats(said: str, text: str) -> bool:
    windows = (said[start : start + _QUOTE] for start in range(len(said) - _QUOTE + 1))
    lines = (line.strip() for line in text.splitlines())
    return any(window in text for window in windows) or any(
        _WORDS <= len(line) < _QUOTE and line in said for line in lines
    )
