"""Merging duplicate entities, undoing merges, and keeping entities apart.

A merge is recorded and can be undone: relations keep pointing to the entity they were stated about.
"""

from __future__ import annotations

from collections.abc import Sequence

from langmem_tiers.clock import from_millis
from langmem_tiers.errors import MergeRefused, UnknownEntity
from langmem_tiers.knowledge_graph import naming
from langmem_tiers.knowledge_graph.entities import describe_ambiguity, require_known, standing
from langmem_tiers.knowledge_graph.relations import resolve_entity
from langmem_tiers.knowledge_graph.transaction import GraphTransaction
from langmem_tiers.knowledge_graph.types import KeptApart, LikelyPair, Merge
from langmem_tiers.knowledge_graph.wording import entity_words
from langmem_tiers.language.slugs import name_key
from langmem_tiers.records import Authority, Entity, GraphPath
from langmem_tiers.storage import entities, merges, relations
from langmem_tiers.storage.merges import MergeRow

UNDO = "Undo the merge first, if they are two."
KEPT_APART = "If they are one, take that back first: `allow_merge`."
NO_MERGE = "The list of merges has those that stand."
LONGEST_REASON = 200


def merge_entities(graph: GraphTransaction, source: Entity, target: Entity, *, reason: str, path: GraphPath) -> Merge:
    """Merge one entity into another.

    Raises:
        MergeRefused: they are already merged, or related to each other.
    """
    one, other = standing(graph, source), standing(graph, target)
    if one.number == other.number:
        raise MergeRefused(f"{entity_words(one)} and {entity_words(target)} are one already.")
    between = relations.between(*graph.at, graph.members(one.number), graph.members(other.number))
    related = next((row for row in between if row.believed), None)
    if related is not None:
        raise MergeRefused(
            f"{entity_words(one)} and {entity_words(other)} are two: relation {related.id} says that one "
            f"{related.predicate.replace('_', ' ')} the other.",
            way_out="Withdraw that relation first, if they are one.",
        )
    number = merges.put(*graph.at, source=one.number, target=other.number, reason=reason, path=path, at=graph.now)
    _set_merged_into(graph, one.number, other.number)
    graph.log_entities(*graph.members(one.number), *graph.members(other.number))
    resolve_entity(graph, other.number)
    return read_merge(graph, number)


def unmerge_entities(graph: GraphTransaction, number: int) -> Merge:
    """Undo a merge; each entity keeps the relations that were stated about it.

    Raises:
        UnknownEntity: there is no such merge, or it was already undone.
    """
    row = merges.one(*graph.at, number)
    if row is None or row.undone_at is not None:
        raise UnknownEntity(f"There is no merge {number} to undo.", way_out=NO_MERGE)
    merges.undo(*graph.at, number, graph.now)
    _set_merged_into(graph, row.source, None)
    for each in (row.source, row.target):
        graph.log_entities(*graph.members(each))
        resolve_entity(graph, each)
    return read_merge(graph, number)


def read_merge(graph: GraphTransaction, number: int) -> Merge:
    """The merge of a number, with its two entities before merging.

    Raises:
        UnknownEntity: there is none.
    """
    row = merges.one(*graph.at, number)
    if row is None:
        raise UnknownEntity(f"There is no merge {number}.")
    return merges_of(graph, [row])[0]


def merges_of(graph: GraphTransaction, rows: Sequence[MergeRow]) -> tuple[Merge, ...]:
    """Rows as callers get them, each with its two entities before merging."""
    both = entities.by_numbers(*graph.at, {number for row in rows for number in (row.source, row.target)})
    return tuple(
        Merge(
            id=row.number,
            source=both[row.source],
            target=both[row.target],
            reason=row.reason,
            path=row.path,
            at=from_millis(row.at),
            undone_at=None if row.undone_at is None else from_millis(row.undone_at),
        )
        for row in rows
    )


def kept_apart_marks(graph: GraphTransaction, first: int, second: int) -> list[merges.PairRow]:
    """The records that two entities are different, including those of entities merged into them."""
    found = merges.pairs_between(*graph.at, graph.members(first), graph.members(second))
    return [row for row in found if row.status == "apart"]


def likely_pairs(graph: GraphTransaction, most: int) -> tuple[LikelyPair, ...]:
    """Undecided pairs of canonical entities, each once, most likely first."""
    found: dict[tuple[int, int], merges.PairRow] = {}
    for row in merges.pairs(*graph.at, "flagged"):
        one, other = sorted((graph.canonical(row.low), graph.canonical(row.high)))
        if one != other and (one, other) not in found and not kept_apart_marks(graph, one, other):
            found[one, other] = row
    shown = [*found.items()][:most]
    known = entities.by_numbers(*graph.at, {number for ends, _ in shown for number in ends})
    return tuple(
        LikelyPair(first=known[low], second=known[high], score=row.score / 100, reason=row.reason)
        for (low, high), row in shown
    )


def kept_apart(graph: GraphTransaction) -> tuple[KeptApart, ...]:
    """The pairs marked as different."""
    rows = merges.pairs(*graph.at, "apart")
    known = entities.by_numbers(*graph.at, {number for row in rows for number in (row.low, row.high)})
    return tuple(KeptApart(first=known[row.low], second=known[row.high], reason=row.reason) for row in rows)


def keep_apart(graph: GraphTransaction, one: Entity, other: Entity, reason: str) -> None:
    """Mark two entities as different."""
    merges.put_pair(*graph.at, one.number, other.number, "apart", 0, reason, graph.now)


def require_two(graph: GraphTransaction, first: str, second: str) -> tuple[Entity, Entity]:
    """The two entities that names refer to.

    Raises:
        UnknownEntity, AmbiguousEntity: no entity, or several, have one of the names.
        MergeRefused: both refer to the same one.
    """
    one, other = require_known(graph, first), require_known(graph, second)
    if one.number != other.number:
        return one, other
    members = graph.members(one.number)
    numbers = sorted(row.number for row in merges.every(*graph.at, undone=False) if row.source in members)
    made_so = f", by merge {', '.join(map(str, numbers))}" if numbers else ""
    raise MergeRefused(
        f"Both are one entity already{made_so}: {describe_ambiguity(graph, [one])}.",
        way_out=UNDO if numbers else "Name two others.",
    )


def require_mergeable(graph: GraphTransaction, one: Entity, other: Entity, by: Authority) -> None:
    """Require that somebody may merge the first entity into the second.

    Raises:
        MergeRefused: the first is the user, they are kept apart, or others stand behind them.
    """
    if name_key(one.name) == naming.USER:
        raise MergeRefused("The user of the space stays who they are.", way_out="Merge the other one into the user.")
    both = (one, other)
    if kept_apart_marks(graph, one.number, other.number):
        raise MergeRefused(f"These are kept apart: {describe_ambiguity(graph, both)}.", way_out=KEPT_APART)
    if by < min(max(each.authority for each in both), Authority.AGENT):
        raise MergeRefused(f"Somebody else stands behind these: {describe_ambiguity(graph, both)}.")


def _set_merged_into(graph: GraphTransaction, number: int, into: int | None) -> None:
    entities.change(*graph.at, number, {"merged_into": into, "updated_at": graph.now})
    graph.merges_changed()
