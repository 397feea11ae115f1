"""What is deleted from the knowledge is deleted from the graph: what was found in the same words, and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from langmem_tiers.knowledge.quotes import occurs
from langmem_tiers.knowledge.types import Authority
from langmem_tiers.knowledge_graph.ledger import Ledger
from langmem_tiers.knowledge_graph.types import GraphEvidence
from langmem_tiers.storage import entities, mined, relations

_FOUND = {"rule", "model"}
Passages = Mapping[int, Sequence[str]]


def unsay(ledger: Ledger, passages: Passages) -> int:
    """Delete what was found by itself in these passages of drawers alone, with tombstones; how many relations.

    What rests on other words too, or was added by somebody, stays without those words.
    """
    mined.forget(ledger.connection, ledger.space, [*passages], lambda drawer, quote: _said(drawer, quote, passages))
    gone = 0
    ends: set[int] = set()
    numbers = relations.of_drawers(ledger.connection, ledger.space, passages)
    rests = relations.evidence(ledger.connection, ledger.space, numbers)
    for row in relations.of_numbers(ledger.connection, ledger.space, numbers):
        deleted = _in(rests.get(row.number, ()), passages)
        if not deleted:
            continue
        ends |= {end for end in (row.subject, row.object) if end is not None}
        if row.path in _FOUND and len(deleted) == len(rests[row.number]):
            gone += ledger.delete_relation(row.number, by=Authority.SYSTEM).relations
        else:
            relations.drop_evidence(ledger.connection, ledger.space, row.number, deleted)
    _unname(ledger, passages, ends)
    return gone


def _unname(ledger: Ledger, passages: Passages, ends: set[int]) -> None:
    """Take the passages from the entities that they name; those found there alone, which nothing relates to, go."""
    named = {*ends, *entities.of_drawers(ledger.connection, ledger.space, passages)}
    rests = entities.evidence_of(ledger.connection, ledger.space, named)
    for number, entity in entities.by_numbers(ledger.connection, ledger.space, named).items():
        deleted = _in(rests.get(number, ()), passages)
        entities.drop_evidence(ledger.connection, ledger.space, number, deleted)
        if entity.path in _FOUND and len(deleted) == len(rests.get(number, ())) and _alone(ledger, number):
            entities.remove(ledger.connection, ledger.space, [number])
            ledger.log_entities(number)


def _alone(ledger: Ledger, number: int) -> bool:
    related = relations.numbers_of_entities(ledger.connection, ledger.space, [number])
    return not related and entities.members(ledger.connection, ledger.space, number) == [number]


def _in(evidence: Sequence[GraphEvidence], passages: Passages) -> list[int]:
    return [each.drawer for each in evidence if _said(each.drawer, each.quote, passages)]


def _said(drawer: int, quote: str, passages: Passages) -> bool:
    return any(not quote or occurs(quote, each) or occurs(each, quote) for each in passages.get(drawer, ()))
