"""Serving an ASGI application to the end: the socket, Ctrl-C and being terminated. No business logic."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from langmem_tiers.errors import InvalidInput

if TYPE_CHECKING:
    import uvicorn

LOOPBACK = "127.0.0.1"
MOST_BODY = 1_000_000
"""The maximum size of a request's body in bytes."""

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

Serve = Callable[[], Awaitable[None]]
WhenTerminated = Callable[["asyncio.Task[Any]"], object]

# Streams that clients hold open would keep the server from ever ending.
_SECONDS_TO_LEAVE = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Certificate:
    """The files of a TLS certificate and of its key, in PEM."""

    certificate: Path
    key: Path


def run(serve: Serve, *, when_terminated: WhenTerminated = asyncio.Task.cancel) -> None:
    """Serve to the end; Ctrl-C and a request to terminate end it too, and whoever called goes on to close things."""

    async def serving() -> None:
        task = asyncio.current_task()
        assert task is not None
        # Windows has no such handlers, nor has a thread other than the first: there, being terminated ends all at once.
        with suppress(NotImplementedError, ValueError, RuntimeError):
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, when_terminated, task)
        await serve()

    with suppress(KeyboardInterrupt, asyncio.CancelledError):
        asyncio.run(serving())


def bound(port: int, *, host: str = LOOPBACK) -> socket.socket:
    """A socket that listens on a port; 0 takes one that is free.

    Raises:
        InvalidInput: the port cannot be had.
    """
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise InvalidInput(
            f"Port {port} of {host} cannot be had: {error.strerror or error}.",
            way_out="Name another one, or 0 for any that is free.",
        ) from error


def serve_http(
    application: Application, listener: socket.socket, listening: Callable[[], None], *, tls: Certificate | None = None
) -> None:
    """Serve until a signal ends it; `listening` is called once clients can connect."""
    server = http_server(application, listening, tls=tls)
    # uvicorn handles signals itself: it closes its connections and raises them again, and nothing is left to do.
    run(lambda: server.serve(sockets=[listener]), when_terminated=lambda _: None)


def http_server(
    application: Application, listening: Callable[[], None], *, tls: Certificate | None = None
) -> uvicorn.Server:
    """What serves an application, with limits on connections, requests and the time that clients take."""
    import uvicorn

    from langmem_tiers.integrations.connections import MOST_HEAD, MOST_REQUESTS, BoundedConnection

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            listening()

    config = uvicorn.Config(
        cast("Any", application),
        http=BoundedConnection,
        limit_concurrency=MOST_REQUESTS,
        h11_max_incomplete_event_size=MOST_HEAD,
        log_config=None,  # uvicorn's own logs requests to standard output
        access_log=False,
        proxy_headers=False,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=_SECONDS_TO_LEAVE,
        ssl_certfile=None if tls is None else tls.certificate,
        ssl_keyfile=None if tls is None else str(tls.key),
    )
    return Server(config)
