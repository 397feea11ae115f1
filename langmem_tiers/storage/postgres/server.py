"""A PostgreSQL database that holds the records of many spaces: its connections, its schema, and the spaces in it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from functools import cache
from math import inf
from typing import Any, NamedTuple, Protocol, Self
from uuid import uuid4

from sqlalchemy import Connection, Engine, delete, func, insert, select, text
from sqlalchemy.exc import SQLAlchemyError

from langmem_tiers.clock import to_millis, utc_now
from langmem_tiers.errors import MigrationFailed, NewerSchema, OtherDatabases, ServerRefused, StorageError
from langmem_tiers.settings import StorageSettings
from langmem_tiers.storage.database import ENGINE, SPACE_NAME, WRITES, Database, space_of
from langmem_tiers.storage.postgres import ddl, recorder, work_queue
from langmem_tiers.storage.postgres.connections import (
    AT_ONCE,
    READ_COMMITTED,
    answered,
    beginning,
    checked,
    connected,
    looking,
    named,
    parsed,
    wait_for,
)
from langmem_tiers.storage.postgres.errors import in_short, lies_in_server, translated
from langmem_tiers.storage.postgres.keyword import WordsTable
from langmem_tiers.storage.postgres.pool import FairPool
from langmem_tiers.storage.postgres.work_queue import WorkQueue
from langmem_tiers.storage.shared_collection import SPACES
from langmem_tiers.storage.statements import Prepared, upsert
from langmem_tiers.storage.write_queue import HURRIED, queue_of
from langmem_tiers.telemetry.logs import say
from langmem_tiers.version import __version__

log = logging.getLogger(__name__)

# Held while a process makes or changes the schema, and how long others wait for it.
_MAKING, _MAKING_SECONDS = 0x4C4D5469, 300
STEPS = {
    "create": ddl.everything,
    "queue": ddl.queue,
    "parts": ddl.parts,
    "onlookers": ddl.onlookers,
    "postings": ddl.posting_lists,
}
"""The schema's steps, in order."""

_SEEN_FROM = Prepared(text(f"SELECT set_config('{ddl.SPACE_SETTING}', :space, true)"))
_OF_SPACE = "FROM spaces WHERE space = :space FOR NO KEY UPDATE"
_HOLD = Prepared(text(f"SELECT token, {work_queue.CALLS} {_OF_SPACE}"))
_HOLD_QUIETLY = Prepared(text(f"SELECT token, false {_OF_SPACE}"))

_TOKEN = Prepared(text("SELECT token FROM spaces WHERE space = :space"))

# What a connection carries beside its space: what is before the names of all spaces.
_PREFIX = "prefix"
# What transactions ask first: to see the rows of a space, and for its token.
_SEEN = f"set_config('{ddl.SPACE_SETTING}', %(space)s, true)"
_HELD_TOKEN = "(SELECT token FROM spaces WHERE space = %(space)s)"
_RELAXED = "set_config('synchronous_commit', 'off', true)"
_SOON = f"set_config('lock_timeout', '{int(HURRIED * 1000)}ms', true)"


class Clearing(Protocol):
    """What is kept of a space outside of the database, to be removed with it; see `SpaceClearing`."""

    def clear(self, connection: Connection, space: str) -> None:
        """Remove it."""

    def take_back(self, connection: Connection, space: str) -> bool:
        """Have it made again, as the space was not deleted after all; False if there is nothing to do."""


class _PostgresWays:
    """What PostgreSQL does in its own way."""

    def __init__(self) -> None:
        self.keyword = cache(WordsTable)

    recording = staticmethod(recorder.recording)

    def note_shown(self, connection: Connection, others: Collection[str]) -> None:
        """Note that the space shows these others; itself is none."""
        space, prefix = space_of(connection), _prefix_of(connection)
        rows = [{"space": space, "other": prefix + other} for other in others if prefix + other != space]
        if rows:
            connection.execute(upsert(ddl.shown).on_conflict_do_nothing(), rows)

    def drop_shown(self, connection: Connection, other: str) -> None:
        """Note that it does not show another one any more."""
        of_other = (ddl.shown.c.space == space_of(connection), ddl.shown.c.other == _prefix_of(connection) + other)
        connection.execute(delete(ddl.shown).where(*of_other))

    def sizes(self, connection: Connection) -> Sequence[Any]:
        """Each table with the bytes of the space's rows, without indexes."""
        sums = (
            f"SELECT '{name}', coalesce(sum(pg_column_size(one.*)), 0)::bigint FROM {name} AS one WHERE space = :space"
            for name in (*ddl.tables(), *ddl.keyword_tables)
        )
        return connection.execute(text(" UNION ALL ".join(sums)), {"space": space_of(connection)}).all()


