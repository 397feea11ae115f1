"""Reads the relations that affect each other's time, and writes what the timeline makes of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence

from langmem_tiers.clock import from_millis
from langmem_tiers.knowledge_graph.timeline import (
    Interval,
    Spans,
    displaced,
    nested_intervals,
    resolve_intervals,
    united,
)
from langmem_tiers.knowledge_graph.transaction import GraphTransaction
from langmem_tiers.language import predicates, values
from langmem_tiers.language.periods import Exactness
from langmem_tiers.language.values import Value
from langmem_tiers.records import DISPLACING, RelationKind
from langmem_tiers.storage import relations
from langmem_tiers.storage.relations import RelationRow, VersionRow


def rivals_of(
    graph: GraphTransaction, subject: int, predicate: str, target: Value | int, kind: RelationKind
) -> list[RelationRow]:
    """The existing relations that state the same as a new one, or that it excludes.

    Where several may hold at a time, only those that state the same; for a symmetric predicate, in either direction.
    """
    both_ways = isinstance(target, int) and predicates.symmetric(predicate)
    if graph.single(predicate, kind):
        return group_of(graph, (subject, target) if both_ways and isinstance(target, int) else (subject,), predicate)
    subjects = graph.members(subject)
    if isinstance(target, Value):
        return relations.to_value(*graph.at, subjects, predicate, target.text, kind=kind)
    objects = graph.members(target)
    rows = relations.to_objects(*graph.at, subjects, predicate, objects, kind=kind)
    return [*rows, *relations.to_objects(*graph.at, objects, predicate, subjects, kind=kind)] if both_ways else rows


def group_of(graph: GraphTransaction, starts: Collection[int], predicate: str) -> list[RelationRow]:
    """The stated relations by a single-valued predicate that affect each other around these entities.

    A predicate that is single-valued at both ends also affects the relations at the other end, and so on.
    """
    if not predicates.symmetric(predicate):
        return relations.group(*graph.at, [each for start in starts for each in graph.members(start)], predicate)
    found: dict[int, RelationRow] = {}
    met: set[int] = set()
    waiting = set(starts)
    while waiting:
        met |= waiting
        members = [member for each in waiting for member in graph.members(each)]
        rows = relations.touching(*graph.at, members, predicate)
        found |= {row.number: row for row in rows}
        waiting = {graph.canonical(end) for row in rows for end in _ends(row)} - met
    return [found[number] for number in sorted(found)]


def intervals(graph: GraphTransaction, rows: Iterable[RelationRow]) -> list[Interval]:
    """The believed relations among these, as intervals that `place` can compare with a new one."""
    believed = {row.number: row for row in rows if row.believed}
    known = [_interval(graph, row, row.last)._replace(void_by=_void_by(row, believed)) for row in believed.values()]
    by_slot: defaultdict[Hashable, list[tuple[int, VersionRow]]] = defaultdict(list)
    for each in known:
        row = believed[each.number]
        for slot in each.slots if graph.single(row.predicate, row.kind) else ():
            by_slot[slot].append((each.number, row.last))
    hidden: defaultdict[int, Spans] = defaultdict(tuple)
    for group in by_slot.values():
        for number, spans in nested_intervals(group).items():
            hidden[number] = united((*hidden[number], *spans))
    return [each._replace(hidden=hidden[each.number]) if each.number in hidden else each for each in known]


def fact_of(graph: GraphTransaction, row: RelationRow) -> tuple[Hashable, tuple[int, ...]]:
    """The identity of a relation's statement, and the entities whose slots it takes."""
    subject = graph.canonical(row.subject)
    if row.object is None:
        return values.key(row.value or "", row.unit), (subject,)
    target = graph.canonical(row.object)
    if predicates.symmetric(row.predicate) and subject != target:
        return frozenset((subject, target)), (subject, target)
    return target, (subject,)


def resolve_group(
    graph: GraphTransaction, rows: Iterable[RelationRow], drafts: Mapping[int, VersionRow]
) -> list[tuple[RelationRow, VersionRow]]:
    """The versions to write so that a group is consistent; `drafts` are the new statements by number.

    `version` and `recorded_at` are left to `write`; setting `until` marks a version as no longer believed.
    """
    counted = [row for row in rows if _counts(row, drafts)]
    said = {row.number: drafts.get(row.number) or row.last for row in counted}
    ended = [row.number for row in counted if row.versions and said[row.number].stated_to is not None]
    stays = relations.stays(*graph.at, ended) if ended else frozenset()
    resolved = resolve_intervals(
        _interval(graph, row, said[row.number])._replace(
            bounded=said[row.number].stated_to is not None and (not row.versions or row.number in stays)
        )
        for row in counted
    )
    news = [(row, _news(row, drafts.get(row.number), resolved[row.number])) for row in counted]
    return [
        (row, version._replace(to_unit=_unit_of_end(graph, row, version, said)))
        for row, version in news
        if version is not None
    ]


