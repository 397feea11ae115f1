"""Later words: what the same person said after the lines of a block on the same subjects, however it is worded.

"I shoot on a Pentax" answers "What camera do I use?"; "It got stolen, so I have a Leica now" hardly matches that
question, but is near to the line that it changes. What says that something is over or new, follows soon, or names the
same people and places may be less near to it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from langmem_tiers.knowledge import standing
from langmem_tiers.language.assertions import says_the_end
from langmem_tiers.language.chatter import asks, is_chatter
from langmem_tiers.language.first_person import TELLS
from langmem_tiers.language.names import names
from langmem_tiers.language.turns import LONGEST
from langmem_tiers.recall.candidates import FoundDrawer
from langmem_tiers.recall.request import RecallRequest
from langmem_tiers.recall.sources import Key, SpaceSnapshot, read_texts
from langmem_tiers.storage.drawers import DrawerFacts
from langmem_tiers.storage.trips import one_trip

# The lines whose later words are looked for, best first, and how many messages near to each are looked at.
_LINES, _NEAREST = 2, 12
# The least fit of a message with a line: how similar they are, and more for what speaks for it.
_LEAST = 0.35
_CHANGES, _SAME_NAMES, _SOON, _FITS = 0.1, 0.1, 0.15, 0.15
# What says that a line no longer holds fits it, whatever its words.
_ENDS_IT = 1.0
# How many messages after a line are soon.
_NEXT = 6
_LOOKED_AT = 1000


@dataclass(frozen=True, kw_only=True)
class _Pair:
    """A line and a message after it, with their fit by everything but the words of the two."""

    line: Key
    later: FoundDrawer
    fit: float
    changes: bool


def find(
    sources: Sequence[SpaceSnapshot],
    lines: Sequence[FoundDrawer],
    speakers: Collection[str],
    request: RecallRequest,
    *,
    fitting: Collection[Key],
) -> list[FoundDrawer]:
    """What fits the first of these lines, best first.

    `speakers` are the words of the names of those who speak; what is `fitting` the question as well may be less near.
    """
    pairs = [
        pair
        for source in sources
        for pair in _pairs(source, [line for line in lines if line.space == source.name][:_LINES], request)
    ]
    texts = _Texts(read_texts(sources, {key for pair in pairs for key in (pair.line, pair.later.key)}), speakers)
    fits: dict[Key, float] = {}
    for pair in pairs:
        if texts.tells(pair.later):
            fit = texts.fit(pair) + _FITS * (pair.later.key in fitting)
            fits[pair.later.key] = max(fits.get(pair.later.key, 0.0), fit)
    found = {pair.later.key: pair.later for pair in pairs}
    best = sorted((key for key in fits if fits[key] >= _LEAST), key=lambda key: (-fits[key], key))
    return [found[key]._replace(scores={"later": round(min(fits[key], 1.0), 4)}) for key in best]


def _pairs(source: SpaceSnapshot, lines: Sequence[FoundDrawer], request: RecallRequest) -> Iterator[_Pair]:
    """The lines of one space with what the same people said afterwards."""
    if not lines:
        return
    store, numbers = source.store, [line.facts.number for line in lines]
    changing = {row.drawer for row in store.revisions.at(source.moment).rows}
    with one_trip(source.connection) as trip:
        trip.ask(standing.ended_by, store, source.moment, numbers, request.as_of)
        if store.vectors is not None:
            trip.ask(store.vectors.neighbours, source.drawers_at, numbers, _NEAREST)
    ending = standing.ended_by(store, source.moment, numbers, request.as_of)
    near = {} if store.vectors is None else store.vectors.neighbours(source.drawers_at, numbers, _NEAREST)
    fits = {number: _fits(number, near.get(number, {}), changing, ending.get(number, ())) for number in numbers}
    wanted = sorted({later for each in fits.values() for later in each})
    with one_trip(source.connection) as trip:
        trip.ask(store.columns.rows, source.drawers_at, wanted)
        trip.ask(source.read, wanted)
    if not trip.idle:  # more than is looked at; it is there now
        source.read(wanted)
    facts = {each.number: each for each in store.columns.rows(source.drawers_at, wanted).facts()}
    for line in lines:
        for number, fit in fits[line.facts.number].items():
            if number in facts and _is_later(facts[number], line.facts):
                soon = _SOON * _is_soon(facts[number], line.facts)
                later = FoundDrawer(source.name, source.own, facts[number], (source.name, number), {}, score=line.score)
                yield _Pair(line=line.key, later=later, fit=fit + soon, changes=number in changing)


def _fits(line: int, near: Mapping[int, float], changing: Collection[int], ending: Collection[int]) -> dict[int, float]:
    """The messages that may be on the subject of a line: near ones, those that end it, and changes told soon."""
    soon = range(line + 1, line + 1 + _NEXT)
    return {each: 0.0 for each in soon if each in changing} | {**near} | dict.fromkeys(ending, _ENDS_IT)


def _is_later(other: DrawerFacts, line: DrawerFacts) -> bool:
    """Whether the same person said it afterwards."""
    after = (other.said_at, other.number) > (line.said_at, line.number)
    return after and (other.role, other.speaker) == (line.role, line.speaker)


def _is_soon(other: DrawerFacts, line: DrawerFacts) -> bool:
    """Whether it was said in the same session, a few messages on."""
    return other.room == line.room and other.place - line.place <= _NEXT


@dataclass(frozen=True)
class _Texts:
    """What lines and later messages say."""

    said: Mapping[Key, str]
    speakers: Collection[str]
    named: dict[Key, frozenset[str]] = field(default_factory=dict)

    def tells(self, found: FoundDrawer) -> bool:
        """Whether it says something, rather than asking or keeping the conversation going."""
        text = self.said.get(found.key, "")
        return bool(found.facts.states & TELLS) or not (asks(text) or is_chatter(text, names=self.speakers))

    def fit(self, pair: _Pair) -> float:
        """How well a message fits a line."""
        changes = pair.changes or says_the_end(self.said.get(pair.later.key, "")[:LONGEST])
        same = not self._names(pair.line).isdisjoint(self._names(pair.later.key))
        return pair.fit + _CHANGES * changes + _SAME_NAMES * same

    def _names(self, key: Key) -> frozenset[str]:
        """The words of names in a message, but for those who speak."""
        if key not in self.named:
            found = (word for name in names(self.said.get(key, "")[:_LOOKED_AT]) for word in name.folded.split())
            self.named[key] = frozenset(found) - set(self.speakers)
        return self.named[key]
