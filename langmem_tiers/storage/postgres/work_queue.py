"""Which spaces have work for the background, and who is at it: the columns of the table of spaces that say so.

`work_at` is when a space is due, by the clock of the server. Whoever works on it holds a lease, which pushes that into
the future: of a holder that died, the space falls due by itself. What is written meanwhile is noted in `work_came`.
"""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import count
from time import monotonic
from uuid import uuid4

from sqlalchemy import Connection, Engine, text

from langmem_tiers.errors import StorageError
from langmem_tiers.storage.postgres.connections import looking
from langmem_tiers.storage.postgres.errors import translated
from langmem_tiers.storage.spread import chosen
from langmem_tiers.telemetry.logs import say
from langmem_tiers.telemetry.otel import Waiting

log = logging.getLogger(__name__)

LEASE_SECONDS = 60
"""Seconds after which the work of somebody who died is taken over."""
# Seconds between two signs of life of a holder.
_BEAT = 15.0
# Seconds for which one of several databases is left alone when it did not answer.
_REST = 5.0

_NOW = "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)"
CALLS = f"CASE WHEN leased_by IS NULL THEN coalesce(work_at > {_NOW}, true) ELSE NOT work_came END AS calls"
"""For the row of a space: whether a write to it has to say that there is work."""
_CALL = text(
    f"UPDATE spaces SET work_came = leased_by IS NOT NULL, "
    f"work_at = CASE WHEN leased_by IS NULL THEN {_NOW} ELSE work_at END WHERE space = :space"
)
_LONG = f"work_at = {_NOW} + {LEASE_SECONDS * 1000}"
_HELD = f"SET leased_by = :lease, work_came = false, {_LONG}"
_TAKE = text(
    f"""
    UPDATE spaces {_HELD} FROM (
        SELECT space AS longest, work_at AS since FROM spaces
        WHERE work_at <= {_NOW} AND starts_with(space, :prefix)
        ORDER BY work_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
    ) AS due WHERE space = longest RETURNING space
    """
)
_TAKE_THIS = text(
    f"UPDATE spaces {_HELD} WHERE space = :space AND (leased_by IS NULL OR work_at <= {_NOW}) RETURNING space"
)
_RENEW = text(f"UPDATE spaces SET {_LONG} WHERE space = :space AND leased_by = :lease")
_GIVE_BACK = text(
    f"""
    UPDATE spaces SET leased_by = NULL, work_came = false,
        work_at = CASE WHEN work_came THEN {_NOW} ELSE {_NOW} + CAST(:after AS bigint) END
    WHERE space = :space AND leased_by = :lease
    """
)
_THERE = text("SELECT 1 FROM spaces WHERE space = :space")
# What is due in a moment is most often what failed, and is tried again.
_UNFINISHED = text(
    f"""
    SELECT space FROM spaces
    WHERE space = ANY(:spaces) AND (leased_by IS NOT NULL OR work_at <= {_NOW} + {LEASE_SECONDS * 1000})
    """
)
_FREE = text("SELECT 1 FROM spaces WHERE space = :space FOR NO KEY UPDATE SKIP LOCKED")
_WAITING = text(
    f"""
    SELECT count(*) AS spaces, coalesce(max({_NOW} - work_at), 0) / 1000.0 AS seconds FROM spaces
    WHERE work_at <= {_NOW} AND starts_with(space, :prefix)
    """
)

_at_work: ContextVar[str] = ContextVar("space_at_work", default="")


def call(connection: Connection, space: str) -> None:
    """Say in a transaction that holds the row of a space that there is work; whoever is at that work need not."""
    if _at_work.get() != space:
        connection.execute(_CALL, {"space": space})


def ask(connection: Connection, space: str) -> None:
    """Say that there is work, unless somebody writes to the space, and says so themselves."""
    if connection.execute(_FREE, {"space": space}).first() is not None:
        call(connection, space)


@dataclass
class Held:
    """A space that is being worked on, by its name. `lost` once somebody else may be at it."""

    name: str
    lease: str
    lost: bool = False
    after: float | None = 0.0
    """Seconds until it is due again, None if not before something is written to it."""
    released: threading.Event = field(default_factory=threading.Event)


class SpaceQueue(ABC):
    """The spaces of a memory that have work."""

    @abstractmethod
    def take(self) -> Held | None:
        """The space that is due for the longest time, None if none is.

        Raises:
            StorageError: the server cannot be asked.
        """

    @abstractmethod
    def take_this(self, name: str) -> Held | None:
        """A certain space, due or not; None while somebody else is at it.

        Raises:
            StorageError: the server cannot be asked.
        """

    @abstractmethod
    def has(self, name: str) -> bool:
        """Whether there is such a space."""

    @abstractmethod
    def waiting(self) -> Waiting:
        """How many spaces wait, and how long.

        Raises:
            StorageError: the server cannot be asked.
        """

    @abstractmethod
    def unfinished(self, names: Iterable[str]) -> set[str]:
        """Those of some spaces that have work left, or soon will.

        Raises:
            StorageError: the server cannot be asked.
        """

    @abstractmethod
    def working_on(self, held: Held) -> AbstractContextManager[None]:
        """Keep the lease of a space during the block, and give it back at the end.

        Raises:
            StorageError: it could not be given back; it lapses by itself.
        """

    @abstractmethod
    def is_at_work(self, name: str) -> bool:
        """Whether the caller is the one who works on this space."""


