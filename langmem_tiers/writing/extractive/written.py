"""What was understood, as a proposal: a sentence about the speaker, dated, with the words that say so."""

from __future__ import annotations

from dataclasses import replace

from langmem_tiers.writing.extractive import corrections, dating, denials, sifting
from langmem_tiers.writing.extractive.clauses import trimmed
from langmem_tiers.writing.extractive.prose import Sentence
from langmem_tiers.writing.extractive.rewriting import Subject, capitalised, third_person
from langmem_tiers.writing.extractive.rule import Found
from langmem_tiers.writing.extractive.turn import Reading
from langmem_tiers.writing.extractive.understood import Told
from langmem_tiers.writing.proposals import Evidence, Proposal, ProposalKind, Said

_LONGEST_QUOTE = 300


def told(reading: Reading, sentence: Sentence, of: Told) -> Proposal:
    """A proposal of what a clause tells."""
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


def verbatim(reading: Reading, sentence: Sentence, clause: str) -> Proposal:
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


def corrected(reading: Reading, sentence: Sentence, of: corrections.Correction) -> Proposal:
    """What is right, said of the speaker where that can be done; else in the speaker's words."""
    clause = trimmed(of.again or of.right)
    turned = _turned(clause, reading.subject) if of.stands else None
    written = _proposal(
        reading,
        sentence,
        kind="correction",
        category="general",
        content=turned or corrections.told(sentence.text, of, reading.subject),
        clause=clause,
        ahead=True,
    )
    if turned and of.lender:
        written = _resting_on(written, of.lender.said, of.lender.sentence)
    return replace(written, corrects=of.wrong, contradicts=turned is not None)


def denied(reading: Reading, sentence: Sentence, of: denials.Denial, found: Found) -> Proposal | None:
    """That something holds no longer; None where that can not be said of the speaker."""
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


def _content(subject: Subject, of: Told) -> str:
    rule = of.found.rule
    if rule.form:
        forms = {"They": subject.opening, "Their": capitalised(subject.their)}
        return rule.form.format(**forms, **of.found.match.groupdict())
    return (None if rule.quoted else third_person(of.clause, subject)) or quoted(of.clause, subject)


def _turned(clause: str, subject: Subject) -> str | None:
    """A clause said of the speaker, None where it can not be understood alone."""
    usable = not sifting.speaks_to_somebody(clause) and sifting.standing_alone(clause) == clause
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
        content=_ended(dating.dated(content, clause, said_at, ahead=ahead, happened=happened)),
        evidence=(Evidence(drawer=reading.said.drawer, quote=_quote(reading.said.content, sentence)),),
        expires_at=dating.due(clause, said_at) if kind == "action" else None,
    )


def _ended(content: str) -> str:
    """The content with a full stop, where no quotation closes it with one."""
    return content if content.endswith('."') else f"{content}."


def _resting_on(written: Proposal, said: Said, sentence: Sentence) -> Proposal:
    """The proposal with another sentence that it rests on."""
    lender = Evidence(drawer=said.drawer, quote=_quote(said.content, sentence))
    return replace(written, evidence=(*written.evidence, lender))


def _quote(content: str, sentence: Sentence) -> str:
    """The words of the drawer itself, where the sentence stands."""
    return content[sentence.start : min(sentence.stop, sentence.start + _LONGEST_QUOTE)]
