"""The vectors of many spaces on a Chroma server: ids and vectors, no text, and all of it can be made again.

Several small spaces share a collection, where each has a seat of its own (`shared_collection`); a large one has a
collection of its own: some thousand collections take more memory than a server has (docs/scaling.md). A collection
that is gone, or another one of the same name, is seen by its id, which the records know, and is filled again; so is
what an older version filled, where spaces are not apart.
"""

from __future__ import annotations

import logging
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial
from hashlib import blake2b
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, bindparam, func, literal, select, true, union_all

from langmem_tiers.errors import InvalidVector, ServerUnreachable, StorageError
from langmem_tiers.storage import change_log, embedding_cache, facts, notes, rooms
from langmem_tiers.storage.change_log import Change, Moment
from langmem_tiers.storage.chroma_client import ChromaServers, Named, Place
from langmem_tiers.storage.database import Database
from langmem_tiers.storage.embedding_cache import Vectors, cosines
from langmem_tiers.storage.schema import notes as note_rows
from langmem_tiers.storage.shared_collection import seated, similarity
from langmem_tiers.storage.statements import Prepared, here
from langmem_tiers.storage.vector_search import best_beside, best_by_drawer, first_pieces
from langmem_tiers.telemetry.logs import Sparing, say

if TYPE_CHECKING:
    from langmem_tiers.storage.postgres.server import PostgresRecords

log = logging.getLogger(__name__)

PLACE = "chroma.collection"
"""What the names of the facts begin with that say which collection was filled, by model and kind."""
Near = list[tuple[str, float]]
"""The names of vectors in a space, each with its cosine similarity, best first."""

_OF_MODEL = re.compile(rf"{re.escape(PLACE)}:[0-9a-f]{{12}}")
# A space with more vectors than this has a collection of its own.
_SHARED = 4_000
# Drawers read at once, and changes since the server's state that are looked at.
_STRIDE, _TAIL = 2_000, 20_000
# Of a space with up to so many drawers, all are asked for, and compared one by one if one is missing.
_SMALL = 250
# So many of the newest records that the server has not got yet are compared one by one: more take a second to read.
_COMPARED = 8_000
# Of more of them, only the nearest are: to sort thousands takes longer than to find these.
_SORTED = 1_000
_CHANGES = 16
# Where so many nearest vectors have too few drawers, no more are looked at for the neighbours of a message: those of a
# pasted log are nearer to one another than to anything else.
_WIDEST = 300
# So many are asked for at first: a few have too few drawers for most messages, and a second search takes longer.
_WIDE = 100
_UNNAMED = "its vectors are on a Chroma server, and none was named: new ones are not sent there, and a search reads all"
_unnamed = Sparing()


def _statement() -> Prepared:
    """What every recall asks for, in one read: of both kinds of vectors, and how many notes there are."""
    of_drawers, of_notes = (change_log.news_for(f"{kind}_follower", f"{kind}_embedded") for kind in _KINDS)
    # Where there are no notes, the log would be read to its end for what none of them got.
    any_note = select(literal(1)).select_from(note_rows).where(*here(note_rows)).exists()
    news = union_all(of_drawers, of_notes.where(any_note)).subquery()
    counted = select(func.count()).select_from(note_rows).where(*here(note_rows)).scalar_subquery()
    places = [facts.value(bindparam(f"{kind}_place")) for kind in _KINDS]
    told = select(facts.value(bindparam("dimension")), counted, *places, *news.c)
    return Prepared(told.select_from(select(literal(1)).subquery().outerjoin(news, true())).order_by(news.c.position))


_KINDS = ("drawers", "notes")
_STATE = _statement()


class _State(NamedTuple):
    """What searches by meaning need to know of a moment, by kind of vectors.

    The dimension of the model, how many notes there are, where the collections are, and what got vectors since these
    were filled.
    """

    dimension: int | None
    notes: int
    places: Mapping[str, str | None]
    news: Sequence[Change]


