"""Entries by rules: what users say about themselves that is worth keeping, each with the words that say so."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from langmem_tiers.language import corrections, dates, discourse, speech_acts
from langmem_tiers.language.clauses import clauses, trimmed
from langmem_tiers.language.discourse import understood
from langmem_tiers.language.numbers import cardinals
from langmem_tiers.language.rewriting import Subject, capitalised, third_person
from langmem_tiers.language.rules import first_fitting
from langmem_tiers.language.sentences import Sentence
from langmem_tiers.language.turns import Reading, quote
from langmem_tiers.language.word_lists import named_pattern, word_set
from langmem_tiers.language.words import STOPWORDS, stem, words
from langmem_tiers.records import Evidence, Proposal, ProposalKind, Said

_LEAST_WORDS = 3
_REMEMBER = named_pattern("entries", "remember")
_TO_AGENT = re.compile(r"(?:you|your|always|never|not|please)\b", re.IGNORECASE)
_UNDER_WAY = re.compile(r"(?:I'm|I am|I've been|I have been|[Ww]e're|[Ww]e are|[Ww]e've been)\b")
_GOES_ON = re.compile(r"[a-z]{2,}ing ")


def of_turn(read: Iterable[Reading]) -> Iterator[Proposal]:
    """What the sentences of a turn state, up to a task: whatever follows that is material for it.

    Each content is a sentence about the user (by name if several named speakers talk), or their own words quoted;
    relative dates are resolved and appended.
    """
    for reading in read:
        remembered = _REMEMBER.match(reading.text)
        if not remembered and speech_acts.is_task(reading.text):
            return
        if not (reading.withdrawn or speech_acts.is_taken_back(reading.text)):
            yield from _of_sentence(reading, remembered["what"] if remembered else "")


def merged(said: Iterable[Proposal]) -> list[Proposal]:
    """Proposals without repetitions: a repetition adds evidence to the first.

    Among near-repetitions, the one that says most is kept, in the place of the first.
    """
    found: dict[str, Proposal] = {}
    for new in said:
        key = new.content.casefold()
        if known := found.get(key):
            against = known.contradicts or new.contradicts
            found[key] = replace(known, evidence=(*known.evidence, *new.evidence), contradicts=against)
        else:
            found[key] = new
    return _without_near_repeats(found.values())


def _of_sentence(reading: Reading, remembered: str) -> Iterator[Proposal]:
    """What a sentence states: a correction, something to remember, or what the rules find in it."""
    asks = speech_acts.is_question(reading.text)
    doubtful = asks or speech_acts.is_joking(reading.text)
    if corrected := None if doubtful else corrections.read_correction(reading.text, reading.earlier()):
        yield _of_correction(reading, corrected)
    elif remembered and reading.listener == "agent" and not asks:
        yield from _of_request(reading, remembered)
    elif speech_acts.is_stated(reading.text):
        right = corrections.correcting_statement(reading.text, reading.before.text if reading.before else None)
        for proposal in _of_text(reading, reading.text if right is None else right, against=right is not None):
            yield proposal if right is None else replace(proposal, contradicts=True)


def _of_text(reading: Reading, text: str, *, against: bool = False) -> Iterator[Proposal]:
    """What the clauses of a text say; one that says nothing may continue in the next, or need the time before it."""
    opening, missed = "", False
    for clause, before in clauses(text):
        shown = f"{opening} {clause}" if opening and _GOES_ON.match(clause) else clause
        proposal = _of_denial(reading, shown, against=against) or _of_clause(reading, shown, before, again=missed)
        if proposal:
            yield proposal
        missed = proposal is None
        # "I'm working on some things | building a canoe"
        begins = _UNDER_WAY.match(shown) if missed else None
        opening = begins[0] if begins else ""


def _of_clause(reading: Reading, clause: str, before: str, *, again: bool) -> Proposal | None:
    """What a clause says; with `again`, one that says nothing is retried with the time named before it."""
    of = understood(reading, clause, before)
    time = discourse.time_before(clause, before) if again and of is None else None
    if time:
        of = understood(reading, f"{clause} {time[:1].lower()}{time[1:]}", before)
    if of is None:
        return None
    rule, subject = of.found.rule, reading.subject
    if rule.form:
        forms = {"They": subject.opening, "Their": capitalised(subject.their)}
        content = third_person(rule.form.format(**forms, **of.found.match.groupdict("")), subject)
        if content is None:
            return None
    else:
        content = (None if rule.quoted else third_person(of.clause, subject)) or _quoted(of.clause, subject)
    return _proposal(
        reading,
        kind=rule.kind,
        category=of.found.category(subject),
        content=content,
        clause=of.dated,
        ahead=rule.ahead,
        happened=rule.happened,
        lender=(reading.said, reading.before) if of.borrowed and reading.before else None,
    )


def _of_denial(reading: Reading, clause: str, *, against: bool) -> Proposal | None:
    """That something worth keeping is no longer true; None if that cannot be said about the speaker."""
    denial = None if speech_acts.is_unsure(clause) else corrections.read_denial(clause, against=against)
    if denial is None:
        return None
    found = first_fitting(denial.held, reading.listener) or first_fitting(clause, reading.listener)
    held, now = _turned(denial.held, reading.subject), _turned(denial.now, reading.subject)
    if found is None or held is None or now is None:
        return None
    category = found.category(reading.subject)
    return replace(
        _proposal(reading, kind="correction", category=category, content=now, clause=denial.now), corrects=held
    )


def _of_request(reading: Reading, what: str) -> Iterator[Proposal]:
    """What the user asks to be remembered: by a rule if one fits, otherwise in the user's words.

    An instruction to the agent is stored as how the user wants to be treated.
    """
    if speech_acts.is_unreal(what):
        return
    clause = trimmed(what)
    to_agent = speech_acts.speaks_to_somebody(clause)
    if to_agent and not _TO_AGENT.match(clause):
        return
    part = replace(reading.sentence, text=what, start=reading.sentence.stop - len(what))
    if found := [*_of_text(replace(reading, sentence=part), what)]:
        yield from found
        return
    if len(what.split()) < _LEAST_WORDS:
        return
    yield _proposal(
        reading,
        kind="preference" if to_agent else "fact",
        category="user-preferences/assistant" if to_agent else "general",
        content=(None if to_agent else third_person(clause, reading.subject)) or _quoted(clause, reading.subject),
        clause=clause,
        ahead=True,
    )


def _of_correction(reading: Reading, of: corrections.Correction) -> Proposal:
    """The right version, said about the speaker if possible, otherwise in the speaker's words."""
    clause, subject = trimmed(of.again or of.right), reading.subject
    turned = _turned(clause, subject) if of.stands else None
    said = reading.text.rstrip(".!").rstrip()
    told = f'corrected "{of.of.sentence.text}"' if of.of and not of.of.mine else "said"
    lender = of.lender if turned else None
    written = _proposal(
        reading,
        kind="correction",
        category="general",
        content=turned or f'{subject.opening} {told}: "{said}."',
        clause=clause,
        ahead=True,
        lender=(lender.said, lender.sentence) if lender else None,
    )
    return replace(written, corrects=of.wrong, contradicts=turned is not None)


