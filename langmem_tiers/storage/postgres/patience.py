"""Connections that give up on a server that does not answer, such as one that was frozen or cut off from the network.

The server's own limits do not help there, and the driver knows none but for connecting: it would wait for ever.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import suppress
from time import monotonic
from typing import Any, Self, TypeVar

import psycopg
from psycopg.errors import ConnectionTimeout, ReadOnlySqlTransaction
from psycopg.waiting import Ready

Result = TypeVar("Result")

# Seconds after one that a server did not answer in which nobody else waits for it.
_SILENT = 5.0


class NoAnswer(psycopg.OperationalError):
    """The server did not answer in time."""


class Server:
    """What the connections of a process know of their server: whether it answers, and whether it takes changes."""

    def __init__(self) -> None:
        self._silent_until = 0.0
        self.turn = 0
        """Counts how often it took no more changes: another one may do so by then, under the same address."""

    def note_silence(self) -> None:
        """Note that it does not answer."""
        self._silent_until = monotonic() + _SILENT

    def require_answer(self) -> None:
        """Raise `NoAnswer` if it did not answer a moment ago."""
        if monotonic() < self._silent_until:
            raise NoAnswer("it did not answer a moment ago")


class PatientConnection(psycopg.Connection[Any]):
    """A connection that is closed if the server says nothing for `patience` seconds, while an answer is waited for.

    `limits` are the commands that each transaction begins with, if the connection was opened without limits.
    """

    patience: float = 60.0
    limits: str = ""
    due_within: float | None = None
    """Seconds within which the server is to say a first word, however long it may take for the rest."""
    server: Server
    _turn = 0

    @classmethod
    def opened(cls, server: Server, given: dict[str, Any]) -> Self:
        """A new connection.

        Raises:
            psycopg.OperationalError: there is none to be had; `NoAnswer` if the server did not answer a moment ago.
        """
        server.require_answer()
        turn = server.turn
        try:
            made = cls.connect(**given)
        except ConnectionTimeout:
            server.note_silence()
            raise
        made.server, made._turn = server, turn
        return made

    @property
    def is_outdated(self) -> bool:
        """Whether it was opened before the server took no more changes, as one that stands by for another."""
        return self._turn != self.server.turn

    def wait(self, gen: Generator[Any, Any, Result], *how: Any, **named: Any) -> Result:
        """What the driver waits for.

        Raises:
            NoAnswer: it did not come; whether the server has done what it was asked to is not known.
        """
        try:
            return super().wait(self._within(gen), *how, **named)
        except ReadOnlySqlTransaction:
            self.server.turn = self._turn + 1
            raise

    def _within(self, gen: Generator[Any, Any, Result]) -> Generator[Any, Any, Result]:
        until = monotonic() + self._patience()
        try:
            wanted = next(gen)
            while True:
                came = yield wanted
                if came:
                    if came & Ready.R:
                        self.due_within = None
                    until = monotonic() + self._patience()
                elif monotonic() > until:
                    self._give_up(gen)
                wanted = gen.send(came)
        except StopIteration as end:
            result: Result = end.value
            return result

    def _patience(self) -> float:
        return self.patience if self.due_within is None else self.due_within

    def _give_up(self, gen: Generator[Any, Any, Any]) -> None:
        self.pgconn.finish()
        with suppress(psycopg.Error):  # it may have something to send still
            gen.close()
        if self.due_within is not None:  # the server had nothing to do, nor to wait for
            self.server.note_silence()
        raise NoAnswer(f"it did not answer within {self._patience():g} s")
