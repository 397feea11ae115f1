"""Relations by rules: what each clause in the users' own words claims about people, places and things.

Only English is understood. Precision comes first: what is asked, hypothetical, wished, denied, quoted or said in
another language is no claim, and the referent of "she" has to be certain.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import takewhile

from langmem_tiers.language import corrections, kinship, relation_shapes, relations_family, speech_acts, validity
from langmem_tiers.language.claims import ANY_OTHER, ME, SOMEBODY_ELSE, Claim
from langmem_tiers.language.clauses import clauses, with_subject
from langmem_tiers.language.corrections import Righting
from langmem_tiers.language.mentions import Tracker, side_by_side
from langmem_tiers.language.relation_patterns import (
    NEGATED,
    Fit,
    compiled,
    is_name,
    is_name_beside,
    is_place,
    plain,
    without_time,
)
from langmem_tiers.language.turns import Reading
from langmem_tiers.language.word_lists import named_pattern, phrases, table

_TABLE = table("relations")
# What begins on some day: the day it is mentioned, if no other is given.
_DATED = phrases(_TABLE["dated"])
_ONE_AT_A_TIME = phrases(_TABLE["one_at_a_time"])


def _takes_back(claim: Claim, earlier: Claim) -> bool:
    """Whether a claim corrects an earlier one from the same turn: 'I live in Oslo. No, in Bergen'."""
    if (claim.subject, claim.predicate) != (earlier.subject, earlier.predicate) or earlier.ended:
        return False
    if claim.ended == "never":
        return (claim.object, claim.value) == (earlier.object, earlier.value)
    return claim.instead in {earlier.object, earlier.value} - {""} or (
        claim.instead == ANY_OTHER and claim.predicate in _ONE_AT_A_TIME
    )


_ENDINGS = tuple(
    (phrases(each["of"]), compiled(f"{each['said']}(?:@happened@|(?= ?(?:until|till)\\b))"))
    for each in _TABLE["ending"]
)
_ON_TO = compiled(r"@later@(?:back |over |on )?to (?P<place>@name@)(?!['’]s|\w)@end@")
_WHO = re.compile(r"(?:I|[Ww]e) ")


def _with_end(told: Sequence[Claim], goes_on: str, said_at: datetime) -> list[Claim] | None:
    """The claims, with the end that the sentence continues with; None if it continues with something else."""
    for ending, pattern in _ENDINGS:
        if pattern.match(goes_on) and any(_may_end(claim, ending) for claim in told):
            until = validity.of_state(goes_on, said_at).until or validity.of_event(goes_on, said_at)
            return [each for claim in told for each in _until(claim, ending, until)]
    moved = _ON_TO.match(goes_on)
    if moved is None or not told or not _may_end(told[-1], ("lives in",)) or not is_place(moved["place"]):
        return None
    # "I moved to Paris in 2018, then to Rome in 2021"; for an undated move, only that the first home is over.
    since = validity.of_event(goes_on, said_at)
    *others, home = told
    if not since:
        return [*others, replace(home, ended="said")]
    return [*told, replace(home, object=moved["place"], since=since)] if since > home.since else [*others]


def _may_end(claim: Claim, ending: tuple[str, ...]) -> bool:
    return claim.predicate in ending and not (claim.until or claim.ended)


def _until(claim: Claim, ending: tuple[str, ...], until: str) -> list[Claim]:
    """A claim with its end; nothing if that would come before its beginning."""
    if not _may_end(claim, ending):
        return [claim]
    if not until:
        return [replace(claim, ended="said")]
    if claim.since and until <= claim.since:
        until = validity.the_end_of(until)
    return [replace(claim, until=until)] if until > claim.since else []


_MOST_OF_A_TURN = 20
# "Anna, my sister, …" is "My sister Anna …"; with a single comma, Anna is addressed.
_APPOSED = re.compile(rf"\b([A-Z][\w'-]{{1,40}}), ([Mm]y|[Oo]ur) ((?:\w+ )?{kinship.WORDS}),(?= )")
_SINCE_APART = re.compile(r" \(((?:since|from|until|till|as of) [^()]{4,40})\)")
_QUOTED = re.compile(r"[\"“][^\"“”]{12,}+[\"”]")
_COORDINATED = named_pattern("relations", "coordinated")
_BEFORE_VERB = compiled(
    r"(?:I|[Ww]e|[Hh]e|[Ss]he|(?:[Mm]y|[Oo]ur) (?:\w+ ){0,2}?@kin@(?:,? [A-Z][\w'-]+,?)?|[A-Z][\w'-]+)(?= )"
)
# Words that mark a claim as merely wished, planned or possible.
_OPEN = named_pattern("relations", "open")
_ITS_NAME = re.compile(r"(?:[Hh]er|[Hh]is|[Ii]ts|[Tt]heir) names? (?:is|are) [A-Z]")
_SOMEBODY_NEW = compiled(r"\b(?:an?|another|two|three) (?:[\w-]++ ){0,3}(?:@pet@s?|@kin@)[.!…]*$")


def of_turn(read: Iterable[Reading]) -> list[Claim]:
    """What the sentences of a turn claim, in order, each claim once, with the words that say so.

    Questions, hypotheticals, plans without a date, jokes, tasks and quotations are ignored.
    """
    found: dict[Claim, Claim] = {}
    tracker = Tracker()
    for reading in takewhile(lambda reading: not speech_acts.is_task(reading.text), read):
        claims = [*_of_sentence(tracker, reading), *_somebody_else(reading)]
        # "My cat Luna died": that she is had is over in the same sentence.
        over = {(each.subject, each.predicate, each.object) for each in claims if each.ended not in {"", "others"}}
        for claim in claims:
            if not claim.ended and (claim.subject, claim.predicate, claim.object) in over:
                continue
            for wrong in [each for each in found if _takes_back(claim, each)]:
                del found[wrong]
            found.setdefault(claim, replace(claim, drawer=reading.said.drawer, quote=reading.quote))
        tracker.hear(reading.text)
    return [*found.values()][:_MOST_OF_A_TURN]


def _somebody_else(reading: Reading) -> Iterator[Claim]:
    for one, other in side_by_side(reading.text):
        yield Claim(subject=one, subject_type="person", predicate=SOMEBODY_ELSE, object=other, object_type="person")


def _of_sentence(tracker: Tracker, reading: Reading) -> Iterator[Claim]:
    text = corrections.unlaughed(_QUOTED.sub(" ", reading.text))
    if reading.withdrawn or not speech_acts.is_stated(text) or speech_acts.is_taken_back(text):
        return
    right = corrections.read_righting(reading, text)
    if right is None or right.never:
        yield from _of_text(tracker, reading, _introduced(reading, text))
    if right is not None:
        claims = [*_of_text(tracker, reading, right.never or right.right, right=True)]
        said = [each for each in claims if kinship.read(each.predicate) is None]
        for claim in claims:
            # "My brother never lived in Oslo": he is a brother.
            yield from [claim] if right.never and said and claim not in said else _set_right(claim, right)


def _set_right(claim: Claim, right: Righting) -> Iterator[Claim]:
    """A claim that replaces a wrong one, or is wrong itself; one with a time of its own is neither."""
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
    if not (_ITS_NAME.match(text) and _SOMEBODY_NEW.search(before) and speech_acts.is_stated(before)):
        return text
    return f"{before.rstrip(' .!…')}, {text[0].lower()}{text[1:]}"


def _of_text(tracker: Tracker, reading: Reading, said: str, *, right: bool = False) -> Iterator[Claim]:
    """What a text claims; `right` says that it is a correction, so that any name in it may be a person's."""
    text = _SINCE_APART.sub(r" \1", _APPOSED.sub(r"\2 \3 \1", said))
    heard = tracker.copy()
    heard.trusting = right
    told: list[Claim] = []
    for clause, _ in clauses(text):
        simple = plain(with_subject(clause))
        if not speech_acts.is_unsure(simple) and not speech_acts.is_reported(" ".join(simple.split()[:4])):
            told += _named(simple)
            told = _of_clause(heard, reading.said.said_at, simple, told)
        heard.hear(clause)
    yield from told


