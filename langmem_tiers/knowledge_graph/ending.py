"""Which relations it is that hold no longer: "I left Bosch", "we broke up", "I sold the e-bike", "Bruno died"."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from langmem_tiers.knowledge.types import Authority
from langmem_tiers.knowledge_graph import kinship, naming, predicates
from langmem_tiers.knowledge_graph.ledger import Ledger
from langmem_tiers.knowledge_graph.mentions import Mentions, NotMeant
from langmem_tiers.knowledge_graph.rules.claim import Claim
from langmem_tiers.knowledge_graph.types import Entity
from langmem_tiers.palace.words import word_set
from langmem_tiers.storage import entities, relations
from langmem_tiers.storage.relations import RelationRow

_PARTNER = (*sorted(kinship.predicate(word) for word in kinship.PARTNERS), "married_to", "engaged_to", "dates")
# What is left may be an employer, a school, or a town.
_LEFT = ("works_at", "studies_at", "lives_in", "member_of")
_ALSO = {
    "owns": ("bought",),
    "lives_in": ("also_lives_in",),
    "works_at": ("also_works_at",),
    **dict.fromkeys(("has_wife", "has_husband", "has_spouse"), ("married_to",)),
    **dict.fromkeys(("has_girlfriend", "has_boyfriend", "has_partner"), ("dates",)),
}
# What only the living do and have, and what others have only in the living. A sister stays one.
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


class Ending:
    """Finds what a claim that something is over can mean."""

    def __init__(self, ledger: Ledger, mentions: Mentions) -> None:
        self._ledger = ledger
        self._mentions = mentions

    def of(self, subject: Entity, claim: Claim) -> list[int]:
        """The numbers of the relations that hold no longer, none where it can not be told.

        Raises:
            NotMeant: several partners may be meant.
        """
        rows = [row for row in self._said(subject, claim) if _is_open(row)]
        if not claim.object and len({self._end(row) for row in rows}) > 1 and not claim.value:
            raise NotMeant("several may be meant")
        return [row.number for row in rows]

    def others(self, subject: Entity, claim: Claim) -> list[int]:
        """The numbers of what holds of others than those whom a claim names, such as a boss before the new one."""
        meant = self._meant(claim)
        rows = self._rows(subject, self._predicates(claim))
        found = [row for row in rows if _is_open(row) and row.authority <= Authority.SYSTEM]
        return [row.number for row in found if self._end(row) not in meant] if meant else []

    def beside(self, subject: Entity, claim: Claim) -> list[int]:
        """The numbers of what holds beside what a claim says is over, such as another home."""
        rows = [row for row in self._said(subject, claim) if row.predicate.startswith("also_")]
        return [row.number for row in rows if _is_open(row)]

    def denied(self, subject: Entity, claim: Claim) -> list[RelationRow]:
        """The relations that never were so: those that hold, or else those that did."""
        rows = [row for row in self._said(subject, claim) if row.believed]
        return [row for row in rows if _is_open(row)] or rows

    def of_life(self, being: Entity) -> list[int]:
        """The numbers of the relations that end with the life of somebody, or of an animal, as far as they were found.

        What somebody added by hand is theirs to end.
        """
        members = self._members(being)
        rows = relations.with_last(
            self._ledger.connection,
            self._ledger.space,
            relations.numbers_of_entities(self._ledger.connection, self._ledger.space, members),
        )
        found = [row for row in rows if _is_open(row) and row.authority <= Authority.SYSTEM]
        return [row.number for row in found if row.predicate in _ends_with(row.subject in members)]

    def _said(self, subject: Entity, claim: Claim) -> list[RelationRow]:
        """The relations that a claim speaks of."""
        rows = self._rows(subject, self._predicates(claim))
        if claim.object:
            meant = self._meant(claim)
            rows = [*(row for row in rows if self._end(row) in meant), *self._back(subject, claim, meant)]
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
        return [
            row
            for predicate in of
            for row in relations.group(self._ledger.connection, self._ledger.space, members, predicate)
        ]

    def _back(self, subject: Entity, claim: Claim, meant: Collection[int]) -> list[RelationRow]:
        """Of a couple it may be said of either."""
        if predicates.normalise(claim.predicate) != "has_partner":
            return []
        others = [number for each in meant for number in self._members_of(each)]
        between = relations.between(self._ledger.connection, self._ledger.space, others, self._members(subject))
        return [row for row in between if row.subject in others and row.predicate in _PARTNER]

    def _meant(self, claim: Claim) -> set[int]:
        """Those whose name is said; nobody is made for it."""
        if claim.owned:
            thing = self._mentions.thing(claim.object)
            return set() if thing is None else {self._ledger.canonical(thing).number}
        held = entities.by_slug(self._ledger.connection, self._ledger.space, naming.slug(claim.object))
        return {each.number for each in held}

    def _end(self, row: RelationRow) -> int:
        return entities.canonical(self._ledger.connection, self._ledger.space, row.object) if row.object else 0

    def _members(self, entity: Entity) -> list[int]:
        return self._members_of(self._ledger.canonical(entity).number)

    def _members_of(self, number: int) -> list[int]:
        return entities.members(self._ledger.connection, self._ledger.space, number)


def _is_open(row: RelationRow) -> bool:
    return row.believed and row.last.valid_to is None


def _ends_with(life_of_subject: bool) -> Collection[str]:
    return _OF_THE_LIVING if life_of_subject else _IN_THE_LIVING
