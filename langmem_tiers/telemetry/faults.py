"""What may be said of a provider's error where nobody must read what was said: its class, its status, known codes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_STATUS = re.compile(r"(?:status|code|http|error)\W{0,4}(?:code)?\W{0,4}([45]\d\d)\b", re.IGNORECASE)
# Codes and types of errors as OpenAI, Anthropic and Google write them; servers may put anything else there.
_KNOWN = frozenset(
    (
        "rate_limit",
        "rate_limit_exceeded",
        "rate_limit_error",
        "resource_exhausted",
        "insufficient_quota",
        "tokens",
        "requests",
        "overloaded",
        "overloaded_error",
        "invalid_api_key",
        "authentication_error",
        "unauthenticated",
        "permission_error",
        "permission_denied",
        "billing_error",
        "invalid_request_error",
        "invalid_argument",
        "model_not_found",
        "not_found",
        "not_found_error",
        "request_too_large",
        "context_length_exceeded",
        "string_above_max_length",
        "content_filter",
        "content_policy_violation",
        "server_error",
        "api_error",
        "internal",
        "internal_error",
        "unavailable",
        "deadline_exceeded",
        "timeout",
        "timeout_error",
    )
)
_MEANINGS = {401: "authentication", 403: "permission", 404: "not found", 413: "too large", 429: "rate limit"}
_NAMED = ("code", "type", "status")


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


def status_of(error: BaseException) -> int | None:
    """The HTTP status behind an error, as far as it can be told."""
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
