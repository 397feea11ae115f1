"""Reading turns: what each clause of the users' own words claims, sentence by sentence."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import takewhile

from langmem_tiers.knowledge_graph import comentions, kinship
from langmem_tiers.knowledge_graph.rules import (
    deeds,
    going_on,
    homes,
    kin,
    passing,
    pets,
    righting,
    selves,
    things,
    weeding,
    when,
    work,
)
from langmem_tiers.knowledge_graph.rules.claim import ME, Claim, proposal
from langmem_tiers.knowledge_graph.rules.pets import PET
from langmem_tiers.knowledge_graph.rules.righting import Righting
from langmem_tiers.knowledge_graph.rules.shape import Fit, Shape
from langmem_tiers.knowledge_graph.rules.tracker import Tracker
from langmem_tiers.knowledge_graph.rules.wording import NEGATED, is_name, is_name_beside, plain, without_time
from langmem_tiers.storage.mined import NewProposal
from langmem_tiers.trust.taint import tainted
from langmem_tiers.writing.extractive import sifting
from langmem_tiers.writing.extractive.clauses import clauses
from langmem_tiers.writing.extractive.prose import Sentence
from langmem_tiers.writing.extractive.turn import Reading, readings
from langmem_tiers.writing.proposals import Said

_LONGEST_TURN = 4000  # characters; longer turns are pasted texts, whose first person is seldom the user
_LONGEST_QUOTE = 300
_MOST_OF_A_TURN = 20
_MOST_MENTIONS = 3  # of one turn
_SHAPES: tuple[Shape, ...] = (
    *passing.SHAPES,
    *kin.SHAPES,
    *pets.SHAPES,
    *things.SHAPES,
    *homes.SHAPES,
    *selves.SHAPES,
    *work.SHAPES,
    *deeds.SHAPES,
)
# "Anna, my sister, …" is "My sister Anna …"; with one comma only, Anna is spoken to.
_APPOSED = re.compile(rf"\b([A-Z][\w'-]+), ([Mm]y|[Oo]ur) ((?:\w+ )?{kinship.WORDS}),(?= )")
_SINCE_APART = re.compile(r" \(((?:since|from|until|till|as of) [^()]{4,40})\)")
_QUOTED = re.compile(r"[\"“][^\"”]{12,}[\"”]")
_COORDINATED = re.compile(
    r",? and (?:then |now |also |currently |later |recently |just )?(?=(?:live|lives|work|works|moved"
    r"|relocated|have|has|own|owns"
    r"|bought|got|sold|started|joined|left|quit|study|studies|graduated|married|used to|am|is|are|grew|was born"
    r"|divorced|separated|broke up|split up|resigned|retired|stayed|gave|donated|returned|to (?=[A-Z]))\b)"
)
_BEFORE_VERB = re.compile(
    r"(?:I|[Ww]e|[Hh]e|[Ss]he|(?:[Mm]y|[Oo]ur) (?:\w+ ){0,2}?"
    + kinship.WORDS
    + r"(?:,? [A-Z][\w'-]+,?)?|[A-Z][\w'-]+)(?= )"
)
# Words that make a claim of what is only wished, planned or possible.
_OPEN = re.compile(
    r"\b(?:would|might|could|should|(?-i:may)|wish|want(?:s|ed)? to|hop(?:e|es|ed|ing) to|plan(?:s|ned|ning)? (?:to|on)"
    r"|think(?:s|ing)? (?:of|about)|consider(?:s|ing)?|dream(?:s|ing|t)? (?:of|about)|going to|'d|used to think|as if"
    r"|about to|trying to|tried to|supposed to|almost|nearly|pretend\w*|joke|in a dream)\b",
    re.IGNORECASE,
)


_ITS_NAME = re.compile(r"(?:[Hh]er|[Hh]is|[Ii]ts|[Tt]heir) names? (?:is|are) [A-Z]")
_SOMEBODY_NEW = re.compile(rf"\b(?:an?|another|two|three) (?:[\w-]+ ){{0,3}}(?:{PET}s?|{kinship.WORDS})[.!…]*$")
# "Just got a puppy yesterday": the I that is left out.
_ELIDED = re.compile(
    r"^(?:(?:[Jj]ust|[Rr]ecently|[Ff]inally) )?(?:[Gg]ot|[Ll]ost|[Ss]tarted|[Ss]igned|[Bb]ought"
    r"|[Aa]dopted|[Jj]oined|[Mm]oved"
    r"|[Ff]inished|[Ww]ent|[Qq]uit|[Gg]raduated|[Vv]isited|[Aa]ttended)\b"
    r"(?=.*\b(?:my|our|yesterday|last|ago|today|this)\b)"
)


@dataclass(kw_only=True, slots=True)
class _Turn:
    """A turn being read: who was named in it so far, and what was claimed."""

    said: Said
    tracker: Tracker = field(default_factory=Tracker)


def proposals(said: Sequence[Said], now: datetime, *, before: Sequence[Said] = ()) -> list[NewProposal]:
    """What the users' own turns claim of people, places and things, in order, each once for a turn.

    Nothing is taken from assistants, tools and systems, from questions, suppositions, plans without a date, jokes,
    tasks, quotations, and other languages than English, nor from a turn said after `now`. The turns `before` only tell
    what it is that is set right.
    """
    turns = [*before, *said]
    places = (place for place in range(len(before), len(turns)) if _may_speak(turns[place], now))
    return [found for place in places for found in _of_turn(turns, place)]


def _may_speak(turn: Said, now: datetime) -> bool:
    return turn.said_at <= now and tainted(turn) is None and len(turn.content) <= _LONGEST_TURN


def _of_turn(turns: Sequence[Said], place: int) -> list[NewProposal]:
    said = turns[place]
    found: dict[Claim, NewProposal] = {}
    turn = _Turn(said=said)
    read = [*takewhile(lambda each: not sifting.is_task(each[1].text), readings(turns, place, several=False))]
    for reading, sentence in read:
        for claim in weeding.without_ended([*_of_sentence(turn, reading, sentence)]):
            for wrong in [each for each in found if weeding.takes_back(claim, each)]:
                del found[wrong]
            found.setdefault(claim, proposal(claim, said.drawer, _quote(said.content, sentence)))
        turn.tracker.hear(sentence.text)
    stated = [*found.values()][:_MOST_OF_A_TURN]
    return [*stated, *_mentions(said, [sentence for _, sentence in read], stated)]


def _mentions(said: Said, read: Sequence[Sentence], stated: Collection[NewProposal]) -> list[NewProposal]:
    """Those who are only named together, a few of a turn, in sentences that state nothing."""
    quoted = {each.quote for each in stated}
    found: dict[frozenset[str], NewProposal] = {}
    for sentence in read:
        quote = _quote(said.content, sentence)
        if quote in quoted or sifting.is_question(sentence.text) or sifting.is_unreal(sentence.text):
            continue
        for claim in comentions.together(sentence.text, said.speaker):
            found.setdefault(frozenset((claim.subject, claim.object)), proposal(claim, said.drawer, quote))
    return [*found.values()][:_MOST_MENTIONS]


def _of_sentence(turn: _Turn, reading: Reading, sentence: Sentence) -> Iterator[Claim]:
    text = righting.unlaughed(_QUOTED.sub(" ", sentence.text))
    if not sifting.is_stated(text) or sifting.is_taken_back(text):
        return
    right = righting.read(reading, text)
    if right is None or right.never:
        yield from _of_text(turn, _introduced(reading, text))
    if right is not None:
        claims = [*_of_text(turn, right.never or right.right, right=True)]
        said = [each for each in claims if kinship.read(each.predicate) is None]
        for claim in claims:
            # "My brother never lived in Oslo": he is a brother.
            yield from [claim] if right.never and said and claim not in said else _set_right(claim, right)


def _set_right(claim: Claim, right: Righting) -> Iterator[Claim]:
    """A claim that takes the place of a wrong one, or is wrong itself; what has a time of its own is neither."""
    timeless = not (claim.since or claim.until or claim.ended)
    if right.never:
        yield from [replace(claim, ended="never")] if timeless else []
    elif word := kinship.mine(right.wrong):
        if kinship.read(claim.predicate):
            yield replace(claim, predicate=kinship.predicate(word), ended="never")
        yield claim
    else:
        yield replace(claim, instead=right.wrong) if timeless else claim


def _introduced(reading: Reading, text: str) -> str:
    """'We have a cat. Her name is Minka.' as one sentence."""
    before = reading.before.text if reading.before else ""
    if not (_ITS_NAME.match(text) and _SOMEBODY_NEW.search(before) and sifting.is_stated(before)):
        return text
    return f"{before.rstrip(' .!…')}, {text[0].lower()}{text[1:]}"


def _of_text(turn: _Turn, said: str, *, right: bool = False) -> Iterator[Claim]:
    """What a text claims; `right` says that it sets right what was said, so that a name in it may be anybody's."""
    text = _SINCE_APART.sub(r" \1", _APPOSED.sub(r"\2 \3 \1", said))
    heard = turn.tracker.copy()
    heard.trusting = right
    told: list[Claim] = []
    for clause, _ in clauses(text):
        simple = plain(f"I {clause[0].lower()}{clause[1:]}" if _ELIDED.match(clause) else clause)
        if not sifting.is_unsure(simple) and not sifting.is_reported(_beginning(simple)):
            told += _named(simple)
            told = _of_clause(turn, heard, simple, told)
        heard.hear(clause)
    yield from told


