"""A relay before a server on this machine, which counts how often somebody waits for an answer, and may delay these."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from queue import SimpleQueue
from time import perf_counter, sleep
from urllib.parse import urlsplit, urlunsplit


class Relay:
    """Passes on what is said to a server; `trips` counts questions that follow an answer, on any connection.

    Several statements that are sent without waiting for the first answer are one trip. What the server says arrives
    `delay` seconds later, so that a trip takes that much longer.
    """

    def __init__(self, address: str, *, delay: float = 0.0) -> None:
        parts = urlsplit(address)
        self._server = (parts.hostname, parts.port)
        self._listening = socket.create_server(("127.0.0.1", 0))
        before, _, _ = parts.netloc.rpartition("@")
        here = f"127.0.0.1:{self._listening.getsockname()[1]}"
        self.address = urlunsplit(parts._replace(netloc=f"{before}@{here}" if before else here))
        self.delay = delay
        self.trips = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Take no more connections; those that are open end with their users."""
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                user, _ = self._listening.accept()
                server = socket.create_connection(self._server)
                _Conversation(self, user, server)


class _Conversation:
    """One connection."""

    def __init__(self, relay: Relay, user: socket.socket, server: socket.socket) -> None:
        self._relay, self._user, self._server = relay, user, server
        self._is_answered = True
        self._on_its_way: SimpleQueue[tuple[float, bytes]] = SimpleQueue()
        for each in (user, server):
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for way in (self._ask, self._answer, self._arrive):
            threading.Thread(target=way, daemon=True).start()

    def _ask(self) -> None:
        with suppress(OSError):
            while said := self._user.recv(1 << 16):
                if self._is_answered:
                    self._is_answered = False
                    self._relay.trips += 1
                self._server.sendall(said)
        self._end()

    def _answer(self) -> None:
        said = b" "
        while said:
            try:
                said = self._server.recv(1 << 16)
            except OSError:
                said = b""
            self._on_its_way.put((perf_counter() + self._relay.delay, said))

    def _arrive(self) -> None:
        with suppress(OSError):
            while True:
                due, said = self._on_its_way.get()
                if not said:
                    break
                sleep(max(due - perf_counter(), 0.0))
                self._is_answered = True
                self._user.sendall(said)
        self._end()

    def _end(self) -> None:
        for each in (self._user, self._server):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
