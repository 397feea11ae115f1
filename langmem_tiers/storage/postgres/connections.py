"""Connections to a PostgreSQL server: how they are opened, with which limits, and how transactions begin on them.

They are opened with the limits. A pooler such as PgBouncer lets nobody do that, as it may give each transaction another
one of the server's connections: behind one, every transaction sets the limits for itself, and no statement is prepared.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote
from uuid import uuid4

from sqlalchemy import BigInteger, BindParameter, Connection, Engine, Integer, LargeBinary, Text, create_engine, event
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.dialects.postgresql.psycopg import PGCompiler_psycopg
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.sql.operators import in_op

from langmem_tiers import replies
from langmem_tiers.errors import InvalidInput, MissingExtra
from langmem_tiers.paths import shown
from langmem_tiers.settings import StorageSettings
from langmem_tiers.storage.postgres.pool import FairPool
from langmem_tiers.telemetry.logs import say

if TYPE_CHECKING:
    from langmem_tiers.storage.postgres.transactions import Beginning, TransactionConnection

log = logging.getLogger(__name__)

AT_ONCE = 5
"""Seconds that a server may say nothing that has nothing to do; and to wait for a connection."""

_SCHEMA = "langmem_tiers"
_IS_NAME = re.compile(r"(?!pg_)[a-z_][a-z0-9_]{0,62}")
# An address of several servers, of which one takes changes: "postgresql://user@one:5432,two:5432/database".
_OF_SEVERAL = re.compile(r"(?P<before>\w+(?:\+\w+)?://(?:[^/?@]*@)?)(?P<hosts>[^/?@]*,[^/?@]*)(?P<rest>.*)")
_IS_HOST = re.compile(r"[\w.-]+(?::\d+)?")
# Seconds for a statement to come to its end; and for a server that says nothing: a while more than that.
_STATEMENT = 60
LONGEST = _STATEMENT + 5
"""Seconds that a server may say nothing while it works, where nobody waits for a reply."""

# Types of columns whose lists are given as an array.
_LISTED = (Integer, LargeBinary, Text)
# What the server calls the type `numeric`.
_NUMERIC = 1700
# Connections that are kept, and how many more there may be.
_KEPT, _MORE = 8, 8
# What is carried by connections: how transactions begin, and how long locks are waited for.
_BEGIN, _FOR_LOCKS = "begin", "for_locks"
READ_COMMITTED = "ISOLATION LEVEL READ COMMITTED"
"""How transactions begin in which whoever waited for a row reads what was committed meanwhile.