class _Search(NamedTuple):
    """A search that a server was asked for ahead."""

    queries: Vectors
    most: int
    answer: Future[list[Near]]
    search: Callable[[], list[Near]]

    def is_of(self, queries: Vectors, most: int) -> bool:
        """Whether it is this one."""
        return most == self.most and np.array_equal(queries, self.queries)

    def found(self) -> list[Near]:
        """What it found; if no thread has come to it yet, it is done here."""
        return self.search() if self.answer.cancel() else self.answer.result()


class Shelf(ABC):
    """One kind of vectors of a space on a Chroma server, which follow the log.

    Without a server, every vector is read from the records for each search: enough to try things out.
    """

    KIND: str
    """What it holds vectors of."""
    CURSOR: str
    """The name of its cursor in the log."""
    SUFFIX: str
    """What the names of its collections end with."""
    KINDS: frozenset[change_log.Kind]
    EMBEDDED: change_log.Kind

    def __init__(self, database: PostgresRecords, model: str, server: ChromaServers | None) -> None:
        self.model = model
        self._database = database
        self._space = database.space
        self._given = server
        digest = blake2b(model.encode(), digest_size=6).hexdigest()
        self._mark = mark_of(self._space)
        self._shared = f"{database.shard}.seats.{digest}{self.SUFFIX}"
        self._own = f"{database.shard}.{digest}{self.SUFFIX}.of.{self._mark}"
        self._all = f"{PLACE}:{digest}"
        self._fact = f"{self._all}{self.SUFFIX}"
        self._begun = f"begun {self._fact}"
        self._seat = database.seat
        self._asked_for: Place | None = None

    @staticmethod
    @abstractmethod
    def _gone(change: Change) -> list[str]:
        """The names of the vectors that a change takes out, in the collection."""

    @staticmethod
    @abstractmethod
    def _forgotten(connection: Connection, space: str, change: Change) -> list[str]:
        """Those of them that never come back, so that anybody may remove them at any time."""

    @abstractmethod
    def _loaded(
        self, connection: Connection, spans: Sequence[tuple[int, int]], dimension: int | None = None
    ) -> Named | None:
        """The vectors of what stands in these ranges, None if there are none; of this dimension, if it is known."""

    @abstractmethod
    def _reach(self, connection: Connection) -> tuple[int, int]:
        """The last number that may have vectors, and how many vectors there are."""

    @property
    def _server(self) -> ChromaServers:
        if self._given is None:
            raise ServerUnreachable("No Chroma server was named when the memory was opened.")
        return self._given

    def step(self) -> bool:
        """Send the next changes in the log to the server; returns whether there may be more, False without a server.

        Raises:
            ServerUnreachable: the server does not answer; the next time begins where this one did.
        """
        if self._given is None:
            if self.was_filled():  # a worker searches for nothing, and would never say so
                self._say_unnamed()
            return False
        with self._database.reading() as connection:
            place = self._place(connection)
            old, news = change_log.unread(connection, self._space, self.CURSOR, kinds=self.KINDS, most=_CHANGES)
            # Counting takes long, and what has a collection of its own keeps it.
            size = self._reach(connection)[1] if news and place is not None and place.shared else 0
        # Looked for on every visit: a collection that is gone has no news of its own.
        lost = place is not None and not (self._is_searched(place) and self._server.is_at_home(place))
        if not news and not lost:
            return False
        if place is None or lost or (place.shared and size > _SHARED):
            self._begin_anew(place)
            return True
        with self._database.reading() as connection:
            spans = [(each.subject, each.until) for each in news if self._is_embedding(each)]
            vectors = self._loaded(connection, spans) if spans else None
        with self._sending(place):
            self._delete(place, [name for each in news for name in self._gone(each)])
            if any(each.kind != self.EMBEDDED for each in news):
                self._withdraw_elsewhere(old, news[-1].position)
            self._server.upsert(place, self._mark, self._placed(place, vectors))
            with self._database.writing() as connection:
                moved = change_log.move_cursor(connection, self._space, self.CURSOR, old=old, new=news[-1].position)
        if not moved:  # somebody else was at it as well, and may have deleted what was sent just now
            self.rebuild()
        return len(news) == _CHANGES

    def rebuild(self) -> None:
        """Fill its collection again from the records."""
        with self._database.reading() as connection:
            place = self._place(connection)
        self._begin_anew(place)

    def ids(self) -> set[str]:
        """The names of all its vectors on the server."""
        with self._database.reading() as connection:
            place = self._place(connection)
        return set() if place is None else self._server.ids(place, self._mark)

    def is_gone(self) -> bool:
        """Whether no server has the collection that was filled, as where it was removed there.

        Raises:
            ServerUnreachable: one that may have it does not answer.
        """
        with self._database.reading() as connection:
            place = self._place(connection)
        return place is not None and not self._server.is_anywhere(place)

    def off(self) -> tuple[int, int] | None:
        """How many vectors are missing on the server and how many too many; None while changes are on their way.

        Raises:
            ServerUnreachable: the server does not answer.
        """
        with self._database.reading() as connection:
            if self._news(connection, change_log.cursor(connection, self._space, self.CURSOR)):
                return None
            last, _ = self._reach(connection)
            known = self._loaded(connection, [(1, last)]) if last else None
        wanted = set() if known is None else set(known.names)
        held = self.ids()
        return len(wanted - held), len(held - wanted)

    def level_of(self, failure: ServerUnreachable) -> int:
        """The level to log a failure of the server at, which all its spaces meet at the same time."""
        return self._server.level_of(failure)

    @property
    def served(self) -> bool:
        """Whether there is a server."""
        return self._given is not None

    def was_filled(self) -> bool:
        """Whether the records know of a collection, by whichever server."""
        with self._database.reading() as connection:
            return self._place(connection) is not None

    def _begin_anew(self, before: Place | None) -> None:
        """Fill the collection that fits the size, at its home, and use it from then on.

        Nothing that belongs there is missing meanwhile, should this be broken off or done twice at once.
        """
        # Asked before anything is done: what is left there has to be cleared afterwards.
        leaves = before if before is not None and self._server.is_anywhere(before) else None
        with self._database.reading() as connection:
            old = change_log.cursor(connection, self._space, self.CURSOR)
            position = change_log.head(connection, self._space)
            last, size = self._reach(connection)
        place = self._server.begin(self._shared if size <= _SHARED else self._own)
        with self._sending(place):
            stale = self._server.ids(place, self._mark)
            for first in range(1, last + 1, _STRIDE):
                with self._database.reading() as connection:
                    vectors = self._loaded(connection, [(first, first + _STRIDE - 1)])
                self._server.upsert(place, self._mark, self._placed(place, vectors))
                stale.difference_update(() if vectors is None else vectors.names)
            self._delete(place, stale)
            self._withdraw_elsewhere(old, position)
            with self._database.writing() as connection:
                facts.put(connection, self._space, self._fact, f"{place.name} {place.id}")
                change_log.reset_cursor(connection, self._space, self.CURSOR, position)
        if leaves is not None and leaves.id != place.id:
            self._server.clear(leaves, self._mark)

    @contextmanager
    def _sending(self, place: Place) -> Iterator[None]:
        """Take back what is sent during the block, should the space be deleted meanwhile.

        One that was begun anew has the same names for its vectors, and fills its collection again.
        """
        try:
            yield
        except StorageError:
            if self._database.is_gone:
                self._server.clear(place, self._mark)
                if (anew := self._database.begun_anew()) is not None:
                    with anew.writing() as connection:
                        facts.drop(connection, self._space, self._fact)
                        change_log.reset_cursor(connection, self._space, self.CURSOR)
            raise

    @classmethod
    def _places(cls, connection: Connection, space: str) -> dict[str, Place]:
        """The collections of this kind that were filled, whatever the model, by the names of the facts that say so."""
        held = facts.beginning(connection, space, f"{PLACE}:")
        return {fact: Place.read(at) for fact, at in held.items() if _OF_MODEL.sub("", fact, count=1) == cls.SUFFIX}

    def _withdraw_elsewhere(self, after: int, upto: int) -> None:
        """Remove what was forgotten from what other models filled: nobody else does while this one is in use."""
        with self._database.reading() as connection:
            places = [at for fact, at in self._places(connection, self._space).items() if fact != self._fact]
            moment = Moment(connection, upto)
            names = [name for _, name in self._names_forgotten(moment, self._space, after)] if places else []
        if names:
            for place in places:
                self._server.withdraw(place, self._mark, names)

    @classmethod
    def _names_forgotten(cls, moment: Moment, space: str, after: int) -> list[tuple[int, str]]:
        """What was forgotten after a position of the log and up to a moment, each with the position of that."""
        news = list(change_log.follow(moment, space, after=after, kinds=cls.KINDS))
        return [(each.position, name) for each in news for name in cls._forgotten(moment.connection, space, each)]

    @classmethod
    def withdraw(cls, database: Database, server: ChromaServers | None) -> bool:
        """Remove the vectors of what was forgotten at once; see `withdraw`."""
        space = database.space
        with database.reading() as connection:
            places = cls._places(connection, space)
            after = change_log.cursor(connection, space, cls.CURSOR)
            moment = change_log.moment(connection, space)
            forgotten = cls._names_forgotten(moment, space, after) if places else []
            unsent = change_log.read(connection, space, after=after, kinds={cls.EMBEDDED}, most=1)
        if not forgotten:
            return True
        if server is None:
            return False
        for ask in server.asking():  # somebody may wait, and for this for a few seconds only
            ask()
        for place in places.values():
            server.withdraw(place, mark_of(space), [name for _, name in forgotten])
        return not unsent or unsent[0].position > forgotten[-1][0]

    def _delete(self, place: Place, names: Iterable[str]) -> None:
        self._server.delete(place, [f"{self._mark}:{name}" for name in names])

    def _place(self, connection: Connection) -> Place | None:
        held = facts.get(connection, self._space, self._fact)
        return None if held is None else Place.read(held)

    def _is_searched(self, place: Place) -> bool:
        """Whether a collection is of the kind that this version fills."""
        return not place.shared or place.name == self._shared

    def _placed(self, place: Place, vectors: Named | None) -> Named | None:
        """Vectors as the collection holds them."""
        if vectors is None or not place.shared:
            return vectors
        return Named(vectors.names, seated(vectors.matrix, self._seat))

    def _nearest(self, moment: Moment, queries: Vectors, most: int) -> list[Near]:
        """For each query, a row of these, the nearest vectors.

        So many or more, but fewer where there are not as many, or HNSW does not reach them.

        Raises:
            InvalidVector: the query's vector does not have the stored dimension.
            ServerUnreachable: the server does not answer, or has lost the collection: it is about to be filled again.
        """
        state, newer = self._state(moment), self._newer(moment)
        length, held = queries.shape[1], state.places[self.KIND]
        if state.dimension not in {None, length}:
            raise InvalidVector(
                f"The query's vector has length {length}, the vectors stored by {self.model!r} {state.dimension}."
            )
        if held is not None and self._given is None:
            self._say_unnamed()
        place = None if held is None or self._given is None else Place.read(held)
        on_server: Sequence[Near] = [[]] * len(queries)
        if place is not None:
            begun: _Search | None = moment.read.get(self._begun)
            here = begun is not None and begun.is_of(queries, most)
            on_server = begun.found() if begun is not None and here else self._on_server(place, queries, most)
        return [_with_known(newer, query, there, most) for query, there in zip(queries, on_server, strict=True)]

    def begin(self, moment: Moment, query: Vectors, most: int) -> None:
        """Have the server look for the nearest vectors while something else is done, until somebody asks for them."""
        held, queries = self._state(moment).places[self.KIND], query[np.newaxis]
        if held is not None and self._given is not None:
            search = partial(self._on_server, Place.read(held), queries, most)
            moment.read[self._begun] = _Search(queries, most, self._given.meanwhile(search), search)

    def _say_unnamed(self) -> None:
        say(log, _unnamed.level(_UNNAMED), "chroma_not_named", space=self._space, reason=_UNNAMED)

    def _on_server(self, place: Place, queries: Vectors, most: int) -> list[Near]:
        """For each query the nearest vectors of the space that the server has."""
        if not self._is_searched(place):
            self._ask_to_fill(place)
            return [[]] * len(queries)
        asked = seated(queries, self._seat, asked=True) if place.shared else queries
        found = self._server.query(place, asked, most)
        if found is None:
            with suppress(StorageError):
                self._ask_to_fill(place)
            raise ServerUnreachable(f"The collection {place.name} that was filled is not on any Chroma server.")
        start, measure = f"{self._mark}:", similarity if place.shared else _similarity
        return [[(name[len(start) :], measure(far)) for name, far in each if name.startswith(start)] for each in found]

    def _ask_to_fill(self, place: Place) -> None:
        """Have the background fill a collection anew, once: somebody else who searches asks, too."""
        if self._asked_for != place:
            self._asked_for = place
            self._database.ask_for_work()

    def _state(self, moment: Moment) -> _State:
        """What searches need to know of a moment, read once for all that ask."""
        if self._all not in moment.read:
            moment.read[self._all] = self._read_state(moment.connection)
        state: _State = moment.read[self._all]
        return state

    def _read_state(self, connection: Connection) -> _State:
        wanted: dict[str, Any] = {"dimension": embedding_cache.dimension_of(self.model), "most": _TAIL}
        for kind in (ServerVectors, ServerNoteVectors):
            wanted[f"{kind.KIND}_place"] = f"{self._all}{kind.SUFFIX}"
            wanted[f"{kind.KIND}_follower"] = "" if self._given is None else kind.CURSOR
            wanted[f"{kind.KIND}_embedded"] = kind.EMBEDDED
        rows = _STATE.rows(connection, space=self._space, **wanted)
        dimension, counted, *told = rows[0]
        return _State(
            None if dimension is None else int(dimension),
            counted,
            dict(zip(_KINDS, told[: len(_KINDS)], strict=True)),
            change_log.changes_in(row[2 + len(_KINDS) :] for row in rows),
        )

    def _newer(self, moment: Moment) -> Named | None:
        """The newest vectors that the server lacks, read once for all that ask."""
        key = f"newer {self._fact}"
        if key not in moment.read:
            moment.read[key] = self._read_newer(moment)
        newer: Named | None = moment.read[key]
        return newer

    def _read_newer(self, moment: Moment) -> Named | None:
        state = self._state(moment)
        spans = [(each.subject, each.until) for each in state.news if self._is_embedding(each)]
        if self._given is not None:
            spans, left_out = _newest(spans, _COMPARED)
            moment.unsearched[self.CURSOR] = left_out
        return self._loaded(moment.connection, spans, state.dimension) if spans else None

    def _news(self, connection: Connection, after: int, most: int = _CHANGES) -> list[Change]:
        return change_log.read(connection, self._space, after=after, kinds=self.KINDS, most=most)

    def _is_embedding(self, change: Change) -> bool:
        return change.kind == self.EMBEDDED and change.detail == self.model


