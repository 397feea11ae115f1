"""Turns proposals into claims, whether found by a rule or worded by a model. Pure.

What a model read in a turn is checked against the turn's words: that it is stated at all, and its dates.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from langmem_tiers.errors import InvalidRelation
from langmem_tiers.knowledge_graph.naming import is_self
from langmem_tiers.language import dates, kinship, predicates, speech_acts, validity
from langmem_tiers.language.claims import ME, Claim, claim_of
from langmem_tiers.language.sentences import sentences
from langmem_tiers.language.slugs import name_key
from langmem_tiers.language.words import occurs
from langmem_tiers.storage.progress import ProposalRow

_TYPES = {
    "thing": "item",
    "object": "item",
    "product": "item",
    "company": "organisation",
    "organization": "organisation",
}
_TYPES |= {"city": "place", "country": "place", "location": "place", "pet": "pet", "animal": "pet"}
_OVER = re.compile(
    r"(?:is |are |has |have )?(?:no longer|not any ?more|stopped|formerly|previously|used to)\s+", re.IGNORECASE
)
_LEFT = re.compile(
    r"(?:has |have )?(?:left|quit|resigned from|was (?:fired|laid off) from|retired from)", re.IGNORECASE
)
_NOT = re.compile(r"\b(?:not|never|no|nor|neither|cannot)\b|n['’]t\b", re.IGNORECASE)
_PLANS = re.compile(
    r"(?:plans?|wants?|hopes?|intends?|aims?|wish(?:es)?|would like|(?:is |are )?(?:planning|hoping)) to\b",
    re.IGNORECASE,
)
_OF_THE_USER = re.compile(r"^(?:the )?user['’]s (?=[a-z-]+$)", re.IGNORECASE)
_DISLIKES = re.compile(r"(?:do|does|did)(?: not|n['’]t) (?:like|love|enjoy)", re.IGNORECASE)
_ABOUT = re.compile(
    r"\b(?:around|about|circa|ca\.|roughly|approximately|early|late|mid)[\s-]+(?:in )?|~", re.IGNORECASE
)
_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20|21)\d\d(?!\d)")
_SHORT_YEAR = re.compile(r"['’](\d\d)(?!\d)")


def types(rows: Sequence[ProposalRow]) -> dict[str, str]:
    """The entity types in proposals by slug, one each: what a relation implies wins over the stated type."""
    said: defaultdict[str, list[str]] = defaultdict(list)
    implied: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        name, kind = row.body.get("name"), row.body.get("type")
        if row.kind == "entity" and isinstance(name, str) and isinstance(kind, str):
            said[name_key(name)].append(type_of(kind))
        elif row.kind == "relation":
            claim = claim_of(row.body)
            with suppress(InvalidRelation):
                predicate = predicates.normalise(claim.predicate)
                implied[name_key(claim.object)].add(predicates.object_type(predicate))
    found: dict[str, str] = {}
    for name, kinds in said.items():
        known = [kind for kind in kinds if kind != "other"] or kinds
        found[name] = next((kind for kind in known if kind in implied[name]), known[0])
    return found


def type_of(said: str) -> str:
    """The entity type that a model's word stands for."""
    plain = name_key(said)[:40]
    return _TYPES.get(plain, plain if re.fullmatch(r"\w+(?:[ -]\w+)*", plain) else "other")


def read(row: ProposalRow, said_at: datetime, known: Mapping[str, str], turn: str = "") -> Claim:
    """The claim in a proposal, with words such as "last May" turned into dates; `turn` is its source.

    A model's proposal is only accepted if its quote states something, and only with dates that the quote or turn
    supports.

    Raises:
        ValueError: there is nothing in it to keep; the message says why.
    """
    claim = claim_of(row.body)
    if not (claim.subject.strip() and claim.predicate.strip()):
        raise ValueError("a part of it is missing")
    if row.path == "rule":
        return claim
    # A plan is no supposition where the claim itself says that it is one.
    plan = _PLANS.match(claim.predicate.replace("_", " ")) is not None and not speech_acts.is_question(row.quote)
    if not plan and not is_stated(row.quote, turn):
        raise ValueError("its quote is a question, a supposition or a joke")
    return _typed(_dated(_plain(_ended(claim)), row, turn, said_at), known)


