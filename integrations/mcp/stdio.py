"""Serving over standard input and output, for the client that started this process."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from langmem_tiers.integrations.mcp.running import run
from langmem_tiers.telemetry.logs import say

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

_CHUNK = 65_536

logger = logging.getLogger(__name__)


def run_stdio(server: Server[Any]) -> None:
    """Serve until standard input is closed or a signal ends it.

    Nothing but the protocol reaches standard output: what else is printed there meanwhile goes to standard error.
    """
    run(lambda: _serve(server))


async def _serve(server: Server[Any]) -> None:
    from mcp.server.stdio import stdio_server

    given: Any = _Lines(sys.stdin.fileno())
    async with stdio_server(stdin=given) as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


class _Lines:
    """The lines of a file, as they come.

    A read that waits for a client can not be called off, and who waits for its thread hangs on Ctrl-C until the next
    line. So the thread is one that nobody waits for, and it reads past Python's own stream, whose lock would stop the
    interpreter from ending.
    """

    def __init__(self, number: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        threading.Thread(target=self._read, args=(number,), name="mcp-stdin", daemon=True).start()

    async def __aiter__(self) -> AsyncIterator[str]:
        while (line := await self._lines.get()) is not None:
            if line.strip():
                _log_unreadable(line)
                yield line

    def _read(self, number: int) -> None:
        rest = b""
        with suppress(RuntimeError):  # the loop is closed: nobody listens any more
            while chunk := _chunk(number):
                *whole, rest = (rest + chunk).split(b"\n")
                for line in whole:
                    self._put(line.decode("utf-8", "replace"))
            self._put(rest.decode("utf-8", "replace"))
            self._put(None)

    def _put(self, line: str | None) -> None:
        self._loop.call_soon_threadsafe(self._lines.put_nowait, line)


def _log_unreadable(line: str) -> None:
    """Say so where a line is no message: the server leaves it unanswered, as it has no id to answer to."""
    from mcp.types import jsonrpc_message_adapter

    try:
        jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError as error:
        say(logger, logging.WARNING, "mcp_line_unreadable", characters=len(line), error=error)


def _chunk(number: int) -> bytes:
    """The next bytes; none where the file can not be read, which ends it just as well."""
    try:
        return os.read(number, _CHUNK)
    except OSError:
        return b""
