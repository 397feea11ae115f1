"""The relations that bear on each other: reading them, and what is to be written so that their time is right."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection

from langmem_tiers.clock import from_millis
from langmem_tiers.knowledge_graph import nesting, predicates, values
from langmem_tiers.knowledge_graph.displaced import displaced
from langmem_tiers.knowledge_graph.landing import Held
from langmem_tiers.knowledge_graph.settling import Settled, Stated, settle
from langmem_tiers.knowledge_graph.types import DISPLACING, Exactness, RelationKind, Value, VersionReason
from langmem_tiers.knowledge_graph.view import bounds
from langmem_tiers.storage import entities, relations
from langmem_tiers.storage.relations import RelationRow, VersionRow


class Place(NamedTuple):
    """Where a relation is to land: those believed that say the same, and those that exclude it.

    `group` are all rows that were read of its group, so that they are read once.
    """

    same: list[Held]
    others: list[Held]
    rows: Mapping[int, RelationRow]
    group: Sequence[RelationRow]
    turned: Collection[int]

    def row(self, number: int | None) -> RelationRow | None:
        """The relation of a number among those that say the same."""
        return None if number is None else self.rows[number]

    def group_of(self, number: int) -> Sequence[RelationRow] | None:
        """The rows of the group of the relation that something landed with; None where it is another group."""
        return None if number in self.turned else self.group


class Draft(NamedTuple):
    """What was said of a relation's time, and why that is news."""

    valid_from: int | None
    from_unit: Exactness
    from_stated: bool
    stated_to: int | None
    to_unit: Exactness
    reason: VersionReason

    @classmethod
    def of(cls, version: VersionRow) -> Draft:
        """What a version says was said."""
        return cls(
            version.valid_from,
            version.from_unit,
            version.from_stated,
            version.stated_to,
            version.to_unit,
            version.reason,
        )


def look(
    connection: Connection,
    space: str,
    *,
    subject: int,
    predicate: str,
    target: Value | int,
    kind: RelationKind,
    single: bool,
) -> Place:
    """Where a relation of an entity, by the number it has now, is to land; only what bears on it is read."""
    both = isinstance(target, int) and predicates.symmetric(predicate)
    if single:
        starts = (subject, target) if both and isinstance(target, int) else (subject,)
        return _place(connection, space, group_of(connection, space, starts, predicate), [], subject, target)
    subjects = entities.members(connection, space, subject)
    rows = _alike(connection, space, subjects, predicate, target, kind)
    if not both or not isinstance(target, int):
        return _place(connection, space, rows, [], subject, target, single=False)
    others = entities.members(connection, space, target)
    turned = _alike(connection, space, others, predicate, subject, kind)
    return _place(connection, space, rows, turned, subject, target, single=False)


def group_of(connection: Connection, space: str, starts: Collection[int], predicate: str) -> list[RelationRow]:
    """The stated relations by a single-valued predicate that bear on each other around entities that stand.

    What holds once at both of its ends bears on what is at the other end, too, and so on.
    """
    if not predicates.symmetric(predicate):
        subjects = [member for start in starts for member in entities.members(connection, space, start)]
        return relations.group(connection, space, subjects, predicate)
    found: dict[int, RelationRow] = {}
    met: set[int] = set()
    waiting = set(starts)
    while waiting:
        met |= waiting
        members = [member for each in waiting for member in entities.members(connection, space, each)]
        rows = relations.touching(connection, space, members, predicate)
        found |= {row.number: row for row in rows}
        waiting = set(entities.canonical_of(connection, space, set(_said_ends(rows))).values()) - met
    return [found[number] for number in sorted(found)]


