"""How much a sentence carries that somebody may ask for later: facts, decisions, names and dates, never chatter."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC

from langmem_tiers.language import dates, speech_acts
from langmem_tiers.language.first_person import statements
from langmem_tiers.language.names import Name, addressed, is_person, names
from langmem_tiers.language.reader import read
from langmem_tiers.language.sentences import Sentence, is_latin, sentences
from langmem_tiers.language.turns import may_speak, quote
from langmem_tiers.language.word_lists import finds, named_pattern
from langmem_tiers.language.words import meaningful_words, words
from langmem_tiers.records import Said

ENOUGH = 3.0
"""A sentence that carries less is not worth telling."""

decides = finds("salience", "decision")
"""Whether the sentence says that something was decided."""

_has_result = finds("salience", "result")
_is_chatter = finds("salience", "chatter")
_is_heading = finds("salience", "heading")
_points_back = finds("salience", "points_back")
_TERM_OR_AMOUNT = named_pattern("salience", "term")
_WEEKDAY = named_pattern("salience", "weekday")
_NUMBER = re.compile(r"\d")
_FACT, _CLAIM, _DECISION, _RESULT, _TERM = 4.0, 3.0, 3.0, 3.0, 3.0
_AHEAD, _PAST = 3.0, 2.0  # a day ahead is an appointment; one that is over says little by itself
_PERSON, _NAME = 3.0, 2.0
_SMALL = 1.0  # a number, another name, that people speak of themselves; or, as a loss, that it depends on others
# Meaningful words, one less where people speak of themselves; shorter sentences are fragments, unless they are facts.
_LEAST_WORDS = 3
_LEAST_OTHER_WORDS = 6  # of a sentence in another script, where a word may be a single character
_MOST_OF_A_REQUEST = 5  # sentences; the rest of a longer message that orders work is material for it


@dataclass(frozen=True)
class Salience:
    """What rules find in a conversation, to weigh its sentences by."""

    facts: dict[tuple[int, str], float]
    nobody: frozenset[str]
    """The names that say nothing, since they are those of the people who talk."""
    known: frozenset[str]
    """The names that are written with a capital within a sentence as well."""
    material: frozenset[int]
    """The drawers with material for a piece of work."""

    @classmethod
    def of(cls, said: Sequence[Said]) -> Salience:
        """What is found in these turns."""
        found = read(said, max(turn.said_at for turn in said)) if said else None
        facts: dict[tuple[int, str], float] = {}
        if found is not None:
            facts |= {(claim.drawer, claim.quote): _CLAIM for claim in found.claims}
            facts |= {(each.drawer, each.quote): _FACT for entry in found.entries for each in entry.evidence}
        talking = (part for turn in said for part in words(turn.speaker or ""))
        return cls(
            facts=facts,
            nobody=frozenset(talking).union(*(addressed(turn.content) for turn in said)),
            known=frozenset(name.folded for turn in said for name in names(turn.content) if not name.opens),
            material=frozenset(turn.drawer for turn in said if _orders_work(turn)),
        )

    def weigh(self, turn: Said, sentence: Sentence) -> float:
        """What a sentence of a turn carries; 0 for questions, orders, headings, chatter and mere guesses."""
        text = sentence.text
        if speech_acts.is_question(text) or _is_heading(text):
            return 0.0
        fact = self.facts.get((turn.drawer, quote(turn, sentence)), 0.0)
        if not fact and self._is_idle(turn, text):
            return 0.0
        if not is_latin(text):
            return ENOUGH
        points = [
            max(fact, _DECISION if decides(text) else 0.0, _RESULT if _has_result(text) else 0.0),
            self._of_names(text) if turn.role == "user" else 0.0,
            _of_dates(text, turn),
            _TERM if _TERM_OR_AMOUNT.search(text) else 0.0,
            _SMALL if _NUMBER.search(text) else 0.0,
            _SMALL if may_speak(turn) and statements(text) else 0.0,
            -_SMALL if speech_acts.speaks_to_somebody(text) else 0.0,
            -_SMALL if _points_back(text) else 0.0,
        ]
        return sum(points)

    def _is_idle(self, turn: Said, text: str) -> bool:
        if turn.drawer in self.material or _is_chatter(text) or speech_acts.is_task(text):
            return True
        least = _LEAST_WORDS if is_latin(text) else _LEAST_OTHER_WORDS
        least -= bool(may_speak(turn) and statements(text))
        return len(meaningful_words(text)) < least or not (speech_acts.is_stated(text) or decides(text))

    def _of_names(self, text: str) -> float:
        named = {name.folded: name for name in names(text) if self._tells(name)}
        if not named:
            return 0.0
        first = _PERSON if any(map(is_person, named.values())) else _NAME
        return first + _SMALL * min(len(named) - 1, 2)

    def _tells(self, name: Name) -> bool:
        """Whether a name is one, not a word that opens its sentence, and of somebody who is not there."""
        spoken = self.nobody.isdisjoint(name.folded.split())
        return spoken and (not name.opens or name.folded in self.known or is_person(name))


def _orders_work(turn: Said) -> bool:
    read = sentences(turn.content)
    return len(read) > _MOST_OF_A_REQUEST and any(speech_acts.is_task(each.text) for each in read)


def _of_dates(text: str, turn: Said) -> float:
    """What a day, a month or a year is worth; the moment of speaking is none."""
    spoken = turn.said_at.astimezone(UTC).date().isoformat()
    found = [each for each in dates.moments(text, turn.said_at, ahead=True) if not spoken.startswith(each)]
    if not found:
        return _PAST if _WEEKDAY.search(text) else 0.0
    return _AHEAD if any(each > spoken for each in found) else _PAST
