"""The revisions of a space in memory, by what they may concern, and in sync with the log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from langmem_tiers.language.assertions import Assertion
from langmem_tiers.language.revisions import topic_clues
from langmem_tiers.storage import change_log, revisions
from langmem_tiers.storage.change_log import Moment
from langmem_tiers.storage.database import writes
from langmem_tiers.storage.revisions import RevisedRow

_KINDS: set[change_log.Kind] = {"revisions.changed", *change_log.OUT_OF_INDEX}


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
        clues = (*assertion.clues(), *topic_clues(assertion, self.topics))
        found = {place for clue in clues for place in self.places.get(clue, ())}
        return (self.rows[place] for place in sorted(found))


class _Held(NamedTuple):
    """What was read at a position of the log, and up to which one it holds."""

    revisions: StandingRevisions
    since: int
    upto: int


class RevisionIndex:
    """The revisions of one space. Thread-safe: at worst, two threads read the same."""

    def __init__(self, space: str) -> None:
        self._space = space
        self._held: _Held | None = None

    def at(self, moment: Moment) -> StandingRevisions:
        """The revisions at a moment; they are read again only if they have changed."""
        before = self._held
        held = self._followed(moment, before)
        is_settled = not writes(moment.connection)
        if is_settled and (before is None or held.upto >= before.upto):
            self._held = held
        return held.revisions

    def _followed(self, moment: Moment, held: _Held | None) -> _Held:
        """The revisions held, brought up to date from the log."""
        if held is None or moment.head < held.since:
            rows = revisions.standing(moment.connection, self._space)
            return _Held(StandingRevisions.of(rows), moment.head, moment.head)
        news = change_log.follow(moment, self._space, after=held.upto, kinds=_KINDS)
        changed = {change.subject for change in news}
        if not changed:
            return held._replace(upto=max(held.upto, moment.head))
        stay = [row for row in held.revisions.rows if row.drawer not in changed]
        rows = revisions.standing(moment.connection, self._space, changed)
        return _Held(StandingRevisions.of([*stay, *rows]), moment.head, moment.head)
