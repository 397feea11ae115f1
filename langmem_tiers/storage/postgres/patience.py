"""Connections that give up on a server that does not answer, such as one that was frozen or cut off from the network.

The server's own limits do not help there, and the driver knows none but for connecting: it would wait for ever.
"""

from __future__ import annotations

from collections.abc import Generator
from time import monotonic
from typing import Any, TypeVar

import psycopg

Result = TypeVar("Result")

# Seconds after one that a server did not answer in which nobody else waits for it.
_SILENT = 5.0


class NoAnswer(psycopg.OperationalError):
    """The server did not answer in time."""


class Silence:
    """Whether a server did not answer a moment ago."""

    def __init__(self) -> None:
        self._until = 0.0

    def begin(self) -> None:
        """Note that it does not answer."""
        self._until = monotonic() + _SILENT

    def require_over(self) -> None:
        """Raise `NoAnswer` if it did not answer a moment ago."""
        if monotonic() < self._until:
            raise NoAnswer("it did not answer a moment ago")


class PatientConnection(psycopg.Connection[Any]):
    """A connection that is closed if the server says nothing for `patience` seconds, while an answer is waited for."""

    patience: float = 60.0
    silence: Silence

    @classmethod
    def opened(cls, silence: Silence, given: dict[str, Any]) -> PatientConnection:
        """A new connection.

        Raises:
            psycopg.OperationalError: there is none to be had; `NoAnswer` if the server did not answer a moment ago.
        """
        silence.require_over()
        try:
            made = cls.connect(**given)
        except psycopg.errors.ConnectionTimeout:
            silence.begin()
            raise
        made.silence = silence
        return made

    def wait(self, gen: Generator[Any, Any, Result], *how: Any, **named: Any) -> Result:
        """What the driver waits for.

        Raises:
            NoAnswer: it did not come; whether the server has done what it was asked to is not known.
        """
        return super().wait(self._within(gen), *how, **named)

    def _within(self, gen: Generator[Any, Any, Result]) -> Generator[Any, Any, Result]:
        until = monotonic() + self.patience
        try:
            wanted = next(gen)
            while True:
                came = yield wanted
                if came:
                    until = monotonic() + self.patience
                elif monotonic() > until:
                    self._give_up()
                wanted = gen.send(came)
        except StopIteration as end:
            result: Result = end.value
            return result

    def _give_up(self) -> None:
        self.pgconn.finish()
        raise NoAnswer(f"it did not answer within {self.patience:g} s")