class ServerVectors(Shelf):
    """Finds the drawers of one space nearest to a query vector; see `VectorIndex`."""

    KIND, CURSOR, SUFFIX, EMBEDDED = "drawers", "chroma", "", "drawers.embedded"
    KINDS = frozenset({"drawers.embedded", *change_log.OUT_OF_INDEX})

    def similar(self, moment: Moment, query: Vectors, most: int) -> dict[int, float]:
        """The best drawers at a moment with the cosine similarity of their best chunk, best first.

        Some may be superseded since: whoever asks looks at their facts.
        """
        return self._similar(moment, query[np.newaxis], most, wide=most * 2, small=_SMALL)[0]

    def _similar(
        self, moment: Moment, queries: Vectors, most: int, *, wide: int, small: int = 0, widest: float = inf
    ) -> list[dict[int, float]]:
        """The same for each of several queries, from so many vectors, or more if these have too few drawers.

        Of a space with up to `small` drawers none may be missing. Fewer are found where a search for `widest` vectors
        or more did not find as many.
        """
        last = rooms.last_drawer(moment.connection, self._space) if moment.last_drawer is None else moment.last_drawer
        least = last if last <= small else most
        wide = max(wide, least)
        counts, best = self._best(moment, queries, wide)
        # Several of the nearest chunks may belong to one drawer: ask for more chunks, for all of them if necessary.
        while wide < widest and any(
            count >= wide and len(each) < most for count, each in zip(counts, best, strict=True)
        ):
            wide *= 4
            counts, best = self._best(moment, queries, wide)
        if any(len(each) < min(least, last) for each in best):
            # Many equal vectors, as of a message that repeats itself, cut HNSW's graph in parts, and a search reaches
            # only the part that it starts in. What was often sent again or deleted around it may not be reached either.
            compared = self._compared(moment, queries, last)
            best = [here | there for here, there in zip(compared, best, strict=True)]
        return [dict(sorted(each.items(), key=lambda item: -item[1])[:most]) for each in best]

    def _best(self, moment: Moment, queries: Vectors, wide: int) -> tuple[list[int], list[dict[int, float]]]:
        """For each query how many vectors were found, and the best of them by drawer."""
        nearest = self._nearest(moment, queries, wide)
        return [*map(len, nearest)], [*map(_best_by_drawer, nearest)]

    def _compared(self, moment: Moment, queries: Vectors, last: int) -> list[dict[int, float]]:
        """For each query the cosine similarity of the newest drawers."""
        at = (moment.connection, self._space, self.model)
        vectors = embedding_cache.load(*at, [_newest_of(last)], queries.shape[1])
        if vectors is None:
            return [{}] * len(queries)
        every = len(vectors.drawers)
        return [best_by_drawer(vectors.drawers, cosines(vectors.matrix, each), every) for each in queries]

    def similarities(self, moment: Moment, query: Vectors, drawers: Collection[int]) -> dict[int, float]:
        """The cosine similarity of each of these drawers that has a vector."""
        at = (moment.connection, self._space, self.model)
        found = embedding_cache.of_drawers(*at, drawers, len(query)) if drawers else None
        return {} if found is None else best_by_drawer(found.drawers, cosines(found.matrix, query), len(found.drawers))

    def neighbours(self, moment: Moment, drawers: Sequence[int], most: int) -> dict[int, dict[int, float]]:
        """By drawer, those nearest to it, with their cosine similarity, best first; none if the server is away."""
        at = (moment.connection, self._space, self.model)
        own = embedding_cache.of_drawers(*at, drawers, self._state(moment).dimension)
        if own is None:
            return {}
        pieces = first_pieces(own)
        try:
            # Of all at once: each question to the server takes longer than to answer it.
            asked = np.concatenate([*pieces.values()])
            found = iter(self._similar(moment, asked, most + 1, wide=_WIDE, widest=_WIDEST))
        except ServerUnreachable:  # the search for the question, which comes before, says so
            return {}
        return {drawer: best_beside(drawer, [next(found) for _ in some], most) for drawer, some in pieces.items()}

    @staticmethod
    def _gone(change: Change) -> list[str]:
        out = change.kind in change_log.OUT_OF_INDEX
        return [f"{change.subject}.{ordinal}" for ordinal in range(change.until if out else 0)]

    @staticmethod
    def _forgotten(_connection: Connection, _space: str, change: Change) -> list[str]:
        return ServerVectors._gone(change) if change.kind == "drawer.forgotten" else []

    def _loaded(
        self, connection: Connection, spans: Sequence[tuple[int, int]], dimension: int | None = None
    ) -> Named | None:
        loaded = embedding_cache.load(connection, self._space, self.model, spans, dimension)
        if loaded is None:
            return None
        # A message that repeats itself has equal vectors: many of these cut HNSW's graph in parts, and one is enough.
        first: dict[tuple[int, bytes], int] = {}
        for place, (drawer, row) in enumerate(zip(loaded.drawers.tolist(), loaded.matrix, strict=True)):
            first.setdefault((drawer, row.tobytes()), place)
        kept = [*first.values()]
        named = zip(loaded.drawers[kept].tolist(), loaded.ordinals[kept].tolist(), strict=True)
        return Named([f"{drawer}.{ordinal}" for drawer, ordinal in named], loaded.matrix[kept])

    def _reach(self, connection: Connection) -> tuple[int, int]:
        last = embedding_cache.last_drawer(connection, self._space)
        return last, embedding_cache.counts(connection, self._space, self.model)[1]


