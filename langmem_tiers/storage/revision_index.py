"""The revisions of a space in memory, by what they may concern, and in sync with the log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection

from langmem_tiers.language.assertions import Assertion
from langmem_tiers.language.revisions import may_be_concerned, topic_clues
from langmem_tiers.storage import change_log, revisions
from langmem_tiers.storage.followed import Followed
from langmem_tiers.storage.revisions import RevisedRow


@dataclass(frozen=True)
class StandingRevisions:
    """The sentences that revise something, newest first; `places` are those that share a clue.

    `topics` are those on which something with a word is revised, by that word; under the empty word stand those on
    which everything is.
    """

    rows: Sequence[RevisedRow] = ()
    places: Mapping[str, Sequence[int]] = field(default_factory=dict)
    topics: Mapping[str, Collection[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, found: Iterable[RevisedRow]) -> StandingRevisions:
        """These rows, newest first, by their clues."""
        rows = sorted(found, key=lambda row: (row.said_at, row.drawer, row.start), reverse=True)
        places: defaultdict[str, list[int]] = defaultdict(list)
        topics: defaultdict[str, set[str]] = defaultdict(set)
        for place, row in enumerate(rows):
            for clue in {clue for revision in row.revisions for clue in revision.clues()}:
                places[clue].append(place)
            for revision in row.revisions:
                for word in revision.words_on_topic:
                    topics[word].add(revision.topic)
        return cls(rows, places, topics)

    def on(self, assertion: Assertion) -> Iterator[RevisedRow]:
        """Those that may concern an assertion, newest first."""
        if not may_be_concerned(assertion):
            return iter(())
        clues = (*assertion.clues(), *topic_clues(assertion, self.topics))
        found = {place for clue in clues for place in self.places.get(clue, ())}
        return (self.rows[place] for place in sorted(found))


class RevisionIndex(Followed[StandingRevisions]):
    """The revisions of one space."""

    kinds = frozenset({"revisions.changed", *change_log.OUT_OF_INDEX})

    def _read(self, connection: Connection) -> StandingRevisions:
        return StandingRevisions.of(revisions.standing(connection, self._space))

    def _renewed(self, connection: Connection, held: StandingRevisions, changed: Collection[int]) -> StandingRevisions:
        stay = [row for row in held.rows if row.drawer not in changed]
        return StandingRevisions.of([*stay, *revisions.standing(connection, self._space, changed)])