def _named(clause: str) -> Iterator[Claim]:
    """Claims from names beside a word such as "sister", if nothing is denied or left open."""
    if _OPEN.search(clause):
        return
    parting = relations_family.PARTING.search(clause)
    for of, word, name in relations_family.named_kin(clause):
        if not (parting and word in kinship.PARTNERS):
            yield relations_family.related(of, word, name)
        if word in kinship.FORMER:
            yield relations_family.apart(of, name, "", ended="former")
    yield from relation_shapes.named_pets(clause)


def _of_clause(heard: Tracker, said_at: datetime, clause: str, told: list[Claim]) -> list[Claim]:
    """The claims of a sentence so far, extended by those of a clause, part by part."""
    for subject, said in _parts(clause):
        part = f"{subject} {said}".strip()
        text = without_time(part)
        if _OPEN.search(text) or validity.is_impossible(part, said_at):
            continue
        negated = NEGATED.search(said) is not None
        joined = None if negated else _with_end(told, said if subject else _continued(said, told), said_at)
        told = [*told, *_first_fitting(heard, said_at, part, text)] if joined is None else joined
    return told


def _continued(clause: str, told: Sequence[Claim]) -> str:
    """The part of a clause that continues with the same subject; empty if the subject may be someone else."""
    if who := _WHO.match(clause):
        return clause[who.end() :] if told and told[-1].subject == ME else ""
    return clause if clause[:1].islower() else ""


