"""Adding, ending and withdrawing relations, and rewriting the times of those they conflict with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from langmem_tiers.clock import from_millis, to_millis
from langmem_tiers.errors import AuthorityTooLow, InvalidPeriod, InvalidRelation
from langmem_tiers.knowledge_graph.conflicts import (
    Interval,
    Placement,
    Spans,
    displaced,
    displaces,
    nested_intervals,
    place,
    resolve_intervals,
    united,
)
from langmem_tiers.knowledge_graph.entities import standing
from langmem_tiers.knowledge_graph.tombstones import bury_relations, unbury_statement
from langmem_tiers.knowledge_graph.transaction import GraphTransaction
from langmem_tiers.knowledge_graph.types import RelationLanded
from langmem_tiers.knowledge_graph.wording import date_words
from langmem_tiers.language import predicates, values
from langmem_tiers.language.periods import Exactness
from langmem_tiers.language.validity import NEWS
from langmem_tiers.language.values import Value
from langmem_tiers.naming import new_id
from langmem_tiers.records import (
    DISPLACING,
    Authority,
    Entity,
    Evidence,
    GraphPath,
    Period,
    Relation,
    RelationKind,
    VersionReason,
    rank_of,
    was_told,
)
from langmem_tiers.storage import entities, relations
from langmem_tiers.storage.relations import RelationRow, VersionRow
from langmem_tiers.types import Origin

# What says who stands behind a relation.
_VOICE = ("origin", "path", "authority")
_MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class NewRelation:
    """A relation to add.

    `subject` and `object` are entities of this space as they were named, even if since merged into another. `predicate`
    is free text. `from_stated` is False where `valid_from` is only the date of the turn that mentions the relation.
    `said_at` is when it was said, None for now.
    """

    subject: Entity
    predicate: str
    object: Entity | None = None
    value: Value | None = None
    valid_from: datetime | None = None
    from_unit: Exactness = "moment"
    from_stated: bool = True
    valid_to: datetime | None = None
    to_unit: Exactness = "moment"
    kind: RelationKind = "stated"
    origin: Origin = "user"
    path: GraphPath = "user"
    authority: Authority = Authority.USER
    confidence: float = 1.0
    evidence: tuple[Evidence, ...] = ()
    said_at: datetime | None = None


def add_relation(graph: GraphTransaction, said: NewRelation, *, named: Sequence[str] = ()) -> RelationLanded:
    """Add a relation between entities, or to a value, at its place in the timeline.

    `named` are names used for the entities whose tombstones are still to be removed, along with the statement's.

    Raises:
        InvalidRelation: it relates something to itself, has no object or two, or an invalid predicate.
        InvalidPeriod: it ends before it begins.
        AuthorityTooLow: it would end a relation stated with higher authority, or is a tool's result that contradicts
            what was said.
    """
    return _added(graph, _checked(said), said.predicate, named)


def _added(graph: GraphTransaction, new: NewRelation, said_as: str, named: Sequence[str]) -> RelationLanded:
    subject, target = _ends(graph, new)
    row, draft = _rows(graph, new, said_as)
    rivals, ends, placed = _met(graph, row, draft)
    row = _stored(graph, row, new, placed, rivals)
    by_tool = rank_of(new.origin, new.authority) < 0
    if new.authority >= Authority.AGENT and not by_tool:
        unbury_statement(graph, subject, new.predicate, target, named)
    drafts = _begun_before(graph, new, row, draft, rivals) if placed.outcome == "added" and not by_tool else {}
    written = _rewrite(graph, row, _placed_draft(draft, placed, row), rivals, drafts)
    own = next((each for each in written if each.number == row.number), row)
    if by_tool and own.last.reason in DISPLACING:
        raise AuthorityTooLow(f"A tool's result does not change what was said of {subject.name[:80]!a}.")
    changed = [each for each in written if each.number != row.number]
    ends += [each for each in (subject, target) if isinstance(each, Entity)]
    bare = () if new.evidence or own.number in {each.number for each in rivals} else (own.number,)
    relation, *others = graph.relations([own, *changed], known=(*rivals, own), ends=ends, bare=bare)
    return RelationLanded(relation=relation, outcome=placed.outcome, changed=tuple(others))


def end_relation(
    graph: GraphTransaction, which: str | int, at: datetime, *, unit: Exactness = "moment", by: Authority
) -> Relation:
    """Mark a relation as ended from a moment on.

    Raises:
        UnknownRelation: there is no such relation.
        InvalidRelation: it is no longer believed.
        InvalidPeriod: it had not begun by then.
        AuthorityTooLow: it was stated with higher authority.
    """
    row = graph.row(which)
    graph.require(row, by)
    if not row.believed:
        raise InvalidRelation(f"Relation {row.id} is not believed any more.", way_out="Add it anew.")
    moment, said = to_millis(at), row.last
    if said.valid_from is not None and moment <= said.valid_from:
        if said.from_stated:
            raise InvalidPeriod(f"Relation {row.id} had not begun at {at.isoformat()}.")
        # The start is only the date of the statement; the real start is unknown.
        said = said._replace(valid_from=None, from_unit="moment")
    if row.last.stated_to != moment:
        row = _raised(graph, row, by, row.confidence)
        draft = said._replace(stated_to=moment, to_unit=unit, reason="ended")
        single = graph.single(row.predicate, row.kind)
        _rewrite(graph, row, draft, group_of(graph, [graph.canonical(row.subject)], row.predicate) if single else [])
    return read_relation(graph, row.number)


def reopen_relation(graph: GraphTransaction, which: str | int, *, by: Authority) -> Relation:
    """Take back the stated end of a relation.

    Raises:
        UnknownRelation: there is no such relation.
        AuthorityTooLow: it was stated with higher authority.
    """
    row = graph.row(which)
    graph.require(row, by)
    if row.believed and row.last.stated_to is not None:
        single = graph.single(row.predicate, row.kind)
        rivals = group_of(graph, [graph.canonical(row.subject)], row.predicate) if single else []
        _rewrite(graph, row, row.last._replace(stated_to=None, reason="restored"), rivals)
    return read_relation(graph, row.number)


def withdraw_relation(graph: GraphTransaction, which: str | int, *, by: Authority) -> Relation:
    """Mark a relation as never true; what it had ended holds again.

    What an agent or the user withdraws is not mined again.

    Raises:
        UnknownRelation: there is no such relation.
        AuthorityTooLow: it was stated with higher authority.
    """
    row = graph.row(which)
    graph.require(row, by)
    if row.believed or row.last.reason != "withdrawn":
        write(graph, [(row, row.last._replace(until=0, reason="withdrawn", cause=None))])
        if by >= Authority.AGENT:
            bury_relations(graph, row)
        resolve_around(graph, row)
    return read_relation(graph, row.number)


def correct_times(
    graph: GraphTransaction, row: RelationRow, times: Period, *, origin: Origin, path: GraphPath, authority: Authority
) -> Relation:
    """Withdraw a relation and add the same for another time, with its words, its confidence and what it rests on.

    Raises:
        InvalidPeriod: it would end before it begins.
        AuthorityTooLow: it was stated with higher authority, or so was one that the corrected one would end.
    """
    ends = entities.by_numbers(*graph.at, [each for each in (row.subject, row.object) if each is not None])
    (old,) = graph.relations([row])
    right = NewRelation(
        subject=ends[row.subject],
        predicate=row.predicate,
        object=None if row.object is None else ends[row.object],
        value=old.value,
        valid_from=times.start,
        from_unit=times.start_unit,
        valid_to=times.end,
        to_unit=times.end_unit,
        kind=row.kind,
        origin=origin,
        path=path,
        authority=authority,
        confidence=old.confidence,
        evidence=tuple(Evidence(drawer=each.drawer, quote=each.quote) for each in old.evidence),
    )
    checked = _checked(right)
    withdraw_relation(graph, row.number, by=authority)
    number = _added(graph, checked, row.said, ()).relation.number
    return read_relation(graph, number)


def read_relation(graph: GraphTransaction, number: int) -> Relation:
    """The relation with this number as believed now, with its evidence."""
    return graph.relations([graph.row(number)])[0]


def _checked(new: NewRelation) -> NewRelation:
    """A validated relation with its normalised predicate, and with subject and object in the matching order."""
    if (new.object is None) == (new.value is None):
        raise InvalidRelation("A relation leads to either an object or a value.")
    if not 0 <= new.confidence <= 1:
        raise InvalidRelation(f"The confidence {new.confidence} is not from 0 to 1.", way_out="Give a share.")
    if new.valid_from is not None and new.valid_to is not None and new.valid_to <= new.valid_from:
        raise _ends_too_early(new.valid_from, new.valid_to, new)
    read = predicates.reading(new.predicate)
    if not read.turned:
        return replace(new, predicate=read.predicate)
    if new.object is None:
        raise InvalidRelation(f"{new.predicate!r} leads to an entity.", way_out="Give an object instead of a value.")
    return replace(new, predicate=read.predicate, subject=new.object, object=new.subject)


def _ends_too_early(start: datetime, end: datetime, new: NewRelation) -> InvalidPeriod:
    starts, ends = _as_said(start, new.from_unit), _as_said(end, new.to_unit)
    return InvalidPeriod(
        f"It would end ({ends}) {'before' if end < start else 'when'} it begins ({starts}).",
        way_out="Name an end after the beginning; a year or a month stands for its first moment.",
    )


def _as_said(moment: datetime, unit: Exactness) -> str:
    return moment.isoformat() if unit == "moment" else date_words(moment, unit)


def _ends(graph: GraphTransaction, new: NewRelation) -> tuple[Entity, Entity | Value]:
    """The canonical entities of a relation, or the entity and the value."""
    subject = standing(graph, new.subject)
    if new.object is None:
        assert new.value is not None
        return subject, new.value
    target = standing(graph, new.object)
    if target.number == subject.number:
        raise InvalidRelation(f"{subject.name!r} cannot be related to itself.", way_out="Name two entities.")
    return subject, target


def _rows(graph: GraphTransaction, new: NewRelation, said_as: str) -> tuple[RelationRow, VersionRow]:
    """A new relation as it will be stored, still without number and id, and its first version."""
    row = RelationRow(
        number=0,
        id="",
        subject=new.subject.number,
        predicate=new.predicate,
        said=said_as,
        object=None if new.object is None else new.object.number,
        value=None if new.value is None else new.value.text,
        unit=None if new.value is None else new.value.unit,
        kind=new.kind,
        origin=new.origin,
        path=new.path,
        authority=int(new.authority),
        confidence=round(new.confidence * 100),
        created_at=graph.now,
        versions=(),
    )
    draft = VersionRow(
        version=0,
        valid_from=None if new.valid_from is None else to_millis(new.valid_from),
        valid_to=None,
        from_unit="moment" if new.valid_from is None else new.from_unit,
        to_unit=new.to_unit,
        from_stated=new.from_stated and new.valid_from is not None,
        stated_to=None if new.valid_to is None else to_millis(new.valid_to),
        recorded_at=0,
        until=None,
        reason="said",
        cause=None,
    )
    return row, draft


class _Met(NamedTuple):
    """The existing relations that decide about a new one, the entities they lead to, and its place among them."""

    rivals: list[RelationRow]
    ends: list[Entity]
    placed: Placement


def _met(graph: GraphTransaction, row: RelationRow, draft: VersionRow) -> _Met:
    """What a new relation meets; where it begins after all others of its group, only the one that held until then."""
    last = _last_before(graph, row, draft)
    if last is not None:
        met = _met_among(graph, row, draft, last)
        if met.placed.outcome == "added" or _repeats(row, met):
            return met
    return _met_among(graph, row, draft, rivals_of(graph, row))


def _met_among(graph: GraphTransaction, row: RelationRow, draft: VersionRow, rivals: list[RelationRow]) -> _Met:
    ends = graph.ends_of(rivals)
    return _Met(rivals, ends, place(_interval(graph, row, draft), _intervals(graph, rivals), graph.now))


def _last_before(graph: GraphTransaction, row: RelationRow, draft: VersionRow) -> list[RelationRow] | None:
    """The rival that a new relation finds open if all others are over by then; None if more of them may count.

    What is over neither ends nor outranks what begins later, and is not ended by it. The exceptions: a stay that was
    stated to last until then or longer, and for a tool's result all that was told. Where only the settings make it one
    value at a time, several from before may hold, which are to be put in order.
    """
    undated, single = draft.valid_from is None, graph.single(row.predicate, row.kind)
    single = single and predicates.single_by_default(row.predicate)
    if not single or predicates.symmetric(row.predicate) or row.rank < 0 or (undated and draft.stated_to is not None):
        return None
    begins = graph.now if draft.valid_from is None else draft.valid_from
    subjects = _subjects(graph, [graph.canonical(row.subject)])
    found = relations.reaching(*graph.at, subjects, row.predicate, begins, most=2) if subjects else []
    if not found:
        return None if undated else []
    return found if len(found) == 1 and _open_before(found[0].last, begins) else None


def _open_before(last: VersionRow, moment: int) -> bool:
    begun = last.valid_from is None or last.valid_from < moment
    return begun and last.valid_to is None and last.stated_to is None


def _repeats(row: RelationRow, met: _Met) -> bool:
    """Whether a new relation is known from no lower authority, so that nothing is decided anew."""
    known = all(each.rank >= 0 and each.authority >= row.authority for each in met.rivals)
    return met.placed.outcome == "known" and known


def _stored(
    graph: GraphTransaction, row: RelationRow, new: NewRelation, placed: Placement, rivals: Sequence[RelationRow]
) -> RelationRow:
    """The relation that states this now, new or existing, with its evidence."""
    known = next((each for each in rivals if each.number == placed.interval.number), None)
    if known is None:
        row = row._replace(number=graph.next_number(relations.NEWEST), id=new_id())
        graph.put_relation(row)
    else:
        if placed.outcome != "known" and placed.interval.stated_end != known.last.stated_to:
            graph.require(known, new.authority, by_tool=row.rank < 0)
        if row.rank < 0 <= known.rank:  # what a tool repeats is neither better known for it, nor said later
            return known
        row = _raised(graph, known, row.authority, row.confidence)
        if known.rank < 0 and was_told(new.origin, new.path, new.authority):
            row = row._replace(origin=new.origin, path=new.path, authority=int(new.authority))
            relations.change(*graph.at, row.number, {name: getattr(row, name) for name in _VOICE})
    if new.evidence:
        relations.add_evidence(*graph.at, row.number, new.evidence, graph.now)
    graph.log_relations(row.number)
    return row


def _raised(graph: GraphTransaction, row: RelationRow, authority: int, confidence: int) -> RelationRow:
    """A relation with its authority and confidence raised by a further statement."""
    raised = row._replace(authority=max(row.authority, int(authority)), confidence=max(row.confidence, confidence))
    if raised != row:
        higher = {"authority": raised.authority, "confidence": raised.confidence}
        relations.change(*graph.at, row.number, higher)
        graph.log_relations(row.number)
    return raised


def _placed_draft(draft: VersionRow, placed: Placement, row: RelationRow) -> VersionRow | None:
    """The relation's next version, before others affect it; None if its time is unchanged."""
    outcome, interval = placed.outcome, placed.interval
    if outcome == "known":
        return None
    if outcome == "added":
        return draft._replace(valid_from=interval.start, from_stated=interval.start_stated)
    following = row.last._replace(reason=outcome)
    if interval.stated_end != following.stated_to:
        following = following._replace(stated_to=interval.stated_end, to_unit=draft.to_unit)
    if outcome == "moved" and interval.start != following.valid_from:
        following = following._replace(
            valid_from=interval.start, from_unit=draft.from_unit, from_stated=interval.start_stated
        )
    return following


