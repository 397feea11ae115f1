"""Search over notes: current notes are held in memory, with exact vectors, and in sync with the log.

There are thousands of notes where there may be hundreds of thousands of drawers, so each note is scored by its words
and by its vector, and nothing is approximate.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from math import isnan
from typing import Any, NamedTuple, Protocol
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam, select

from langmem_tiers.errors import InvalidVector
from langmem_tiers.language.words import codes
from langmem_tiers.matching import Held, coverage, matched
from langmem_tiers.settings import RecallSettings
from langmem_tiers.storage import change_log, embedding_cache
from langmem_tiers.storage import keyword as keyword_index
from langmem_tiers.storage.change_log import Moment
from langmem_tiers.storage.database import writes
from langmem_tiers.storage.embedding_cache import Vectors
from langmem_tiers.storage.keyword import ALL, MOST_TERMS
from langmem_tiers.storage.notes import KINDS, RECALLED, NoteKind, same_text
from langmem_tiers.storage.schema import embeddings, notes
from langmem_tiers.storage.statements import Prepared, here
from langmem_tiers.storage.trips import Trip

Column = NDArray[np.float64]
_KINDS: set[change_log.Kind] = {"notes.changed", "notes.embedded"}
_CODES = {kind: code for code, kind in enumerate(sorted(KINDS))}
# Words whose notes are cached in memory, changes that they may be behind, and stretches of notes in these.
_WORDS = 4096
_BEHIND = 1000
_STRETCHES = 5
# Rows that the vectors of deleted notes may occupy before the matrix is compacted.
_SPARE = 1024
_NONE = -1


class NoteHit(NamedTuple):
    """A matching note; `keyword` and `vector` are None if that channel could not score it."""

    number: int
    kind: NoteKind
    ref: str
    ordinal: int
    text: str
    keyword: float | None
    vector: float | None
    score: float


class _Standing(NamedTuple):
    number: int
    kind: NoteKind
    ref: str
    ordinal: int
    text: str


_Stored = tuple[_Standing, Vectors | None]
_Span = tuple[int, int]


class _Listed(NamedTuple):
    """The notes that a word stands in, after so many of the state's changes."""

    held: Held
    after: int


@dataclass(frozen=True, kw_only=True)
class _State:
    """The current notes at a moment, by number, each with its row in `matrix` if it has one.

    Immutable except for `words`, which caches the notes of each word. Rows of `matrix` from `count` on belong
    to later states.
    """

    notes: Sequence[_Standing] = ()
    kinds: NDArray[np.int8] = field(default_factory=lambda: np.zeros(0, np.int8))
    numbers: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    rows: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    matrix: Vectors | None = None
    count: int = 0
    words: dict[str, _Listed] = field(default_factory=dict)
    changed: tuple[_Span, ...] = ()


class Notes(Protocol):
    """Finds the notes of one space; without a model, by their words only."""

    def search(
        self,
        moment: Moment,
        terms: Sequence[str],
        vector: Vectors | None,
        most: int,
        kinds: Collection[NoteKind] = RECALLED,
        *,
        settings: RecallSettings = RecallSettings(),  # noqa: B008 - a frozen value
    ) -> list[NoteHit]:
        """The best `most` notes of these kinds at a moment, best first; newest first among equals.

        `terms` are words as queries have them (recall/query.py), at most 32 count. A note matches if it contains any of
        them, or if its similarity reaches `settings.min_similarity`; the weights of the two are in the settings too.

        Raises:
            InvalidVector: the query's vector does not have the stored dimension.
        """

    def ask_ahead(
        self, trip: Trip, moment: Moment, terms: Sequence[str], vector: Vectors | None = None, most: int = 0
    ) -> None:
        """Have a trip ask for what `search` is about to ask a server: first for words, then for the best of all."""
        return

    def begin(self, moment: Moment, vector: Vectors, most: int) -> None:
        """Have a server look for the nearest notes while something else is done, for `search`."""
        return


class _Held(NamedTuple):
    """A state, and the log positions of the first and the last moment known to have it."""

    state: _State
    since: int
    upto: int


_BETWEEN = Prepared(
    select(notes.c.number, notes.c.kind, notes.c.ref, notes.c.ordinal, notes.c.text, embeddings.c.vector)
    .select_from(notes.outerjoin(embeddings, same_text(bindparam("model"))))
    .where(*here(notes), notes.c.number.between(bindparam("first"), bindparam("last")))
    .order_by(notes.c.number)
)