def _first_fitting(heard: Tracker, said_at: datetime, clause: str, text: str) -> list[Claim]:
    """The claims of the first matching shape that makes any; `text` is the clause without an opening time."""
    negated = NEGATED.search(text) is not None
    for shape in relation_shapes.SHAPES:
        match = shape.pattern.match(text) if shape.ends or not negated else None
        if match and (subjects := _subjects(match, heard)):
            claims = shape.claims(Fit(match=match, subjects=subjects, clause=clause, said_at=said_at))
            if not claims:
                continue
            undated = validity.is_vague(clause)  # "in the 90s"
            return [
                each
                for each in claims
                if not undated or each.since or each.until or each.ended or each.predicate not in _DATED
            ]
    return []


def _parts(clause: str) -> Iterator[tuple[str, str]]:
    """The clause, and its continuations with their subject: "I live in Porto | and work at Bosch"."""
    first, *others = _COORDINATED.split(clause)
    yield "", first
    subject = _BEFORE_VERB.match(without_time(first))
    if subject:
        yield from ((subject.group(), other) for other in others)


def _subjects(match: re.Match[str], heard: Tracker) -> tuple[str, ...]:
    """The subjects of a clause; none if that is not certain."""
    groups = match.groupdict()
    if both := groups.get("both"):
        other = _of_words(both.removesuffix(" and I").rstrip(","))
        return (ME, *([other] if other else []))
    if word := groups.get("kin"):
        name = groups.get("kin_name")
        # "My oldest brother" need not be the one already known.
        meant = "" if groups.get("which") and not name else _kin_of_mine(word, name)
    elif pronoun := groups.get("pronoun"):
        meant = heard.meant_by(pronoun)
    elif their := groups.get("their"):
        meant = their if is_name(their) else ""
    elif name := groups.get("name"):
        meant = name if heard.may_be_person(name) else ""
    else:
        meant = ME
    return (meant,) if meant else ()


def _kin_of_mine(word: str, name: str | None) -> str:
    """Kin by their name if there is one; empty if the word in its place is no name."""
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
