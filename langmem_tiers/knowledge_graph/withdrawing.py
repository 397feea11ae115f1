"""Messages that do not stand any more: what rests on nothing else is believed no longer."""

from __future__ import annotations

from collections.abc import Collection

from langmem_tiers.knowledge.types import Authority
from langmem_tiers.knowledge_graph.ledger import Ledger
from langmem_tiers.storage import drawers, relations
from langmem_tiers.storage.relations import RelationRow

_FOUND = {"rule", "model"}


def withdraw(ledger: Ledger, gone: Collection[int]) -> tuple[list[str], set[int]]:
    """Withdraw what was found in these drawers alone; ids of that, and the drawers to take up once more.

    A relation that rests on others too is withdrawn where the message may have said since or until when it holds: what
    the others say of that is taken up again, and so is what the message said was never so.
    """
    numbers = relations.of_drawers(ledger.connection, ledger.space, gone)
    rests = relations.evidence(ledger.connection, ledger.space, numbers)
    cited = drawers.read(ledger.connection, ledger.space, {each.drawer for found in rests.values() for each in found})
    withdrawn: list[str] = []
    again: set[int] = set()
    for row in relations.of_numbers(ledger.connection, ledger.space, numbers):
        standing = {each.drawer for each in rests[row.number] if cited[each.drawer].status == "active"}
        if _set_aside(row):
            again |= standing
        if not _found_by_itself(row):
            continue
        if standing and len(row.versions) == 1 and row.last.stated_to is None:
            continue
        ledger.withdraw(row.number, by=Authority.SYSTEM)
        withdrawn.append(row.id)
        again |= standing
    return withdrawn, again


def _set_aside(row: RelationRow) -> bool:
    return not row.believed and row.path in _FOUND and row.last.reason == "withdrawn"


def _found_by_itself(row: RelationRow) -> bool:
    return row.believed and row.path in _FOUND and row.authority <= Authority.SYSTEM
