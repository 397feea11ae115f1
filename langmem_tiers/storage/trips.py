"""Several statements of one moment in one trip to a server: the way there and back takes longer than most answers.

A trip is told which functions are about to read something. Each is called once to see which statement it begins with,
and all these go to the server together; when the functions are called in earnest, the rows are there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, Protocol
from weakref import ref

from langmem_tiers.storage.database import writes

if TYPE_CHECKING:
    from sqlalchemy import Connection

P = ParamSpec("P")
Rows = Sequence[Any]
# Where a connection keeps the cursors of its statements, and what it was asked ahead.
_CURSORS, _AHEAD = "cursors", "ahead"


class Statement(Protocol):
    """A statement whose rows are read."""

    def filled(self, connection: Connection, given: Mapping[str, Any]) -> tuple[str, Any]:
        """The text for an engine, and the values of its parameters."""


@contextmanager
def one_trip(connection: Connection) -> Iterator[Trip]:
    """Ask a server at the end of the block for what functions are about to read.

    Where that saves nothing, as in a process that has the records itself, each asks for itself.
    """
    trip = Trip(idle=not _saves_time(connection))
    yield trip
    trip.go(connection)


class Trip:
    """What a server is asked together; nothing if it is idle."""

    def __init__(self, *, idle: bool) -> None:
        self.idle = idle
        self._noted: list[tuple[Statement, Mapping[str, Any]]] = []

    def ask(self, read: Callable[P, Any], *given: P.args, **named: P.kwargs) -> None:
        """Ask for what a function reads next that is not there yet when it is called with these arguments."""
        if self.idle:
            return
        token = _noting.set(self)
        try:
            read(*given, **named)
        except _Noted:
            pass
        finally:
            _noting.reset(token)

    def note(self, statement: Statement, given: Mapping[str, Any]) -> None:
        """Note a statement in the place of asking it, and break off what would read its rows.

        Raises:
            _Noted: always.
        """
        self._noted.append((statement, given))
        raise _Noted

    def go(self, connection: Connection) -> None:
        """Ask for what was noted. The rows are given in this transaction, to whoever asks first."""
        if len(self._noted) < 2:
            return
        raw: Any = connection.connection.driver_connection
        asked = [*zip(self._noted, cursors(connection, len(self._noted)), strict=False)]
        with raw.pipeline():
            for (statement, given), cursor in asked:
                cursor.execute(*statement.filled(connection, given), binary=True)
        answers = [(*noted, cursor.fetchall()) for noted, cursor in asked]
        if (ahead := _ahead(connection)) is None:
            connection.connection.info[_AHEAD] = _Ahead(ref(connection), answers)
        else:
            ahead.answers.extend(answers)


class _Noted(BaseException):
    """No error: a function came to its first statement."""


class _Ahead(NamedTuple):
    """What was asked ahead in a transaction, with the answers."""

    by: ref[Connection]
    answers: list[tuple[Statement, Mapping[str, Any], Rows]]


_noting: ContextVar[Trip | None] = ContextVar("noting", default=None)


def known_ahead(connection: Connection, statement: Statement, given: Mapping[str, Any]) -> Rows | None:
    """The rows of a statement that was asked ahead in this transaction, once; None if it was not.

    Raises:
        _Noted: it is to be asked ahead.
    """
    trip, ahead = _noting.get(), _ahead(connection) if names_parameters(connection) else None
    answers = [] if ahead is None else ahead.answers
    for place, (asked, with_these, rows) in enumerate(answers):
        if asked is statement and with_these == given:
            if trip is None:
                del answers[place]
            return rows
    if trip is not None:
        trip.note(statement, given)
    return None


def _ahead(connection: Connection) -> _Ahead | None:
    """What this transaction asked ahead: another one on the same connection may see another moment."""
    held: _Ahead | None = connection.connection.info.get(_AHEAD)
    return held if held is not None and held.by() is connection else None


def _saves_time(connection: Connection) -> bool:
    """Whether this is a server that takes several statements at once, nothing changes meanwhile, and nobody counts."""
    if not names_parameters(connection) or connection.dispatch.before_cursor_execute or writes(connection):
        return False
    from psycopg import Pipeline

    return Pipeline.is_supported()


def names_parameters(connection: Connection) -> bool:
    """Whether the engine is a server: its driver names parameters, and counts none by their place."""
    return connection.dialect.paramstyle != "qmark"


def cursors(connection: Connection, count: int) -> list[Any]:
    """So many cursors of a server: of one, the driver looks up only once how values of each type are written and read.

    The rows of each are there until it is used again.
    """
    held = connection.connection
    raw: Any = held.driver_connection
    made: list[Any] = held.info.setdefault(_CURSORS, [])
    made += (raw.cursor() for _ in range(count - len(made)))
    return made
