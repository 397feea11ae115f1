"""What a claim ends, denies or corrects: "I left Bosch", "we broke up", "Bruno died", "no, it is Braga, not Porto"."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from langmem_tiers.clock import from_millis
from langmem_tiers.knowledge_graph.mentions import Mentions, UnclearMention
from langmem_tiers.knowledge_graph.relations import NewRelation, withdraw_relation
from langmem_tiers.knowledge_graph.transaction import GraphTransaction
from langmem_tiers.language import kinship, predicates
from langmem_tiers.language.claims import ANY_OTHER, Claim
from langmem_tiers.language.slugs import name_key
from langmem_tiers.language.word_lists import word_set
from langmem_tiers.records import Authority, Entity
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
# What only the living do or have, or others have only in the living. A sister remains a sister.
_OF_THE_LIVING = word_set(
    """
        lives_in also_lives_in works_at also_works_at works_as works_on works_in works_with studies_at studies teaches
        teaches_at reports_to manages leads member_of responsible_for owns drives rides uses has_pet plays practises
        likes loves dislikes prefers wants plans needs attends stays_at has_age has_goal takes speaks interested_in
        """
) | {*_PARTNER}
_IN_THE_LIVING = frozenset({"has_pet", "reports_to", "works_with", "manages", *_PARTNER}) | {
    kinship.predicate(word) for word in kinship.COMPANY if "friend" not in word
}


NAMES = frozenset({"named", "has_nickname"})
"""What people are called: other names of theirs."""
_FOUND = frozenset({"rule", "model"})


class Endings:
    """Finds the relations that a claim says are over or were never true."""

    def __init__(self, graph: GraphTransaction, mentions: Mentions) -> None:
        self._graph = graph
        self._mentions = mentions

    def of(self, subject: Entity, claim: Claim) -> list[int]:
        """The numbers of the relations that are over; none where that cannot be decided.

        Raises:
            UnclearMention: several partners may be meant.
        """
        rows = [row for row in self._said(subject, claim) if _is_open(row)]
        if not claim.object and len({self._end(row) for row in rows}) > 1 and not claim.value:
            raise UnclearMention("several may be meant")
        return [row.number for row in rows]

    def others(self, subject: Entity, claim: Claim) -> list[int]:
        """The numbers of relations to others than the one a claim names, such as a boss before the new one."""
        named = self._named(claim)
        rows = self._rows(subject, self._predicates(claim))
        found = [row for row in rows if _is_open(row) and row.authority <= Authority.SYSTEM]
        return [row.number for row in found if self._end(row) not in named] if named else []

    def beside(self, subject: Entity, claim: Claim) -> list[int]:
        """The numbers of relations that still hold besides what a claim says is over, such as another home."""
        rows = [row for row in self._said(subject, claim) if row.predicate.startswith("also_")]
        return [row.number for row in rows if _is_open(row)]

    def denied(self, subject: Entity, claim: Claim) -> list[RelationRow]:
        """The relations that were never true: those that hold, otherwise those that did."""
        rows = [row for row in self._said(subject, claim) if row.believed]
        return [row for row in rows if _is_open(row)] or rows

    def of_life(self, being: Entity) -> list[int]:
        """The numbers of the relations that end with the death of a person or animal, as far as the memory found them.

        Relations that someone added by hand are left for them to end.
        """
        members = self._members(being)
        rows = relations.with_last(*self._graph.at, relations.numbers_of_entities(*self._graph.at, members))
        found = [row for row in rows if _is_open(row) and row.authority <= Authority.SYSTEM]
        return [row.number for row in found if row.predicate in _ends_with(row.subject in members)]

    def _said(self, subject: Entity, claim: Claim) -> list[RelationRow]:
        """The relations that a claim is about."""
        rows = self._rows(subject, self._predicates(claim))
        if claim.object:
            named = self._named(claim)
            rows = [*(row for row in rows if self._end(row) in named), *self._back(subject, claim, named)]
        if claim.value:
            rows = [row for row in rows if (row.value or "").casefold() == claim.value.casefold()]
        return rows

    def _predicates(self, claim: Claim) -> Sequence[str]:
        predicate = predicates.normalise(claim.predicate)
        if claim.ended in {"known", "former"} and predicate == "has_partner":
            return _PARTNER
        also = _ALSO.get(predicate, ())
        return (*_LEFT, *also) if predicate == "works_at" and claim.ended == "known" else (predicate, *also)

    def _rows(self, subject: Entity, of: Sequence[str]) -> list[RelationRow]:
        members = self._members(subject)
        return [row for predicate in of for row in relations.group(*self._graph.at, members, predicate)]

    def _back(self, subject: Entity, claim: Claim, named: Collection[int]) -> list[RelationRow]:
        """The relations in the other direction: either partner of a couple may be named."""
        if predicates.normalise(claim.predicate) != "has_partner":
            return []
        others = [number for each in named for number in self._graph.members(each)]
        between = relations.between(*self._graph.at, others, self._members(subject))
        return [row for row in between if row.subject in others and row.predicate in _PARTNER]

    def _named(self, claim: Claim) -> set[int]:
        """The existing entities with the stated name; none is created."""
        if claim.owned:
            thing = self._mentions.thing(claim.object)
            return set() if thing is None else {self._graph.canonical(thing.number)}
        named = entities.numbers_of_slug(*self._graph.at, name_key(claim.object))
        return {self._graph.canonical(number) for number in named}

    def _end(self, row: RelationRow) -> int:
        return self._graph.canonical(row.object) if row.object else 0

    def _members(self, entity: Entity) -> list[int]:
        return self._graph.members(self._graph.canonical(entity.number))


def _is_open(row: RelationRow) -> bool:
    return row.believed and row.last.valid_to is None


def _ends_with(life_of_subject: bool) -> Collection[str]:
    return _OF_THE_LIVING if life_of_subject else _IN_THE_LIVING


class Corrections:
    """Corrects earlier findings, as one message says."""

    def __init__(self, graph: GraphTransaction, mentions: Mentions) -> None:
        self._graph = graph
        self._mentions = mentions
        self._at = graph.at

    def withdraw(self, numbers: Sequence[int]) -> list[str]:
        """Withdraw relations, with the message as evidence; returns their ids.

        Raises:
            AuthorityTooLow: one of them was stated with higher authority.
        """
        withdrawn = [withdraw_relation(self._graph, number, by=Authority.SYSTEM).id for number in numbers]
        for number in numbers:
            self.rest(number)
        return withdrawn

    def rest(self, number: int) -> None:
        """Add the message to the evidence of a relation."""
        relations.add_evidence(*self._at, number, self._mentions.evidence(), self._graph.now)

    def wrong(self, new: NewRelation, instead: str) -> list[RelationRow]:
        """The relations with the wrong value that a new one replaces; those that hold before those that ended."""
        read = predicates.reading(new.predicate)
        if read.turned:
            return []
        rows = [row for row in self._held(new, read.predicate, instead) if not self._says(row, new)]
        return [row for row in rows if row.last.valid_to is None] or rows[-1:]

    def placed(self, new: NewRelation, wrong: Sequence[RelationRow]) -> NewRelation:
        """The relation with the dates of the one it replaces, where it has none of its own."""
        if new.from_stated or new.valid_to is not None or len(wrong) != 1 or wrong[0].last.valid_to is not None:
            return new
        last = wrong[0].last
        start = None if last.valid_from is None else from_millis(last.valid_from)
        return replace(new, valid_from=start, from_unit=last.from_unit, from_stated=last.from_stated)

    def unname(self, subject: Entity, wrong: Sequence[RelationRow]) -> None:
        """Remove the wrong aliases."""
        names = [row.value for row in wrong if row.value and row.predicate in NAMES]
        if names:
            standing = self._graph.canonical(subject.number)
            entities.drop_aliases(*self._at, standing, names)
            self._graph.log_entities(standing)

    def is_set_right(self, new: NewRelation) -> bool:
        """Whether a later, current message corrected what this message says."""
        drawer = self._mentions.drawer
        if drawer is None:
            return False
        gone = [row.number for row in self._same(new) if not row.believed and row.last.reason == "withdrawn"]
        rests = ({each.drawer for each in found} for found in relations.evidence(*self._at, gone).values())
        cited = {number for found in rests if drawer.number in found for number in found}
        later = (each for each in drawers.read(*self._at, cited).values() if each.status == "active")
        return any((each.said_at, each.number) > (drawer.said_at, drawer.number) for each in later)

    def _held(self, new: NewRelation, predicate: str, instead: str) -> list[RelationRow]:
        members = self._members(new.subject)
        rows = relations.group(*self._at, members, predicate)
        found = [row for row in rows if row.believed and row.path in _FOUND and row.authority <= Authority.SYSTEM]
        return [row for row in found if self._leads_to(row, predicate, instead)]

    def _leads_to(self, row: RelationRow, predicate: str, instead: str) -> bool:
        if instead == ANY_OTHER:
            return predicate == "named" or self._graph.single(predicate)
        if row.object is None:
            return instead.casefold() in {(row.value or "").casefold(), f"{row.value} {row.unit}".casefold()}
        named = {self._graph.canonical(each) for each in entities.numbers_of_slug(*self._at, name_key(instead))}
        return self._graph.canonical(row.object) in named

    def _says(self, row: RelationRow, new: NewRelation) -> bool:
        """Whether a relation has the same object as the new one."""
        if new.object is None or row.object is None:
            return new.value is not None and (row.value or "").casefold() == new.value.text.casefold()
        return self._graph.canonical(row.object) == self._graph.canonical(new.object.number)

    def _same(self, new: NewRelation) -> list[RelationRow]:
        """The relations that state the same as the new one, at any time."""
        predicate = predicates.normalise(new.predicate)
        members = self._members(new.subject)
        if new.value is not None:
            return relations.to_value(*self._at, members, predicate, new.value.text, kind=new.kind)
        ends = [] if new.object is None else self._members(new.object)
        return relations.to_objects(*self._at, members, predicate, ends, kind=new.kind)

    def _members(self, entity: Entity) -> list[int]:
        return self._graph.members(self._graph.canonical(entity.number))