def settled(
    connection: Connection,
    space: str,
    subject: int,
    predicate: str,
    drafts: Mapping[int, Draft],
    *,
    group: Sequence[RelationRow] | None = None,
) -> list[tuple[RelationRow, VersionRow]]:
    """The versions to write so that a group is right, with those that are new by `drafts`.

    `version`, `recorded_at` and the moment of `until` are the writer's to fill in; an `until` that is set says that
    the relation is believed no more. `group` are the rows of it, where they were read already.
    """
    if group is None:
        group = group_of(connection, space, [entities.canonical(connection, space, subject)], predicate)
    rows = [row for row in group if _counts(row, drafts)]
    ends = settle(_stated(connection, space, rows, drafts))
    news = [(row, _news(row, drafts.get(row.number), ends[row.number])) for row in rows]
    units = {row.number: (drafts.get(row.number) or Draft.of(row.last)).from_unit for row in rows}
    return [(row, _with_unit(connection, space, row, version, units)) for row, version in news if version is not None]


def alone(draft: Draft) -> VersionRow:
    """The version to write of a relation that no other one excludes."""
    return _version(draft, Settled(draft.stated_to))


def _alike(
    connection: Connection, space: str, subjects: Sequence[int], predicate: str, target: Value | int, kind: RelationKind
) -> list[RelationRow]:
    if isinstance(target, Value):
        return relations.to_value(connection, space, subjects, predicate, target.text, kind=kind)
    objects = entities.members(connection, space, target)
    return relations.to_objects(connection, space, subjects, predicate, objects, kind=kind)


def _place(
    connection: Connection,
    space: str,
    rows: Sequence[RelationRow],
    turned: Sequence[RelationRow],
    subject: int,
    target: Value | int,
    *,
    single: bool = True,
) -> Place:
    believed = {row.number: row for row in rows if row.believed}
    facts = _facts(connection, space, believed.values())
    hidden = _hidden([(row, facts[number].places) for number, row in believed.items()]) if single else {}
    held = {number: _held(row, believed, hidden.get(number, ())) for number, row in believed.items()}
    if isinstance(target, Value):
        wanted: Hashable = values.key(target.text, target.unit)
    else:
        both = any(isinstance(fact.key, frozenset) for fact in facts.values())
        wanted = frozenset((subject, target)) if both else target
    here = {subject, target}
    same = [each for number, each in held.items() if facts[number].key == wanted]
    others = [
        each
        for number, each in held.items()
        if facts[number].key != wanted and not here.isdisjoint(facts[number].places)
    ]
    back = {row.number: row for row in turned if row.believed}
    return Place([*same, *(_held(row, back, ()) for row in back.values())], others, believed | back, rows, back.keys())


def _hidden(group: Iterable[tuple[RelationRow, tuple[int, ...]]]) -> dict[int, nesting.Spans]:
    """When relations do not count because others lie within their time, by number."""
    at_place: defaultdict[int, list[nesting.Held]] = defaultdict(list)
    for row, places in group:
        for place in places:
            at_place[place].append(nesting.Held(*bounds(row.last), row.number))
    found: dict[int, nesting.Spans] = {}
    for line in at_place.values():
        for number, spans in nesting.gaps(line).items():
            found[number] = nesting.united((*found.get(number, ()), *spans))
    return found


def _held(row: RelationRow, around: Mapping[int, RelationRow], hidden: nesting.Spans) -> Held:
    last = row.last
    void = last.valid_from is not None and last.valid_to is not None and last.valid_to <= last.valid_from
    cause = around.get(last.cause or 0)
    over = None if not void else (row.authority if cause is None else cause.authority)
    return Held(
        row.number, last.valid_from, last.valid_to, last.from_stated, last.stated_to, row.authority, over, hidden
    )


def _counts(row: RelationRow, drafts: Mapping[int, Draft]) -> bool:
    """Whether a relation is to be settled: what is withdrawn only because another one holds may hold again."""
    if row.number in drafts:
        return True
    return bool(row.versions) and (row.believed or displaced(row, None) is not None)


class _Fact(NamedTuple):
    """What a relation says, the same for all names and ways to write it, and the ends at which it excludes others."""

    key: Hashable
    places: tuple[int, ...]


def _facts(connection: Connection, space: str, rows: Iterable[RelationRow]) -> dict[int, _Fact]:
    """What relations say, by their numbers."""
    found = list(rows)
    ends = entities.canonical_of(connection, space, set(_said_ends(found)))
    return {row.number: _fact(row, ends) for row in found}