def _begun_before(
    graph: GraphTransaction, new: NewRelation, row: RelationRow, draft: VersionRow, rivals: Sequence[RelationRow]
) -> dict[int, VersionRow]:
    """The versions of the rivals that were only said to hold, after the start of this news but before it was told.

    "I live in Porto", and later that day "I moved to Lisbon last week": Porto was before Lisbon.
    """
    told = graph.now if new.said_at is None else to_millis(new.said_at)
    start = draft.valid_from
    if not draft.from_stated or draft.stated_to is not None or start is None or start < told - NEWS // _MILLISECOND:
        return {}
    slots = _interval(graph, row, draft).slots
    return {
        each.number: each.last._replace(valid_from=None, from_unit="moment")
        for each in rivals
        if each.believed and each.authority <= row.authority and each.last.stated_to is None
        if not each.last.from_stated and each.last.valid_from is not None and start <= each.last.valid_from < told
        if not {*slots}.isdisjoint(_interval(graph, each, each.last).slots)
    }


def _rewrite(
    graph: GraphTransaction,
    row: RelationRow,
    draft: VersionRow | None,
    rivals: Sequence[RelationRow],
    others: Mapping[int, VersionRow] | None = None,
) -> list[RelationRow]:
    """Write the versions that a draft makes necessary: its own, and those of the rivals whose time it changes.

    `others` are drafts of rivals.
    """
    if graph.single(row.predicate, row.kind):
        rows = [*(each for each in rivals if each.number != row.number), row]
        drafts = dict(others or {}) if draft is None else {**(others or {}), row.number: draft}
        return write(graph, resolve_group(graph, rows, drafts))
    if draft is None:
        return []
    return write(graph, [(row, draft._replace(valid_to=draft.stated_to, until=None, cause=None))])


