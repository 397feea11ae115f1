"""What may be logged about a provider's error without exposing user text: its class, its status, known codes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_STATUS = re.compile(r"(?:status|code|http|error)\W{0,4}(?:code)?\W{0,4}([45]\d\d)\b", re.IGNORECASE)
# Error codes and types as written by OpenAI, Anthropic and Google; other servers may put anything there.
_KNOWN = frozenset(
    {
        *("rate_limit", "rate_limit_exceeded", "rate_limit_error", "resource_exhausted", "insufficient_quota"),
        *("tokens", "requests", "overloaded", "overloaded_error", "billing_error"),
        *("invalid_api_key", "authentication_error", "unauthenticated", "permission_error", "permission_denied"),
        *("invalid_request_error", "invalid_argument", "model_not_found", "not_found", "not_found_error"),
        *("request_too_large", "context_length_exceeded", "string_above_max_length"),
        *("content_filter", "content_policy_violation"),
        *("server_error", "api_error", "internal", "internal_error", "unavailable"),
        *("deadline_exceeded", "timeout", "timeout_error"),
    }
)
_MEANINGS = {401: "authentication", 403: "permission", 404: "not found", 413: "too large", 429: "rate limit"}
# Providers' messages about a text that they reject: too long, empty, or forbidden.
_REFUSALS = frozenset({400, 413, 414, 422, 500})
_AWAY = re.compile(r"connect|timeout|timed.?out|network|protocol", re.IGNORECASE)
_NAMED = ("code", "type", "status")
# This many characters in common with what was sent are no coincidence, and neither is a line unless it is very short.
_QUOTE, _WORDS = 24, 8
# How much of an error's message is searched for a quotation.
_LOOKED_AT = 2000


def loggable(error: BaseException) -> str:
    """An error without its message, which may quote what the provider was sent.

    Example:
        >>> loggable(ConnectionError("no answer to 'I live in Porto'"))
        'ConnectionError'
    """
    status = status_of(error)
    meant = _MEANINGS.get(status or 0)
    told = [] if status is None else [f"status {status} ({meant})" if meant else f"status {status}"]
    return ", ".join([type(error).__name__, *told, *sorted(set(_codes(error)))])


def is_away(error: BaseException) -> bool:
    """Whether a provider seems unusable for now: it does not answer, or rejects everyone.

    Otherwise, the error may be about the particular request; so may an exit of the provider's code.

    Example:
        >>> is_away(ConnectionError("unplugged")), is_away(ValueError("the input is too long"))
        (True, False)
    """
    status = status_of(error)
    if status is not None:
        return status not in _REFUSALS
    return isinstance(error, OSError) or bool(_AWAY.search(type(error).__name__))


def status_of(error: BaseException) -> int | None:
    """The HTTP status behind an error, if it can be found."""
    holders = (error, getattr(error, "response", None))
    for told in (getattr(holder, name, None) for holder in holders for name in ("status_code", "status", "code")):
        if isinstance(told, int) and 400 <= told < 600:
            return told
    found = _STATUS.search(str(error))
    return int(found[1]) if found else None


def _codes(error: BaseException) -> Iterator[str]:
    body = getattr(error, "body", None)
    inner = body.get("error") if isinstance(body, Mapping) else None
    holders = [getattr(error, name, None) for name in _NAMED]
    holders += [each.get(name) for each in (body, inner) if isinstance(each, Mapping) for name in _NAMED]
    return (each.lower() for each in _words(holders) if each.lower() in _KNOWN)


def _words(found: list[Any]) -> Iterator[str]:
    return (each for each in found if isinstance(each, str))


def without_quotes(error: BaseException, sent: Iterable[str], longest: int) -> str:
    """An error as text; only its class if its message quotes what was sent, as some servers' do.

    Args:
        error: An error of a provider's client.
        sent: The texts that were sent to the provider.
        longest: Maximum characters of the message.
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
