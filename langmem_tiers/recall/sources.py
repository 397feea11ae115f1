"""The sources of a recall: open spaces, each at one moment."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from langmem_tiers.clock import to_millis
from langmem_tiers.content import WITHHELD, content_hash
from langmem_tiers.knowledge.earlier import EarlierEntries, entries_then
from langmem_tiers.lazy_property import lazy_property
from langmem_tiers.pointers import beside
from langmem_tiers.storage import calls, drawers, embedding_cache, purging
from langmem_tiers.storage.calls import CallState, RecallCall, UnstoredRecall
from langmem_tiers.storage.change_log import Moment
from langmem_tiers.storage.database import room_for
from langmem_tiers.store import SpaceStore
from langmem_tiers.telemetry.logs import say
from langmem_tiers.types import Drawer

if TYPE_CHECKING:
    from langmem_tiers.storage.embedding_cache import Vectors

log = logging.getLogger(__name__)

Key = tuple[str, int]
"""A drawer of some space: the name of the space, and its number there."""
_NO_CALL = CallState()


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
    deletions: int
    """How often something had been deleted by then."""
    call: CallState = _NO_CALL
    """Of the own space: the same call made before, and what the model has before it."""
    withheld: set[int] = field(default_factory=set)
    """The drawers found to be altered outside this package, which are left out."""
    _texts: dict[int, str | None] = field(default_factory=dict)
    """What was read so far; None for a drawer that is not there, or left out."""

    def reference(self, name: str) -> str:
        """A pointer, an id or a path in this space, as the own space is to write it."""
        return name if self.own else beside(name, self.name)

    def texts(self, numbers: Sequence[int]) -> Iterator[tuple[int, str]]:
        """Number and text of those of these drawers that are there and intact; each text is read once."""
        self.read(numbers)
        return ((number, text) for number in numbers if (text := self._texts[number]) is not None)

    def read(self, numbers: Sequence[int]) -> None:
        """Read the texts of these drawers."""
        new = [number for number in numbers if number not in self._texts]
        found = drawers.texts(self.connection, self.key, new) if new else {}
        for number in new:
            text = found[number][1] if number in found else None
            self._texts[number] = text if text is not None and self.is_intact(number, text) else None

    def whole(
        self, numbers: Sequence[int], vector: Vectors | None, longer_than: int
    ) -> tuple[dict[int, Drawer], dict[int, tuple[int, int]]]:
        """Whole drawers, and the nearest piece of those that are longer, if there is a vector; see `read_drawers`."""
        said, model = dict(self.texts(numbers)), self.store.model
        long = {number for number, text in said.items() if len(text) > longer_than}
        if vector is None or model is None or not long:
            return drawers.with_texts(self.connection, self.key, said), {}
        return embedding_cache.with_nearest_pieces(self.connection, self.key, model, vector, said, long)

    def is_intact(self, number: int, text: str) -> bool:
        """Whether a drawer has the words that were stored; if not, it is noted as withheld."""
        if text != WITHHELD or self._is_said(number):
            return True
        if number not in self.withheld:
            say(log, logging.WARNING, "altered_words_withheld", space=self.name, drawer=number)
        self.withheld.add(number)
        return False

    def _is_said(self, number: int) -> bool:
        """Whether somebody said the very words that stand for altered ones."""
        return drawers.texts(self.connection, self.key, [number])[number][0] == content_hash(WITHHELD)

    @lazy_property
    def earlier(self) -> EarlierEntries | None:
        """Where an earlier moment is asked about: the entries that held then."""
        return None if self.moment.until is None else entries_then(self.connection, self.key, self.moment.until)


@contextmanager
def snapshots(
    sources: Sequence[RecallSource], until: datetime | None = None, call: RecallCall | None = None
) -> Iterator[list[SpaceSnapshot]]:
    """A snapshot of each source, the space itself first; with `until`, of what was said by then.

    With a `call`, what the space itself knows of it is read along.
    """
    told_by = None if until is None else to_millis(until)
    with ExitStack() as stack:
        taken: list[SpaceSnapshot] = []
        # Looked at before the snapshot: what is stored meanwhile is in one of them.
        later = sources[0].store.database.writers.later.waiting()
        unstored = [each for each in later if isinstance(each, UnstoredRecall)]
        with room_for([source.store.database for source in sources if source.before is None]):
            connections = [stack.enter_context(source.reading()) for source in sources]
        for source, connection in zip(sources, connections, strict=True):
            store = source.store
            if call is None or taken:
                (now, deletions), state = purging.moment(connection, store.key, told_by), _NO_CALL
            else:
                now, deletions, state = calls.begin(connection, store.key, call, told_by, unstored)
            taken.append(
                SpaceSnapshot(
                    name=store.name,
                    key=store.key,
                    own=not taken,
                    store=store,
                    connection=connection,
                    moment=now,
                    drawers_at=source.before or now,
                    deletions=deletions,
                    call=state,
                )
            )
        deletions_of = {each.name: each.deletions for each in taken}
        given = [each.kept for each in unstored if call is not None and each.is_same(call, deletions_of)]
        if given:
            taken[0] = replace(taken[0], call=taken[0].call._replace(made_before=given[-1]))
        yield taken


class Look:
    """Snapshots of the sources, left while a model is waited for and taken anew after that: no transaction waits."""

    def __init__(self, sources: Sequence[RecallSource], until: datetime | None, call: RecallCall | None) -> None:
        self._of = (sources, until, call)
        self._open = ExitStack()
        self.sources: list[SpaceSnapshot] = []

    def __enter__(self) -> Look:
        self.sources = self._open.enter_context(snapshots(*self._of))
        return self

    def __exit__(self, *error: Any) -> bool | None:
        return self._open.__exit__(*error)

    @property
    def state(self) -> list[tuple[int, int]]:
        """Of each snapshot, its newest change and how often something had been deleted: equal if nothing changed."""
        return [(source.moment.head, source.deletions) for source in self.sources]

    @contextmanager
    def left(self) -> Iterator[None]:
        """No snapshot is open during the block; after it there are new ones."""
        self._open.close()
        yield
        self.__enter__()


@dataclass(kw_only=True)
class WholeDrawers:
    """Current drawers in full, by space and number, and where in the long ones the piece nearest to the query stands.

    The pointers of a fallback say its name.
    """

    drawers: dict[Key, Drawer] = field(default_factory=dict)
    nearest: dict[Key, tuple[int, int]] = field(default_factory=dict)


def read_drawers(
    sources: Sequence[SpaceSnapshot], wanted: Iterable[Key], vector: Vectors | None = None, *, longer_than: int = 0
) -> WholeDrawers:
    """Drawers in full, without reading texts again; with a vector, also the nearest pieces of the longer ones."""
    found = WholeDrawers()
    for source, numbers in by_source(sources, wanted):
        whole, nearest = source.whole(numbers, vector, longer_than)
        for number, drawer in whole.items():
            named = drawer if source.own else replace(drawer, pointer=source.reference(drawer.pointer))
            found.drawers[source.name, number] = named
        found.nearest |= {(source.name, number): span for number, span in nearest.items()}
    return found


def read_texts(sources: Sequence[SpaceSnapshot], wanted: Iterable[Key]) -> dict[Key, str]:
    """What drawers say, by space and number: a fraction of the work of reading them in full."""
    return {
        (source.name, number): text
        for source, numbers in by_source(sources, wanted)
        for number, text in source.texts(numbers)
    }


def by_source(sources: Sequence[SpaceSnapshot], wanted: Iterable[Key]) -> Iterator[tuple[SpaceSnapshot, list[int]]]:
    """The drawers of each source that has some of these, by number."""
    numbers: dict[str, list[int]] = {}
    for space, number in wanted:
        numbers.setdefault(space, []).append(number)
    return ((source, numbers[source.name]) for source in sources if source.name in numbers)