# Relations that conflict with each other.


def rivals_of(graph: GraphTransaction, row: RelationRow) -> list[RelationRow]:
    """The existing relations that state the same as a new one, or that it excludes.

    Where several may hold at a time, only those that state the same; for a symmetric predicate, in either direction.
    """
    both_ways = predicates.symmetric(row.predicate)
    ends = [end for end in (row.subject, row.object) if end is not None]
    if graph.single(row.predicate, row.kind):
        starts = ends if both_ways else [row.subject]
        return group_of(graph, [graph.canonical(each) for each in starts], row.predicate)
    if any(map(graph.unrelated, ends)):
        return []
    subjects = graph.one_with(row.subject)
    if row.object is None:
        return relations.to_value(*graph.at, subjects, row.predicate, row.value or "", kind=row.kind)
    objects = graph.one_with(row.object)
    rows = relations.to_objects(*graph.at, subjects, row.predicate, objects, kind=row.kind)
    if both_ways:
        rows += relations.to_objects(*graph.at, objects, row.predicate, subjects, kind=row.kind)
    return rows


def group_of(graph: GraphTransaction, starts: Collection[int], predicate: str) -> list[RelationRow]:
    """The stated relations by a single-valued predicate that affect each other around these entities.

    A predicate that is single-valued at both ends also affects the relations at the other end, and so on.
    """
    if not predicates.symmetric(predicate):
        subjects = _subjects(graph, starts)
        return relations.group(*graph.at, subjects, predicate) if subjects else []
    found: dict[int, RelationRow] = {}
    met: set[int] = set()
    waiting = set(starts)
    while waiting:
        met |= waiting
        members = [member for each in waiting for member in graph.members(each)]
        rows = relations.touching(*graph.at, members, predicate)
        found |= {row.number: row for row in rows}
        waiting = {graph.canonical(end) for row in rows for end in (row.subject, row.object) if end} - met
    return [found[number] for number in sorted(found)]


