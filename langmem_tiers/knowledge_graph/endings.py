"""What a claim ends, denies or corrects: "I left Bosch", "we broke up", "Bruno died", "no, it is Braga, not Porto"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from langmem_tiers.clock import from_millis, to_millis
from langmem_tiers.knowledge_graph.mentions import Mentions, RefusedClaim
from langmem_tiers.knowledge_graph.relations import NewRelation, withdraw_relation
from langmem_tiers.knowledge_graph.transaction import GraphTransaction, is_open
from langmem_tiers.language import kinship, predicates
from langmem_tiers.language.claims import ANY_OTHER, Claim
from langmem_tiers.language.slugs import name_key
from langmem_tiers.records import FOUND, Authority, Entity
from langmem_tiers.storage import drawers, entities, relations
from langmem_tiers.storage.relations import RelationRow

_PARTNER = (*sorted(kinship.predicate(word) for word in kinship.PARTNERS), "married_to", "engaged_to", "dates")
# What someone left may be an employer, a school, or a town.
_LEFT = ("works_at", "studies_at", "lives_in", "member_of")
_ALSO = {
    "owns": ("bought",),
    "lives_in": ("also_lives_in",),
    "works_at": ("also_works_at",),
    **dict.fromkeys(("has_wife", "has_husband", "has_spouse"), ("married_to",)),
    **dict.fromkeys(("has_girlfriend", "has_boyfriend", "has_partner"), ("dates",)),
}
_OF_THE_LIVING = predicates.OF_THE_LIVING | {*_PARTNER}
# What others have only in the living. A sister remains a sister.
_IN_THE_LIVING = predicates.IN_THE_LIVING | {
    *_PARTNER,
    *(kinship.predicate(word) for word in kinship.COMPANY if "friend" not in word),
}
NAMES = frozenset({"named", "has_nickname"})
"""What people are called: other names of theirs."""


# What is over, or was never so.


def over(mentions: Mentions, subject: Entity, claim: Claim) -> list[int] | None:
    """The numbers of the relations that a claim ends without adding one; None where it also states something new.

    Raises:
        Refused: it may mean several.
    """
    if claim.ended == "others":  # than the one it names: the boss before the new one
        named = _named(mentions, claim)
        held = [row for row in mentions.graph.stated(subject, *_predicates(claim)) if _ends_with_claims(row)]
        return [row.number for row in held if _end(mentions.graph, row) not in named] if named else []
    if claim.ended in {"known", "former"} or (claim.ended and not (claim.object or claim.value)):
        rows = [row for row in _meant(mentions, subject, claim) if _goes_on(row, mentions)]
        if not (claim.object or claim.value) and len({_end(mentions.graph, row) for row in rows}) > 1:
            raise RefusedClaim("several may be meant")
        return [row.number for row in rows]
    if claim.ended == "said":  # what still holds besides, such as another home
        rows = [row for row in _meant(mentions, subject, claim) if row.predicate.startswith("also_")]
        return [row.number for row in rows if is_open(row)] or None
    return None


def over_with_life(graph: GraphTransaction, being: Entity) -> list[int]:
    """The numbers of the relations that end with the death of a person or animal, as far as the memory found them.

    Relations that someone added by hand are left for them to end.
    """
    members = graph.one_with(being.number)
    rows = relations.with_last(*graph.at, relations.numbers_of_entities(*graph.at, members))
    return [
        row.number
        for row in rows
        if _ends_with_claims(row) and row.predicate in (_OF_THE_LIVING if row.subject in members else _IN_THE_LIVING)
    ]


def denied(mentions: Mentions, subject: Entity, claim: Claim) -> list[RelationRow]:
    """The relations that a claim says were never true: those that hold, otherwise those that did."""
    rows = [row for row in _meant(mentions, subject, claim) if row.believed]
    return [row for row in rows if is_open(row)] or rows


def planned(mentions: Mentions, subject: Entity, claim: Claim) -> list[RelationRow]:
    """The relations that a claim says will not begin after all: those that were to begin later."""
    seen = to_millis(mentions.seen)
    rows = [row for row in _meant(mentions, subject, claim) if row.believed and row.authority <= Authority.SYSTEM]
    return [row for row in rows if row.last.valid_from is not None and row.last.valid_from > seen]


def _goes_on(row: RelationRow, mentions: Mentions) -> bool:
    """Whether a relation is not over when the claim is made, though a plan may end it later."""
    return is_open(row) or (
        row.believed and row.last.valid_to is not None and row.last.valid_to > to_millis(mentions.seen)
    )


def _ends_with_claims(row: RelationRow) -> bool:
    return is_open(row) and row.authority <= Authority.SYSTEM


def _meant(mentions: Mentions, subject: Entity, claim: Claim) -> list[RelationRow]:
    """The relations that a claim is about."""
    graph = mentions.graph
    rows = graph.stated(subject, *_predicates(claim))
    if claim.object:
        named = _named(mentions, claim)
        rows = [row for row in rows if _end(graph, row) in named]
        if predicates.normalise(claim.predicate) == "has_partner":  # either partner of a couple may be named
            others = [number for each in named for number in graph.members(each)]
            between = relations.between(*graph.at, others, graph.one_with(subject.number))
            rows += [row for row in between if row.subject in others and row.predicate in _PARTNER]
    if claim.value:
        rows = [row for row in rows if (row.value or "").casefold() == claim.value.casefold()]
    return rows


def _predicates(claim: Claim) -> Sequence[str]:
    predicate = predicates.normalise(claim.predicate)
    if claim.ended in {"known", "former"} and predicate == "has_partner":
        return _PARTNER
    also = _ALSO.get(predicate, ())
    return (*_LEFT, *also) if predicate == "works_at" and claim.ended == "known" else (predicate, *also)


def _named(mentions: Mentions, claim: Claim) -> set[int]:
    """The existing entities with the name of a claim's object; none is created."""
    if claim.owned:
        thing = mentions.thing(claim.object)
        return set() if thing is None else {mentions.graph.canonical(thing.number)}
    return _with_name(mentions.graph, claim.object)


