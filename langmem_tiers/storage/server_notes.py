"""Search over the notes of a space on a server: nothing of them is kept, words and vectors are asked for each time."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from itertools import islice

import numpy as np
from sqlalchemy import Connection, bindparam, func, select

from langmem_tiers.errors import InvalidVector, ServerUnreachable
from langmem_tiers.language.words import codes
from langmem_tiers.matching import Covered, Held, coverage, matched
from langmem_tiers.settings import RecallSettings
from langmem_tiers.storage import embedding_cache
from langmem_tiers.storage import keyword as keyword_index
from langmem_tiers.storage.change_log import Moment
from langmem_tiers.storage.chroma_server import ServerNoteVectors
from langmem_tiers.storage.embedding_cache import Vectors
from langmem_tiers.storage.keyword import ALL, MOST_TERMS
from langmem_tiers.storage.note_index import NoteHit, known
from langmem_tiers.storage.notes import RECALLED, NoteKind, same_text
from langmem_tiers.storage.schema import embeddings, notes
from langmem_tiers.storage.statements import Prepared, here, listed
from langmem_tiers.storage.trips import Trip

# Notes that are compared in full for each that is wanted.
_WIDE = 4
_COUNT = Prepared(select(func.count()).select_from(notes).where(*here(notes)))
_WITH_VECTORS = Prepared(
    select(notes.c.number, notes.c.kind, notes.c.ref, notes.c.ordinal, notes.c.text, embeddings.c.vector)
    .select_from(notes.outerjoin(embeddings, same_text(bindparam("model"))))
    .where(*here(notes), notes.c.kind.in_(bindparam("kinds", expanding=True)), listed(notes.c.number))
)


class ServerNotes:
    """Finds the notes of one space; see `Notes`.

    Of the words, the notes that cover the largest share are looked at, of the vectors the nearest; each of them is
    scored by both.
    """

    def __init__(self, space: str, vectors: ServerNoteVectors | None) -> None:
        self._space = space
        self._vectors = vectors

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
        connection = moment.connection
        vectors = None if vector is None else self._vectors
        total = self._count(connection) if vectors is None else vectors.count(moment)
        if not total or not kinds:
            return []
        covered = self._covered(moment, terms, total)
        wide = most * _WIDE
        while True:
            near: dict[int, float] = {}
            if vectors is not None and vector is not None:
                near = vectors.nearest(moment, vector, min(wide, total))
            found = self._scored(connection, {*covered.best(wide), *near}, covered, vector, kinds, settings)
            # What else there is comes no nearer than the last of so many; behind it are also those that wait for the
            # server, however far they are.
            last = min(islice(near.values(), wide), default=-1.0)
            may_be_more = len(covered.numbers) > wide or last >= settings.min_similarity
            if len(found) >= most or wide >= total or not may_be_more:
                return found[:most]
            wide *= _WIDE

    def ask_ahead(
        self, trip: Trip, moment: Moment, terms: Sequence[str], vector: Vectors | None = None, most: int = 0
    ) -> None:
        """Have a trip ask for what `search` begins with; with a `vector`, for how well the best notes fit."""
        if vector is not None:
            with suppress(ServerUnreachable, InvalidVector):  # the search says so
                trip.ask(self.search, moment, terms, vector, most)
            return
        trip.ask(_holding, moment.connection, terms)
        if self._vectors is not None:
            trip.ask(self._vectors.count, moment)

    def begin(self, moment: Moment, vector: Vectors, most: int) -> None:
        """Have the server look for the nearest notes while something else is done, for `search`."""
        if self._vectors is not None and (total := self._vectors.count(moment)):
            self._vectors.begin(moment, vector, min(most * _WIDE, total))

    def _covered(self, moment: Moment, terms: Sequence[str], total: int) -> Covered:
        """How much of a query's words notes have."""
        key = f"note words {' '.join(terms)}"
        if key not in moment.read:
            moment.read[key] = coverage(_holding(moment.connection, terms), total, codes(terms))
        covered: Covered = moment.read[key]
        return covered

    def _count(self, connection: Connection) -> int:
        ((count,),) = _COUNT.rows(connection, space=self._space)
        return int(count)

    def _scored(
        self,
        connection: Connection,
        numbers: Collection[int],
        covered: Covered,
        vector: Vectors | None,
        kinds: Collection[NoteKind],
        settings: RecallSettings,
    ) -> list[NoteHit]:
        """Those of these notes that match, best first."""
        model = None if self._vectors is None else self._vectors.model
        rows = _WITH_VECTORS.among(
            connection, sorted(numbers), space=self._space, model=model or "", kinds=sorted(kinds)
        )
        if not rows:
            return []
        held = np.array([row[0] for row in rows], np.int64)
        keyword = covered.of(held) if len(covered.numbers) else np.full(len(rows), np.nan)
        similar = np.full(len(rows), np.nan)
        if vector is not None and model is not None:
            vectors = embedding_cache.each_unpacked([row[-1] for row in rows], len(vector))
            there = {place: each for place, each in enumerate(vectors) if each is not None}
            if there:
                similar[[*there]] = embedding_cache.cosines(np.stack([*there.values()]), vector)
        score = np.asarray(matched(keyword, similar, settings))
        found = np.flatnonzero((keyword > 0) | (similar >= settings.min_similarity))
        best = found[np.lexsort((-held[found], -score[found]))]
        columns_ = (known(keyword[best]), known(similar[best]), score[best].tolist())
        return [NoteHit(*rows[place][:-1], *each) for place, *each in zip(best.tolist(), *columns_, strict=True)]


def _holding(connection: Connection, terms: Sequence[str]) -> list[Held]:
    """For each term, the notes that have it."""
    return keyword_index.notes.holding(connection, [(term, *ALL) for term in terms[:MOST_TERMS]])