class NoteSearch(Notes):
    """Finds the notes of one space, which are held in memory; see `Notes`. Thread-safe."""

    def __init__(self, space: str, model: str | None) -> None:
        self._space = space
        self._model = model
        self._held: _Held | None = None
        self._writers: WeakKeyDictionary[Connection, _Held] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def search(
        self,
        moment: Moment,
        terms: Sequence[str],
        vector: Vectors | None,
        most: int,
        kinds: Collection[NoteKind] = RECALLED,
        *,
        settings: RecallSettings = RecallSettings(),  # noqa: B008 - a frozen value
    ) -> list[NoteHit]:
        """The best notes at a moment; see `Notes`."""
        state = self._at(moment)
        if not state.notes or not kinds:
            return []
        keyword = _keyword(state, moment.connection, terms[:MOST_TERMS])
        similar = self._similar(state, vector)
        score = np.asarray(matched(keyword, similar, settings))
        found = np.flatnonzero((keyword > 0) | (similar >= settings.min_similarity))
        if len(kinds) < len(_CODES):
            found = found[np.isin(state.kinds[found], [_CODES[kind] for kind in kinds])]
        best = found[np.lexsort((-found, -score[found]))[:most]]
        columns = (known(keyword[best]), known(similar[best]), score[best].tolist())
        return [NoteHit(*state.notes[place], *each) for place, *each in zip(best.tolist(), *columns, strict=True)]

    def _at(self, moment: Moment) -> _State:
        """The notes at a moment; one before the last change of notes is read from the records."""
        if writes(moment.connection):
            return self._unsettled(moment)
        with self._lock:
            held = self._held = self._followed(moment, self._held)
        return held.state if moment.head >= held.since else self._read(moment).state

    def _unsettled(self, moment: Moment) -> _State:
        """The notes inside a writing transaction: it may still roll back, so nothing is shared with others."""
        with self._lock:
            held = self._writers.get(moment.connection) or _unshared(self._held)
            if held is None or moment.head < held.since:
                held = self._read(moment)
            held = self._writers[moment.connection] = self._followed(moment, held)
        return held.state

    def _read(self, moment: Moment) -> _Held:
        state = _reloaded(_State(), [ALL], self._stored(moment.connection, [ALL]))
        return _Held(state, moment.head, moment.head)

    def _followed(self, moment: Moment, held: _Held | None) -> _Held:
        """The state held, brought up to date from the log."""
        if held is None:
            return self._read(moment)
        if moment.head <= held.upto:
            return held
        behind = change_log.follow(moment, self._space, after=held.upto, kinds=_KINDS)
        news = [change for change in behind if change.kind == "notes.changed" or change.detail == self._model]
        if not news:
            return held._replace(upto=moment.head)
        changed = change_log.ranges((change.subject, change.until) for change in news)
        state = _reloaded(held.state, changed, self._stored(moment.connection, changed))
        new = [(change.subject, change.until) for change in news if change.kind == "notes.changed"]
        if new:
            told = (*state.changed, *new)
            few = len(told) <= _BEHIND
            state = replace(state, words={**state.words} if few else {}, changed=told if few else ())
        return _Held(state, news[-1].position, moment.head)

    def _stored(self, connection: Connection, wanted: Sequence[tuple[int, int]]) -> list[_Stored]:
        """The stored notes of these ranges, with their vectors."""
        rows: list[Any] = []
        for first, last in wanted:
            rows += _BETWEEN.rows(connection, space=self._space, model=self._model, first=first, last=last)
        if self._model is None or all(row[-1] is None for row in rows):
            return [(_Standing(*row[:-1]), None) for row in rows]
        dimension = embedding_cache.known_dimension(connection, self._space, self._model)
        vectors = embedding_cache.each_unpacked([row[-1] for row in rows], dimension)
        return [(_Standing(*row[:-1]), vector) for row, vector in zip(rows, vectors, strict=True)]

    def _similar(self, state: _State, vector: Vectors | None) -> Column:
        similar = np.full(len(state.notes), np.nan)
        if state.matrix is None or vector is None:
            return similar
        if state.matrix.shape[1] != len(vector):
            raise InvalidVector(
                f"The query's vector has length {len(vector)}, "
                f"the vectors stored by {self._model!r} {state.matrix.shape[1]}."
            )
        by_row = embedding_cache.cosines(state.matrix[: state.count], vector)
        held = state.rows != _NONE
        similar[held] = by_row[state.rows[held]]
        return similar


