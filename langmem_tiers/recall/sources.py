"""The sources of a recall: open spaces, each at one moment."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property

from sqlalchemy import Connection

from langmem_tiers.clock import to_millis
from langmem_tiers.content import WITHHELD, content_hash
from langmem_tiers.knowledge.earlier import EarlierEntries, entries_then
from langmem_tiers.pointers import beside
from langmem_tiers.storage import drawers
from langmem_tiers.storage.change_log import Moment, moment
from langmem_tiers.store import SpaceStore
from langmem_tiers.telemetry.logs import say
from langmem_tiers.types import Drawer

log = logging.getLogger(__name__)

Key = tuple[str, int]
"""A drawer of some space: the name of the space, and its number there."""


@dataclass(frozen=True, kw_only=True)
class RecallSource:
    """A space to recall from, or a space within a transaction, to test what recall would return after it.

    `before` is then the moment at which that transaction began. Notes and the graph include its changes. Drawers are
    read as of `before`: the transaction must not change any, since their cache follows the log for everyone.
    """

    store: SpaceStore
    before: Moment | None = None

    def reading(self) -> AbstractContextManager[Connection]:
        """Open a snapshot of its records."""
        return self.store.reading() if self.before is None else nullcontext(self.before.connection)


@dataclass(frozen=True, kw_only=True)
class SpaceSnapshot:
    """One moment of a space; `drawers_at` is the moment at which its drawers are read."""

    name: str
    key: str
    own: bool
    store: SpaceStore
    connection: Connection
    moment: Moment
    drawers_at: Moment
    withheld: set[int] = field(default_factory=set)
    """The drawers found to be altered outside this package, which are left out."""

    def reference(self, name: str) -> str:
        """A pointer, an id or a path in this space, as the own space is to write it."""
        return name if self.own else beside(name, self.name)

    @cached_property
    def earlier(self) -> EarlierEntries | None:
        """Where an earlier moment is asked about: the entries that held then."""
        return None if self.moment.until is None else entries_then(self.connection, self.key, self.moment.until)


@contextmanager
def snapshots(sources: Sequence[RecallSource], until: datetime | None = None) -> Iterator[list[SpaceSnapshot]]:
    """A snapshot of each source, the space itself first; with `until`, of what was said by then."""
    told_by = None if until is None else to_millis(until)
    with ExitStack() as stack:
        taken: list[SpaceSnapshot] = []
        for source in sources:
            store, connection = source.store, stack.enter_context(source.reading())
            now = moment(connection, store.key, told_by)
            taken.append(
                SpaceSnapshot(
                    name=store.name,
                    key=store.key,
                    own=not taken,
                    store=store,
                    connection=connection,
                    moment=now,
                    drawers_at=source.before or now,
                )
            )
        yield taken


def read_drawers(sources: Sequence[SpaceSnapshot], wanted: Iterable[Key]) -> dict[Key, Drawer]:
    """Current drawers in full, by space and number; the pointers of a fallback say its name."""
    return {
        (source.name, number): replace(drawer, pointer=source.reference(drawer.pointer))
        for source, numbers in _by_source(sources, wanted)
        for number, drawer in drawers.read(source.connection, source.key, numbers).items()
        if _is_intact(source, number, drawer.content)
    }


def read_texts(sources: Sequence[SpaceSnapshot], wanted: Iterable[Key]) -> dict[Key, str]:
    """What drawers say, by space and number: a fraction of the work of reading them in full."""
    return {
        (source.name, number): text
        for source, numbers in _by_source(sources, wanted)
        for number, (_, text) in drawers.texts(source.connection, source.key, numbers).items()
        if _is_intact(source, number, text)
    }


def _is_intact(source: SpaceSnapshot, number: int, text: str) -> bool:
    if text != WITHHELD or _is_said(source, number):
        return True
    if number not in source.withheld:
        say(log, logging.WARNING, "altered_words_withheld", space=source.name, drawer=number)
    source.withheld.add(number)
    return False


def _is_said(source: SpaceSnapshot, number: int) -> bool:
    """Whether somebody said the very words that stand for altered ones."""
    return drawers.texts(source.connection, source.key, [number])[number][0] == content_hash(WITHHELD)


def _by_source(sources: Sequence[SpaceSnapshot], wanted: Iterable[Key]) -> Iterator[tuple[SpaceSnapshot, list[int]]]:
    numbers: dict[str, list[int]] = {}
    for space, number in wanted:
        numbers.setdefault(space, []).append(number)
    return ((source, numbers[source.name]) for source in sources if source.name in numbers)
