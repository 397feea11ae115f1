"""Proposals by rules: what users say of themselves that is worth keeping, each with the words that say so."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from langmem_tiers.palace.words import word_set
from langmem_tiers.writing.extractive import borrowing, corrections, dating, fillers, rules, sifting
from langmem_tiers.writing.extractive.clauses import clauses, trimmed
from langmem_tiers.writing.extractive.prose import Sentence, is_latin, sentences
from langmem_tiers.writing.extractive.repeats import without_near_repeats
from langmem_tiers.writing.extractive.rewriting import Subject, capitalised, spelled_out, third_person
from langmem_tiers.writing.extractive.rule import Found, Listener
from langmem_tiers.writing.proposals import Evidence, Proposal, ProposalKind, Said

_LONGEST_TURN = 4000  # characters; longer turns are pasted texts, whose first person is seldom the user
_LONGEST_QUOTE = 300
_LEAST_WORDS = 3
_MOST_OF_A_REQUEST = 5  # sentences; what a longer one orders holds for its task alone
_REMEMBER = re.compile(
    r"^(?:(?:please|pls|also|and|ok(?:ay)?|hey|can you|could you"
    r"|i want you to|i'd like you to)[,]? )*(?:remember|note|keep in mind"
    r"|bear in mind|make a note|don't forget|do not forget|save|store"
    r"|memori[sz]e)(?: this| for (?:later|me|next time|the future))?(?: that"
    r"|:| -) (?P<what>.+)$",
    re.IGNORECASE | re.DOTALL,
)
_TO_AGENT = re.compile(r"(?:you|your|always|never|not|please)\b", re.IGNORECASE)
_NOBODY = word_set("user assistant human ai system tool bot agent speaker unknown me")
_ELIDED = re.compile(
    r"^(?:[Jj]ust |[Rr]ecently |[Ff]inally )*(?:got|lost|started"
    r"|signed|bought|adopted|joined|moved|finished|went|won|quit"
    r"|graduated|took|visited|met|made|booked)\b"
    r"(?=.*\b(?:my|our|yesterday|last|ago|today|this)\b)",
    re.IGNORECASE,
)
_UNDER_WAY = re.compile(r"(?:I'm|I am|I've been|I have been|[Ww]e're|[Ww]e are|[Ww]e've been)\b")
_GOES_ON = re.compile(r"[a-z]{2,}ing ")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Reading:
    """One turn being read: whose it is, who listens, whether it is a long brief for a task, and what came before.

    `asked` says that it answers a question about a time that is over, `before` is the sentence before the one read.
    """

    said: Said
    subject: Subject
    listener: Listener
    briefs: bool = False
    asked: bool = False
    before: Sentence | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Told:
    """A rule that fits a clause, the clause as it is told, and what it took from the words before."""

    found: Found
    clause: str
    time: str | None = None
    borrowed: bool = False


def proposals(said: Sequence[Said], now: datetime) -> list[Proposal]:
    """What the users' own turns state that is worth keeping, in order, without repetitions.

    Nothing is taken from assistants, tools and systems, from questions, suppositions, jokes, tasks, quotations, code
    and logs, nor from a turn said after `now`. Each content is a sentence about the user (by name in a talk of several
    named speakers), or their own words quoted; relative dates stand behind it, resolved. Of those that say nearly the
    same, the one that says most is kept, in the place of the first.
    """
    several = len({name for turn in said if (name := _named(turn))}) > 1
    found: dict[str, Proposal] = {}
    for place, turn in enumerate(said):
        if turn.said_at <= now and _may_speak(turn):
            subject = Subject(name=_named(turn) if several else None)
            reading = _Reading(said=turn, subject=subject, listener="people" if several else "agent")
            _add(found, [*_of_turn(reading, said[place - 1] if place else None)])
    return without_near_repeats([*found.values()])


def _named(turn: Said) -> str | None:
    name = " ".join((turn.speaker or "").split())
    return None if not name or name.casefold() in _NOBODY else name


def _may_speak(turn: Said) -> bool:
    return turn.role == "user" and turn.origin in {"user", "import"} and len(turn.content) <= _LONGEST_TURN


def _add(found: dict[str, Proposal], new: Sequence[Proposal]) -> None:
    """The same said again is more evidence for what is there."""
    for proposal in new:
        key = proposal.content.casefold()
        known = found.get(key)
        found[key] = replace(known, evidence=(*known.evidence, *proposal.evidence)) if known else proposal


def _of_turn(reading: _Reading, before: Said | None) -> Iterator[Proposal]:
    content = reading.said.content
    if not is_latin(content) or sifting.jokes_throughout(content):
        return
    read = sentences(content)
    if len(read) > _MOST_OF_A_REQUEST and reading.listener == "agent":
        reading = replace(reading, briefs=True)
    if before and before.speaker != reading.said.speaker and sifting.asks_of_long_ago(before.content):
        reading = replace(reading, asked=True)
    for place, sentence in enumerate(read):
        reading = replace(reading, before=read[place - 1] if place else None)
        remembered = _REMEMBER.match(sentence.text)
        if not remembered and sifting.is_task(sentence.text):
            return
        if sifting.is_taken_back(sentence.text):
            continue
        corrected = corrections.read(sentence.text, before if place < 2 else None)
        if corrected and not sifting.is_question(sentence.text) and not sifting.is_joking(sentence.text):
            yield _correction(reading, sentence, corrected)
        elif remembered and reading.listener == "agent" and not sifting.is_question(sentence.text):
            yield from _remembered(reading, sentence, remembered["what"])
        elif _is_stated(sentence.text):
            yield from _of_sentence(reading, sentence)


def _is_stated(sentence: str) -> bool:
    return not (sifting.is_question(sentence) or sifting.is_unreal(sentence) or sifting.is_joking(sentence))


def _of_sentence(reading: _Reading, sentence: Sentence) -> Iterator[Proposal]:
    opening, missed = None, False
    for clause, before in clauses(sentence.text):
        shown = f"{opening[0]} {clause}" if opening and _GOES_ON.match(clause) else clause
        told = _of_clause(reading, shown, before)
        if told is None and missed and (time := borrowing.time_before(shown, before)):
            told = _of_clause(reading, f"{shown} {time[:1].lower()}{time[1:]}", before)
        if told:
            yield _written(reading, sentence, told)
        missed = told is None
        opening = _UNDER_WAY.match(shown) if missed else None


def _of_clause(reading: _Reading, clause: str, before: str) -> _Told | None:
    whole = _with_subject(spelled_out(clause))
    if sifting.is_unsure(whole) or sum(map(str.isalpha, whole)) < 6:
        return None
    found = rules.first_fitting(whole, reading.listener)
    if found is None:
        return None
    if found.rule.quoted or found.rule.form:
        return None if reading.briefs and found.rule.quoted else _Told(found=found, clause=whole)
    alone = None if sifting.speaks_to_somebody(whole) else sifting.standing_alone(whole)
    found = rules.first_fitting(alone, reading.listener) if alone and not sifting.is_broken_off(alone) else None
    if found is None or (reading.briefs and found.rule.quoted):
        return None
    return _in_context(reading, found, before)


def _in_context(reading: _Reading, found: Found, before: str) -> _Told | None:
    """The clause without what ties it to others, with what it takes from them; None where that leaves it open."""
    clause = found.match.string
    if fillers.rests_on_others(clause) or sifting.leaves_out_who(clause):
        return None
    last = reading.before.text if reading.before and _is_stated(reading.before.text) else ""
    dateless = found.rule.happened and not dating.is_yearly(clause)
    time = (borrowing.time_before(clause, before) or borrowing.time_before(clause, last)) if dateless else None
    if reading.asked and fillers.claims_news(clause) and not (time or dating.SPOKEN.search(clause)):
        return None
    shown = fillers.without_fillers(clause)
    told = shown if found.rule.category.startswith("project-context") else borrowing.with_topic(shown, last)
    borrowed = told != shown or (time is not None and time not in before)
    return _Told(found=found, clause=told, time=time, borrowed=borrowed) if told else None


def _with_subject(clause: str) -> str:
    """The clause with the I that is left out in "Just got back from Oslo yesterday"."""
    return f"I {clause[0].lower()}{clause[1:]}" if _ELIDED.match(clause) else clause


def _written(reading: _Reading, sentence: Sentence, told: _Told) -> Proposal:
    rule = told.found.rule
    written = _proposal(
        reading,
        sentence,
        kind=rule.kind,
        category=told.found.category(reading.subject),
        content=_content(reading.subject, told),
        clause=f"{told.clause} {told.time}" if told.time else told.clause,
        ahead=rule.ahead,
        happened=rule.happened,
    )
    if not told.borrowed or reading.before is None:
        return written
    lender = Evidence(drawer=reading.said.drawer, quote=_quote(reading.said.content, reading.before))
    return replace(written, evidence=(*written.evidence, lender))


def _content(subject: Subject, told: _Told) -> str:
    rule = told.found.rule
    if rule.form:
        forms = {"They": subject.opening, "Their": capitalised(subject.their)}
        return rule.form.format(**forms, **told.found.match.groupdict())
    return (None if rule.quoted else third_person(told.clause, subject)) or quoted(told.clause, subject)


def quoted(clause: str, subject: Subject) -> str:
    """The clause as the speaker's own words."""
    return f'{subject.opening} said: "{capitalised(clause)}."'


