"""Entries by rules: what users say about themselves that is worth keeping, each with the words that say so."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

from langmem_tiers.language import corrections, dates, discourse, speech_acts
from langmem_tiers.language.clauses import clauses, trimmed
from langmem_tiers.language.discourse import Understood, understood
from langmem_tiers.language.numbers import cardinals
from langmem_tiers.language.rewriting import Subject, capitalised, third_person
from langmem_tiers.language.rules import Found, first_fitting
from langmem_tiers.language.sentences import Sentence
from langmem_tiers.language.turns import Reading, quote
from langmem_tiers.language.word_lists import word_set
from langmem_tiers.language.words import STOPWORDS, stem, words
from langmem_tiers.records import Evidence, Proposal, ProposalKind, Said

_LEAST_WORDS = 3
_REMEMBER = re.compile(
    "^(?:(?:please|pls|also|and|ok(?:ay)?|hey|can you|could you|i want you to|i'd like you to)[,]? )*(?:remember"
    "|note|keep in mind|bear in mind|make a note|don't forget|do not forget|save|store|memori[sz]e)(?: this"
    "| for (?:later|me|next time|the future))?(?: that|:| -) (?P<what>.+)$",
    re.IGNORECASE | re.DOTALL,
)
_TO_AGENT = re.compile(r"(?:you|your|always|never|not|please)\b", re.IGNORECASE)
_UNDER_WAY = re.compile(r"(?:I'm|I am|I've been|I have been|[Ww]e're|[Ww]e are|[Ww]e've been)\b")
_GOES_ON = re.compile(r"[a-z]{2,}ing ")


def of_turn(read: Iterable[tuple[Reading, Sentence]]) -> Iterator[Proposal]:
    """What the sentences of a turn state, up to a task: whatever follows that is material for it.

    Each content is a sentence about the user (by name if several named speakers talk), or their own words quoted;
    relative dates are resolved and appended.
    """
    for reading, sentence in takewhile(_is_no_task, read):
        if not speech_acts.is_taken_back(sentence.text):
            yield from _of_one(reading, sentence)


def merged(said: Iterable[Proposal]) -> list[Proposal]:
    """Proposals without repetitions: a repetition adds evidence to the first.

    Among near-repetitions, the one that says most is kept, in the place of the first.
    """
    found: dict[str, Proposal] = {}
    for new in said:
        key = new.content.casefold()
        known = found.get(key)
        if known:
            against = known.contradicts or new.contradicts
            new = replace(known, evidence=(*known.evidence, *new.evidence), contradicts=against)  # noqa: PLW2901
        found[key] = new
    return _without_near_repeats([*found.values()])


def _is_no_task(read: tuple[Reading, Sentence]) -> bool:
    sentence = read[1].text
    return _REMEMBER.match(sentence) is not None or not speech_acts.is_task(sentence)


def _of_one(reading: Reading, sentence: Sentence) -> Iterator[Proposal]:
    """What a sentence states: a correction, something to remember, or what the rules find in it."""
    remembered = _REMEMBER.match(sentence.text)
    if corrected := _correction(reading, sentence):
        yield of_correction(reading, sentence, corrected)
    elif remembered and reading.listener == "agent" and not speech_acts.is_question(sentence.text):
        yield from _remembered(reading, sentence, remembered["what"])
    elif speech_acts.is_stated(sentence.text):
        yield from _stated(reading, sentence)


def _correction(reading: Reading, sentence: Sentence) -> corrections.Correction | None:
    if speech_acts.is_question(sentence.text) or speech_acts.is_joking(sentence.text):
        return None
    return corrections.read_correction(sentence.text, reading.earlier())


def _stated(reading: Reading, sentence: Sentence) -> Iterator[Proposal]:
    """What a sentence states, in contradiction to something or not."""
    right = corrections.correcting_statement(sentence.text, reading.before.text if reading.before else None)
    if right is None:
        yield from _of_sentence(reading, sentence, sentence.text)
        return
    for proposal in _of_sentence(reading, sentence, right, against=True):
        yield replace(proposal, contradicts=True)


def _of_sentence(reading: Reading, sentence: Sentence, text: str, *, against: bool = False) -> Iterator[Proposal]:
    """What the clauses of a text say; `sentence` is the one it belongs to."""
    opening, missed = "", False
    for clause, before in clauses(text):
        shown = f"{opening} {clause}" if opening and _GOES_ON.match(clause) else clause
        proposal = _read_denial(reading, sentence, shown, against=against) or _read_clause(
            reading, sentence, shown, before, again=missed
        )
        if proposal:
            yield proposal
        missed = proposal is None
        opening = _under_way(shown) if missed else ""


def _under_way(clause: str) -> str:
    """A clause whose opening may continue in the next one: "I'm working on some things | building a canoe"."""
    begins = _UNDER_WAY.match(clause)
    return begins[0] if begins else ""


def _read_clause(reading: Reading, sentence: Sentence, clause: str, before: str, *, again: bool) -> Proposal | None:
    """What a clause says; with `again`, one that says nothing is retried with the time named before it."""
    told = understood(reading, clause, before)
    time = discourse.time_before(clause, before) if again and told is None else None
    if time:
        told = understood(reading, f"{clause} {time[:1].lower()}{time[1:]}", before)
    return of_clause(reading, sentence, told) if told else None


def _read_denial(reading: Reading, sentence: Sentence, clause: str, *, against: bool) -> Proposal | None:
    """That something worth keeping is no longer true."""
    denial = None if speech_acts.is_unsure(clause) else corrections.read_denial(clause, against=against)
    if denial is None:
        return None
    found = first_fitting(denial.held, reading.listener) or first_fitting(clause, reading.listener)
    return of_denial(reading, sentence, denial, found) if found else None


def _remembered(reading: Reading, sentence: Sentence, what: str) -> Iterator[Proposal]:
    """What the user asks to be remembered: by a rule if one fits, otherwise in the user's words."""
    if speech_acts.is_unreal(what) or len(what.split()) < _LEAST_WORDS:
        return
    clause = trimmed(what)
    if speech_acts.speaks_to_somebody(clause) and not _TO_AGENT.match(clause):
        return
    start = sentence.stop - len(what)
    part = replace(sentence, text=what, start=start)
    yield from [*_of_sentence(reading, part, what)] or [of_request(reading, sentence, clause)]


