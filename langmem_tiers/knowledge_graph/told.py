"""Claims as the graph takes them up: what a rule found, or what a model told in words of its own. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

from langmem_tiers.errors import InvalidRelation
from langmem_tiers.knowledge_graph import grounds, kinship, predicates
from langmem_tiers.knowledge_graph.naming import is_self, slug
from langmem_tiers.knowledge_graph.rules import when
from langmem_tiers.knowledge_graph.rules.claim import ME, Claim, claim
from langmem_tiers.palace.words import word_set
from langmem_tiers.storage.mined import ProposalRow

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
_OF_THE_USER = re.compile(r"^(?:the )?user['’]s (?=[a-z-]+$)", re.IGNORECASE)
# What these lead to is a literal value, not somebody or something.
_VALUES = word_set(
    """
    works_as is_a born_on died_on has_age has_birthday has_height has_weight has_size has_colour has_battery
    has_capacity has_range has_price has_version has_status has_email has_phone has_timezone has_salary has_budget
    has_deadline has_score has_nickname has_nationality studies plays practises speaks has_goal named
    """
)
# Of persons and where they are: what these lead to, where nobody says.
_LEADS_TO = {"lives_in": "place", "born_in": "place", "works_at": "organisation", "studies_at": "organisation"}
_LEADS_TO |= {"located_in": "place", "visited": "place", "from": "place", "married_to": "person", "dates": "person"}


def types(rows: Sequence[ProposalRow]) -> dict[str, str]:
    """The types of the entities that proposals name, by slug, one each: what a relation leads to, else the first."""
    named = ((row.body.get("name"), row.body.get("type")) for row in rows if row.kind == "entity")
    said: defaultdict[str, list[str]] = defaultdict(list)
    for name, kind in named:
        if isinstance(name, str) and isinstance(kind, str):
            said[slug(name)].append(type_of(kind))
    fitting = _fitting(rows)
    return {name: _one_of(kinds, fitting.get(name, set())) for name, kinds in said.items()}


def _fitting(rows: Sequence[ProposalRow]) -> dict[str, set[str]]:
    """The types that those have whom relations lead to, by slug."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for told in (claim(row.body) for row in rows if row.kind == "relation"):
        with suppress(InvalidRelation):
            found[slug(told.object)].add(_LEADS_TO.get(predicates.normalise(told.predicate), ""))
    return found


def _one_of(kinds: Sequence[str], fitting: Collection[str]) -> str:
    told = [kind for kind in kinds if kind != "other"] or kinds
    return next((kind for kind in told if kind in fitting), told[0])


def type_of(said: str) -> str:
    """The type that a model's word for it means."""
    plain = slug(said)[:40]
    return _TYPES.get(plain, plain if re.fullmatch(r"\w+(?:[ -]\w+)*", plain) else "other")


def read(row: ProposalRow, said_at: datetime, known: Mapping[str, str], turn: str = "") -> Claim:
    """The claim of a proposal, with dates for words such as "last May"; `turn` is what it was found in.

    A model's is only taken where its quote states something, and with such dates as its quote or the turn bears out.

    Raises:
        ValueError: it says nothing that can be kept; the message tells why.
    """
    told = claim(row.body)
    if not (told.subject.strip() and told.predicate.strip()):
        raise ValueError("a part of it is missing")
    if row.path == "rule":
        return told
    if not grounds.is_stated(row.quote, turn):
        raise ValueError("its quote is a question, a supposition or a joke")
    dated = _dated(_plain(_ended(told)), row.body, said_at)
    return _typed(_borne_out(dated, f"{row.quote}\n{turn}", said_at), known)


def _ended(told: Claim) -> Claim:
    """A claim of what is over as one; one that says that something is not so is none."""
    over = _OVER.match(told.predicate)
    if over:
        base = told.predicate[over.end() :]
        return replace(told, predicate=base, ended="said") if base else told
    if _LEFT.fullmatch(told.predicate.strip()):
        return replace(told, predicate="works at", ended="known")
    if _NOT.search(told.predicate):
        raise ValueError("it says what is not so")
    return told


def _plain(told: Claim) -> Claim:
    """Kinship as a relation to the kin, and "the user" as whoever speaks."""
    subject, target = (ME if is_self(each) else _OF_THE_USER.sub("my ", each) for each in (told.subject, told.object))
    kin = kinship.read(told.predicate)
    if kin is None:
        return replace(told, subject=subject, object=target)
    ends = (target, subject) if kin.turned else (subject, target)
    return replace(
        told,
        subject=ends[0],
        object=ends[1],
        predicate=f"has {kin.word}",
        subject_type="person",
        object_type="person",
    )


def _dated(told: Claim, body: Mapping[str, Any], said_at: datetime) -> Claim:
    since, until = (body.get(name) for name in ("since", "until"))
    start = when.resolve(since, said_at) if isinstance(since, str) else ""
    end = when.resolve(until, said_at) if isinstance(until, str) else ""
    return replace(told, since=start, until=end)


def _borne_out(told: Claim, text: str, said_at: datetime) -> Claim:
    """A claim without the dates of which nothing was said; it then has that of the turn."""
    since, until = (
        date if date and grounds.borne_out(date, text, said_at) else "" for date in (told.since, told.until)
    )
    return replace(told, since=since, until=until)


def _typed(told: Claim, known: Mapping[str, str]) -> Claim:
    predicate = predicates.normalise(told.predicate)
    if told.object and (predicate in _VALUES or told.object[0].isdigit()) and slug(told.object) not in known:
        told = replace(told, value=told.object, object="", object_type="")
    return replace(
        told,
        subject_type="person" if told.subject == ME else known.get(slug(told.subject)) or told.subject_type,
        object_type=known.get(slug(told.object)) or told.object_type or _LEADS_TO.get(predicate, ""),
    )