def _fact(row: RelationRow, ends: Mapping[int, int]) -> _Fact:
    subject = ends[row.subject]
    if row.object is None:
        return _Fact(values.key(row.value or "", row.unit), (subject,))
    target = ends[row.object]
    if predicates.symmetric(row.predicate) and subject != target:
        return _Fact(frozenset((subject, target)), (subject, target))
    return _Fact(target, (subject,))


def _said_ends(rows: Iterable[RelationRow]) -> Iterator[int]:
    """The entities that relations were said of."""
    for row in rows:
        yield row.subject
        if row.object is not None:
            yield row.object


def _stated(
    connection: Connection, space: str, rows: Sequence[RelationRow], drafts: Mapping[int, Draft]
) -> Iterator[Stated]:
    """What was said of relations, with what is new."""
    facts = _facts(connection, space, rows)
    said = {row.number: drafts.get(row.number) or Draft.of(row.last) for row in rows}
    ended = [row.number for row in rows if row.versions and said[row.number].stated_to is not None]
    stays = relations.stays(connection, space, ended) if ended else frozenset()
    for row in rows:
        each, fact = said[row.number], facts[row.number]
        yield Stated(
            number=row.number,
            value=fact.key,
            start=each.valid_from,
            end=each.stated_to,
            start_said=each.from_stated,
            authority=row.authority,
            stay=each.stated_to is not None and (not row.versions or row.number in stays),
            places=fact.places,
        )


def _news(row: RelationRow, draft: Draft | None, end: Settled) -> VersionRow | None:
    """The version to write, None where what is stored is right."""
    last = row.versions[-1] if row.versions else None
    if draft is None:
        if last is None or _as_stored(last, end):
            return None
        return _version(Draft.of(last)._replace(reason="restored"), end)
    version = _version(draft, end)
    if last is not None and end.reason not in DISPLACING and end.end == last.valid_to:
        return version._replace(reason=draft.reason, cause=None)
    return version


def _as_stored(last: VersionRow, end: Settled) -> bool:
    if end.believed != (last.until is None) or last.valid_to != end.end:
        return False
    if end.reason in DISPLACING:
        return (last.reason, last.cause) == (end.reason, end.cause)
    return end.cause is None or last.cause is None or end.cause == last.cause


def _version(draft: Draft, end: Settled) -> VersionRow:
    """A version of what was said, as it is settled."""
    return VersionRow(
        version=0,
        valid_from=draft.valid_from,
        valid_to=end.end,
        from_unit=draft.from_unit,
        to_unit=draft.to_unit,
        from_stated=draft.from_stated,
        stated_to=draft.stated_to,
        recorded_at=0,
        until=None if end.believed else 0,
        reason=end.reason or draft.reason,
        cause=end.cause,
    )


def _with_unit(
    connection: Connection, space: str, row: RelationRow, version: VersionRow, units: Mapping[int, Exactness]
) -> VersionRow:
    """A version whose end is as exact as what made it: the start of another relation, or what was said."""
    if version.cause is not None:
        return version._replace(to_unit=units[version.cause])
    if version.reason != "restored":
        return version
    return version._replace(to_unit=_unit_said(connection, space, row.number, version.valid_to))


def _unit_said(connection: Connection, space: str, number: int, end: int | None) -> Exactness:
    """How exact the end of a relation was said to be, after another one had ended it."""
    if end is None:
        return "moment"
    versions = relations.of_numbers(connection, space, [number])[0].versions
    said = next((each for each in reversed(versions) if each.valid_to == end and each.cause is None), None)
    return said.to_unit if said is not None else _roundness(end)


def _roundness(end: int) -> Exactness:
    moment = from_millis(end)
    if (moment.hour, moment.minute, moment.second, moment.microsecond) != (0, 0, 0, 0):
        return "moment"
    if moment.day != 1:
        return "day"
    return "year" if moment.month == 1 else "month"