class ServerNoteVectors(Shelf):
    """Finds the notes of one space nearest to a query vector."""

    KIND, CURSOR, SUFFIX, EMBEDDED = "notes", "chroma:notes", ".notes", "notes.embedded"
    KINDS = frozenset({"notes.changed", "notes.embedded"})

    def count(self, moment: Moment) -> int:
        """How many notes there are, with vectors or without."""
        return self._state(moment).notes

    def nearest(self, moment: Moment, query: Vectors, most: int) -> dict[int, float]:
        """The nearest notes with their cosine similarity, at least so many if there are, best first.

        Some may be gone since.
        """
        found = self._nearest(moment, query[np.newaxis], most)[0]
        if len(found) < most:  # see `ServerVectors.similar`
            last = notes.newest(moment.connection, self._space)
            compared = self._loaded(moment.connection, [_newest_of(last)], len(query))
            found = _with_known(compared, query, found, most)
        return {int(name): similarity for name, similarity in found}

    @staticmethod
    def _gone(change: Change) -> list[str]:
        span = range(change.subject, change.until + 1) if change.kind == "notes.changed" else ()
        return [str(number) for number in span]

    @staticmethod
    def _forgotten(connection: Connection, space: str, change: Change) -> list[str]:
        names = ServerNoteVectors._gone(change)
        there = notes.numbered_as(connection, space, [int(name) for name in names]) if names else {}
        return [name for name in names if int(name) not in there]

    def _loaded(
        self, connection: Connection, spans: Sequence[tuple[int, int]], dimension: int | None = None
    ) -> Named | None:
        found = notes.vectors(connection, self._space, self.model, spans, dimension)
        return Named(list(map(str, found)), np.stack(list(found.values()))) if found else None

    def _reach(self, connection: Connection) -> tuple[int, int]:
        return notes.newest(connection, self._space), notes.counts(connection, self._space, self.model)[1]