def _beginning(clause: str) -> str:
    """The first words of a clause, where it would be said whose words it tells."""
    return " ".join(clause.split()[:4])


def _named(clause: str) -> Iterator[Claim]:
    """Those whose names stand beside what they are, if nothing is denied or left open."""
    if _OPEN.search(clause):
        return
    parting = kin.PARTING.search(clause)
    for of, word, name in kin.named(clause):
        if not (parting and word in kinship.PARTNERS):
            yield kin.related(of, word, name)
        if word in kinship.FORMER:
            yield kin.apart(of, name, "", ended="former")
    yield from pets.named(clause)


def _of_clause(turn: _Turn, heard: Tracker, clause: str, told: list[Claim]) -> list[Claim]:
    """What a sentence has told so far, with what a clause tells, part by part."""
    for subject, said in _parts(clause):
        part = f"{subject} {said}".strip()
        text = without_time(part)
        if _OPEN.search(text) or when.is_impossible(part, turn.said.said_at):
            continue
        goes_on = said if subject else going_on.of_same(said, told)
        joined = going_on.joined(told, goes_on, turn.said.said_at) if goes_on and not NEGATED.search(said) else None
        told = [*told, *_first_fitting(turn, heard, part, text)] if joined is None else joined
    return told


def _first_fitting(turn: _Turn, heard: Tracker, clause: str, text: str) -> list[Claim]:
    """The claims of the first shape that a clause fits and that makes any; `text` is it without an opening time."""
    negated = NEGATED.search(text) is not None
    for shape in _SHAPES:
        match = shape.pattern.match(text) if shape.ends or not negated else None
        if match and (subjects := _subjects(match, heard)):
            fit = Fit(match=match, subjects=subjects, clause=clause, said_at=turn.said.said_at)
            if claims := [*shape.claims(fit)]:
                return weeding.without_vague(claims, clause)
    return []