def _subjects(graph: GraphTransaction, starts: Iterable[int]) -> list[int]:
    """The entities that count as one with these, but for those that nothing can be related to yet."""
    return [each for start in starts if not graph.unrelated(start) for each in graph.members(start)]


def _intervals(graph: GraphTransaction, rows: Iterable[RelationRow]) -> list[Interval]:
    """The believed relations among these, as intervals that `place` can compare with a new one."""
    believed = {row.number: row for row in rows if row.believed}
    known = [_interval(graph, row, row.last)._replace(void_by=_void_by(row, believed)) for row in believed.values()]
    by_slot: defaultdict[Hashable, list[tuple[int, VersionRow]]] = defaultdict(list)
    for each in known:
        row = believed[each.number]
        for slot in each.slots if graph.single(row.predicate, row.kind) else ():
            by_slot[slot].append((each.number, row.last))
    hidden: defaultdict[int, Spans] = defaultdict(tuple)
    for group in (each for each in by_slot.values() if len(each) > 1):
        for number, spans in nested_intervals(group).items():
            hidden[number] = united((*hidden[number], *spans))
    return [each._replace(hidden=hidden[each.number]) if each.number in hidden else each for each in known]


def resolve_group(
    graph: GraphTransaction, rows: Iterable[RelationRow], drafts: Mapping[int, VersionRow]
) -> list[tuple[RelationRow, VersionRow]]:
    """The versions to write so that a group is consistent; `drafts` are the new statements by number.

    `version` and `recorded_at` are left to `write`; setting `until` marks a version as no longer believed.
    """
    # One that another displaced may hold again.
    counted = [row for row in rows if row.number in drafts or (row.versions and (row.believed or displaced(row, None)))]
    said = {row.number: drafts.get(row.number) or row.last for row in counted}
    ended = [row.number for row in counted if row.versions and said[row.number].stated_to is not None]
    stays = relations.stays(*graph.at, ended) if ended else frozenset()
    resolved = resolve_intervals(
        _interval(graph, row, said[row.number])._replace(
            bounded=said[row.number].stated_to is not None and (not row.versions or row.number in stays)
        )
        for row in counted
    )
    news = [(row, _next_version(row, drafts.get(row.number), resolved)) for row in counted]
    return [
        (row, version._replace(to_unit=_unit_of_end(graph, row, version, said)))
        for row, version in news
        if version is not None
    ]


