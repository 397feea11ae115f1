"""Merging duplicate entities, undoing merges, and keeping entities apart.

A merge is recorded and can be undone: relations keep pointing to the entity they were stated about.
"""

from __future__ import annotations

from collections.abc import Mapping

from langmem_tiers import arguments
from langmem_tiers.clock import from_millis
from langmem_tiers.context import SpaceContext
from langmem_tiers.errors import MergeRefused, UnknownEntity
from langmem_tiers.knowledge_graph import checks, naming
from langmem_tiers.knowledge_graph.ambiguity import describe_ambiguity, entity_words
from langmem_tiers.knowledge_graph.entities import require_known, standing
from langmem_tiers.knowledge_graph.relations import resolve_entity
from langmem_tiers.knowledge_graph.transaction import GraphTransaction, reading, writing
from langmem_tiers.knowledge_graph.types import KeptApart, LikelyPair, Merge
from langmem_tiers.language import name_matching
from langmem_tiers.language.slugs import name_key
from langmem_tiers.records import Authority, Entity, GraphPath
from langmem_tiers.storage import entities, merges, relations
from langmem_tiers.storage.merges import MergeRow
from langmem_tiers.types import Origin

UNDO = "Undo the merge first, if they are two."
KEPT_APART = "If they are one, take that back first: `allow_merge`."
NO_MERGE = "The list of merges has those that stand."
LONGEST_REASON = 200


# Within a transaction.


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
    return _merge_of(row, entities.by_numbers(*graph.at, [row.source, row.target]))


def kept_apart_marks(graph: GraphTransaction, first: int, second: int) -> list[merges.PairRow]:
    """The records that two entities are different, including those of entities merged into them."""
    found = merges.pairs_between(*graph.at, graph.members(first), graph.members(second))
    return [row for row in found if row.status == "apart"]


def _set_merged_into(graph: GraphTransaction, number: int, into: int | None) -> None:
    entities.change(*graph.at, number, {"merged_into": into, "updated_at": graph.now})
    graph.merges_changed()


def _merge_of(row: MergeRow, both: Mapping[int, Entity]) -> Merge:
    return Merge(
        id=row.number,
        source=both[row.source],
        target=both[row.target],
        reason=row.reason,
        path=row.path,
        at=from_millis(row.at),
        undone_at=None if row.undone_at is None else from_millis(row.undone_at),
    )


# What users and agents call.


def merge(context: SpaceContext, source: str, target: str, *, reason: str, origin: Origin) -> Merge:
    """See `KnowledgeGraph.merge`."""
    by = checks.said_by(origin)
    named = (arguments.text(source, "source"), arguments.text(target, "target"))
    why = " ".join(arguments.text(reason, "reason").split())[:LONGEST_REASON]
    checks.require_harmless(why, "reason", context.settings)
    with writing(context) as graph:
        one, other = (require_known(graph, name) for name in named)
        _require_two(graph, one, other)
        if name_key(one.name) == naming.USER:
            raise MergeRefused(
                "The user of the space stays who they are.", way_out="Merge the other one into the user."
            )
        if kept_apart_marks(graph, one.number, other.number):
            raise MergeRefused(f"These are kept apart: {describe_ambiguity(graph, (one, other))}.", way_out=KEPT_APART)
        if by.authority < max(one.authority, other.authority) and by.authority < Authority.AGENT:
            raise MergeRefused(f"Somebody else stands behind these: {describe_ambiguity(graph, (one, other))}.")
        return merge_entities(graph, one, other, reason=why, path=by.path)


def unmerge(context: SpaceContext, merge: int) -> Merge:
    """See `KnowledgeGraph.unmerge`. A pair that the memory would merge again is kept apart."""
    number = arguments.whole(merge, "merge")
    with writing(context) as graph:
        undone = unmerge_entities(graph, number)
        one, other = undone.source, undone.target
        alike = name_matching.compare(one.name, other.name, one.type, other.type).kind != "other"
        if undone.path in {"rule", "model"} or alike:
            _keep_apart(graph, one, other, "a merge of them was undone")
        return undone


def every_merge(context: SpaceContext, *, undone: bool) -> tuple[Merge, ...]:
    """See `KnowledgeGraph.merges`."""
    every = arguments.flag(undone, "undone")
    with reading(context) as graph:
        rows = merges.every(*graph.at, undone=every)
        both = entities.by_numbers(*graph.at, {number for row in rows for number in (row.source, row.target)})
    return tuple(_merge_of(row, both) for row in rows)


def likely_pairs(context: SpaceContext, *, limit: int) -> tuple[LikelyPair, ...]:
    """See `KnowledgeGraph.likely_pairs`: undecided pairs of canonical entities, each once."""
    most = arguments.whole(limit, "limit", least=1)
    with reading(context) as graph:
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


def keep_apart(context: SpaceContext, first: str, second: str) -> None:
    """See `KnowledgeGraph.keep_apart`."""
    named = (arguments.text(first, "first"), arguments.text(second, "second"))
    with writing(context) as graph:
        one, other = (require_known(graph, name) for name in named)
        _require_two(graph, one, other)
        _keep_apart(graph, one, other, "somebody said so")


def kept_apart(context: SpaceContext) -> tuple[KeptApart, ...]:
    """See `KnowledgeGraph.kept_apart`."""
    with reading(context) as graph:
        rows = merges.pairs(*graph.at, "apart")
        known = entities.by_numbers(*graph.at, {number for row in rows for number in (row.low, row.high)})
    return tuple(KeptApart(first=known[row.low], second=known[row.high], reason=row.reason) for row in rows)


def allow_merge(context: SpaceContext, first: str, second: str) -> bool:
    """See `KnowledgeGraph.allow_merge`. Both count as changed, so that background work examines them again."""
    named = (arguments.text(first, "first"), arguments.text(second, "second"))
    with writing(context) as graph:
        one, other = (require_known(graph, name).number for name in named)
        marks = kept_apart_marks(graph, one, other)
        merges.remove_pairs(*graph.at, marks)
        if marks:
            graph.log_entities(one, other)
        return bool(marks)


def _require_two(graph: GraphTransaction, one: Entity, other: Entity) -> None:
    """Require that two names refer to two entities.

    Raises:
        MergeRefused: they refer to the same one.
    """
    if one.number != other.number:
        return
    members = graph.members(one.number)
    numbers = sorted(row.number for row in merges.every(*graph.at, undone=False) if row.source in members)
    made_so = f", by merge {', '.join(map(str, numbers))}" if numbers else ""
    raise MergeRefused(
        f"Both are one entity already{made_so}: {describe_ambiguity(graph, [one])}.",
        way_out=UNDO if numbers else "Name two others.",
    )


def _keep_apart(graph: GraphTransaction, one: Entity, other: Entity, reason: str) -> None:
    merges.put_pair(*graph.at, one.number, other.number, "apart", 0, reason, graph.now)
