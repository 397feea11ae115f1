"""The graph at an earlier moment: relations, their ends and merges count from when they were said, not read.

What people and agents enter themselves counts from when they entered it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import Connection

from langmem_tiers.knowledge_graph.view import GraphView
from langmem_tiers.knowledge_graph.view_updates import build_view, merged_then
from langmem_tiers.records import FOUND
from langmem_tiers.storage import merges, relations
from langmem_tiers.storage.merges import MergeRow
from langmem_tiers.storage.relations import RelationRow, VersionRow

Told = Sequence[tuple[int, int]]
"""When the messages behind a relation were said, oldest first, each with when it became evidence."""
# Changes whose message is the last of those that were read together.
_AT_LAST = frozenset({"ended", "withdrawn"})


def view_then(view: GraphView, connection: Connection, space: str, until: int) -> GraphView:
    """The graph as far as it was told by a moment, in milliseconds."""
    behind = relations.told(connection, space)
    first = {row.number: _first_told(row, behind.get(row.number, ())) for row in view.relations.values()}
    rows = [_row_then(row, behind.get(row.number, ()), first, until) for row in view.relations.values()]
    kept = {row.number: row for row in rows if row.versions}
    made = (_merge_then(row, view, until) for row in merges.every(connection, space))
    named = {end for row in kept.values() for end in (row.subject, row.object) if end is not None}
    known = merged_then(view, made, until)
    ends = named | set(map(known.canonical, named))
    people = [row for number, row in known.entities.items() if row.first_seen <= until or number in ends]
    return build_view(people, (_without_later_cause(row, kept.keys()) for row in kept.values()), view.single)


def _first_told(row: RelationRow, behind: Told) -> int:
    recorded = row.versions[0].recorded_at
    return min(behind[0][0], recorded) if row.path in FOUND and behind else recorded


def _row_then(row: RelationRow, behind: Told, first: Mapping[int, int], until: int) -> RelationRow:
    """A relation with the versions told by then, each with the time of the message that made it."""
    times: list[int] = []
    for version in row.versions:
        told = _told_at(version, behind, first, times[-1]) if times else first[row.number]
        times.append(told)
    told_by = [time for time in times if time <= until]
    versions = [
        version._replace(recorded_at=time, until=_believed_until(row, place, told_by))
        for place, (version, time) in enumerate(zip(row.versions, told_by, strict=False))
    ]
    return row._replace(versions=tuple(versions))


def _told_at(version: VersionRow, behind: Told, first: Mapping[int, int], before: int) -> int:
    """When what changed a relation was said: by the relation that caused it, or in a message that came with it."""
    brought = [said for said, at in behind if at == version.recorded_at and said > before]
    if version.cause is not None and version.cause in first:
        told = first[version.cause]
    elif brought:
        told = brought[-1] if version.reason in _AT_LAST else brought[0]
    else:
        told = version.recorded_at
    return max(before, min(told, version.recorded_at))


def _believed_until(row: RelationRow, place: int, told_by: Sequence[int]) -> int | None:
    """When the next version was told; a last one that withdraws the relation was never believed."""
    if place + 1 < len(told_by):
        return told_by[place + 1]
    return told_by[place] if place + 1 == len(row.versions) and not row.believed else None


def _merge_then(row: MergeRow, view: GraphView, until: int) -> MergeRow:
    """A merge that the memory found counts as soon as both were spoken of."""
    both = [view.entities[end] for end in (row.source, row.target) if end in view.entities]
    if row.path not in FOUND or len(both) < 2:
        return row
    return row._replace(at=max(each.first_seen for each in both))


def _without_later_cause(row: RelationRow, kept: Collection[int | None]) -> RelationRow:
    versions = (each if each.cause in kept else each._replace(cause=None) for each in row.versions)
    return row._replace(versions=tuple(versions))