def _ended(claim: Claim) -> Claim:
    """A claim of something past, marked as ended; None if the claim denies something."""
    over = _OVER.match(claim.predicate)
    if over:
        base = claim.predicate[over.end() :]
        return replace(claim, predicate=base, ended="said") if base else claim
    if _LEFT.fullmatch(claim.predicate.strip()):
        return replace(claim, predicate="works at", ended="known")
    if _DISLIKES.fullmatch(claim.predicate.replace("_", " ").strip()):
        return replace(claim, predicate="dislikes")
    if _NOT.search(claim.predicate):
        raise ValueError("it says what is not so")
    return claim


def _plain(claim: Claim) -> Claim:
    """Kinship as a relation to the relative, and "the user" replaced by the speaker."""
    subject, target = (ME if is_self(each) else _OF_THE_USER.sub("my ", each) for each in (claim.subject, claim.object))
    kin = kinship.read(claim.predicate)
    if kin is None:
        return replace(claim, subject=subject, object=target)
    ends = (target, subject) if kin.turned else (subject, target)
    return replace(
        claim,
        subject=ends[0],
        object=ends[1],
        predicate=f"has {kin.word}",
        subject_type="person",
        object_type="person",
    )


def _dated(claim: Claim, row: ProposalRow, turn: str, said_at: datetime) -> Claim:
    """A claim with the dates that its quote or turn supports; without any, it gets the date of the turn."""
    said = [_ABOUT.sub("", each) if isinstance(each := row.body.get(name), str) else "" for name in ("since", "until")]
    dates = [validity.resolve(each, said_at) for each in said]
    dates[0] = dates[0] or validity.of_state(said[0], said_at).since  # "for three years"
    text = f"{row.quote}\n{turn}"
    since, until = (date if date and borne_out(date, text, said_at) else "" for date in dates)
    return replace(claim, since=since, until=until)


def _typed(claim: Claim, known: Mapping[str, str]) -> Claim:
    predicate = predicates.normalise(claim.predicate)
    literal = claim.object and (predicates.leads_to_value(predicate) or claim.object[0].isdigit())
    if literal and name_key(claim.object) not in known:
        claim = replace(claim, value=claim.object, object="", object_type="")
    return replace(
        claim,
        subject_type="person" if claim.subject == ME else known.get(name_key(claim.subject)) or claim.subject_type,
        object_type=known.get(name_key(claim.object)) or claim.object_type or predicates.object_type(predicate),
    )


def is_stated(quote: str, turn: str) -> bool:
    """Whether a quote is an assertion: its sentence in the turn is not a question, supposition or joke.

    Example:
        >>> is_stated("my brother lives in Oslo", "Do you know if my brother lives in Oslo?")
        False
    """
    within = [each.text for each in sentences(turn) if occurs(quote, each.text)]
    read = within or [each.text for each in sentences(quote)] or [quote]
    return any(map(speech_acts.is_stated, read))


def borne_out(date: str, text: str, said_at: datetime) -> bool:
    """Whether a text contains the year of a date, or words that mean it, such as "two years ago".

    Example:
        >>> said_at = datetime.fromisoformat("2026-03-02T10:00+00:00")
        >>> [borne_out(date, "I moved last May", said_at) for date in ("2025-05", "1999")]
        [True, False]
    """
    return date[:4] in set(_years(text, said_at))


def _years(text: str, said_at: datetime) -> Iterator[str]:
    yield from _YEAR.findall(text)
    for short in _SHORT_YEAR.findall(text):
        yield from (f"19{short}", f"20{short}")
    for clause in [each.text for each in sentences(text)] or [text]:
        for ahead, happened in ((False, True), (False, False), (True, False)):
            yield from (moment[:4] for moment in dates.moments(clause, said_at, ahead=ahead, happened=happened))
        yield from (moment[:4] for moment in validity.of_state(clause, said_at))