def resolve_groups(graph: GraphTransaction, groups: Iterable[tuple[int, str]]) -> list[int]:
    """Make the groups of these subjects and predicates consistent; returns the numbers of changed relations."""
    named = sorted({(graph.canonical(subject), predicate) for subject, predicate in groups})
    changed: list[int] = []
    for subject, predicate in named:
        if graph.single(predicate):
            news = resolve_group(graph, group_of(graph, [subject], predicate), {})
            write(graph, news)
            changed += [row.number for row, _ in news]
    return changed


def resolve_around(graph: GraphTransaction, *rows: RelationRow) -> None:
    """Make groups consistent after relations were deleted from them."""
    resolve_groups(graph, ((end, row.predicate) for row in rows if row.kind == "stated" for end in _ends(row)))


def resolve_entity(graph: GraphTransaction, number: int) -> list[int]:
    """Make groups consistent after an entity was merged or split; returns the numbers of changed relations."""
    members = graph.members(graph.canonical(number))
    return resolve_groups(graph, relations.groups_of(*graph.at, members))


def write(graph: GraphTransaction, news: Sequence[tuple[RelationRow, VersionRow]]) -> list[RelationRow]:
    """Write these versions as what is now believed of their relations; returns the updated relations."""
    written = [row._replace(versions=(*row.versions, _next(graph.now, row, version))) for row, version in news]
    relations.put_versions(*graph.at, [(row.number, row.last) for row in written])
    graph.log_relations(*(row.number for row in written))
    return written


def withdraw(graph: GraphTransaction, row: RelationRow) -> None:
    """Withdraw a relation: it is not believed for any time."""
    write(graph, [(row, row.last._replace(until=0, reason="withdrawn", cause=None))])


def _next(now: int, row: RelationRow, version: VersionRow) -> VersionRow:
    """A version as it is stored: recorded now, but not before the previous one, as clocks may be set back."""
    if not row.versions:
        return version._replace(version=1, recorded_at=now, until=None if version.until is None else now)
    at = max(now, row.last.recorded_at)
    return version._replace(version=row.last.version + 1, recorded_at=at, until=None if version.until is None else at)


def _interval(graph: GraphTransaction, row: RelationRow, said: VersionRow) -> Interval:
    fact, slots = fact_of(graph, row)
    return Interval(
        number=row.number,
        fact=fact,
        start=said.valid_from,
        stated_end=said.stated_to,
        start_stated=said.from_stated,
        authority=row.authority,
        slots=slots,
        end=said.valid_to,
    )


def _void_by(row: RelationRow, group: Mapping[int, RelationRow]) -> int | None:
    """The authority that denied a relation, None if it holds."""
    last = row.last
    if last.valid_from is None or last.valid_to is None or last.valid_to > last.valid_from:
        return None
    cause = group.get(last.cause or 0)
    return row.authority if cause is None else cause.authority


def _counts(row: RelationRow, drafts: Mapping[int, VersionRow]) -> bool:
    """Whether a relation takes part: one displaced by another may hold again."""
    return row.number in drafts or (bool(row.versions) and (row.believed or displaced(row, None) is not None))


def _ends(row: RelationRow) -> tuple[int, ...]:
    return (row.subject,) if row.object is None else (row.subject, row.object)


def _news(row: RelationRow, draft: VersionRow | None, resolved: Interval) -> VersionRow | None:
    """The version to write, None if the stored one is right."""
    last = row.versions[-1] if row.versions else None
    if draft is None:
        return None if last is None or _as_stored(last, resolved) else _resolved(last, "restored", resolved)
    version = _resolved(draft, draft.reason, resolved)
    if last is not None and resolved.reason not in DISPLACING and resolved.end == last.valid_to:
        return version._replace(reason=draft.reason, cause=None)
    return version


def _as_stored(last: VersionRow, resolved: Interval) -> bool:
    if resolved.believed != (last.until is None) or last.valid_to != resolved.end:
        return False
    if resolved.reason in DISPLACING:
        return (last.reason, last.cause) == (resolved.reason, resolved.cause)
    return resolved.cause is None or last.cause is None or resolved.cause == last.cause


def _resolved(said: VersionRow, reason: str, resolved: Interval) -> VersionRow:
    return said._replace(
        valid_to=resolved.end,
        until=None if resolved.believed else 0,
        reason=resolved.reason or reason,  # type: ignore[arg-type]
        cause=resolved.cause,
    )


def _unit_of_end(
    graph: GraphTransaction, row: RelationRow, version: VersionRow, said: Mapping[int, VersionRow]
) -> Exactness:
    """The precision of an end: that of its cause, which is the start of another relation or a statement."""
    if version.cause is not None:
        return said[version.cause].from_unit
    if version.reason != "restored":
        return version.to_unit
    if version.valid_to is None:
        return "moment"
    known = relations.of_numbers(*graph.at, [row.number])[0].versions
    stated = next((each for each in reversed(known) if each.valid_to == version.valid_to and each.cause is None), None)
    return _roundness(version.valid_to) if stated is None else stated.to_unit


def _roundness(end: int) -> Exactness:
    moment = from_millis(end)
    if (moment.hour, moment.minute, moment.second, moment.microsecond) != (0, 0, 0, 0):
        return "moment"
    if moment.day != 1:
        return "day"
    return "year" if moment.month == 1 else "month"
