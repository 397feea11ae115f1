"""What was taken up and is set right: relations that were never so, and what is said instead of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from langmem_tiers.clock import from_millis
from langmem_tiers.knowledge.types import Authority
from langmem_tiers.knowledge_graph import naming, predicates
from langmem_tiers.knowledge_graph.ledger import Ledger
from langmem_tiers.knowledge_graph.mentions import Mentions
from langmem_tiers.knowledge_graph.rules.claim import ANY_OTHER
from langmem_tiers.knowledge_graph.stating import NewRelation
from langmem_tiers.knowledge_graph.types import Entity
from langmem_tiers.storage import drawers, entities, relations
from langmem_tiers.storage.relations import RelationRow

NAMES = frozenset({"named", "has_nickname"})
"""What people are called: other names of theirs."""
_FOUND = frozenset({"rule", "model"})


class SettingRight:
    """Sets right what was found before, in the words of one message."""

    def __init__(self, ledger: Ledger, mentions: Mentions) -> None:
        self._ledger = ledger
        self._mentions = mentions
        self._at = (ledger.connection, ledger.space)

    def withdraw(self, numbers: Sequence[int]) -> list[str]:
        """Let relations be believed no more, with the message that says so; their ids.

        Raises:
            AuthorityTooLow: somebody of higher authority said that one of them is so.
        """
        withdrawn = [self._ledger.withdraw(number, by=Authority.SYSTEM).id for number in numbers]
        for number in numbers:
            self.rest(number)
        return withdrawn

    def rest(self, number: int) -> None:
        """Let a relation rest on the message as well."""
        relations.add_evidence(*self._at, number, self._mentions.evidence(), self._ledger.now)

    def wrong(self, new: NewRelation, instead: str) -> list[RelationRow]:
        """What a relation is said instead of: those of the wrong value, the one that holds before any that ended."""
        read = predicates.reading(new.predicate)
        if read.turned:
            return []
        rows = [row for row in self._held(new, read.predicate, instead) if not self._says(row, new)]
        return [row for row in rows if row.last.valid_to is None] or rows[-1:]

    def placed(self, new: NewRelation, wrong: Sequence[RelationRow]) -> NewRelation:
        """The relation with the time of the one whose place it takes, where it has none of its own."""
        if new.from_stated or new.valid_to is not None or len(wrong) != 1 or wrong[0].last.valid_to is not None:
            return new
        last = wrong[0].last
        start = None if last.valid_from is None else from_millis(last.valid_from)
        return replace(new, valid_from=start, from_unit=last.from_unit, from_stated=last.from_stated)

    def unname(self, subject: Entity, wrong: Sequence[RelationRow]) -> None:
        """Take the wrong names from whom they were said of."""
        names = [row.value for row in wrong if row.value and row.predicate in NAMES]
        if names:
            standing = self._ledger.canonical(subject)
            entities.drop_aliases(*self._at, standing.number, names)
            self._ledger.log_entities(standing.number)

    def is_set_right(self, new: NewRelation) -> bool:
        """Whether what a message says was set right by a later one that stands."""
        drawer = self._mentions.drawer
        if drawer is None:
            return False
        gone = [row.number for row in self._same(new) if not row.believed and row.last.reason == "withdrawn"]
        rests = ({each.drawer for each in found} for found in relations.evidence(*self._at, gone).values())
        cited = {number for found in rests if drawer.number in found for number in found}
        later = (each for each in drawers.read(*self._at, cited).values() if each.status == "active")
        return any((each.said_at, each.number) > (drawer.said_at, drawer.number) for each in later)

    def _held(self, new: NewRelation, predicate: str, instead: str) -> list[RelationRow]:
        members = entities.members(*self._at, self._ledger.canonical(new.subject).number)
        rows = relations.group(*self._at, members, predicate)
        found = [row for row in rows if row.believed and row.path in _FOUND and row.authority <= Authority.SYSTEM]
        return [row for row in found if self._leads_to(row, predicate, instead)]

    def _leads_to(self, row: RelationRow, predicate: str, instead: str) -> bool:
        if instead == ANY_OTHER:
            return predicate == "named" or predicates.single_valued(predicate, self._ledger.settings.graph)
        if row.object is None:
            return instead.casefold() in {(row.value or "").casefold(), f"{row.value} {row.unit}".casefold()}
        meant = {each.number for each in entities.by_slug(*self._at, naming.slug(instead))}
        return entities.canonical(*self._at, row.object) in meant

    def _says(self, row: RelationRow, new: NewRelation) -> bool:
        """Whether a relation leads to what the new one leads to."""
        if new.object is None or row.object is None:
            return new.value is not None and (row.value or "").casefold() == new.value.text.casefold()
        return entities.canonical(*self._at, row.object) == self._ledger.canonical(new.object).number

    def _same(self, new: NewRelation) -> list[RelationRow]:
        """The relations that say what the new one says, at whatever time."""
        predicate = predicates.normalise(new.predicate)
        members = entities.members(*self._at, self._ledger.canonical(new.subject).number)
        if new.value is not None:
            return relations.to_value(*self._at, members, predicate, new.value.text, kind=new.kind)
        ends = [] if new.object is None else entities.members(*self._at, self._ledger.canonical(new.object).number)
        return relations.to_objects(*self._at, members, predicate, ends, kind=new.kind)
