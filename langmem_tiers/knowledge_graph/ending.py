"""Which relations it is that hold no longer: "I left Bosch", "we broke up", "I sold the e-bike"."""

from __future__ import annotations

from collections.abc import Sequence

from langmem_tiers.knowledge_graph import kinship, naming, predicates
from langmem_tiers.knowledge_graph.ledger import Ledger
from langmem_tiers.knowledge_graph.mentions import Mentions, NotMeant
from langmem_tiers.knowledge_graph.rules.claim import Claim
from langmem_tiers.knowledge_graph.types import Entity
from langmem_tiers.storage import entities, relations
from langmem_tiers.storage.relations import RelationRow

_PARTNER = (*sorted(kinship.predicate(word) for word in kinship.PARTNERS), "married_to", "engaged_to", "dates")
# What is left may be an employer, a school, or a town.
_LEFT = ("works_at", "studies_at", "lives_in", "member_of")


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
        rows = self._open(subject, self._predicates(claim))
        if claim.object:
            meant = self._meant(claim)
            rows = [row for row in rows if self._end(row) in meant]
        if claim.value:
            rows = [row for row in rows if (row.value or "").casefold() == claim.value.casefold()]
        targets = {self._end(row) for row in rows}
        if not claim.object and len(targets) > 1:
            raise NotMeant("several may be meant")
        return [row.number for row in rows]

    def _predicates(self, claim: Claim) -> Sequence[str]:
        predicate = predicates.normalise(claim.predicate)
        if predicate == "has_partner":
            return _PARTNER
        return _LEFT if predicate == "works_at" and claim.ended == "known" else (predicate, *_like(predicate))

    def _open(self, subject: Entity, of: Sequence[str]) -> list[RelationRow]:
        """The relations that are believed and have no end."""
        connection, space = self._ledger.connection, self._ledger.space
        standing = self._ledger.canonical(subject)
        members = entities.members(connection, space, standing.number)
        rows = [row for predicate in of for row in relations.group(connection, space, members, predicate)]
        return [row for row in rows if row.believed and row.last.valid_to is None]

    def _meant(self, claim: Claim) -> set[int]:
        """Those whose name is said; nobody is made for it."""
        name = claim.object
        held = entities.by_slug(self._ledger.connection, self._ledger.space, naming.slug(name))
        if claim.owned == "object":
            owner = self._mentions.me()
            if owner.name != naming.USER:
                slug = naming.slug(f"{owner.name}'s {name}")
                held = entities.by_slug(self._ledger.connection, self._ledger.space, slug)
        return {each.number for each in held}

    def _end(self, row: RelationRow) -> int:
        return entities.canonical(self._ledger.connection, self._ledger.space, row.object) if row.object else 0


def _like(predicate: str) -> tuple[str, ...]:
    """What else ends with it: what was bought is owned."""
    return ("bought",) if predicate == "owns" else ()
