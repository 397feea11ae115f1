"""The dates of relations that lose evidence: they follow from the messages that remain."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

from langmem_tiers.knowledge_graph.ingest import ingest, messages_of
from langmem_tiers.knowledge_graph.relations import resolve_around
from langmem_tiers.knowledge_graph.transaction import GraphTransaction
from langmem_tiers.records import FOUND, Authority, Evidence, GraphEvidence
from langmem_tiers.storage import progress, relations
from langmem_tiers.storage.relations import RelationRow

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from langmem_tiers.settings import Settings


class Undated(NamedTuple):
    """A relation that is to be dated again, with what it still rests on."""

    row: RelationRow
    rests: Sequence[GraphEvidence]


def loosen(graph: GraphTransaction, rows: Sequence[RelationRow], gone: Collection[int]) -> list[Undated]:
    """Take evidence away; relations that the memory found itself are removed until `settle` puts them back."""
    rests = relations.evidence(*graph.at, [row.number for row in rows])
    found = []
    for row in rows:
        relations.drop_evidence(*graph.at, row.number, sorted(gone))
        if _may_be_dated_by(row, rests[row.number], gone):
            found.append(Undated(row, [each for each in rests[row.number] if each.drawer not in gone]))
    numbers = [each.row.number for each in found]
    relations.remove(*graph.at, numbers)
    graph.log_relations(*(row.number for row in rows))
    resolve_around(graph, *(each.row for each in found))
    return found


def _may_be_dated_by(row: RelationRow, rests: Sequence[GraphEvidence], gone: Collection[int]) -> bool:
    """Whether its dates may come from messages that go; those that somebody stated stay."""
    if row.path not in FOUND or row.authority > Authority.SYSTEM or not row.believed:
        return False
    return len(row.versions) > 1 or row.last.stated_to is not None or rests[0].drawer in gone


def settle(connection: Connection, space: str, undated: Sequence[Undated], settings: Settings, now: int) -> None:
    """Store them again, dated by what the remaining messages say; one of which they say nothing has no dates."""
    left = {each.drawer for one in undated for each in one.rests}
    said = messages_of(connection, space, progress.proposed_of(connection, space, left))
    ingest(connection, space, said, now=now, settings=settings)
    old = {one.row.id for one in undated}
    made = relations.of_numbers(connection, space, relations.of_drawers(connection, space, left))
    new = [row for row in made if row.id not in old and row.created_at >= now]
    with GraphTransaction(connection, space, now, settings) as graph:
        for one in undated:
            again = next((row for row in new if _statement(row) == _statement(one.row)), None)
            if again is None:
                _put_back(graph, one)
                continue
            new.remove(again)
            relations.change(connection, space, again.number, {"id": one.row.id})
            graph.log_relations(again.number)


def _statement(row: RelationRow) -> tuple[object, ...]:
    return row.subject, row.predicate, row.object, row.value, row.kind


def _put_back(graph: GraphTransaction, one: Undated) -> None:
    first = one.row.versions[0]._replace(valid_from=None, valid_to=None, from_stated=False, stated_to=None, until=None)
    row = one.row._replace(versions=(first._replace(version=1, reason="said", cause=None),))
    relations.put_rows(*graph.at, [row])
    rests = [Evidence(drawer=each.drawer, quote=each.quote) for each in one.rests]
    relations.add_evidence(*graph.at, row.number, rests, graph.now)
    graph.log_relations(row.number)
    resolve_around(graph, row)