def _newest(spans: Sequence[tuple[int, int]], most: int) -> tuple[list[tuple[int, int]], int]:
    """The newest of these ranges with about so many numbers, and how many numbers the others have."""
    taken, left = list[tuple[int, int]](), most
    for first, last in reversed(spans):
        if left > 0:
            taken.append((max(first, last - left + 1), last))
        left -= last - first + 1
    return taken, max(-left, 0)


def _newest_of(last: int) -> tuple[int, int]:
    """The range of the newest numbers that are compared one by one."""
    return max(1, last - _COMPARED + 1), last


def mark_of(space: str) -> str:
    """What the names of a space's vectors begin with."""
    return blake2b(space.encode(), digest_size=12).hexdigest()


def _similarity(distance: float) -> float:
    return 1.0 - distance


def _with_known(known: Named | None, query: Vectors, on_server: Near, most: int) -> Near:
    """What the server found for a query together with the nearest vectors from the records, best first."""
    if known is None:
        return on_server
    near, wide = cosines(known.matrix, query), max(most, _SORTED)
    # With all that are as near as the last one: of a message that repeats itself, the first come first.
    least = np.partition(near, -wide)[-wide] if len(near) > wide else -inf
    found = [(known.names[place], float(near[place])) for place in np.flatnonzero(near >= least).tolist()]
    names = set(known.names) if on_server else ()
    return sorted([*found, *(each for each in on_server if each[0] not in names)], key=lambda item: -item[1])


def _best_by_drawer(nearest: Sequence[tuple[str, float]]) -> dict[int, float]:
    best: dict[int, float] = {}
    for name, near in nearest:
        best.setdefault(int(name.partition(".")[0]), near)
    return best