class WorkQueue(SpaceQueue):
    """The spaces in one database that have work. A `prefix` is before their names in every key."""

    def __init__(self, engine: Engine, where: str, prefix: str = "") -> None:
        self._engine = engine
        self._looking = looking(engine)
        self._where = where
        self._prefix = prefix
        self._left: list[Held] = []

    def take(self) -> Held | None:
        """The space that is due for the longest time, None if none is."""
        return self._taken(_TAKE, {"prefix": self._prefix})

    def take_this(self, name: str) -> Held | None:
        """A certain space, due or not; None while somebody else is at it."""
        return self._taken(_TAKE_THIS, {"space": self._prefix + name})

    def has(self, name: str) -> bool:
        """Whether there is such a space."""
        with self._look() as connection:
            return connection.execute(_THERE, {"space": self._prefix + name}).first() is not None

    def unfinished(self, names: Iterable[str]) -> set[str]:
        """Those of some spaces that have work left, or soon will."""
        given = {"spaces": [self._prefix + name for name in names]}
        with self._look() as connection:
            return {str(key).removeprefix(self._prefix) for key in connection.execute(_UNFINISHED, given).scalars()}

    def waiting(self) -> Waiting:
        """How many spaces wait, and how long."""
        with self._look() as connection:
            spaces, seconds = connection.execute(_WAITING, {"prefix": self._prefix}).one()
        return Waiting(int(spaces), float(seconds))

    @contextmanager
    def working_on(self, held: Held) -> Iterator[None]:
        """Keep the lease of a space during the block, and give it back at the end."""
        beating = threading.Thread(target=self._beat, args=(held,), name="langmem-tiers-lease", daemon=True)
        beating.start()
        before = _at_work.set(self._prefix + held.name)
        try:
            yield
        finally:
            _at_work.reset(before)
            held.released.set()
            self._left.append(held)
            self._give_back_left()

    def is_at_work(self, name: str) -> bool:
        """Whether the caller is the one who works on this space."""
        return _at_work.get() == self._prefix + name

    def _taken(self, statement: object, given: dict[str, str]) -> Held | None:
        self._give_back_left()
        lease = uuid4().hex
        with self._connection() as connection:
            key = connection.execute(statement, {"lease": lease, **given}).scalar()  # type: ignore[call-overload]
        return None if key is None else Held(str(key).removeprefix(self._prefix), lease)

    def _beat(self, held: Held) -> None:
        """Renew a lease until it is released."""
        missed = 0
        while not held.released.wait(_BEAT):
            with suppress(StorageError):
                held.lost = not self._of_held(_RENEW, held)
                missed = 0
                continue
            missed += 1
            held.lost = held.lost or missed * _BEAT >= LEASE_SECONDS

    def _give_back_left(self) -> None:
        """Give back what is no longer worked on, also what the server was away for: nobody waits until that lapses."""
        while self._left:
            try:
                held = self._left.pop()
            except IndexError:  # another thread took the last one
                return
            try:
                self._give_back(held)
            except BaseException:
                self._left.append(held)
                raise

    def _give_back(self, held: Held) -> None:
        after = None if held.after is None else int(held.after * 1000)
        if not self._of_held(_GIVE_BACK, held, after=after):
            # Somebody else may have looked before the last of our changes.
            with self._connection() as connection:
                connection.execute(_CALL, {"space": self._prefix + held.name})

    def _of_held(self, statement: object, held: Held, **given: object) -> bool:
        with self._connection() as connection:
            row = {"space": self._prefix + held.name, "lease": held.lease, **given}
            return connection.execute(statement, row).rowcount == 1  # type: ignore[call-overload,no-any-return]

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        with translated(self._where), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def _look(self) -> Iterator[Connection]:
        with translated(self._where), self._looking.begin() as connection:
            yield connection


class SpreadQueue(SpaceQueue):
    """The queues of several databases as one: they are asked in turn; one that does not answer holds up no other."""

    def __init__(self, queues: Sequence[SpaceQueue]) -> None:
        self._queues = tuple(queues)
        self._turns = count()
        self._away_until = dict.fromkeys(self._queues, 0.0)

    def take(self) -> Held | None:
        """A space that is due for the longest time in its database, None if none is."""
        first = next(self._turns) % len(self._queues)
        for queue in (*self._queues[first:], *self._queues[:first]):
            if monotonic() < self._away_until[queue]:
                continue
            try:
                held = queue.take()
            except StorageError as error:
                say(log, logging.WARNING, "no_work_from_server", error=error, reason=error)
                self._away_until[queue] = monotonic() + _REST
                continue
            if held is not None:
                return held
        return None

    def take_this(self, name: str) -> Held | None:
        """A certain space, due or not; None while somebody else is at it."""
        return chosen(name, self._queues).take_this(name)

    def has(self, name: str) -> bool:
        """Whether there is such a space."""
        return chosen(name, self._queues).has(name)

    def unfinished(self, names: Iterable[str]) -> set[str]:
        """Those of some spaces that have work left, or soon will."""
        of_queue: dict[SpaceQueue, list[str]] = {}
        for name in names:
            of_queue.setdefault(chosen(name, self._queues), []).append(name)
        return {name for queue, some in of_queue.items() for name in queue.unfinished(some)}

    def waiting(self) -> Waiting:
        """How many spaces wait in all databases, and how long."""
        each = [queue.waiting() for queue in self._queues]
        return Waiting(sum(one.spaces for one in each), max(one.seconds for one in each))

    def working_on(self, held: Held) -> AbstractContextManager[None]:
        """Keep the lease of a space during the block, and give it back at the end."""
        return chosen(held.name, self._queues).working_on(held)

    def is_at_work(self, name: str) -> bool:
        """Whether the caller is the one who works on this space."""
        return chosen(name, self._queues).is_at_work(name)