def of_clause(reading: Reading, sentence: Sentence, of: Understood) -> Proposal:
    """A proposal from what a clause says."""
    rule = of.found.rule
    written = _proposal(
        reading,
        sentence,
        kind=rule.kind,
        category=of.found.category(reading.subject),
        content=_content(reading.subject, of),
        clause=of.dated,
        ahead=rule.ahead,
        happened=rule.happened,
    )
    return _resting_on(written, reading.said, reading.before) if of.borrowed and reading.before else written


def of_request(reading: Reading, sentence: Sentence, clause: str) -> Proposal:
    """A fact in the words of the user; an instruction to the agent is stored as how the user wants to be treated."""
    to_agent = speech_acts.speaks_to_somebody(clause)
    return _proposal(
        reading,
        sentence,
        kind="preference" if to_agent else "fact",
        category="user-preferences/assistant" if to_agent else "general",
        content=(None if to_agent else third_person(clause, reading.subject)) or quoted(clause, reading.subject),
        clause=clause,
        ahead=True,
    )


def of_correction(reading: Reading, sentence: Sentence, of: corrections.Correction) -> Proposal:
    """The right version, said about the speaker if possible, otherwise in the speaker's words."""
    clause = trimmed(of.again or of.right)
    turned = _turned(clause, reading.subject) if of.stands else None
    written = _proposal(
        reading,
        sentence,
        kind="correction",
        category="general",
        content=turned or _quoted_correction(sentence.text, of, reading.subject),
        clause=clause,
        ahead=True,
    )
    if turned and of.lender:
        written = _resting_on(written, of.lender.said, of.lender.sentence)
    return replace(written, corrects=of.wrong, contradicts=turned is not None)


def _quoted_correction(sentence: str, of: corrections.Correction, subject: Subject) -> str:
    """The correction in the user's words, with the statement it is about."""
    said = sentence.rstrip(".!").rstrip()
    if of.of and not of.of.mine:
        return f'{subject.opening} corrected "{of.of.sentence.text}": "{said}."'
    return f'{subject.opening} said: "{said}."'


def of_denial(reading: Reading, sentence: Sentence, of: corrections.Denial, found: Found) -> Proposal | None:
    """That something is no longer true; None if that cannot be said about the speaker."""
    held, now = _turned(of.held, reading.subject), _turned(of.now, reading.subject)
    if held is None or now is None:
        return None
    written = _proposal(
        reading,
        sentence,
        kind="correction",
        category=found.category(reading.subject),
        content=now,
        clause=of.now,
        ahead=False,
    )
    return replace(written, corrects=held)


def quoted(clause: str, subject: Subject) -> str:
    """The clause as the speaker's own words."""
    return f'{subject.opening} said: "{capitalised(clause)}."'