def _prefix_of(connection: Connection) -> str:
    return str(connection.get_execution_options()[_PREFIX])


_WAYS = _PostgresWays()


class Part(NamedTuple):
    """Which of the databases of a memory one is, from 1, and how many there are."""

    number: int = 1
    of: int = 1


WHOLE = Part()


class _Connections:
    """The connections of a process to a server, for whoever needs several at the same time."""

    def __init__(self, engine: Engine, where: str) -> None:
        self._engine = engine
        self.where = where

    @contextmanager
    def several(self, number: int) -> Iterator[None]:
        """Let this thread, which has none yet, take so many during the block."""
        pool = self._engine.pool
        assert isinstance(pool, FairPool)
        if number > pool.most:  # it would keep all others waiting until it fails
            raise StorageError(
                f"A call is to read {number} spaces in {self.where}, and a process has {pool.most} connections.",
                way_out=f"Name no more than {pool.most - 1} fallbacks.",
            )
        with translated(self.where), pool.several():
            yield


class PostgresServer:
    """The records of a memory, or a part of them, in a PostgreSQL database. `where` names it, without a password.

    With a `prefix`, before the names of its spaces in every key, several memories share one schema.

    Raises:
        OtherDatabases: it is not the `part` of the memory that it was when its first space was begun.
    """

    def __init__(self, address: str, settings: StorageSettings, *, prefix: str = "", part: Part = WHOLE) -> None:
        self.prefix = prefix
        self._part = part
        url, self._schema = parsed(address)
        self.where = named(url, self._schema)
        self._engine = connected(url, self._schema, settings, **{ENGINE: _WAYS})
        self._looking = looking(self._engine)
        self._connections = _Connections(self._engine, self.where)
        self.queue = WorkQueue(self._engine, self.where, prefix)
        try:
            self._migrate()
            with self._connection() as connection:
                self._made = int(connection.execute(select(func.min(ddl.steps.c.at))).scalar_one())
                self._require_part(connection)
                if (role := unbound_role(connection)) is not None:
                    say(log, logging.WARNING, "spaces_not_kept_apart", database=self.where, role=role)
        except BaseException:
            self._engine.dispose()
            raise

    def ask(self) -> None:
        """Check that the database answers.

        Raises:
            StorageError: it does not.
        """
        with self._look() as connection:
            connection.execute(select(1))

    def names(self) -> tuple[str, ...]:
        """The names of all spaces, sorted."""
        with self._look() as connection:
            own = ddl.spaces.c.space.startswith(self.prefix, autoescape=True)
            found = connection.execute(select(ddl.spaces.c.space).where(own).order_by(ddl.spaces.c.space)).scalars()
            return tuple(each.removeprefix(self.prefix) for each in found)

    def has(self, name: str) -> bool:
        """Whether there is a space of this name; never begins one."""
        with self._look() as connection:
            return connection.execute(select(1).where(ddl.spaces.c.space == self.prefix + name)).first() is not None

    def onlookers(self, name: str) -> tuple[str, ...]:
        """The spaces whose receipts may show something of this one, sorted; whether it is there or not."""
        key = self.prefix + name
        by = ddl.shown.c.space
        wanted = select(by).where(ddl.shown.c.other.in_((key, "")), by.startswith(self.prefix, autoescape=True))
        with self._look() as connection:
            _SEEN_FROM.rows(connection, space=key)
            found = connection.execute(wanted.order_by(by)).scalars()
            return tuple(dict.fromkeys(each.removeprefix(self.prefix) for each in found))

    def records(self, name: str) -> PostgresRecords:
        """The records of a space, which is begun if there is none."""
        key = self.prefix + name
        wanted = select(ddl.spaces.c.token, ddl.spaces.c.number).where(ddl.spaces.c.space == key)
        with self._connection() as connection:
            held = connection.execute(wanted).first()
            if held is None:
                connection.execute(upsert(ddl.part).on_conflict_do_nothing(), {"id": 1, **self._part._asdict()})
                self._require_part(connection)
                row = {"space": key, "token": uuid4().hex, "made_at": to_millis(utc_now())}
                connection.execute(upsert(ddl.spaces).on_conflict_do_nothing(), row)
                held = connection.execute(wanted).one()
        shard, seat = divmod(held.number, SPACES)
        engine = self._engine.execution_options(**{_PREFIX: self.prefix})
        collections = f"langmem-{self._made:x}-{shard}"
        records = PostgresRecords(engine, key, held.token, self.where, self._schema, collections, seat)
        records.connections = self._connections
        return records

    def delete(self, name: str, elsewhere: Clearing) -> bool:
        """Delete a space with all its rows, and before them what is kept `elsewhere`; False if there was none.

        Nothing is removed there of a space that stays because somebody holds it.
        """
        key = self.prefix + name
        try:
            with self._held(key) as connection:
                if connection is None:
                    return False
                elsewhere.clear(connection, key)
                for table in (*ddl.tables().values(), *ddl.keyword_tables.values(), ddl.noted, ddl.shown, ddl.spaces):
                    connection.execute(delete(table).where(table.c.space == key))
        except BaseException:
            with suppress(StorageError), self._held(key) as connection:
                if connection is not None and elsewhere.take_back(connection, key):
                    work_queue.call(connection, key)
            raise
        return True

    @contextmanager
    def _held(self, key: str) -> Iterator[Connection | None]:
        """A transaction that holds a space which somebody else may be using; None if it is not there."""
        with self._connection() as connection:
            _SEEN_FROM.rows(connection, space=key)
            yield connection if _HOLD.rows(connection, space=key) else None

    def analyze(self) -> None:
        """Have the server look at what its tables hold; by itself it does so within a minute or two."""
        with self._connection() as connection:
            connection.execute(text("SET LOCAL statement_timeout = 0"))
            wait_for(connection, inf)
            for table in (*ddl.tables().values(), *ddl.keyword_tables.values()):
                connection.execute(text(f"ANALYZE {table.name}"))

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        with translated(self.where), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def _look(self) -> Iterator[Connection]:
        """A connection that changes nothing."""
        with translated(self.where), self._looking.begin() as connection:
            yield connection

    def _require_part(self, connection: Connection) -> None:
        """Check that this is the part of the memory that the database says it is, if it says so already."""
        held = connection.execute(select(ddl.part.c.number, ddl.part.c.of)).first()
        if held is not None and Part(*held) != self._part:
            raise OtherDatabases(
                f"{self.where} is database {held.number} of {held.of} of its memory, and was given as "
                f"{self._part.number} of {self._part.of}."
            )

    def _migrate(self) -> None:
        """Bring the schema up to date.

        Raises:
            NewerSchema: it has more steps than this version knows.
            MigrationFailed: a step failed; the schema is as it was.
            ServerRefused: the database cannot hold every text, or the role may make no schema in it.
        """
        with self._connection() as connection:
            if self._done(connection) == len(STEPS):
                return
        with self._connection() as connection:
            # Making the tables may take a minute on a slow disk: whoever comes meanwhile waits for that.
            connection.execute(text(f"SET LOCAL lock_timeout = '{_MAKING_SECONDS}s'"))
            connection.execute(text(f"SET LOCAL statement_timeout = '{_MAKING_SECONDS}s'"))
            wait_for(connection, _MAKING_SECONDS + AT_ONCE)
            connection.execute(select(func.pg_advisory_xact_lock(_MAKING)))
            if not self._done(connection):
                self._require_unicode(connection)
            # Whoever owns a schema that was made for them may make no others, not even if that is there.
            if connection.execute(select(func.to_regnamespace(f'"{self._schema}"'))).scalar() is None:
                connection.execute(text(f'CREATE SCHEMA "{self._schema}"'))
            # Others may have done it while we waited.
            done = self._done(connection)
            for place, (name, step) in enumerate(STEPS.items()):
                if place >= done:
                    self._take_step(connection, place, name, step())

    def _require_unicode(self, connection: Connection) -> None:
        """Check that every text can be stored in the database."""
        encoding = connection.execute(select(func.current_setting("server_encoding"))).scalar_one()
        if encoding != "UTF8":
            raise ServerRefused(
                f"{self.where} has the encoding {encoding}, in which not every text can be stored.",
                way_out="Make one that has UTF8: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0.",
            )

    def _take_step(self, connection: Connection, place: int, name: str, statements: Iterable[str]) -> None:
        try:
            for statement in statements:
                connection.exec_driver_sql(statement)
        except SQLAlchemyError as error:
            if lies_in_server(error):
                raise
            raise MigrationFailed(f"The tables could not be made in {self.where}: {in_short(error)}.") from error
        row = {"position": place, "name": name, "version": __version__, "at": to_millis(utc_now())}
        connection.execute(insert(ddl.steps), row)

    def _done(self, connection: Connection) -> int:
        """How many steps were taken."""
        if connection.execute(select(func.to_regclass(f'"{self._schema}".{ddl.steps.name}'))).scalar() is None:
            return 0
        done = int(connection.execute(select(func.count()).select_from(ddl.steps)).scalar_one())
        if done > len(STEPS):
            raise NewerSchema(f"{self.where} has schema {done}; this version knows up to {len(STEPS)}.")
        return done