def _with_name(graph: GraphTransaction, name: str) -> set[int]:
    return {graph.canonical(number) for number in entities.numbers_of_slug(*graph.at, name_key(name))}


def _end(graph: GraphTransaction, row: RelationRow) -> int:
    return graph.canonical(row.object) if row.object else 0


# What was found before, and is corrected.


def is_set_right(mentions: Mentions, new: NewRelation) -> bool:
    """Whether a later, current message corrected what this message says."""
    drawer, at = mentions.drawer, mentions.graph.at
    if drawer is None:
        return False
    gone = [row.number for row in _same(mentions.graph, new) if not row.believed and row.last.reason == "withdrawn"]
    rests = ({each.drawer for each in found} for found in relations.evidence(*at, gone).values())
    cited = {number for found in rests if drawer.number in found for number in found}
    later = (each for each in drawers.read(*at, cited).values() if each.status == "active")
    return any((each.said_at, each.number) > (drawer.said_at, drawer.number) for each in later)


def _same(graph: GraphTransaction, new: NewRelation) -> list[RelationRow]:
    """The relations that state the same as the new one, at any time."""
    predicate, members = predicates.normalise(new.predicate), graph.one_with(new.subject.number)
    if new.value is not None:
        return relations.to_value(*graph.at, members, predicate, new.value.text, kind=new.kind)
    ends = [] if new.object is None else graph.one_with(new.object.number)
    return relations.to_objects(*graph.at, members, predicate, ends, kind=new.kind)


def wrong(graph: GraphTransaction, new: NewRelation, instead: str) -> list[RelationRow]:
    """The relations with the wrong value that a new one replaces; those that hold before those that ended."""
    read = predicates.reading(new.predicate)
    if read.turned:
        return []
    rows = graph.stated(new.subject, read.predicate)
    found = [row for row in rows if row.believed and row.path in FOUND and row.authority <= Authority.SYSTEM]
    wrong = [row for row in found if _leads_to(graph, row, instead) and not _says(graph, row, new)]
    return [row for row in wrong if row.last.valid_to is None] or wrong[-1:]


def _leads_to(graph: GraphTransaction, row: RelationRow, instead: str) -> bool:
    if instead == ANY_OTHER:
        return row.predicate == "named" or graph.single(row.predicate)
    if row.object is None:
        return instead.casefold() in {(row.value or "").casefold(), f"{row.value} {row.unit}".casefold()}
    return graph.canonical(row.object) in _with_name(graph, instead)


def _says(graph: GraphTransaction, row: RelationRow, new: NewRelation) -> bool:
    """Whether a relation has the same object as the new one."""
    if new.object is None or row.object is None:
        return new.value is not None and (row.value or "").casefold() == new.value.text.casefold()
    return graph.canonical(row.object) == graph.canonical(new.object.number)


def withdraw(mentions: Mentions, subject: Entity, wrong: Sequence[RelationRow]) -> list[str]:
    """Withdraw relations, with the message as evidence, and wrong names of their subject; returns their ids.

    Raises:
        AuthorityTooLow: one of them was stated with higher authority.
    """
    graph = mentions.graph
    withdrawn = [withdraw_relation(graph, row.number, by=Authority.SYSTEM).id for row in wrong]
    for row in wrong:
        relations.add_evidence(*graph.at, row.number, mentions.evidence(), graph.now)
    names = [row.value for row in wrong if row.value and row.predicate in NAMES]
    if names:
        standing = graph.canonical(subject.number)
        entities.drop_aliases(*graph.at, standing, names)
        graph.log_entities(standing)
    return withdrawn


def in_place_of(wrong: Sequence[RelationRow], new: NewRelation) -> NewRelation:
    """The relation with the dates of the one it replaces, where it has none of its own."""
    if new.from_stated or new.valid_to is not None or len(wrong) != 1 or wrong[0].last.valid_to is not None:
        return new
    last = wrong[0].last
    start = None if last.valid_from is None else from_millis(last.valid_from)
    return replace(new, valid_from=start, from_unit=last.from_unit, from_stated=last.from_stated)