def _parts(clause: str) -> Iterator[tuple[str, str]]:
    """The clause, and what it goes on with, with its subject: "I live in Porto | and work at Bosch"."""
    first, *others = _COORDINATED.split(clause)
    yield "", first
    subject = _BEFORE_VERB.match(without_time(first))
    if subject:
        yield from ((subject.group(), other) for other in others)


def _subjects(match: re.Match[str], heard: Tracker) -> tuple[str, ...]:
    """Of whom a clause speaks; nobody where that is not sure."""
    groups = match.groupdict()
    if both := groups.get("both"):
        other = _of_words(both.removesuffix(" and I").rstrip(","))
        return (ME, *([other] if other else []))
    if word := groups.get("kin"):
        name = groups.get("kin_name")
        # "My oldest brother" need not be the one who is known.
        meant = "" if groups.get("which") and not name else _kin_of_mine(word, name)
        return (meant,) if meant else ()
    if pronoun := groups.get("pronoun"):
        meant = heard.meant_by(pronoun)
        return (meant,) if meant else ()
    if their := groups.get("their"):
        return (their,) if is_name(their) else ()
    if name := groups.get("name"):
        return (name,) if heard.may_be_person(name) else ()
    return (ME,)


def _kin_of_mine(word: str, name: str | None) -> str:
    """Kin by the name that is said; nobody where what is said instead of it is none."""
    if not name:
        return f"my {kinship.canonical(word)}"
    return name.strip(" ,") if is_name_beside(name) else ""


def _of_words(words: str) -> str:
    """'Anna', 'my sister Anna' or 'my sister' as a subject."""
    first, *rest = words.replace(",", "").split()
    if first.lower() not in {"my", "our"}:
        return words if is_name(words) else ""
    name = rest[-1] if rest and rest[-1][0].isupper() else None
    word = next((each for each in rest if re.fullmatch(kinship.WORDS, each)), "")
    return _kin_of_mine(word, name) if word else ""


def _quote(content: str, sentence: Sentence) -> str:
    """The words of the drawer itself, where the sentence stands."""
    return content[sentence.start : min(sentence.stop, sentence.start + _LONGEST_QUOTE)]