def resolve_groups(graph: GraphTransaction, groups: Iterable[tuple[int, str]]) -> None:
    """Make the groups of these subjects and predicates consistent."""
    for subject, predicate in sorted({(graph.canonical(subject), predicate) for subject, predicate in groups}):
        if graph.single(predicate):
            write(graph, resolve_group(graph, group_of(graph, [subject], predicate), {}))


def resolve_around(graph: GraphTransaction, *rows: RelationRow) -> None:
    """Make groups consistent after relations were deleted from them."""
    groups = ((end, row.predicate) for row in rows if row.kind == "stated" for end in (row.subject, row.object) if end)
    resolve_groups(graph, groups)


def resolve_entity(graph: GraphTransaction, number: int) -> None:
    """Make groups consistent after an entity was merged or split."""
    resolve_groups(graph, relations.groups_of(*graph.at, graph.one_with(number)))


def write(graph: GraphTransaction, news: Sequence[tuple[RelationRow, VersionRow]]) -> list[RelationRow]:
    """Write these versions as what is now believed of their relations; returns the updated relations."""
    written = [row._replace(versions=(*row.versions, _next(graph.now, row, version))) for row, version in news]
    relations.put_last_versions(*graph.at, written)
    graph.log_relations(*(row.number for row in written))
    return written


