"""Transactions of a connection to a server, with as few trips there as they need.

What begins a transaction goes with its first statement. What ends one that only read is answered behind the caller.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, TypeVar

import psycopg
from psycopg.pq import PipelineStatus, TransactionStatus
from psycopg.waiting import Wait

from langmem_tiers.storage.postgres.patience import PatientConnection

Result = TypeVar("Result")

# Seconds after its last answer in which a connection is taken for one that leads to the server. Routers, and machines
# that were restarted, forget a connection without a word, but later than that.
_RECENT = 10.0


@dataclass(frozen=True)
class Beginning:
    """How a transaction begins, and what it is asked first, before anything else.

    `question` is one statement, and `values` are those that it is asked with; `literally` has them in its text.
    """

    how: str
    question: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    literally: str = ""

    @property
    def only_reads(self) -> bool:
        """Whether nothing can be changed by it."""
        return self.how.endswith("READ ONLY")


class _Cursor(psycopg.Cursor[Any]):
    """A cursor whose first statement takes along what begins its transaction."""

    connection: TransactionConnection

    def execute(self, query: Any, params: Any = None, **how: Any) -> Any:
        """Execute a statement, in a transaction that has begun."""
        if self.connection.has_begun:
            return super().execute(query, params, **how)
        if not (params or how.get("binary")):  # it may be several, which cannot go along with anything
            self.connection.begin_now()
            return super().execute(query, params, **how)
        with self.connection.pipeline():
            super().execute(query, params, **how)
        return self

    def executemany(self, query: Any, params_seq: Iterable[Any], **how: Any) -> None:
        """Execute a statement several times, in a transaction that has begun."""
        self.connection.begin_now()
        super().executemany(query, params_seq, **how)


class _ServerCursor(psycopg.ServerCursor[Any]):
    """A cursor of the server, which is opened in a transaction that has begun."""

    connection: TransactionConnection

    def execute(self, query: Any, params: Any = None, **how: Any) -> Any:
        """Open it."""
        self.connection.begin_now()
        return super().execute(query, params, **how)


class TransactionConnection(PatientConnection):
    """A connection whose transactions begin with their first statement.

    Nothing is executed before that: whoever goes around the cursors is refused.
    """

    answer: Sequence[Any] | None = None
    """The row that the question at the beginning was answered with."""

    _beginning: Beginning | None = None
    _check: Callable[[Sequence[Any] | None], None] | None = None
    _is_beginning = False
    _only_reads = False
    _is_ending = False
    _heard = 0.0
    _of_beginning: tuple[psycopg.Cursor[Any], psycopg.Cursor[Any]] | None = None

    @classmethod
    def connect(cls, *given: Any, **named: Any) -> TransactionConnection:
        """A new connection."""
        made = super().connect(*given, cursor_factory=_Cursor, **named)
        assert isinstance(made, cls)
        made.server_cursor_factory = _ServerCursor
        return made

    @property
    def has_begun(self) -> bool:
        """Whether a statement can be executed as it is."""
        return self._beginning is None or self._is_beginning

    @property
    def is_there(self) -> bool:
        """Whether it led to the server a moment ago, and the server has not closed it since."""
        if self.closed or monotonic() - self._heard > _RECENT:
            return False
        try:
            for _ in range(2):  # the server's farewell, and the end
                self.pgconn.consume_input()
        except psycopg.OperationalError:
            self.pgconn.finish()
        return not self.closed

    def begin(self, beginning: Beginning) -> None:
        """Begin a transaction.

        Raises:
            psycopg.OperationalError: the connection does not lead to the server.
        """
        self._of_this(beginning)
        # Of several commands, nothing can be prepared.
        how = f"BEGIN {beginning.how}; {self.limits}{beginning.literally}"
        self.answer = _last_row(psycopg.Cursor(self).execute(how, prepare=False))

    def begin_later(self, beginning: Beginning, *, within: float) -> None:
        """Begin a transaction with its first statement; the server is to say so within so many seconds."""
        self._of_this(beginning)
        self._beginning, self.due_within = beginning, within

    def _of_this(self, beginning: Beginning) -> None:
        self._check, self.answer, self.due_within = None, None, None
        # Behind a pooler, whoever gets the connection of the server next would wait.
        self._only_reads = beginning.only_reads and not self.limits

    def begin_now(self) -> None:
        """Begin the transaction that is to begin with its first statement."""
        if not self.has_begun:
            with self.pipeline():
                pass

    def check_answer(self, check: Callable[[Sequence[Any] | None], None]) -> None:
        """Have the row of the beginning checked before any other is there: at once, or with the first statement.

        What `check` raises then, it raises with every statement.
        """
        if self._beginning is None:
            check(self.answer)
        else:
            self._check = check

    @contextmanager
    def pipeline(self) -> Iterator[psycopg.Pipeline]:
        """Send what is executed in the block together, after what begins the transaction; rows are there after it."""
        beginning = self._beginning
        if beginning is None or self._is_beginning:
            with _ctrl_c_first(), super().pipeline() as pipeline:
                yield pipeline
            return
        self._is_beginning = True
        try:
            with _ctrl_c_first(), super().pipeline() as pipeline:
                asked = self._send(beginning)
                yield pipeline
            self.answer = None if asked is None else asked.fetchone()
            if self._check is not None:
                self._check(self.answer)
            self._beginning = None
        except BaseException:
            if not self._is_in_order:
                self.pgconn.finish()
            raise
        finally:
            self._is_beginning = False

    @property
    def _is_in_order(self) -> bool:
        """Whether a transaction has begun, and all is answered: Ctrl-C may come between, and cancel the beginning."""
        begun = self.pgconn.transaction_status in (TransactionStatus.INTRANS, TransactionStatus.INERROR)
        return begun and self.pgconn.pipeline_status == PipelineStatus.OFF

    @property
    def _is_at_rest(self) -> bool:
        """Whether something can be asked."""
        status, pipeline = self.pgconn.transaction_status, self.pgconn.pipeline_status
        return status not in (TransactionStatus.ACTIVE, TransactionStatus.UNKNOWN) and pipeline == PipelineStatus.OFF

    def _send(self, beginning: Beginning) -> psycopg.Cursor[Any] | None:
        """Send it; the cursor of what is asked."""
        if self._of_beginning is None:
            self._of_beginning = psycopg.Cursor(self), psycopg.Cursor(self)
        begun, asked = self._of_beginning
        begun.execute(f"BEGIN {beginning.how}")
        if beginning.question:
            asked.execute(beginning.question, beginning.values)
        # The first statement may take long: that the server is there is to be known before.
        self.pgconn.send_flush_request()
        return asked if beginning.question else None

    def commit(self) -> None:
        """End the transaction; one that only read is over for the caller before that is answered."""
        self._beginning = None
        if not self._only_reads or self.pgconn.transaction_status != TransactionStatus.INTRANS:
            super().commit()
            return
        self._is_ending = True
        with self.lock:
            try:
                self.pgconn.send_query(b"COMMIT")
                unsent = self.pgconn.flush()
            except psycopg.OperationalError:  # there was nothing to lose
                self.pgconn.finish()
                return
        if unsent:
            self.settle()

    def rollback(self) -> None:
        """Take back what was not committed; where something is under way, by closing the connection.

        So it is after Ctrl-C between a question and its answer: that nothing can be asked then would hide it.
        """
        self._beginning = None
        if self._is_ending and self.pgconn.transaction_status != TransactionStatus.INTRANS:
            return
        self._is_ending = False
        if self._is_at_rest:
            super().rollback()
        else:
            self.pgconn.finish()

    def settle(self) -> None:
        """Take the answer to what ended the last transaction, if nobody did; then nothing is under way.

        Raises:
            psycopg.OperationalError: it did not come, and the connection is of no use any more.
        """
        if self._is_ending and not self.closed:
            heard = self._heard
            with self.lock:
                self.wait(self._end())
            self._heard = heard  # the answer may have come long ago
            if self.pgconn.transaction_status != TransactionStatus.IDLE:
                self.pgconn.finish()
        self._is_ending = False

    def _end(self) -> Generator[Wait, Any, None]:
        self.pgconn.consume_input()
        while self.pgconn.is_busy():
            yield Wait.R
            self.pgconn.consume_input()
        while self.pgconn.get_result() is not None:
            pass

    def wait(self, gen: Generator[Any, Any, Result], *how: Any, **named: Any) -> Result:
        """What the driver waits for; refused before the transaction has begun."""
        if not self.has_begun:
            raise psycopg.InterfaceError("the transaction has not begun")
        result = super().wait(gen, *how, **named)
        self._heard = monotonic()
        return result


@contextmanager
def _ctrl_c_first() -> Iterator[None]:
    """What goes wrong after Ctrl-C in the block does not hide it; one that the caller is about to handle is none."""
    handled = sys.exc_info()[1]
    try:
        yield
    except Exception as error:
        if isinstance(error.__context__, KeyboardInterrupt) and error.__context__ is not handled:
            raise error.__context__ from None
        raise


def _last_row(cursor: psycopg.Cursor[Any]) -> Any:
    """The row that the last of several commands answered, None if it was none that does."""
    while cursor.nextset():
        pass
    return None if cursor.description is None else cursor.fetchone()