def unbound_role(connection: Connection) -> str | None:
    """The role of a connection if rules for rows do not hold for it: a superuser, or one with BYPASSRLS."""
    unbound = text("SELECT rolname FROM pg_roles WHERE rolname = current_user AND (rolsuper OR rolbypassrls)")
    role = connection.execute(unbound).scalar()
    return None if role is None else str(role)


class PostgresRecords(Database):
    """The records of one space on a server.

    `writing()` takes the lock of the space's row: writers of one space follow each other, spaces do not wait for
    others. A statement sees what was committed before it, and the transaction's own changes. Another process may
    delete the space, and begin another one of this name: every transaction looks at the token of the row.
    """

    def __init__(self, engine: Engine, space: str, token: str, where: str, schema: str, shard: str, seat: int) -> None:
        self.space = space
        self.shard, self.seat = shard, seat
        self._token = token
        self.where = where
        self.writers = queue_of((where, schema, space))
        self._gone = threading.Event()  # also of views

        writes: dict[str, Any] = {SPACE_NAME: space, WRITES: True}
        of_one_moment, of = "ISOLATION LEVEL REPEATABLE READ READ ONLY", {"space": space}
        self._reader = beginning(engine, of_one_moment, [_HELD_TOKEN, _SEEN], of, **{SPACE_NAME: space})
        self._writer = beginning(engine, READ_COMMITTED, [_SEEN], of, **writes)
        self._relaxed = beginning(engine, READ_COMMITTED, [_SEEN, _RELAXED], of, **writes)
        self._hurried = beginning(engine, READ_COMMITTED, [_SEEN, _RELAXED, _SOON], of, **writes)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that sees one moment of the records."""
        with translated(self.where), self._reader.begin() as connection:
            checked(connection, self._require_same)
            yield connection

    @contextmanager
    def beside(self, connection: Connection) -> Iterator[Connection]:
        """The same connection, if it leads to this server; see `Database.beside`."""
        if connection.engine.pool is not self._reader.pool:
            with self.reading() as own:
                yield own
            return
        with translated(self.where):
            _SEEN_FROM.rows(connection, space=self.space)
            rows = _TOKEN.rows(connection, space=self.space)
            self._require_same(rows[0] if rows else None)
            yield connection
            _SEEN_FROM.rows(connection, space=space_of(connection))

    @contextmanager
    def writing(self, *, durable: bool = True, hurried: bool = False) -> Iterator[Connection]:
        """A connection whose changes are committed together; see `Database.writing`."""
        self._require_writable()
        quiet = (self._hurried if hurried else self._relaxed, _HOLD_QUIETLY)
        engine, hold = (self._writer, _HOLD) if durable and not hurried else quiet
        with self.writers.turn(hurried=hurried) as turn, translated(self.where), engine.begin() as connection:
            held = hold.rows(connection, space=self.space)
            turn.begun = True
            self._require_same(held[0] if held else None)
            if held[0][1]:
                work_queue.call(connection, self.space)
            yield connection

    @property
    def is_gone(self) -> bool:
        """Whether the space was found deleted."""
        return self._gone.is_set()

    def begun_anew(self) -> Self | None:
        """The records of the space that has its name now, after it was deleted; None if there is none."""
        with translated(self.where), self._reader.begin() as connection:
            [token, *_] = answered(connection)
        if token is None:
            return None
        anew = copy(self)
        anew._token, anew._gone = token, threading.Event()
        return anew

    def _require_same(self, row: Sequence[Any] | None) -> None:
        """Check that the row of the space, which begins with its token, is that of the space that was opened.

        Raises:
            StorageError: it was deleted.
        """
        if row is None or row[0] != self._token:
            self._gone.set()
            raise StorageError(
                f"The space {self.space!a} was deleted since it was opened.",
                way_out="Nothing was stored. Repeat the call: what is stored then begins an empty space.",
            )

    def ask_for_work(self) -> None:
        """Have the background visit the space.

        Raises:
            StorageError: it comes with the next change.
        """
        with translated(self.where), self._writer.begin() as connection:
            work_queue.ask(connection, self.space)

    def unbound_role(self) -> str | None:
        """The role that the database was opened with, if it is shown the rows of all spaces."""
        with self.reading() as connection:
            return unbound_role(connection)

    def size(self) -> int:
        """Bytes of its rows, without indexes."""
        with self.reading() as connection:
            return sum(size for _, size in _WAYS.sizes(connection))

    def close(self) -> None:
        """Wait for what is still to be written; connections belong to the server."""
        self.writers.later.wait()
