"""What is held in memory of a space's records, and read again when the log says that it changed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import ClassVar, Generic, NamedTuple, TypeVar

from sqlalchemy import Connection

from langmem_tiers.storage import change_log
from langmem_tiers.storage.change_log import Moment
from langmem_tiers.storage.database import writes

Value = TypeVar("Value")


class _Held(NamedTuple, Generic[Value]):
    """What was read at a position of the log, and up to which one it holds."""

    value: Value
    since: int
    upto: int


class Followed(ABC, Generic[Value]):
    """Something of one space. Thread-safe: at worst, two threads read the same."""

    kinds: ClassVar[frozenset[change_log.Kind]]
    """The changes after which it may be another."""

    def __init__(self, space: str) -> None:
        self._space = space
        self._held: _Held[Value] | None = None

    def at(self, moment: Moment) -> Value:
        """What it is at a moment; it is read again only if it may have changed."""
        before = self._held
        held = self._followed(moment, before)
        is_settled = not writes(moment.connection)
        if is_settled and (before is None or held.upto >= before.upto):
            self._held = held
        return held.value

    def _followed(self, moment: Moment, held: _Held[Value] | None) -> _Held[Value]:
        """What is held, brought up to date from the log."""
        if held is None or moment.head < held.since:
            return _Held(self._read(moment.connection), moment.head, moment.head)
        news = change_log.follow(moment, self._space, after=held.upto, kinds=self.kinds)
        changed = {change.subject for change in news}
        if not changed:
            return held._replace(upto=max(held.upto, moment.head))
        return _Held(self._renewed(moment.connection, held.value, changed), moment.head, moment.head)

    @abstractmethod
    def _read(self, connection: Connection) -> Value:
        """Read it."""

    def _renewed(self, connection: Connection, held: Value, changed: Collection[int]) -> Value:
        """What is held, after changes with these subjects."""
        return self._read(connection)
