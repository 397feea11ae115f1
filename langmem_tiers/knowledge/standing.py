"""How what was said stands now: whether it still holds, and if not, which later words or which relation say so.

Whatever shows an entry, a message or a relation asks here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from langmem_tiers.clock import to_millis
from langmem_tiers.knowledge import document_text
from langmem_tiers.knowledge_graph import outdated
from langmem_tiers.language.assertions import USER, Assertion, assertions
from langmem_tiers.language.quotations import own_words_of
from langmem_tiers.language.revisions import Revision, affirms, concerns
from langmem_tiers.language.validity import NEWS
from langmem_tiers.storage import drawers, relations

if TYPE_CHECKING:
    from langmem_tiers.records import Entry, Episode, GraphEvidence
    from langmem_tiers.storage.change_log import Moment
    from langmem_tiers.storage.revision_index import StandingRevisions
    from langmem_tiers.storage.revisions import RevisedRow
    from langmem_tiers.store import SpaceStore
    from langmem_tiers.types import Drawer

_LONGEST_QUOTE = 160
# For so long, a bare "Braga, not Porto" may set right what was said in another conversation.
_SHORTLY = timedelta(days=2)
# A line of a summary; without a model, it says who said it and when: "[2026-03-02] User: I moved to Porto."
_OF_SPEAKER = re.compile(r"^(?:\[[\d-]{10}\] (?P<speaker>[^:]{1,80}): )?(?P<text>.*)$")
# Behind every sentence of a message: what is derived from a message is not revised by that message.
_END = 1 << 40


def in_entries(
    store: SpaceStore, moment: Moment, entries: Mapping[str, Entry], at: datetime
) -> dict[str, tuple[str, ...]]:
    """For each entry, what says that it no longer holds at a time; an empty tuple if nothing does."""
    over = outdated.in_entries(store.graph.view(moment), moment.connection, store.key, entries, to_millis(at))
    later = _LaterWords.until(store, moment, at)
    return {ref: later.on(_of_entry(entry)) or over[ref] for ref, entry in entries.items()}


class OfDrawers:
    """What says that something in one of some drawers no longer holds at a time; each is judged when it is asked for.

    What relations say of all of them is read at once: by number, it is what is `over`.
    """

    def __init__(self, store: SpaceStore, moment: Moment, numbers: Collection[int], at: datetime) -> None:
        over = outdated.in_drawers(store.graph.view(moment), moment.connection, store.key, numbers, to_millis(at))
        self.over = {number: tuple(f"no longer: {each.text}" for each in those) for number, those in over.items()}
        self.later = _LaterWords.until(store, moment, at)

    def on(self, drawer: Drawer) -> tuple[str, ...]:
        """What was said later of a drawer, or else what relations say; an empty tuple if nothing does."""
        said = self.later.on(_of_drawer(drawer)) if self.later and drawer.role == "user" else ()
        return said or self.over.get(drawer.number, ())


def in_drawers(
    store: SpaceStore, moment: Moment, given: Mapping[int, Drawer] | Collection[int], at: datetime
) -> dict[int, tuple[str, ...]]:
    """For each drawer, given whole or by number, of which something no longer holds at a time, what says so."""
    standing = OfDrawers(store, moment, given, at)
    if not standing.later:
        return standing.over
    said = given if isinstance(given, Mapping) else drawers.read(moment.connection, store.key, given)
    return {number: those for number, drawer in said.items() if (those := standing.on(drawer))}


def ended_by(store: SpaceStore, moment: Moment, numbers: Collection[int], at: datetime) -> dict[int, frozenset[int]]:
    """For each drawer of which something no longer holds at a time, the drawers that say so."""
    later = _LaterWords.until(store, moment, at)
    if not later:
        return {}
    said = drawers.read(moment.connection, store.key, numbers)
    rows = {number: later.rows(_of_drawer(drawer)) for number, drawer in said.items() if drawer.role == "user"}
    return {number: frozenset(row.drawer for row in those) for number, those in rows.items() if those}


def in_relations(
    store: SpaceStore, moment: Moment, lines: Mapping[int, str], at: datetime
) -> dict[int, tuple[str, ...]]:
    """For each relation that no longer holds at a time, by number, what was said later; `lines` are its sentences."""
    later = _LaterWords.until(store, moment, at)
    if not later or not lines:
        return {}
    rests = relations.evidence(moment.connection, store.key, lines)
    said = drawers.read(moment.connection, store.key, {each.drawer for those in rests.values() for each in those})
    # What was added by hand rests on nothing, and is for people to end.
    found = {number: later.on(_of_relation(lines[number], those, said)) for number, those in rests.items()}
    return {number: those for number, those in found.items() if those}


def in_episodes(
    store: SpaceStore, moment: Moment, given: Iterable[Episode], at: datetime
) -> dict[str, tuple[str, ...]]:
    """For each summary by id, what was said after it, until a time, that contradicts it; an empty tuple if nothing."""
    later = _LaterWords.until(store, moment, at)
    return {each.id: later.on(_of_episode(each)) if later else () for each in given}


def in_documents(
    store: SpaceStore, moment: Moment, pieces: Sequence[tuple[str, datetime]], at: datetime
) -> list[tuple[str, ...]]:
    """For each piece of a document, with when it was last written, what was said later against what a line says."""
    later = _LaterWords.until(store, moment, at)
    if not later:
        return [()] * len(pieces)
    lines = [[_of_line(line, written) for line in text.splitlines()] for text, written in pieces]
    return [tuple(dict.fromkeys(words for line in those for words in later.on(line))) for those in lines]


class _Said(NamedTuple):
    """Assertions with the moment they were last made: its time, the drawer, and the place in it."""

    assertions: Sequence[Assertion]
    at: datetime
    drawer: int
    start: int

    def is_before(self, row: RevisedRow) -> bool:
        """Whether it was said before a sentence."""
        return (self.at, self.drawer, self.start) < (row.said_at, row.drawer, row.start)


def _of_entry(entry: Entry) -> _Said:
    last = max(entry.evidence, key=lambda each: (each.said_at or entry.updated_at, each.drawer), default=None)
    return _Said(assertions(entry.content), entry.said_at, last.drawer if last else 0, _END)


def _of_drawer(drawer: Drawer) -> _Said:
    """A message: what it only quotes is somebody else's, and nothing that its author says later ends it."""
    own = assertions(own_words_of(drawer), _names(drawer.speaker))
    return _Said(own, drawer.said_at, drawer.number, len(drawer.content))