def _next(now: int, row: RelationRow, version: VersionRow) -> VersionRow:
    """A version as it is stored: recorded now, but not before the previous one, as clocks may be set back."""
    if not row.versions:
        return version._replace(version=1, recorded_at=now, until=None if version.until is None else now)
    at = max(now, row.last.recorded_at)
    return version._replace(version=row.last.version + 1, recorded_at=at, until=None if version.until is None else at)


def _interval(graph: GraphTransaction, row: RelationRow, said: VersionRow) -> Interval:
    subject = graph.canonical(row.subject)
    fact: Hashable
    slots: tuple[int, ...] = (subject,)
    if row.object is None:
        fact = values.key(row.value or "", row.unit)
    else:
        fact = target = graph.canonical(row.object)
        if predicates.symmetric(row.predicate) and subject != target:
            fact, slots = frozenset((subject, target)), (subject, target)
    return Interval(
        number=row.number,
        fact=fact,
        start=said.valid_from,
        stated_end=said.stated_to,
        start_stated=said.from_stated,
        authority=row.rank,
        told=row.told,
        slots=slots,
        end=said.valid_to,
    )


def _void_by(row: RelationRow, group: Mapping[int, RelationRow]) -> int | None:
    """The authority that denied a relation, None if it holds; what denied it may have been denied since."""
    if not _never(row.last):
        return None
    denied, by = {row.number}, group.get(row.last.cause or 0)
    highest = row.authority if by is None else by.authority
    while by is not None and _never(by.last) and by.number not in denied:
        denied.add(by.number)
        by = group.get(by.last.cause or 0)
        highest = highest if by is None else max(highest, by.authority)
    return highest


