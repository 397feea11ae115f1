"""Serving over streamable HTTP, to clients on this machine that have the token."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from langmem_tiers.errors import InvalidInput
from langmem_tiers.integrations.mcp.guard import Application, Guard
from langmem_tiers.integrations.mcp.running import run

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

MCP_TOKEN_VARIABLE = "LANGMEM_TIERS_MCP_TOKEN"

_LOOPBACK = "127.0.0.1"
_TOKEN = re.compile(r"[!-~]{16,}")
# Streams that clients hold open would keep the server from ending for ever.
_SECONDS_TO_LEAVE = 2


def run_http(server: Server[Any], *, port: int, token: str, listening: Callable[[str], None]) -> None:
    """Serve on 127.0.0.1 until a signal ends it.

    Args:
        server: what `mcp_server` made.
        port: where to listen; 0 takes one that is free.
        token: what clients have to send as `Authorization: Bearer …`: 16 or more visible ASCII characters.
        listening: is called with the address once clients can connect.

    Raises:
        InvalidInput: the token is too short, or the port can not be had.
    """
    require_token(token)
    with _bound(port) as bound:
        number = bound.getsockname()[1]
        guard = Guard(cast(Application, server.streamable_http_app()), port=number, token=token)
        _serve(guard, bound, lambda: listening(f"http://{_LOOPBACK}:{number}/mcp"))


def require_token(token: str) -> None:
    """Nothing, where a token is hard to guess and can stand in a header.

    Raises:
        InvalidInput: it is or can not.
    """
    if not _TOKEN.fullmatch(token):
        raise InvalidInput(
            "The token is too short, or has characters that no header can hold.",
            way_out="Give 16 or more visible ASCII characters, or none to have one made.",
        )


def _serve(guard: Guard, bound: socket.socket, listening: Callable[[], None]) -> None:
    import uvicorn

    class Server(uvicorn.Server):
        """One that says when it has started."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            listening()

    config = uvicorn.Config(
        cast(Any, guard),
        log_config=None,  # uvicorn's own logs requests to standard output
        access_log=False,
        proxy_headers=False,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=_SECONDS_TO_LEAVE,
    )
    # uvicorn sees signals itself, closes its connections, and raises them again: then there is nothing left to do.
    run(lambda: Server(config).serve(sockets=[bound]), when_terminated=lambda _: None)


def _bound(port: int) -> socket.socket:
    try:
        return socket.create_server((_LOOPBACK, port))
    except OSError as error:
        raise InvalidInput(
            f"Port {port} of {_LOOPBACK} can not be had: {error.strerror or error}.",
            way_out="Name another one, or 0 for any that is free.",
        ) from error
