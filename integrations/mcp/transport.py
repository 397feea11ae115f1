"""Serving over standard input and output, or over HTTP on this machine to clients with the token."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from hmac import compare_digest
from typing import TYPE_CHECKING, Any, cast

from langmem_tiers.errors import InvalidInput
from langmem_tiers.integrations.addresses import Addresses, Given, given_headers
from langmem_tiers.integrations.serving import (
    LOOPBACK,
    MOST_BODY,
    Application,
    Message,
    Receive,
    Send,
    bound,
    run,
    serve_http,
)
from langmem_tiers.telemetry.logs import say

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server


_CHUNK = 65_536
_MOST_WAITING = 100
MOST_LINE = 4_000_000
"""The maximum length of a line on standard input in bytes; a longer one is left out."""

logger = logging.getLogger(__name__)


def run_stdio(server: Server[Any]) -> None:
    """Serve until standard input is closed or a signal ends it.

    Nothing but the protocol reaches standard output: what else is printed there meanwhile goes to standard error.
    """
    run(lambda: _serve_stdio(server))


async def _serve_stdio(server: Server[Any]) -> None:
    from mcp.server.stdio import stdio_server

    given: Any = _Lines(sys.stdin.fileno())
    async with stdio_server(stdin=given) as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


class _Lines:
    """The lines of a file, as they come.

    A read that waits for a client cannot be called off, and who waits for its thread hangs on Ctrl-C until the next
    line. So the thread is one that nobody waits for, and it reads past Python's own stream, whose lock would stop the
    interpreter from ending.
    """

    def __init__(self, number: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        # A client that writes faster than it is served has to wait.
        self._room = threading.Semaphore(_MOST_WAITING)
        threading.Thread(target=self._read, args=(number,), name="mcp-stdin", daemon=True).start()

    async def __aiter__(self) -> AsyncIterator[str]:
        while (line := await self._lines.get()) is not None:
            self._room.release()
            if line.strip():
                _log_unreadable(line)
                yield line

    def _read(self, number: int) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody listens any more
            for line in _whole_lines(number):
                self._room.acquire()
                self._put(line)
            self._put(None)

    def _put(self, line: str | None) -> None:
        self._loop.call_soon_threadsafe(self._lines.put_nowait, line)


def _whole_lines(number: int) -> Iterator[str]:
    """The lines of a file, without those that are too long; what stands behind the last end of a line is one too."""
    parts: list[bytes] = []
    size = 0
    with suppress(OSError):  # a file that cannot be read ends it just as well
        while chunk := os.read(number, _CHUNK):
            *ends, rest = chunk.split(b"\n")
            for end in ends:
                yield _line([*parts, end], size + len(end))
                parts, size = [], 0
            size += len(rest)
            # Of a line that is too long nothing is held but its length.
            parts = [*parts, rest] if size <= MOST_LINE else []
    yield _line(parts, size)


def _line(parts: list[bytes], size: int) -> str:
    if size > MOST_LINE:
        say(logger, logging.WARNING, "mcp_line_unreadable", characters=size, error="TooLong")
        return ""
    return b"".join(parts).decode("utf-8", "replace")


def _log_unreadable(line: str) -> None:
    """Log a line that is no message: without an id, the server cannot answer it."""
    from mcp.types import jsonrpc_message_adapter

    try:
        jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError as error:
        say(logger, logging.WARNING, "mcp_line_unreadable", characters=len(line), error=error)


_WRONG_HOST, _WRONG_ORIGIN, _WRONG_TOKEN = 421, 403, 401
_REFUSALS = {
    _WRONG_HOST: b"Not for this host.",
    _WRONG_ORIGIN: b"Not from this origin.",
    _WRONG_TOKEN: b"The token is missing or wrong.",
}


class Guard:
    """An ASGI application that lets through only requests to these addresses, from no foreign page, with the token."""

    def __init__(self, application: Application, *, addresses: Addresses, token: str) -> None:
        self._application = application
        self._addresses = addresses
        self._token = token.encode()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it on."""
        if scope["type"] == "lifespan":
            await self._application(scope, receive, send)
            return
        headers = list(scope["headers"])
        refusal = self._refusal(given_headers(headers))
        if refusal is not None:
            await _refuse(send, refusal)
            return
        # Host names are case-insensitive, but the application compares them as they are.
        plain = [(name, value.lower() if name.lower() == b"host" else value) for name, value in headers]
        await self._application({**scope, "headers": plain}, receive, send)

    def _refusal(self, given: Given) -> int | None:
        """The status code of a refusal; None if the request may pass."""
        if not self._addresses.has_host(given):
            return _WRONG_HOST
        if not self._addresses.has_origin(given):
            return _WRONG_ORIGIN
        told = given[b"authorization"]
        scheme, _, token = (told[0] if len(told) == 1 else b"").partition(b" ")
        return None if scheme.lower() == b"bearer" and compare_digest(token.strip(), self._token) else _WRONG_TOKEN


async def _refuse(send: Send, status: int) -> None:
    text = _REFUSALS[status]
    headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(text)).encode())]
    if status == _WRONG_TOKEN:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text})


MOST_SESSIONS = 100
"""How many sessions can be open at the same time; one that is not used for half an hour ends."""

MCP_TOKEN_VARIABLE = "LANGMEM_TIERS_MCP_TOKEN"

_TOKEN = re.compile(r"[!-~]{16,}")


def run_http(server: Server[Any], *, port: int, token: str, listening: Callable[[str], None]) -> None:
    """Serve on 127.0.0.1 until a signal ends it.

    Args:
        server: what `mcp_server` made.
        port: where to listen; 0 takes one that is free.
        token: what clients have to send as `Authorization: Bearer …`: 16 or more visible ASCII characters.
        listening: is called with the address once clients can connect.

    Raises:
        InvalidInput: the token is too short, or the port cannot be had.
    """
    require_token(token)
    with bound(port) as listener:
        addresses = Addresses.of_server(LOOPBACK, listener.getsockname()[1])
        guard = guarded(server, addresses=addresses, token=token)
        serve_http(guard, listener, lambda: listening(f"{addresses.first}/mcp"))


def guarded(server: Server[Any], *, addresses: Addresses, token: str) -> Guard:
    """The ASGI application that `run_http` serves: `/mcp`, with limits, behind a `Guard`."""
    application = server.streamable_http_app(max_request_body_size=MOST_BODY, max_sessions=MOST_SESSIONS)
    return Guard(cast("Application", application), addresses=addresses, token=token)


def require_token(token: str) -> None:
    """Check that a token is hard to guess and fits into a header.

    Raises:
        InvalidInput: it is or cannot.
    """
    if not _TOKEN.fullmatch(token):
        raise InvalidInput(
            "The token is too short, or has characters that no header can hold.",
            way_out="Give 16 or more visible ASCII characters, or none to have one made.",
        )