def _never(version: VersionRow) -> bool:
    """Whether it holds at no time."""
    start, end = version.valid_from, version.valid_to
    return start is not None and end is not None and end <= start


def _next_version(row: RelationRow, draft: VersionRow | None, group: Mapping[int, Interval]) -> VersionRow | None:
    """The version to write, None if the stored one is right; `group` are the resolved intervals."""
    resolved = group[row.number]
    if draft is None and _as_stored(row.last, resolved, group):
        return None
    reason: VersionReason = "restored" if draft is None else draft.reason
    version = (row.last if draft is None else draft)._replace(
        valid_to=resolved.end,
        until=None if resolved.believed else 0,
        reason=resolved.reason or reason,
        cause=resolved.cause,
    )
    unchanged = bool(row.versions) and resolved.reason not in DISPLACING and resolved.end == row.last.valid_to
    return version._replace(reason=reason, cause=None) if draft is not None and unchanged else version


def _as_stored(last: VersionRow, resolved: Interval, group: Mapping[int, Interval]) -> bool:
    if resolved.believed != (last.until is None) or last.valid_to != resolved.end:
        return False
    if resolved.reason in DISPLACING:
        same = (last.reason, last.cause) == (resolved.reason, resolved.cause)
        return same or _still_displaced(last, resolved, group)
    return resolved.cause is None or last.cause is None or resolved.cause == last.cause


def _still_displaced(last: VersionRow, resolved: Interval, group: Mapping[int, Interval]) -> bool:
    """Whether what displaced a relation then still does, though there is a later one that would.

    Each is displaced by the next: were all named as displaced by the last, each statement would rewrite all others.
    """
    by = group.get(last.cause or 0)
    # A stay may lie within what came later, and of a pair, another one may displace each half: these are decided anew.
    if by is None or resolved.bounded or len(resolved.slots) > 1 or not displaces(by, resolved):
        return False
    repeats = by.fact == resolved.fact
    return last.reason == ("repeated" if repeats else "contradicted") and (repeats or resolved.reason != "repeated")


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