A role or a database may have another level by default, and what is read would be from before the wait.
"""
# Options of connections, where the address does not have others.
_UNLESS_NAMED: dict[str, Any] = {"connect_timeout": AT_ONCE, "application_name": "langmem-tiers"}
# What poolers answer to somebody who wants settings for a connection.
_NO_OPTIONS = re.compile("startup parameter|command-line option")
# A setting without a meaning, by which a connection is told that has its settings.
_MARK = "langmem_tiers.opened"


def parsed(address: str) -> tuple[URL, str]:
    """The address as SQLAlchemy has it, and the name of the schema, which `?schema=` may say.

    Raises:
        InvalidInput: it is no such address.
    """
    try:
        url = make_url(_with_hosts(address))
    except (ArgumentError, ValueError) as error:
        raise InvalidInput(
            "The address of the database cannot be read.",
            way_out="Give one such as postgresql://user@host:5432/database.",
        ) from error
    if url.host is not None and "@" in url.host:  # the rest of a password, which would be told as a host
        raise InvalidInput(
            "The user or the password in the address of the database has an @.",
            way_out="Write it as %40, or leave the password out and set PGPASSWORD.",
        )
    schema = url.query.get("schema", _SCHEMA)
    if not isinstance(schema, str) or not _IS_NAME.fullmatch(schema):
        raise InvalidInput(
            f"The schema {str(schema)[:80]!a} is no name for one.",
            way_out="Use small letters, digits and underscores, such as ?schema=langmem_tiers, and not pg_ in front.",
        )
    # The folder of a Unix socket, as PostgreSQL's own programs take it: postgresql://user@%2Frun%2Fpostgresql/database.
    host = None if url.host is None else unquote(url.host)
    return url.set(drivername="postgresql+psycopg", host=host).difference_update_query(["schema"]), schema


def _with_hosts(address: str) -> str:
    """An address of several servers as SQLAlchemy reads it: each of them for itself, behind the question mark.

    Raises:
        ValueError: one of them is none.
    """
    several = _OF_SEVERAL.fullmatch(address)
    if several is None:
        return address
    each = several["hosts"].split(",")
    if not all(map(_IS_HOST.fullmatch, each)):
        raise ValueError(several["hosts"])
    hosts = "&".join(f"host={host}" for host in each)
    database, _, options = several["rest"].partition("?")
    return f"{several['before']}{database}?{hosts}{'&' if options else ''}{options}"


def named(url: URL, schema: str) -> str:
    """The address as messages have it: without a password, and with the schema if it is one of several."""
    told = url.set(password=None)
    told = told if schema == _SCHEMA else told.update_query_dict({"schema": schema})
    return shown(told.render_as_string(hide_password=False)).replace("+psycopg", "")


def connected(url: URL, schema: str, settings: StorageSettings, **carried: Any) -> Engine:
    """The connections of a process to a server, opened as they are needed."""
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        raise MissingExtra("psycopg", "postgres") from error
    from langmem_tiers.storage.postgres import values
    from langmem_tiers.storage.postgres.transactions import Beginning

    limits = {
        "search_path": f'"{schema}",pg_catalog',  # a name such as user means something else without the signs
        "lock_timeout": f"{int(settings.busy_timeout * 1000)}ms" if settings.busy_timeout else "1ms",
        "statement_timeout": f"{_STATEMENT}s",
        "idle_in_transaction_session_timeout": f"{2 * _STATEMENT}s",
        "row_security": "on",  # a role or a database may have it off, and then nobody is shown any row
        # A statement here reads a few rows: to start other processes for that takes longer than to read them.
        "max_parallel_workers_per_gather": "0",
        # All look for rows of one space by their keys: a plan for one space is as good for another.
        "plan_cache_mode": "force_generic_plan",
        # Such a plan counts the rows of all partitions, though it looks at one: too many to look each up by its key, so
        # it would read all of a space to join a few, and worth compiling, which takes half a second.
        "enable_hashjoin": "off",
        "enable_mergejoin": "off",
        "jit": "off",
        # It also counts on a space like most: of one that is much larger, or has just come, each row of a list would be
        # compared with each of another.
        "enable_material": "off",
    }
    engine = create_engine(
        url,
        isolation_level="AUTOCOMMIT",  # transactions begin with a statement of our own
        poolclass=FairPool,
        pool_size=_KEPT,
        max_overflow=_MORE,
        pool_timeout=settings.busy_timeout,
        pool_use_lifo=True,  # those used last have their statements planned
        hide_parameters=True,  # otherwise an error quotes the stored values, in tracebacks too
        # The encoding too may be set for a role, a database or in the environment: texts could not be read or stored.
        connect_args={"autocommit": True, "client_encoding": "UTF8"}
        | {name: at for name, at in _UNLESS_NAMED.items() if name not in url.query},
        # How many rows were new is asked of inserts too.
        execution_options={
            "preserve_rowcount": True,
            _BEGIN: Beginning(READ_COMMITTED),
            _FOR_LOCKS: settings.busy_timeout,
            **carried,
        },
    )
    opening = _Opening(limits, where=named(url, schema))
    event.listen(engine, "do_connect", lambda _dialect, _record, _, given: opening.opened(given))
    event.listen(engine, "connect", lambda connection, _record: values.adapt(connection))
    event.listen(engine, "begin", _begin)
    # Limits such as "any number" are wider than the columns that they are compared with.
    engine.dialect.colspecs = {**engine.dialect.colspecs, Integer: _Wide, BigInteger: _Wide}
    engine.dialect.statement_compiler = _Compiler
    return engine


class _Opening:
    """How connections are opened: with their limits, or, once a pooler is between, without."""

    def __init__(self, limits: dict[str, str], *, where: str) -> None:
        from langmem_tiers.storage.postgres.patience import Server

        self._server = Server()
        self._options = " ".join(f"-c {name}={value}" for name, value in limits.items())
        # A plan that is used once is made sooner if it is known which partition it is for.
        each_time = {**limits, "plan_cache_mode": "force_custom_plan"}
        self._each_time = "".join(f"SET LOCAL {name} = {_quoted(name, value)}; " for name, value in each_time.items())
        self._where = where
        self._is_pooled = False

    def opened(self, given: dict[str, Any]) -> TransactionConnection:
        """A new connection.

        Raises:
            psycopg.OperationalError: there is none to be had.
        """
        from langmem_tiers.storage.postgres.transactions import TransactionConnection

        if not self._is_pooled:
            if (direct := self._with_limits(given)) is not None:
                return direct
            self._is_pooled = True
            say(log, logging.INFO, "pooler_found", database=self._where)
        made = TransactionConnection.opened(self._server, {**given, "prepare_threshold": None})
        made.limits = self._each_time
        return made

    def _with_limits(self, given: dict[str, Any]) -> TransactionConnection | None:
        """One that has the limits; None if a pooler refuses them or has left them out."""
        from psycopg import OperationalError

        from langmem_tiers.storage.postgres.transactions import TransactionConnection

        mark = uuid4().hex
        # Ours come last, and hold.
        options = f"{given.get('options', '')} {self._options} -c {_MARK}={mark}"
        try:
            made = TransactionConnection.opened(self._server, {**given, "options": options})
        except OperationalError as error:
            if not _NO_OPTIONS.search(str(error)):
                raise
            return None
        if made.execute(f"SELECT current_setting('{_MARK}', true)").fetchone() == (mark,):
            return made
        made.close()
        return None


def _quoted(name: str, value: str) -> str:
    """A value as a command has it: a list of schemas is no text."""
    return value if name == "search_path" else f"'{value}'"


def looking(engine: Engine) -> Engine:
    """The same connections, with transactions that change nothing."""
    return beginning(engine, f"{READ_COMMITTED} READ ONLY", [], {})


def beginning(engine: Engine, how: str, asking: Sequence[str], values: Mapping[str, str], **carried: Any) -> Engine:
    """The same connections, with transactions that begin in a way and then ask this with these values."""
    from psycopg.sql import Literal

    from langmem_tiers.storage.postgres.transactions import Beginning

    question = f"SELECT {', '.join(asking)}" if asking else ""
    literally = question % {name: Literal(value).as_string() for name, value in values.items()}
    begin = Beginning(how, question, values, literally)
    return engine.execution_options(**{_BEGIN: begin}, **carried)


def answered(connection: Connection) -> Any:
    """The row that was answered to what the transaction asked when it began."""
    raw = _raw(connection)
    raw.begin_now()
    return raw.answer


def checked(connection: Connection, check: Callable[[Any], None]) -> None:
    """Have the row that `answered` tells checked before anything else of the transaction is believed.

    What `check` raises may come with the first statement.
    """
    _raw(connection).check_answer(check)


def wait_for(connection: Connection, seconds: float) -> None:
    """Have the transaction wait so long for a server that says nothing."""
    _raw(connection).patience = seconds


def _begin(connection: Connection) -> None:
    """Begin a transaction; on another connection, if the server closed this one since it was used last.

    Where that is known beforehand, the transaction begins with its first statement: that cannot be sent again.
    """
    from psycopg import OperationalError

    from langmem_tiers.storage.postgres.patience import NoAnswer

    options = connection.get_execution_options()
    begin: Beginning = options[_BEGIN]
    for others in reversed(range(_KEPT + _MORE + 1)):
        raw = _raw(connection)
        while raw.is_outdated:
            connection.invalidate()
            raw = _raw(connection)
        raw.server.require_answer()
        # Behind a pooler, a transaction may have to wait until another one ends.
        raw.patience = AT_ONCE + options[_FOR_LOCKS] if raw.limits else AT_ONCE
        try:
            raw.settle()
            if raw.is_there and not raw.limits:
                raw.begin_later(begin, within=AT_ONCE)
            else:
                raw.begin(begin)
        except OperationalError as error:
            is_last = not others or isinstance(error, NoAnswer)
            if isinstance(error, NoAnswer) and not raw.limits:  # it had nothing to do, nor to wait for
                raw.server.note_silence()
            if raw.closed and is_last:
                connection.invalidate(error)
            if not raw.closed or is_last:
                raise
            connection.invalidate(error)
        else:
            raw.patience = AT_ONCE + options[_FOR_LOCKS] if replies.is_here() else LONGEST
            return


def _raw(connection: Connection) -> TransactionConnection:
    raw: Any = connection.connection.driver_connection
    return raw  # type: ignore[no-any-return]


class _Compiler(PGCompiler_psycopg):
    def limit_clause(self, select: Any, **how: Any) -> str:
        """A limit of -1 is none, as in SQLite."""
        limit, offset = select._limit_clause, select._offset_clause
        most = "" if limit is None else f"\n LIMIT NULLIF({self.process(limit, **how)}, -1)"
        return most if offset is None else f"{most} OFFSET {self.process(offset, **how)}"

    def visit_binary(self, binary: Any, *given: Any, **how: Any) -> Any:
        """A list as one array: the text stays the same, however long it is, and the server keeps its plan."""
        column, values = binary.left, binary.right
        lists = binary.operator is in_op and isinstance(values, BindParameter) and values.expanding
        if not (lists and isinstance(column.type, _LISTED)):
            return super().visit_binary(binary, *given, **how)  # type: ignore[no-untyped-call]
        kind = BigInteger() if isinstance(column.type, Integer) else column.type  # any number may be asked for
        array: BindParameter[Any] = BindParameter(values.key, values.value, type_=ARRAY(kind))
        return f"{self.process(column, **how)} = ANY ({self.process(array, **how)})"


class _Wide(BigInteger):
    render_bind_cast = True

    def bind_processor(self, dialect: Any) -> Callable[[Any], Any]:
        """A plain number, also of what is only like one."""
        return _whole

    def result_processor(self, dialect: Any, coltype: Any) -> Callable[[Any], Any] | None:
        """A plain number of a sum too, which is `numeric` of numbers that are `bigint`."""
        return _whole if coltype == _NUMERIC else None


def _whole(value: Any) -> int | None:
    return None if value is None else int(value)