def _keyword(state: _State, connection: Connection, terms: Sequence[str]) -> Column:
    """The share of the words that each note covers; if no note has any of them, notes cannot be scored by words."""
    listed = {term: state.words.get(term) for term in terms}
    looked_up = {term: None if known is None else known.after for term, known in listed.items()}
    behind = {after: _unread(state, after) for after in set(looked_up.values())}
    unread = {term: behind[after] for term, after in looked_up.items()}
    read = iter(keyword_index.notes.holding(connection, [(term, *span) for term in unread for span in unread[term]]))
    if len(state.words) > _WORDS:
        state.words.clear()
    holding: list[Held] = []
    for term, known in listed.items():
        held = _renewed(known, unread[term], [next(read) for _ in unread[term]])
        state.words[term] = _Listed(held, len(state.changed))
        holding.append(held)
    covered = coverage(holding, len(state.notes), codes(terms))
    return covered.of(state.numbers) if len(covered.numbers) else np.full(len(state.notes), np.nan)


def _unread(state: _State, after: int | None) -> list[_Span]:
    """The notes of which it is not known whether a word stands in them, that was looked up after so many changes."""
    if after is None:
        return [ALL]
    spans = change_log.ranges(state.changed[after:])
    return spans if len(spans) <= _STRETCHES else [ALL]


def _renewed(known: _Listed | None, spans: Sequence[_Span], news: Sequence[Held]) -> Held:
    """The notes with a word, after some were read again."""
    if known is None:
        return news[0]
    said, place = (_joined(old, spans, new) for old, *new in zip(known.held, *news, strict=True))
    return said, place


def _joined(old: NDArray[np.int64], spans: Sequence[_Span], news: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Ascending numbers, with those of the spans read again."""
    if spans and len(old) and spans[0][0] <= old[-1]:
        old = old[_outside(old, spans)]
    new = [each for each in news if len(each)]
    return np.sort(np.concatenate([old, *new]), kind="stable") if new else old


def _outside(numbers: NDArray[np.int64], spans: Sequence[_Span]) -> NDArray[np.bool_]:
    """Which of these ascending numbers lie in none of the spans."""
    stays = np.ones(len(numbers), np.bool_)
    for first, last in spans:
        stays[np.searchsorted(numbers, first) : np.searchsorted(numbers, last, "right")] = False
    return stays


def _unshared(held: _Held | None) -> _Held | None:
    """A copy that can be updated without writing to anything others hold."""
    if held is None:
        return None
    matrix = None if held.state.matrix is None else held.state.matrix[: held.state.count]  # no spare rows
    return held._replace(state=replace(held.state, matrix=matrix, words={**held.state.words}))


def _reloaded(state: _State, changed: Sequence[tuple[int, int]], news: Sequence[_Stored]) -> _State:
    """The state with the notes of these ranges reloaded."""
    stays = _outside(state.numbers, changed)
    vectors = [vector for _, vector in news if vector is not None]
    new_rows = np.full(len(news), _NONE, np.int64)
    with_vector = [place for place, (_, vector) in enumerate(news) if vector is not None]
    new_rows[with_vector] = np.arange(state.count, state.count + len(vectors))
    listed = [*compress(state.notes, stays.tolist()), *(note for note, _ in news)]
    numbers = np.concatenate([state.numbers[stays], np.array([note.number for note, _ in news], np.int64)])
    kinds = np.concatenate([state.kinds[stays], np.array([_CODES[note.kind] for note, _ in news], np.int8)])
    rows = np.concatenate([state.rows[stays], new_rows])
    grown = _with_vectors(state, vectors)
    if (np.diff(numbers) < 0).any():
        order = np.argsort(numbers)
        listed = [listed[place] for place in order.tolist()]
        numbers, kinds, rows = numbers[order], kinds[order], rows[order]
    return _compact(replace(grown, notes=listed, kinds=kinds, numbers=numbers, rows=rows))


def _with_vectors(state: _State, news: Sequence[Vectors]) -> _State:
    """The state with more vectors in its matrix."""
    if not news:
        return state
    matrix, count = state.matrix, state.count + len(news)
    if matrix is None or count > len(matrix):
        matrix = np.zeros((max(_SPARE, count * 3 // 2), len(news[0])), np.float32)
        matrix[: state.count] = state.matrix[: state.count] if state.matrix is not None else 0
    matrix[state.count : count] = news
    return replace(state, matrix=matrix, count=count)


def _compact(state: _State) -> _State:
    """The state without the vectors of deleted notes, if there are many."""
    held = state.rows != _NONE
    live = int(held.sum())
    if state.matrix is None or state.count <= 2 * live + _SPARE:
        return state
    rows = np.where(held, np.cumsum(held) - 1, _NONE)
    return replace(state, matrix=state.matrix[state.rows[held]], count=live, rows=rows)


def known(values: Column) -> list[float | None]:
    """The values, None in the place of those that nobody knows."""
    return [None if isnan(value) else value for value in values.tolist()]