def _content(subject: Subject, of: Understood) -> str:
    rule = of.found.rule
    if rule.form:
        forms = {"They": subject.opening, "Their": capitalised(subject.their)}
        return rule.form.format(**forms, **of.found.match.groupdict())
    return (None if rule.quoted else third_person(of.clause, subject)) or quoted(of.clause, subject)


def _turned(clause: str, subject: Subject) -> str | None:
    """A clause said about the speaker, None if it does not make sense alone."""
    usable = not speech_acts.speaks_to_somebody(clause) and speech_acts.standing_alone(clause) == clause
    return third_person(clause, subject) if usable else None


def _proposal(
    reading: Reading,
    sentence: Sentence,
    *,
    kind: ProposalKind,
    category: str,
    content: str,
    clause: str,
    ahead: bool,
    happened: bool = False,
) -> Proposal:
    said_at = reading.said.said_at
    return Proposal(
        kind=kind,
        category=category,
        content=_ended(dates.dated(content, clause, said_at, ahead=ahead, happened=happened)),
        evidence=(Evidence(drawer=reading.said.drawer, quote=quote(reading.said, sentence)),),
        expires_at=dates.due(clause, said_at) if kind == "action" else None,
    )


def _ended(content: str) -> str:
    """The content with a full stop, unless a quotation ends it with one."""
    return content if content.endswith('."') else f"{content}."


def _resting_on(written: Proposal, said: Said, sentence: Sentence) -> Proposal:
    """The proposal with another sentence as evidence."""
    lender = Evidence(drawer=said.drawer, quote=quote(said, sentence))
    return replace(written, evidence=(*written.evidence, lender))


_LEAST_SHARED = 3  # words of a proposal that another may contain entirely
_SHARE = 0.75
_DATES = re.compile(r" \((?:about )?[\d, -]+\)")
_NEGATION = re.compile(r"\b(?:not|never|no longer|used to|quit|stopped|rarely|hates?|dislikes?|avoids?)\b|n't\b")
_NAMED = re.compile(rf"(?<!^)\b[A-Z][\w'-]*|\d[\d.,:]*|\b(?:{cardinals(1, 10)}|first|second|third)\b")
_LIGHT = word_set("user said want plan hope aim look work think go get start begin try really new")


def _without_near_repeats(found: Sequence[Proposal]) -> list[Proposal]:
    """The proposals without those that another says in more words; the one kept gets the evidence of all."""
    kept: list[Proposal] = []
    known: list[frozenset[str]] = []
    for proposal in found:
        told = _told_words(proposal)
        place = next((at for at, other in enumerate(kept) if _repeats(proposal, told, other, known[at])), None)
        if place is None:
            kept.append(proposal)
            known.append(told)
        else:
            evidence = (*kept[place].evidence, *proposal.evidence)
            if _worth(proposal, told) > _worth(kept[place], known[place]):
                kept[place], known[place] = proposal, told
            kept[place] = replace(kept[place], evidence=evidence)
    return kept


def _worth(proposal: Proposal, told: frozenset[str]) -> tuple[bool, int]:
    return _DATES.search(proposal.content) is not None, len(told)


def _told_words(proposal: Proposal) -> frozenset[str]:
    """The stems of the words that carry meaning."""
    shown = words(_DATES.sub("", proposal.content))
    return frozenset(stem(word) for word in shown if word not in STOPWORDS) - _LIGHT


def _repeats(one: Proposal, told: frozenset[str], other: Proposal, known: frozenset[str]) -> bool:
    if {one.kind, other.kind} & {"correction", "action"} or one.contradicts or other.contradicts:
        return False
    fewer, more = sorted((told, known), key=len)
    same = (fewer <= more and len(fewer) >= _LEAST_SHARED) or len(told & known) >= _SHARE * len(told | known)
    return bool(fewer) and same and _opening(one) == _opening(other) and not _differ(one.content, other.content)


def _opening(proposal: Proposal) -> str:
    return proposal.content.partition(" ")[0]


def _differ(one: str, other: str) -> bool:
    """Whether one denies what the other says, or they name different days, people or figures."""
    dates = [frozenset(_DATES.findall(content)) for content in (one, other)]
    if dates[0] and dates[1] and dates[0] != dates[1]:
        return True
    if bool(_NEGATION.search(one)) != bool(_NEGATION.search(other)):
        return True
    named = [frozenset(_NAMED.findall(_DATES.sub("", content))) for content in (one, other)]
    return bool(named[0] - named[1]) and bool(named[1] - named[0])