def _proposal(
    reading: _Reading,
    sentence: Sentence,
    *,
    kind: ProposalKind,
    category: str,
    content: str,
    clause: str,
    ahead: bool,
    happened: bool = False,
    corrects: str | None = None,
) -> Proposal:
    said_at = reading.said.said_at
    return Proposal(
        kind=kind,
        category=category,
        content=_ended(dating.dated(content, clause, said_at, ahead=ahead, happened=happened)),
        evidence=(Evidence(drawer=reading.said.drawer, quote=_quote(reading.said.content, sentence)),),
        corrects=corrects,
        expires_at=dating.due(clause, said_at) if kind == "action" else None,
    )


def _ended(content: str) -> str:
    """The content with a full stop, where no quotation closes it with one."""
    return content if content.endswith('."') else f"{content}."


def _quote(content: str, sentence: Sentence) -> str:
    """The words of the drawer itself, where the sentence stands."""
    return content[sentence.start : min(sentence.stop, sentence.start + _LONGEST_QUOTE)]


def _remembered(reading: _Reading, sentence: Sentence, what: str) -> Iterator[Proposal]:
    """What the user asks to be kept: by the rules where one fits, else in the user's words."""
    if sifting.is_unreal(what) or len(what.split()) < _LEAST_WORDS:
        return
    clause = trimmed(what)
    if sifting.speaks_to_somebody(clause) and not _TO_AGENT.match(clause):
        return
    told = [
        *_of_sentence(reading, replace(sentence, text=sentence.text[-len(what) :], start=sentence.stop - len(what)))
    ]
    yield from told or [_verbatim(reading, sentence, clause)]


def _verbatim(reading: _Reading, sentence: Sentence, clause: str) -> Proposal:
    """A fact in the words of the user; what it says to the agent is how the user wants to be treated."""
    to_agent = sifting.speaks_to_somebody(clause)
    return _proposal(
        reading,
        sentence,
        kind="preference" if to_agent else "fact",
        category="user-preferences/assistant" if to_agent else "general",
        content=(None if to_agent else third_person(clause, reading.subject)) or quoted(clause, reading.subject),
        clause=clause,
        ahead=True,
    )


def _correction(reading: _Reading, sentence: Sentence, corrected: corrections.Correction) -> Proposal:
    clause = trimmed(corrected.right)
    usable = corrected.alone and not sifting.speaks_to_somebody(clause) and sifting.standing_alone(clause) == clause
    turned = third_person(clause, reading.subject) if usable else None
    return _proposal(
        reading,
        sentence,
        kind="correction",
        category="general",
        content=turned or corrections.told(sentence.text, corrected, reading.subject),
        clause=clause,
        ahead=True,
        corrects=corrected.wrong,
    )