def _of_episode(episode: Episode) -> _Said:
    """A summary: of one without a model, what each speaker says in it."""
    said = (_OF_SPEAKER.match(line) for line in episode.summary.splitlines())
    lines = [match for match in said if match is not None and match["text"]]
    own = [each for line in lines for each in assertions(line["text"], _names(line["speaker"] or USER)[-1:])]
    return _Said(own, episode.ended_at, episode.last_drawer or 0, _END)


def _of_line(line: str, written: datetime) -> _Said:
    """A line of a document: said on its last day, or else when it was written."""
    stated = document_text.statement(line)
    day = _end_of(stated.day) if stated.day else None
    if day is None:
        return _Said(assertions(line), written, _END, _END)
    return _Said(assertions(stated.said, _names(stated.who or USER)[-1:]), day, _END, _END)


def _end_of(day: str) -> datetime | None:
    """The end of a day; None if there is no such day."""
    try:
        return datetime.combine(date.fromisoformat(day), time.max, UTC)
    except ValueError:
        return None


def _of_relation(line: str, rests: Sequence[GraphEvidence], said: Mapping[int, Drawer]) -> _Said:
    """A relation as its sentence, and as the words that it rests on say it."""
    own = assertions(line)
    quoted = [each for rest in rests for each in assertions(rest.quote, _names(said[rest.drawer].speaker))]
    words = frozenset().union(*(each.stems for each in own))
    at, drawer = max((said[each.drawer].said_at, each.drawer) for each in rests)
    merely_kin = any(each.kin for each in own)
    # "My sister Ruth lives in Cork" says more than that she is a sister.
    same = (each for each in quoted if each.stems & words and (each.kin or not merely_kin))
    return _Said((*own, *same), at, drawer, _END)


def _names(speaker: str | None) -> tuple[str, ...]:
    return (USER, speaker) if speaker and speaker.casefold() != USER else (USER,)


@dataclass(frozen=True)
class _LaterWords:
    """The revisions of a space that were made up to a time."""

    revisions: StandingRevisions
    at: datetime

    @classmethod
    def until(cls, store: SpaceStore, moment: Moment, at: datetime) -> _LaterWords:
        return cls(store.revisions.at(moment), at)

    def __bool__(self) -> bool:
        return bool(self.revisions.rows)

    def on(self, said: _Said) -> tuple[str, ...]:
        """The newest later words on each of these assertions, unless they say that it is so again."""
        return tuple(dict.fromkeys(map(_quoted, self.rows(said))))

    def rows(self, said: _Said) -> list[RevisedRow]:
        """The sentences of these words."""
        found = (self._revising(each, said) for each in said.assertions)
        return [row for row in found if row is not None]

    def _revising(self, assertion: Assertion, said: _Said) -> RevisedRow | None:
        """The newest sentence that says that an assertion no longer holds; None if it was affirmed since."""
        for row in takewhile(said.is_before, self.revisions.on(assertion)):
            counting = [each for each in row.revisions if self._counts(each, row, said)]
            if any(affirms(each, assertion) for each in counting):
                return None
            if any(concerns(each, assertion) for each in counting):
                return row
        return None

    def _counts(self, revision: Revision, row: RevisedRow, said: _Said) -> bool:
        """Whether it was said by now, is news or about the time after something was said, and came true if planned."""
        if row.said_at > self.at or (revision.slip and said.at < row.said_at - _SHORTLY):
            return False
        if not revision.since:
            return True
        known_before = min(said.at, row.said_at - NEWS)
        if revision.since < known_before.date().isoformat()[: len(revision.since)]:
            return False
        return not revision.planned or (revision.since <= self.at.date().isoformat() and not self._fell_through(row))

    def _fell_through(self, row: RevisedRow) -> bool:
        return bool(self.on(_Said(assertions(row.quote), row.said_at, row.drawer, row.start)))


def _quoted(row: RevisedRow) -> str:
    words = " ".join(row.quote.split())
    shown = words if len(words) <= _LONGEST_QUOTE else f"{words[:_LONGEST_QUOTE].rstrip()} …"
    return f'but later, {row.said_at:%Y-%m-%d}: "{shown}"'