def _quoted(clause: str, subject: Subject) -> str:
    """The clause as the speaker's own words."""
    return f'{subject.opening} said: "{capitalised(clause)}."'


def _turned(clause: str, subject: Subject) -> str | None:
    """A clause said about the speaker, None if it does not make sense alone."""
    usable = not speech_acts.speaks_to_somebody(clause) and speech_acts.standing_alone(clause) == clause
    return third_person(clause, subject) if usable else None


def _proposal(
    reading: Reading,
    *,
    kind: ProposalKind,
    category: str,
    content: str,
    clause: str,
    ahead: bool = False,
    happened: bool = False,
    lender: tuple[Said, Sentence] | None = None,
) -> Proposal:
    """What a clause says, with its dates; `lender` is another sentence that it rests on."""
    said_at = reading.said.said_at
    whole = dates.dated(content, clause, said_at, ahead=ahead, happened=happened)
    said = [(reading.said, reading.sentence), *([lender] if lender else [])]
    return Proposal(
        kind=kind,
        category=category,
        content=whole if whole.endswith('."') else f"{whole}.",
        evidence=tuple(Evidence(drawer=turn.drawer, quote=quote(turn, sentence)) for turn, sentence in said),
        expires_at=dates.due(clause, said_at) if kind == "action" else None,
    )


_LEAST_SHARED = 3  # words of a proposal that another may contain entirely
_SHARE = 0.75
_DATES = re.compile(r" \((?:about )?[\d, -]+\)")
_NEGATION = re.compile(r"\b(?:not|never|no longer|used to|quit|stopped|rarely|hates?|dislikes?|avoids?)\b|n't\b")
_NAMED = re.compile(rf"(?<!^)\b[A-Z][\w'-]*|\d[\d.,:]*|\b(?:{cardinals(1, 10)}|first|second|third)\b")
_LIGHT = word_set("user said want plan hope aim look work think go get start begin try really new")


def _without_near_repeats(found: Iterable[Proposal]) -> list[Proposal]:
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
    of_one = one.content.partition(" ")[0] == other.content.partition(" ")[0]
    return bool(fewer) and same and of_one and not _differ(one.content, other.content)


def _differ(one: str, other: str) -> bool:
    """Whether one denies what the other says, or they name different days, people or figures."""
    dates = [frozenset(_DATES.findall(content)) for content in (one, other)]
    if dates[0] and dates[1] and dates[0] != dates[1]:
        return True
    if bool(_NEGATION.search(one)) != bool(_NEGATION.search(other)):
        return True
    named = [frozenset(_NAMED.findall(_DATES.sub("", content))) for content in (one, other)]
    return bool(named[0] - named[1]) and bool(named[1] - named[0])
