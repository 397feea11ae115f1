"""Proposals by rules: what users say of themselves that is worth keeping, each with the words that say so."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import takewhile

from langmem_tiers.writing.extractive import borrowing, corrections, denials, rules, sifting, written
from langmem_tiers.writing.extractive.clauses import clauses, trimmed
from langmem_tiers.writing.extractive.prose import Sentence
from langmem_tiers.writing.extractive.repeats import without_near_repeats
from langmem_tiers.writing.extractive.turn import Reading, may_speak, named, readings
from langmem_tiers.writing.extractive.understood import understood
from langmem_tiers.writing.proposals import Proposal, Said

_LEAST_WORDS = 3
_REMEMBER = re.compile(
    r"^(?:(?:please|pls|also|and|ok(?:ay)?|hey|can you|could you"
    r"|i want you to|i'd like you to)[,]? )*(?:remember|note|keep in mind"
    r"|bear in mind|make a note|don't forget|do not forget|save|store"
    r"|memori[sz]e)(?: this| for (?:later|me|next time|the future))?(?: that"
    r"|:| -) (?P<what>.+)$",
    re.IGNORECASE | re.DOTALL,
)
_TO_AGENT = re.compile(r"(?:you|your|always|never|not|please)\b", re.IGNORECASE)
_UNDER_WAY = re.compile(r"(?:I'm|I am|I've been|I have been|[Ww]e're|[Ww]e are|[Ww]e've been)\b")
_GOES_ON = re.compile(r"[a-z]{2,}ing ")


def proposals(said: Sequence[Said], now: datetime) -> list[Proposal]:
    """What the users' own turns state that is worth keeping, in order, without repetitions.

    Nothing is taken from assistants, tools and systems, from questions, suppositions, jokes, tasks, quotations, code
    and logs, nor from a turn said after `now`; of a long turn the first part is read. Each content is a sentence about
    the user (by name in a talk of several named speakers), or their own words quoted; relative dates stand behind it,
    resolved. Of those that say nearly the same, the one that says most is kept, in the place of the first.
    """
    several = len({name for turn in said if (name := named(turn))}) > 1
    found: dict[str, Proposal] = {}
    for place, turn in enumerate(said):
        if turn.said_at <= now and may_speak(turn):
            for proposal in _of_turn(said, place, several=several):
                _add(found, proposal)
    return without_near_repeats([*found.values()])


def _add(found: dict[str, Proposal], new: Proposal) -> None:
    """The same said again is more evidence for what is there."""
    key = new.content.casefold()
    known = found.get(key)
    if known is None:
        found[key] = new
    else:
        against = known.contradicts or new.contradicts
        found[key] = replace(known, evidence=(*known.evidence, *new.evidence), contradicts=against)


def _of_turn(said: Sequence[Said], place: int, *, several: bool) -> Iterator[Proposal]:
    """What a turn states up to a task: what follows one is material for it."""
    for reading, sentence in takewhile(_is_no_task, readings(said, place, several=several)):
        if not sifting.is_taken_back(sentence.text):
            yield from _of_one(reading, sentence)


def _is_no_task(read: tuple[Reading, Sentence]) -> bool:
    sentence = read[1].text
    return _REMEMBER.match(sentence) is not None or not sifting.is_task(sentence)


def _of_one(reading: Reading, sentence: Sentence) -> Iterator[Proposal]:
    """What a sentence states: a correction, something to be remembered, or what the rules find in it."""
    remembered = _REMEMBER.match(sentence.text)
    if corrected := _correction(reading, sentence):
        yield written.corrected(reading, sentence, corrected)
    elif remembered and reading.listener == "agent" and not sifting.is_question(sentence.text):
        yield from _remembered(reading, sentence, remembered["what"])
    elif sifting.is_stated(sentence.text):
        yield from _stated(reading, sentence)


def _correction(reading: Reading, sentence: Sentence) -> corrections.Correction | None:
    if sifting.is_question(sentence.text) or sifting.is_joking(sentence.text):
        return None
    return corrections.read(sentence.text, reading.earlier())


def _stated(reading: Reading, sentence: Sentence) -> Iterator[Proposal]:
    """What a sentence states, said against something or not."""
    right = corrections.set_right(sentence.text, reading.before.text if reading.before else None)
    if right is None:
        yield from _of_sentence(reading, sentence, sentence.text)
        return
    for proposal in _of_sentence(reading, sentence, right, against=True):
        yield replace(proposal, contradicts=True)


def _of_sentence(reading: Reading, sentence: Sentence, text: str, *, against: bool = False) -> Iterator[Proposal]:
    """What the clauses of a text tell; `sentence` is the one where it stands."""
    opening, missed = "", False
    for clause, before in clauses(text):
        shown = f"{opening} {clause}" if opening and _GOES_ON.match(clause) else clause
        proposal = _denied(reading, sentence, shown, against=against) or _told(
            reading, sentence, shown, before, again=missed
        )
        if proposal:
            yield proposal
        missed = proposal is None
        opening = _under_way(shown) if missed else ""


def _under_way(clause: str) -> str:
    """How a clause begins that may go on in the next one: "I'm working on some things | building a canoe"."""
    begins = _UNDER_WAY.match(clause)
    return begins[0] if begins else ""


def _told(reading: Reading, sentence: Sentence, clause: str, before: str, *, again: bool) -> Proposal | None:
    """What a clause tells; `again` with the time of the one before, that told nothing."""
    told = understood(reading, clause, before)
    time = borrowing.time_before(clause, before) if again and told is None else None
    if time:
        told = understood(reading, f"{clause} {time[:1].lower()}{time[1:]}", before)
    return written.told(reading, sentence, told) if told else None


def _denied(reading: Reading, sentence: Sentence, clause: str, *, against: bool) -> Proposal | None:
    """That something holds no longer which is worth keeping while it holds."""
    denial = None if sifting.is_unsure(clause) else denials.read(clause, against=against)
    if denial is None:
        return None
    found = rules.first_fitting(denial.held, reading.listener) or rules.first_fitting(clause, reading.listener)
    return written.denied(reading, sentence, denial, found) if found else None


def _remembered(reading: Reading, sentence: Sentence, what: str) -> Iterator[Proposal]:
    """What the user asks to be kept: by the rules where one fits, else in the user's words."""
    if sifting.is_unreal(what) or len(what.split()) < _LEAST_WORDS:
        return
    clause = trimmed(what)
    if sifting.speaks_to_somebody(clause) and not _TO_AGENT.match(clause):
        return
    start = sentence.stop - len(what)
    part = replace(sentence, text=what, start=start)
    yield from [*_of_sentence(reading, part, what)] or [written.verbatim(reading, sentence, clause)]
