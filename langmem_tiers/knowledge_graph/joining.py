"""One entity under two names: writing that two are one, and that they are two again."""

from __future__ import annotations

from collections.abc import Mapping

from langmem_tiers.clock import from_millis
from langmem_tiers.errors import MergeRefused, UnknownEntity
from langmem_tiers.knowledge_graph.meant import entity_words
from langmem_tiers.knowledge_graph.transaction import Transaction
from langmem_tiers.knowledge_graph.types import Entity, GraphPath, Merge
from langmem_tiers.knowledge_graph.versions import Versions
from langmem_tiers.storage import entities, merges, relations
from langmem_tiers.storage.merges import MergeRow

NO_MERGE = "The list of merges has those that stand."


def merge(versions: Versions, source: Entity, target: Entity, *, reason: str, path: GraphPath) -> Merge:
    """See `Ledger.merge`."""
    within = versions.within
    one, other = within.canonical(source), within.canonical(target)
    if one.number == other.number:
        raise MergeRefused(f"{entity_words(one)} and {entity_words(target)} are one already.")
    _require_unrelated(within, one, other)
    _set_merged_into(within, one.number, other.number)
    number = merges.put(
        within.connection,
        within.space,
        source=one.number,
        target=other.number,
        reason=reason,
        path=path,
        at=within.now,
    )
    _log_members(within, one.number, other.number)
    versions.settle_groups_of(other.number)
    return read(within, number)


def unmerge(versions: Versions, number: int) -> Merge:
    """See `Ledger.unmerge`."""
    within = versions.within
    row = merges.one(within.connection, within.space, number)
    if row is None or row.undone_at is not None:
        raise UnknownEntity(f"There is no merge {number} to undo.", way_out=NO_MERGE)
    _set_merged_into(within, row.source, None)
    merges.undo(within.connection, within.space, number, within.now)
    _log_members(within, row.source, row.target)
    versions.settle_groups_of(row.source)
    versions.settle_groups_of(row.target)
    return read(within, number)


def read(within: Transaction, number: int) -> Merge:
    """See `Ledger.read_merge`."""
    row = merges.one(within.connection, within.space, number)
    if row is None:
        raise UnknownEntity(f"There is no merge {number}.")
    both = entities.by_numbers(within.connection, within.space, [row.source, row.target])
    return merge_of(row, both)


def merge_of(row: MergeRow, both: Mapping[int, Entity]) -> Merge:
    """The record that callers get of a merge."""
    return Merge(
        id=row.number,
        source=both[row.source],
        target=both[row.target],
        reason=row.reason,
        path=row.path,
        at=from_millis(row.at),
        undone_at=None if row.undone_at is None else from_millis(row.undone_at),
    )


def _set_merged_into(within: Transaction, number: int, into: int | None) -> None:
    entities.change(within.connection, within.space, number, {"merged_into": into, "updated_at": within.now})


def _log_members(within: Transaction, *roots: int) -> None:
    """The entities that have another one to stand for them now."""
    for root in roots:
        within.log_entities(*within.members(root))


def _require_unrelated(within: Transaction, one: Entity, other: Entity) -> None:
    first, second = within.members(one.number), within.members(other.number)
    between = relations.between(within.connection, within.space, first, second)
    standing = next((row for row in between if row.believed), None)
    if standing is not None:
        raise MergeRefused(
            f"{entity_words(one)} and {entity_words(other)} are two: relation {standing.id} says that one "
            f"{standing.predicate.replace('_', ' ')} the other.",
            way_out="Withdraw that relation first, if they are one.",
        )
