"""The relations that say what an entry says: they end with it, and hold again with it; deleted, they take it along."""

from __future__ import annotations

from langmem_tiers.clock import from_millis
from langmem_tiers.knowledge_graph.deletion import said_in
from langmem_tiers.knowledge_graph.relations import end_relation, reopen_relation, withdraw_relation
from langmem_tiers.knowledge_graph.transaction import GraphTransaction, is_open
from langmem_tiers.records import FOUND, Authority, Entry
from langmem_tiers.storage import entries, relations
from langmem_tiers.storage.relations import RelationRow

_SAVED = frozenset({Authority.AGENT, Authority.USER})


def end_with(graph: GraphTransaction, entry: Entry, instead: str = "") -> None:
    """End the relations that say what an entry said, but not what the text that takes its place still says.

    They are those that the memory found in the evidence of the entry only. One that was to begin later is withdrawn.
    """
    kept = instead.casefold()
    for row, target in _told_by(graph, entry):
        if not is_open(row) or target.casefold() in kept:
            continue
        if row.last.from_stated and row.last.valid_from is not None and row.last.valid_from >= graph.now:
            withdraw_relation(graph, row.number, by=Authority.SYSTEM)
        else:
            end_relation(graph, row.number, from_millis(graph.now), by=Authority.SYSTEM)


def revive_with(graph: GraphTransaction, entry: Entry, ended_at: int) -> None:
    """Let the relations that ended with an entry hold again."""
    for row, _ in _told_by(graph, entry):
        if row.believed and row.last.stated_to == ended_at:
            reopen_relation(graph, row.number, by=Authority.SYSTEM)


def entries_with(graph: GraphTransaction, row: RelationRow) -> list[Entry]:
    """The entries that say what a relation says, and that the memory found in its evidence only."""
    rests = {each.drawer for each in relations.evidence(*graph.at, [row.number]).get(row.number, ())}
    resting = (each for each in entries.resting_on(*graph.at, rests) if {*each.drawers} <= rests)
    # What somebody has saved as well has the authority of that.
    found = (each for each in resting if each.path in FOUND and not each.pinned and each.authority not in _SAVED)
    return [each for each in found if any(told.number == row.number for told, _ in _told_by(graph, each))]


def _told_by(graph: GraphTransaction, entry: Entry) -> list[tuple[RelationRow, str]]:
    """The relations that rest on the evidence of an entry only and whose object it names, with that object.

    "My sister Anna lives in Lisbon" is about where Anna lives; that she is a sister stays true without it.
    """
    passages = {
        each.drawer: [one.quote for one in entry.evidence if one.drawer == each.drawer] for each in entry.evidence
    }
    numbers = relations.of_drawers(*graph.at, passages)
    rests = relations.evidence(*graph.at, numbers)
    rows = [
        row
        for row in relations.of_numbers(*graph.at, numbers)
        if row.kind == "stated" and row.path in FOUND and row.authority <= Authority.SYSTEM
        if len(said_in(rests.get(row.number, ()), passages)) == len(rests.get(row.number, ())) > 0
    ]
    subjects = {graph.canonical(row.subject) for row in rows}
    main = [row for row in rows if row.object is None or graph.canonical(row.object) not in subjects]
    told = zip(main, graph.relations(main), strict=True)
    named = ((row, each.object.name if each.object else row.value or "") for row, each in told)
    return [(row, target) for row, target in named if target and target.casefold() in entry.content.casefold()]
