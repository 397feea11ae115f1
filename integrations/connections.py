"""Connections of HTTP that end when a client takes its time: and there are only so many of them.

uvicorn waits for ever for the head of a request, for its body, and for a client that does not read its answer. Here
each of these has a time limit, and what is open at once is counted.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from langmem_tiers.telemetry.logs import say

MOST_CONNECTIONS = 200
"""How many connections can be open at the same time; a further one is closed at once."""
MOST_REQUESTS = 100
"""With this many connections or requests under way, a further request is answered with 503."""
MOST_HEAD = 16_384
"""The maximum size of a request's first line and headers in bytes."""

SECONDS_FOR = {"head": 10.0, "body": 20.0, "reading": 30.0}
"""How long a client may take to send a head, to send a body, and to read on when it is behind."""

_AWAITED = {h11.IDLE: "head", h11.SEND_BODY: "body"}

logger = logging.getLogger(__name__)


class BoundedConnection(H11Protocol):
    """A connection that is dropped if its client takes longer than `SECONDS_FOR`."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._awaited: str | None = None
        self._deadlines: dict[str, asyncio.TimerHandle] = {}

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a head, unless there are too many connections."""
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            self._drop("connections")
        else:
            self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        for name in list(self._deadlines):
            self._forget(name)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read, and see what there is to wait for now.

        In pieces, since the size of a head is not looked at if all of it comes at once.
        """
        for start in range(0, len(data), MOST_HEAD):
            if self.transport.is_closing():
                return
            super().data_received(data[start : start + MOST_HEAD])
        self._look()

    def on_response_complete(self) -> None:
        """Begin to wait for the next head."""
        super().on_response_complete()
        self._look()

    def pause_writing(self) -> None:
        """Begin to wait for the client to read."""
        super().pause_writing()
        self._expect("reading")

    def resume_writing(self) -> None:
        """It has read."""
        self._forget("reading")
        super().resume_writing()

    def _look(self) -> None:
        """Expect what the client has to send now; what it began with already keeps its deadline."""
        awaited = _AWAITED.get(cast("Any", self.conn.their_state))
        if awaited == self._awaited:
            return
        if self._awaited is not None:
            self._forget(self._awaited)
        self._awaited = awaited
        if awaited is not None and not self.transport.is_closing():
            self._expect(awaited)

    def _expect(self, what: str) -> None:
        self._forget(what)
        self._deadlines[what] = self.loop.call_later(SECONDS_FOR[what], self._drop, what)

    def _forget(self, what: str) -> None:
        if deadline := self._deadlines.pop(what, None):
            deadline.cancel()

    def _drop(self, what: str) -> None:
        """Close it at once: a client that does not read would keep it from closing in an orderly way."""
        say(logger, logging.INFO, "http_client_dropped", waited_for=what)
        self.transport.abort()
